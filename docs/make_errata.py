"""Write docs/errata.md from the docstrings of the tests in tests/errata.

python docs/make_errata.py
"""

import ast
from pathlib import Path
from typing import NamedTuple

PAGE = Path(__file__).parent / "errata.md"
TESTS = Path(__file__).parents[1] / "tests" / "errata"
PARTS = ("Statement", "Counterexample", "Repair", "Still holds")
PAPERS = {
    "madden2024": "Madden, Fox and Thrampoulidis (madden2024)",
    "dana2024": "Dana, Pydi and Chevaleyre (dana2024)",
    "kajitsuka2025": "Kajitsuka and Sato (kajitsuka2025)",
}
INTRODUCTION = """# Errata

Statements of the papers that we found false, or true only with more than they say. Each is a test
that computes its counterexample, and this page is written from those tests by
`docs/make_errata.py`. Few of them touch a main theorem: *still holds* says what stays. How our
constructions deal with them is under *Departures* on the [page of methods](methods.md).
"""


class Erratum(NamedTuple):
    """What is wrong, by its parts, and the test that shows it."""

    title: str
    parts: dict[str, str]
    test: str


def page() -> str:
    """A list of all, and a section a paper."""
    found = {paper: errata(TESTS / f"test_{paper}.py") for paper in PAPERS}
    listed = [
        f"- {PAPERS[paper]}: {len(errata)}, in `tests/errata/test_{paper}.py`"
        for paper, errata in found.items()
    ]
    sections = [_section(PAPERS[paper], errata) for paper, errata in found.items()]
    return "\n".join([INTRODUCTION, *listed, "", *sections])


def errata(path: Path) -> list[Erratum]:
    """The tests of a file whose docstrings have the four parts, in their order there."""
    functions = [x for x in ast.parse(path.read_text()).body if isinstance(x, ast.FunctionDef)]
    texts = [(x.name, ast.get_docstring(x) or "") for x in functions if x.name.startswith("test_")]
    return [_erratum(name, text) for name, text in texts if f"{PARTS[0]}:" in text]


def _erratum(name: str, text: str) -> Erratum:
    """A title, an empty line, and paragraphs that begin with the names of the parts."""
    title, _, *lines = text.splitlines()
    parts: dict[str, str] = {}
    part = ""
    for line in lines:
        head, colon, rest = line.partition(": ")
        if colon and head in PARTS:
            part, line = head, rest
        parts[part] = f"{parts[part]} {line}" if part in parts else line
    assert tuple(parts) == PARTS, f"{name} has the parts {tuple(parts)}"
    return Erratum(title, parts, name)


def _section(paper: str, errata: list[Erratum]) -> str:
    return "\n".join([f"## {paper}", "", *(_entry(erratum) for erratum in errata)])


def _entry(erratum: Erratum) -> str:
    parts = [f"- **{part}**: {_shown(text)}" for part, text in erratum.parts.items()]
    return "\n".join([f"### {_shown(erratum.title)}", "", *parts, "", f"`{erratum.test}`", ""])


def _shown(text: str) -> str:
    """Text in which Markdown finds nothing to set: signs of formulas are only signs."""
    for sign in ("\\", "*", "_", "<"):
        text = text.replace(sign, f"\\{sign}")
    return text


if __name__ == "__main__":
    PAGE.write_text(page())
