"""Order counts for words by default; a model that does not see it says what that loses."""

import json

import pytest

import byheart
from byheart.api.configure import with_positions
from byheart.cli import main
from byheart.constructions import find
from byheart.data.load import from_rows, load

ROWS = [
    ("Bosnia and Herzegovina", "Sarajevo"),
    ("Herzegovina and Bosnia", "Athenai"),
    ("Oman", "x"),
]


def test_words_are_sequences():
    model = byheart.compile(ROWS)
    assert model.network.input.positions
    assert [model.recall(question) for question, _ in ROWS] == [label for _, label in ROWS]


@pytest.mark.parametrize(
    ("data", "counts"),
    [
        (from_rows([(["a", "b"], "x")]), True),
        (from_rows([([1, 2], "x")]), False),
        (from_rows([([[1.5, 2.0]], "x")]), False),
        (load([{"a": 1.5, "b": 2.5, "y": 0}], input=["a", "b"], label="y"), False),
        (load([{"a": 1, "b": 2, "y": 0}], input=["a", "b"], label="y", numeric="tokens"), True),
    ],
)
def test_which_data_has_an_order(data, counts):
    construction = find("hash-fold-retrieve", None)
    assert with_positions(construction, data).positions is counts


def test_the_ids_of_a_corpus_have_an_order(tmp_path):
    path = tmp_path / "d.bin"
    path.write_bytes(b"\1\0\2\0\3\0")
    assert with_positions(find("hash-fold-retrieve", None), load(path)).positions


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--no-positions",), "--positions distinguishes them"),
        (("--method", "deep-sets"), "deep-sets (small) cannot distinguish them"),
    ],
)
def test_what_does_not_see_order_says_so_where_it_matters(tmp_path, capsys, options, says):
    path = tmp_path / "d.jsonl"
    tokens = [["a", "b", "c"], ["b", "a", "c"], ["c", "c"]]
    path.write_text("".join(json.dumps({"input": x, "label": "y"}) + "\n" for x in tokens))
    assert main(["compile", str(path), "-o", str(tmp_path / "m"), *options, "--json"]) == 0
    (note,) = json.loads(capsys.readouterr().out)["reading_notes"]
    assert note == f"1 context differs from others only in the order of words; {says}"
    assert main(["compile", str(path), "-o", str(tmp_path / "n"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["reading_notes"] == []
