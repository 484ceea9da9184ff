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
        "load compile verify open stats bounds compare explain tradeoff encoder measure methods "
        "audit"
    )
    assert set(wanted.split()) <= set(byheart.__all__)
    assert (PACKAGE / "py.typed").is_file()


def test_no_module_is_shadowed():
    """`import byheart.x.y` gives the module, in every package."""
    for path in PACKAGE.rglob("__init__.py"):
        name = ".".join(("byheart", *path.parent.relative_to(PACKAGE).parts))
        package = importlib.import_module(name)
        inside = {x.stem for x in path.parent.iterdir() if x.suffix == ".py" or x.is_dir()}
        for each in inside - {"__init__", "__pycache__"}:
            held = vars(package).get(each)
            assert held is None or inspect.ismodule(held), f"{name}.{each}"
            assert each not in getattr(package, "__all__", ()), f"{name}.{each}"


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


DATA = byheart.Dataset.from_rows([(["a", "b"], "x"), (["b", "b"], "y")])


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda m: byheart.verify(m, DATA, engine="gpu"), "engine must be one of auto"),
        (lambda m: byheart.verify(m, DATA, sample=0), "sample must be an integer of at least 1"),
        (lambda m: byheart.verify(m, DATA, prove_limit=-1), "prove_limit must be"),
        (lambda m: byheart.verify(DATA, m), "verify takes a Model"),
        (lambda m: byheart.verify(m, "data.jsonl"), "data.jsonl does not exist"),
        (lambda m: byheart.verify(m, 5), "the data is int, .* give a path, a data frame"),
        (lambda m: byheart.verify(m, DATA, length=3), "loaded already, so length=... does not"),
        (lambda m: byheart.verify(m, DATA[:0]), "the data has no sequences"),
        (lambda m: byheart.compile(DATA, seed="x"), "seed must be an integer"),
        (lambda m: byheart.compile(DATA, seed=-1), "seed must be an integer"),
        (lambda m: byheart.compile(DATA, positions="yes"), "positions must be True or False"),
        (lambda m: byheart.compile(DATA, byheart.methods.OneLayer), "give a method"),
        (lambda m: byheart.compile(DATA[:0]), "the data has no sequences"),
        (lambda m: byheart.stats(DATA[:0]), "the data has no sequences"),
        (lambda m: byheart.stats(DATA, unit="char"), "unit must go with the path of a file"),
        (lambda m: byheart.stats(5), "the data is int, .* give a path, a data frame"),
        (lambda m: byheart.compare("data.jsonl"), "data.jsonl does not exist"),
        (lambda m: byheart.encoder(DATA[:0]), "the data has no sequences"),
        (lambda m: byheart.tradeoff("data.jsonl"), "data.jsonl does not exist"),
        (lambda m: byheart.explain("one-layer"), "explain takes a Model"),
        (lambda m: m.answers("a b"), "answers takes a list of questions, such as"),
        (lambda m: m.recall(5), "a question is text or a list of tokens"),
        (lambda m: m.trace(5), "a question is text or a list of tokens"),
    ],
)
def test_wrong_arguments_are_one_sentence(call, says):
    with pytest.raises(byheart.ByheartError, match=says) as refusal:
        call(byheart.compile(DATA))
    assert str(refusal.value).endswith(".")


def test_a_table_says_in_which_direction_a_bound_holds():
    shown = repr(byheart.compare(DATA))
    assert "≥ " in shown and "≤ " in shown and shown.startswith("sequences 2, contexts 2")


ROWS = [{"title": "Emma", "author": "Austen"}, {"title": "Dracula", "author": "Stoker"}]


def test_a_frame_is_compiled_in_one_line_and_every_verb_takes_what_load_takes():
    pandas = pytest.importorskip("pandas")
    frame, columns = pandas.DataFrame(ROWS), {"input": "title", "label": "author"}
    model = byheart.compile(frame, **columns)
    assert model.recall("Emma") == "Austen" and "proved on 2 sequences" in repr(model)
    for verb in (byheart.compare, byheart.bounds, byheart.tradeoff, byheart.size, byheart.stats):
        assert verb(frame, **columns).json()
    found = byheart.compare(frame, **columns).to_pandas()
    assert {"name", "parameters", "stores"} <= set(found.columns) and len(found) > 20
    assert len(byheart.bounds(frame, **columns).to_pandas()) > 20
    assert len(byheart.size(frame, **columns).to_pandas()) == 4
    with pytest.raises(byheart.ByheartError, match="must go with the path"):
        byheart.compile(byheart.load(frame, **columns), input="title")


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda m: byheart.compile([("a", "b")], on_conflicts="drop"), "did you mean on_conflict="),
        (lambda m: byheart.compare(ROWS, inptu="title"), "did you mean input="),
        (lambda m: byheart.size(ROWS, on_conflct="drop"), "did you mean on_conflict="),
        (lambda m: m.recall(["The Godfather", "Inception"]), r"model.answers\(\[...\]\) asks many"),
    ],
)
def test_what_was_meant_is_named(call, says):
    model = byheart.compile(ROWS, input="title", label="author")
    with pytest.raises(byheart.ByheartError, match=says):
        call(model)
    assert model.recall(["nobody"]) is None  # one unknown word is an answer
