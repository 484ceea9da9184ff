"""Write docs/errata.md from the docstrings of the tests in tests/errata.

python tools/make_errata.py
"""

import ast
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "errata.md"
TESTS = ROOT / "tests" / "errata"
PARTS = ("Statement", "Counterexample", "Repair", "Still holds")
PAPERS = {
    "madden2024": "Madden, Fox and Thrampoulidis (madden2024)",
    "dana2024": "Dana, Pydi and Chevaleyre (dana2024)",
    "kajitsuka2025": "Kajitsuka and Sato (kajitsuka2025)",
}
INTRODUCTION = """# Errata

Statements of the papers that we found to be false, or true only under further assumptions. Each is
a test that computes its counterexample, and this page is generated from those tests by
`tools/make_errata.py`. Few of them affect a main theorem: *still holds* names what remains true.
How our constructions deal with them is listed under *Departures* on the
[page of methods](methods.md).
"""


class Erratum(NamedTuple):
    """A false statement, by its parts, and the test that shows it."""

    title: str
    parts: dict[str, str]
    test: str


def page() -> str:
    """A list of all errata, and one section per paper."""
    found = {paper: errata(TESTS / f"test_{paper}.py") for paper in PAPERS}
    listed = [
        f"- {PAPERS[paper]}: {len(errata)}, in `tests/errata/test_{paper}.py`"
        for paper, errata in found.items()
    ]
    sections = []
    for paper, several in found.items():
        sections += [f"## {PAPERS[paper]}", ""]
        for erratum in several:
            parts = [f"- **{part}**: {escaped(text)}" for part, text in erratum.parts.items()]
            sections += [f"### {escaped(erratum.title)}", "", *parts, "", f"`{erratum.test}`", ""]
    return "\n".join([INTRODUCTION, *listed, "", *sections])


def errata(path: Path) -> list[Erratum]:
    """The tests of a file whose docstrings have the four parts, in their order there.

    Such a docstring is a title, an empty line, and paragraphs that begin with the parts' names.
    """
    found = []
    for function in ast.parse(path.read_text()).body:
        if not isinstance(function, ast.FunctionDef) or not function.name.startswith("test_"):
            continue
        text = ast.get_docstring(function) or ""
        if f"{PARTS[0]}:" not in text:
            continue
        title, _, *lines = text.splitlines()
        parts: dict[str, str] = {}
        part = ""
        for line in lines:
            head, colon, rest = line.partition(": ")
            if colon and head in PARTS:
                part, line = head, rest
            parts[part] = f"{parts[part]} {line}" if part in parts else line
        assert tuple(parts) == PARTS, f"{function.name} has the parts {tuple(parts)}"
        found.append(Erratum(title, parts, function.name))
    return found


def escaped(text: str) -> str:
    """The text as Markdown shows it literally."""
    for sign in ("\\", "*", "_", "<"):
        text = text.replace(sign, f"\\{sign}")
    return text


if __name__ == "__main__":
    PAGE.write_text(page())
