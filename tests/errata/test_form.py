"""Every erratum has a title and the four parts, in order: a page of the docs is made of them."""

import ast
from pathlib import Path

import pytest

PARTS = ["Statement", "Counterexample", "Repair", "Still holds"]
FILES = sorted(Path(__file__).parent.glob("test_*2*.py"))


def errata(path):
    """The docstrings of tests that have a part."""
    functions = (x for x in ast.parse(path.read_text()).body if isinstance(x, ast.FunctionDef))
    texts = (ast.get_docstring(x) or "" for x in functions if x.name.startswith("test_"))
    return [text for text in texts if "Statement:" in text]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_form(path):
    found = errata(path)
    assert len(found) >= 7
    for text in found:
        title, blank, *lines = text.splitlines()
        assert title and not title.endswith(".") and not blank
        named = [line.partition(":")[0] for line in lines if ":" in line]
        assert [name for name in named if name in PARTS] == PARTS, title
        assert named[0] == lines[0].partition(":")[0] == PARTS[0]
    assert len({text.splitlines()[0] for text in found}) == len(found)
