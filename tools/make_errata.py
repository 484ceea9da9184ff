"""Write docs/errata.md from the docstrings of the tests in tests/errata.

python tools/make_errata.py
"""

import ast
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "errata.md"
TESTS = ROOT / "tests" / "errata"
ERRATUM = ("Statement", "Counterexample", "Repair", "Still holds")
PARTS = {  # of each kind, in the order of the page
    "false as stated": ERRATUM,
    "proof needs repair": ERRATUM,
    "remark": ("Statement", "Remark", "Here"),
}
PAPERS = {
    "madden2024": "Madden, Fox and Thrampoulidis (madden2024)",
    "dana2024": "Dana, Pydi and Chevaleyre (dana2024)",
    "kajitsuka2025": "Kajitsuka and Sato (kajitsuka2025)",
}
INTRODUCTION = """# Errata

What we found in the papers while building what they prove. Each entry is a test that computes its
counterexample or its numbers, and this page is generated from those tests by
`tools/make_errata.py`. Few entries affect a main theorem: *still holds* names what remains true.
How our constructions deal with them is listed under *Departures* on the
[page of methods](methods.md).

"""
SECTIONS = {
    "false as stated": """## False as stated

Statements of the papers, theorems or claims in the text, that do not hold as they are printed.
""",
    "proof needs repair": """## The proof needs repair

A step of a proof is wrong, and the statement is not refuted: in most cases it holds by the repair.
""",
    "remark": """## Remarks

Nothing false, but something to know before computing with it.
""",
}


class Erratum(NamedTuple):
    """An entry of the page: its kind, its parts, and the test that shows it."""

    title: str
    kind: str
    parts: dict[str, str]
    test: str


def page() -> str:
    """The number of entries of each kind, and one section per kind, by paper."""
    found = {paper: errata(TESTS / f"test_{paper}.py") for paper in PAPERS}
    counts = [
        f"| {PAPERS[paper]} | "
        + " | ".join(str(sum(x.kind == kind for x in several)) for kind in PARTS)
        + f" | `tests/errata/test_{paper}.py` |"
        for paper, several in found.items()
    ]
    lines = [
        f"| paper | {' | '.join(PARTS)} | tests |",
        "| --- |" + " ---: |" * len(PARTS) + " --- |",
    ]
    lines += [*counts, ""]
    for kind in PARTS:
        lines.append(SECTIONS[kind])
        for paper, several in found.items():
            of_kind = [erratum for erratum in several if erratum.kind == kind]
            lines += [f"### {PAPERS[paper]}", ""] if of_kind else []
            for erratum in of_kind:
                parts = [f"- **{part}**: {escaped(text)}" for part, text in erratum.parts.items()]
                lines += [f"#### {escaped(erratum.title)}", "", *parts, "", f"`{erratum.test}`", ""]
    return INTRODUCTION + "\n".join(lines)


def errata(path: Path) -> list[Erratum]:
    """The tests of a file whose docstrings have a kind, in their order there.

    Such a docstring is a title, an empty line, its kind, and paragraphs that begin with the names
    of the parts of that kind.
    """
    found = []
    for function in ast.parse(path.read_text()).body:
        if not isinstance(function, ast.FunctionDef) or not function.name.startswith("test_"):
            continue
        text = ast.get_docstring(function) or ""
        if "Statement:" not in text:
            continue
        title, _, first, *lines = text.splitlines()
        kind = first.removeprefix("Kind: ")
        assert kind in PARTS, f"{function.name} begins with {first!r} and has no kind"
        parts: dict[str, str] = {}
        part = ""
        for line in lines:
            head, colon, rest = line.partition(": ")
            if colon and head in {name for names in PARTS.values() for name in names}:
                part, line = head, rest
            parts[part] = f"{parts[part]} {line}" if part in parts else line
        assert tuple(parts) == PARTS[kind], f"{function.name} has the parts {tuple(parts)}"
        found.append(Erratum(title, kind, parts, function.name))
    return found


def escaped(text: str) -> str:
    """The text as Markdown shows it literally."""
    for sign in ("\\", "*", "_", "<"):
        text = text.replace(sign, f"\\{sign}")
    return text


if __name__ == "__main__":
    PAGE.write_text(page())
