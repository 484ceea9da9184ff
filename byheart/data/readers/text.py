"""Plain text to documents, and documents to tokens."""

import codecs
import re
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby, islice
from typing import NamedTuple

import regex

from ...errors import ByheartError, OptionError
from ..layout import SEPARATOR
from .raw import Raw

ENDS, UNREAD = "line ends are read as \\n", "is not read"  # notes
BYTE_ORDER = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16-be",  # the mark stays in the text
}
Tokenize = Callable[[str], list[str]]

# Units, and the rule that each stands for; a dataset and a model folder name the rule. Version 0.1
# had only the second and the third, and called the second "word".
UNITS = {"word": "spaced", "wordpunct": "wordpunct", "char": "char"}
SPACED_RULE = UNITS["word"]
OF_WORDS = (SPACED_RULE, "wordpunct")
WHOLE = (SPACED_RULE, "char")  # whose tokens are the text
WORD, BLANK = re.compile(r"\w+|[^\w\s]+"), re.compile(r"\s")
# White space, and then U.S.A., or a word with its marks such as Don't or 3.14, or other characters.
SPACED = regex.compile(
    r"""\s*+(?:
        (?:\p{Lu}\.){2,}
        | [\p{L}\p{M}\p{N}_][\p{L}\p{M}\p{N}_\p{Cf}]*+
          (?:(?:['’](?=[\p{L}\p{M}])|(?<=\p{N})[.,](?=\p{N}))[\p{L}\p{M}\p{N}_\p{Cf}]++)*+
        | [^\p{L}\p{M}\p{N}_\s][^\p{L}\p{N}_\s]*+
    )""",
    regex.VERBOSE,
)
LETTER = regex.compile(r"\p{L}")
UNSPACED = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]")
TEXTS, SAMPLE = 100, 1000  # how many texts, and characters of each, a script is recognised by
FEW = 4  # lines of prose may well have one comma each
MARKS = {
    "\t": "tabs",
    ",": "commas",
    ";": "semicolons",
    "|": "vertical bars",
    "  ": "pairs of spaces",
}
CLAUSES = (
    "most letters are of a script without spaces between words, so that a token is a whole clause; "
    "`unit='char'` or `tokenizer=...` makes smaller ones"
)


def read_text(raw: Raw) -> str:
    """The file as text; every line ends in \\n, on whichever system it was written."""
    return unix(stored(raw).text)


