"""The public names: typed, documented, with examples that run."""

import doctest
import importlib
import inspect
import sys
from pathlib import Path

import pytest

import byheart

PACKAGE = Path(byheart.__file__).parent
WITH_EXAMPLES = sorted(
    ".".join(["byheart", *path.relative_to(PACKAGE).with_suffix("").parts]).removesuffix(
        ".__init__"
    )
    for path in PACKAGE.rglob("*.py")
    if ">>> " in path.read_text()
)
FUNCTIONS = [name for name in byheart.__all__ if inspect.isfunction(getattr(byheart, name))]


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_examples_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    failed, tried = doctest.testmod(importlib.import_module(name))
    assert tried and not failed


def test_the_public_names_are_listed():
    assert sorted(byheart.__all__) == byheart.__all__
    wanted = (
        "load compile verify open stats bounds compare explain tradeoff encoder measure methods"
    )
    assert set(wanted.split()) <= set(byheart.__all__)
    assert (PACKAGE / "py.typed").is_file()


def test_no_module_is_shadowed():
    """`import byheart.x` gives the module for every module at the root."""
    for path in PACKAGE.iterdir():
        name = path.stem
        if (path.suffix == ".py" or (path / "__init__.py").exists()) and name != "__init__":
            assert name not in byheart.__all__, name


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_public_function_is_documented(name):
    function = getattr(byheart, name)
    text = inspect.getdoc(function)
    assert text and text.partition("\n")[0].endswith("."), name
    for part in ("Args:", "Returns:", "Example:"):
        assert part in text, f"{name} has no {part}"
    hints = inspect.signature(function)
    assert hints.return_annotation is not inspect.Signature.empty, name
    for parameter in hints.parameters.values():
        assert parameter.annotation is not parameter.empty, f"{name}({parameter.name})"


def test_help_teaches():
    text = byheart.__doc__
    for name in ("load", "compile", "verify", "recall", "save", "open"):
        assert name in text
    assert "byheart" in sys.modules and text.partition("\n")[0].endswith(".")
