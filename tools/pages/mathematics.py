"""Formulas of headers, typed as text, set as mathematics: MathML, which every browser shows.

A formula is a run of numbers, single letters, Greek names, roots and signs that holds an index, a
power, a root or a relation; whatever is not clearly one stays text.
"""

import re
from html import escape

from .markdown import escaped

GREEK = dict(
    zip(
        "alpha beta gamma delta epsilon eta kappa lambda mu pi rho sigma tau phi psi omega".split(),
        "αβγδεηκλμπρστφψω",
        strict=True,
    )
)
TOKEN = re.compile(
    r"(?P<space>\s+)|(?P<name>[A-Za-z]+(?:_(?:\w+|\{\w+\}))?'?)|(?P<number>\d[\d,]*(?:\.\d+)?)"
    r"|(?P<sign>\*\*|<=|>=|!=|[-+*/=<>^()|])|(?P<other>.)",
    re.DOTALL,
)
FUNCTIONS = ("sqrt", "log", "log2", "ln", "exp", "max", "min")
SIGNS = {"<=": "≤", ">=": "≥", "!=": "≠", "-": "−", "*": "·"}
STRONG = ("^", "**", "<=", ">=", "!=", "=", "sqrt", "_")


class Unclear(Exception):
    """This run is no formula that can be read."""


def mathematics(text: str) -> str:
    """Markdown of the text, with its formulas as MathML.

    >>> mathematics("at least sqrt(N) of a sum")
    'at least <math alttext="sqrt(N)"><msqrt><mi>N</mi></msqrt></math> of a sum'
    """
    pieces = re.split(r"(`[^`]*`)", text)
    return "".join(x if x.startswith("`") else _prose(x) for x in pieces)


def _prose(text: str) -> str:
    tokens = [(match.lastgroup or "other", match[0]) for match in TOKEN.finditer(text)]
    parts, begin = [], 0
    while begin < len(tokens):
        end = _end(tokens, begin)
        while end > begin:
            run = tokens[begin:end]
            try:
                typed = escape("".join(word for _, word in run))
                parts.append(f'<math alttext="{typed}">{formula(run)}</math>')
                break
            except Unclear:
                end = (
                    max(
                        (i for i in range(begin, end - 1) if _operand(tokens[i])), default=begin - 1
                    )
                    + 1
                )
        else:
            parts.append(escaped(tokens[begin][1]))
            end = begin + 1
        begin = end
    return "".join(parts)


def _operand(token: tuple[str, str]) -> bool:
    kind, text = token
    if kind == "name":
        stem = text.rstrip("'").split("_")[0]
        return (len(stem) == 1 and text not in ("a", "A", "I")) or text in (*GREEK, *FUNCTIONS)
    return kind == "number" or text in "()"


def _end(tokens: list[tuple[str, str]], begin: int) -> int:
    """The end of the longest run from here that may be a formula; begin if there is none."""
    if not _operand(tokens[begin]) or tokens[begin][1] == ")":
        return begin
    if begin and tokens[begin - 1][1][-1] in "-.'_":
        return begin
    end = last = begin
    while end < len(tokens) and (_operand(tokens[end]) or tokens[end][0] in ("space", "sign")):
        end += 1
        kind, text = tokens[end - 1]
        if _operand((kind, text)):
            last = end
        if kind == "sign" and text != ")" and end < len(tokens):
            if re.fullmatch("[aAI]", tokens[end][1]):
                end = last = end + 1  # in a formula these are letters, and no words
    return last


def formula(tokens: list[tuple[str, str]]) -> str:
    """MathML of a run; Unclear if it has no sign of a formula, or cannot be read."""
    text = "".join(x for _, x in tokens)
    if not any(x in text for x in STRONG) or (len(tokens) > 1 and tokens[-1][0] == "space"):
        raise Unclear
    reader = _Reader([x for x in tokens if x[0] != "space"])
    made = reader.expression()
    if reader.at < len(reader.tokens):
        raise Unclear
    return made


class _Reader:
    def __init__(self, tokens: list[tuple[str, str]]) -> None:
        self.tokens, self.at = tokens, 0

    def next(self) -> str:
        return self.tokens[self.at][1] if self.at < len(self.tokens) else ""

    def take(self) -> tuple[str, str]:
        if self.at == len(self.tokens):
            raise Unclear
        self.at += 1
        return self.tokens[self.at - 1]

    def expression(self) -> str:
        """Factors with signs between them; two without a sign are a product."""
        parts = [self._sign()] if self.next() == "-" else []
        parts.append(self.power())
        while self.at < len(self.tokens) and self.next() != ")":
            if self.tokens[self.at][0] == "sign" and self.next() not in ("(", "^", "**"):
                parts.append(self._sign())
                if self.next() == "-":
                    parts.append(self._sign())
            parts.append(self.power())
        return "".join(parts)

    def _sign(self) -> str:
        text = self.take()[1]
        return f"<mo>{escape(SIGNS.get(text, text))}</mo>"

    def power(self) -> str:
        base = self.factor()
        while self.next() in ("^", "**"):
            self.take()
            minus = self._sign() if self.next() == "-" else ""
            base = f"<msup><mrow>{base}</mrow><mrow>{minus}{self.factor(True)}</mrow></msup>"
        return base

    def factor(self, bare: bool = False) -> str:
        kind, text = self.take()
        if text == "(":
            inside = self.expression()
            if self.take()[1] != ")":
                raise Unclear
            return inside if bare else f"<mrow><mo>(</mo>{inside}<mo>)</mo></mrow>"
        if kind == "number":
            return f"<mn>{text}</mn>"
        if kind != "name":
            raise Unclear
        if text in FUNCTIONS:
            if text == "sqrt":
                return f"<msqrt>{self.factor(True)}</msqrt>"
            return f"<mi>{text}</mi><mo>&#8289;</mo>{self.factor()}"
        stem, _, index = text.partition("_")
        base = f"<mi>{GREEK.get(stem, stem)}</mi>"
        return (
            f"<msub>{base}<mi>{GREEK.get(index, index).strip('{}')}</mi></msub>" if index else base
        )
