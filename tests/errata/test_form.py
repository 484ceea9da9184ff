"""Every erratum has a title, a kind and the parts of that kind: a page of the docs shows them."""

import ast
from pathlib import Path

import pytest

LATER = "Later version"
ERRATUM = ["Statement", "Counterexample", "Repair", "Still holds", LATER]
PARTS = {
    "false as stated": ERRATUM,
    "proof needs repair": ERRATUM,
    "remark": ["Statement", "Remark", "Here", LATER],
}
VERDICTS = ("same", "changed", "withdrawn", "not seen")
FILES = sorted(Path(__file__).parent.glob("test_*2*.py"))


def errata(path):
    """The docstrings of tests that have a part."""
    functions = (x for x in ast.parse(path.read_text()).body if isinstance(x, ast.FunctionDef))
    texts = (ast.get_docstring(x) or "" for x in functions if x.name.startswith("test_"))
    return [text for text in texts if "Statement:" in text]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_form(path):
    found = errata(path)
    assert found
    for text in found:
        title, blank, first, *lines = text.splitlines()
        assert title and not title.endswith(".") and not blank
        parts = PARTS[first.removeprefix("Kind: ")]
        named = [line.partition(":")[0] for line in lines if ":" in line]
        known = {name for names in PARTS.values() for name in names}
        assert [name for name in named if name in known] == parts, title
        assert named[0] == lines[0].partition(":")[0] == parts[0]
        (later,) = (line for line in lines if line.startswith(f"{LATER}: "))
        assert later.removeprefix(f"{LATER}: ").startswith(VERDICTS), title
    assert len({text.splitlines()[0] for text in found}) == len(found)


def test_every_kind_occurs():
    """A page with three parts, none of them empty."""
    texts = [text for path in FILES for text in errata(path)]
    kinds = {text.splitlines()[2].removeprefix("Kind: ") for text in texts}
    assert kinds == PARTS.keys()