def unix(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


class Stored(NamedTuple):
    """A file of text as it is stored: its bytes, and the text with its own line ends."""

    name: str | None  # in its folder
    content: bytes
    text: str
    encoding: str


def stored(raw: Raw, name: str | None = None) -> Stored:
    """The file in its encoding: that of its byte order mark, if there is one, or UTF-8."""
    data = raw.file.read()
    marked = next((x for mark, x in BYTE_ORDER.items() if data.startswith(mark)), "utf-8")
    encoding = marked if raw.encoding is None else checked_encoding(raw.encoding)
    try:
        text = data.decode(encoding)
    except UnicodeError as error:
        line = data.count(b"\n", 0, getattr(error, "start", 0)) + 1
        name = "UTF-8" if encoding.startswith("utf-8") else encoding
        raise ByheartError(
            f"{raw.name}, line {line}: not {name}; name its encoding, such as "
            "`encoding='cp1252'`, or save the file as UTF-8."
        ) from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise ByheartError(
            f"{raw.name}, line {line}: holds a NUL byte; give a text file, or its `encoding=...`."
        )
    return Stored(name, data, text, encoding)


def checked_encoding(name: str) -> str:
    """The name of an encoding of text that Python knows."""
    try:
        "a".encode(name, "replace").decode(name)
    except (LookupError, ValueError):
        raise OptionError("encoding", name, "must be an encoding, such as cp1252") from None
    return name


def document_rule(text: str) -> str:
    """The meaning of documents="auto" for this text."""
    lines = text.strip().split("\n")
    if any(line.strip() == SEPARATOR for line in lines):
        return "separator"
    return "line" if all(line.strip() for line in lines) else "blank"


def split(text: str, rule: str) -> list[str]:
    """The documents of the text, except those of white space alone."""
    if rule == "whole":
        parts = [text]
    elif rule == "line":
        parts = text.split("\n")
    else:  # between the lines that are the mark, with white space around it
        mark = SEPARATOR if rule == "separator" else ""
        groups = groupby(text.split("\n"), lambda line: line.strip() == mark)
        parts = ["\n".join(lines) for marks, lines in groups if not marks]
    return [part.strip("\n") for part in parts if part.strip()]


def spaced(text: str) -> list[str]:
    """Words, each with the white space before it: together, they are the text without its margins.

    >>> spaced("Don't pay $3.14,\\n  he said. ")
    ["Don't", ' pay', ' $', '3.14', ',', '\\n  he', ' said', '.']
    """
    return SPACED.findall(text.strip())


def normalised(
    contents: Sequence[str], documents: Sequence[str], rule: str, unit: object
) -> list[str]:
    """Notes on what two texts may differ in without any difference in what is read.

    contents   the texts as they are stored, documents what they were split into by the rule
    """
    notes = [ENDS] if any("\r" in x for x in contents) else []
    if unit == "wordpunct":
        return notes + margins("documents", contents, unit)
    whole = [unix(x).removesuffix("\n") for x in contents]
    white = None if unit == SPACED_RULE else "\n"
    marks = [x for text in whole for x in text.split("\n") if x.strip() == SEPARATOR]
    read = [*documents, *(len(marks) if rule == "separator" else 0) * [SEPARATOR]]
    sizes = (sum(len(x) - x.count("\n") for x in texts) for texts in (whole, read))
    if len({*sizes}) > 1 or any(x != x.strip(white) for x in (*whole, *documents)):
        notes.append(f"white space around documents {UNREAD}")
    return notes


def margins(which: str, texts: Iterable[str], unit: object) -> list[str]:
    """A note on white space that is in some texts, and in no token of this unit."""
    if UNITS.get(str(unit), unit) == "wordpunct":
        return [f"white space {UNREAD}"] if any(BLANK.search(x) for x in texts) else []
    around = UNITS.get(str(unit), unit) == SPACED_RULE and any(x != x.strip() for x in texts)
    return [f"white space around {which} {UNREAD}"] if around else []


def clauses(texts: Iterable[str]) -> list[str]:
    """A note if words cannot be told apart in these texts, judged by how they begin."""
    start = "".join(text[:SAMPLE] for text in islice(texts, TEXTS))
    torn = 2 * len(UNSPACED.findall(start)) > len(LETTER.findall(start)) > 0
    return [CLAUSES] if torn else []


def tables(texts: Sequence[str]) -> list[str]:
    """A note if a text looks like a table: every line has as many fields as the first."""
    if len(texts) != 1:
        return []
    lines = list(islice((line for line in texts[0].split("\n") if line.strip()), TEXTS))
    for mark, name in MARKS.items():
        form, few = ("tsv", 1) if mark == "\t" else ("csv", FEW)
        fields = {line.count(mark) for line in lines}
        if len(fields) == 1 and 0 not in fields and len(lines) > few:
            return [f"every line has as many {name}; if this is a table, use `format={form!r}`"]
    return []


def tokenize(unit: str) -> Tokenize:
    """The function that splits a document into tokens; the unit may be given as its rule."""
    rules: dict[str, Tokenize] = {"spaced": spaced, "wordpunct": WORD.findall, "char": list}
    if (rule := UNITS.get(unit, unit)) not in rules:  # of a folder, which may say anything
        raise OptionError("unit", unit, f"must be one of {', '.join(UNITS)}")
    return rules[rule]
