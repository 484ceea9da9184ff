"""bounds in Python: its arguments, its result, and what it refuses."""

import json
import re

import pytest

import byheart
from byheart.data.load import load_documents, write_jsonl
from byheart.errors import AssumptionError, ByheartError

ROWS = [(["a", "b"], "x"), (["b", "a"], "y"), (["b", "b"], "x")]


@pytest.fixture
def data():
    return byheart.from_rows(ROWS)


def test_a_dataset_and_its_file_have_the_same_bounds(data, tmp_path):
    write_jsonl(data, tmp_path / "x.jsonl")
    first, second = byheart.bounds(data), byheart.bounds(tmp_path / "x.jsonl")
    assert first.rows == second.rows and first.dataset.name is None
    assert second.dataset.name == "x.jsonl" and first.dataset.contexts == 3


def test_documents_and_their_file_have_the_same_bounds(tmp_path):
    path = tmp_path / "x.txt"
    path.write_text("a b c a b\n\nb c\n")
    documents = load_documents(path, documents="blank")
    found = byheart.bounds(documents, bits=8)
    assert found.rows == byheart.bounds(path, bits=8, loading={"documents": "blank"}).rows
    assert found.rows == byheart.bounds(str(path), bits=8).rows


def test_the_result(data):
    found = byheart.bounds(data, "madden2024", width=3, tables=True)
    assert found.verdict.fits == "yes" and found.verdict.reason.endswith(".")
    assert found.architecture.parameters == found.json()["architecture"]["parameters"]
    assert len(found.tables) == 2 and "memory capacity" in found.definitions
    answer = json.loads(json.dumps(found.json(), allow_nan=False))
    assert set(answer) == {
        *("dataset", "architecture", "rows", "effective", "verdict", "definitions", "tables"),
        *("network", "models", "picture"),
    }
    assert answer["rows"][0] == found.rows[0].json()
    with pytest.raises(AttributeError):
        found.verdict = None


def test_the_effective_rank():
    found = byheart.bounds(
        architecture="madden2024", vocabulary=3, length=2, dimension=2, width=2, effective=True
    )
    assert found.effective.rank <= found.effective.parameters
    assert found.json()["effective"]["evidence"] == "observed"


def test_what_is_shown(data, tmp_path):
    write_jsonl(data, tmp_path / "<b>.jsonl")
    found = byheart.bounds(tmp_path / "<b>.jsonl", "gpt2")
    assert repr(found).startswith("Bounds for <b>.jsonl and gpt2 (likely to fit)\n")
    assert re.search(
        r"≥ 3 +parameters \(distributions\) +Madden et al. \(2024\), Lemma 1", repr(found)
    )
    shown = found._repr_html_()
    assert "&lt;b&gt;.jsonl" in shown and "<b>" not in shown
    assert "3 contexts" in repr(byheart.bounds(data)) and "Bounds" in repr(
        byheart.bounds(tables=True)
    )
    assert "500 parameters" in repr(byheart.bounds(parameters=500))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "give a dataset, .* or tables=True."),
        ({"width": None}, "give a dataset"),
        ({"parameters": 5, "wide": 3}, "no size 'wide'"),
        ({"dimension": "4"}, "dimension must be an integer of 1 or more, not '4'"),
        ({"dimension": 0}, "dimension must be an integer of 1 or more, not 0"),
        ({"parameters": 2.5}, "parameters must be an integer"),
        ({"parameters": 10**400}, "parameters must be at most 10.60"),
        ({"heads": -1}, "heads must be an integer of 0 or more, not -1"),
        ({"attention": "sharp"}, "attention must be one of softmax, hard, uniform, not 'sharp'"),
        ({"tables": True, "effective": True}, "effective=True is about an architecture"),
        ({"parameters": 5, "effective": True}, "A1 fails: .* decoders of one layer"),
    ],
)
def test_refusals(given, message):
    with pytest.raises(ByheartError, match=message):
        byheart.bounds(**given)


def test_an_activation_that_is_not_analytic():
    sizes = {"vocabulary": 3, "length": 2, "dimension": 2, "activation": "relu"}
    with pytest.raises(AssumptionError, match="decoders of one layer"):
        byheart.bounds(**sizes, effective=True)
