"""Recitations: every document to its end, files byte for byte, rows with given inputs."""

import json
from dataclasses import replace

import pytest

import byheart
from byheart.data.layout import Layout
from byheart.errors import ByheartError
from byheart.models.placing import fitting
from byheart.models.reciting import _check_sizes

BOOK = "the cat sat.\r\nThe dog\tran\n\n  and the cat ran. \n"


@pytest.fixture
def book(tmp_path):
    path = tmp_path / "book.txt"
    path.write_bytes(b"\xef\xbb\xbf" + BOOK.encode())
    return path


def compiled(path, method=None, options=None, **loading):
    return byheart.compile(byheart.load(path, **loading), method, **options or {})


@pytest.mark.parametrize(
    "loading",
    [{}, {"unit": "wordpunct"}, {"unit": "char"}, {"tokenizer": "bpe:300"}]
    + [{"documents": "whole", "window": "auto"}, {"documents": "line"}],
)
def test_texts_of_every_unit(book, tmp_path, loading):
    model = compiled(book, **loading)
    found = model.recite()
    assert found.files[0].content == book.read_bytes() and found.files[0].same
    assert found.text == str(found) == BOOK and not found.stopped and not found.rows
    model.save(tmp_path / "model")
    assert byheart.open(tmp_path / "model").recite() == found


@pytest.mark.parametrize("method", ["one-layer", "gpt2", "llama"])
def test_texts_of_every_kind(book, method):
    model = compiled(book, method, documents="line")
    assert model.recite().files[0].content == book.read_bytes()


def test_a_folder_of_texts(tmp_path):
    folder = tmp_path / "texts"
    (folder / "more").mkdir(parents=True)
    contents = {"a.txt": b"one two\r\nthree", "more/b.txt": b"\n four five ", "c.txt": b"lonely"}
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    found = compiled(folder).recite()
    assert {file.name: file.content for file in found.files} == contents
    assert found.documents == 2  # the lonely word is in no network, but in the layout


def test_token_ids_are_recited_as_rows(tmp_path):
    (tmp_path / "ids.bin").write_bytes(bytes([1, 0, 2, 0, 9, 0, 3, 0, 1, 0]))
    found = compiled(tmp_path / "ids.bin", separator=9).recite()
    assert found.rows and found.text == "[1, 2]\n[3, 1]\n"


def test_rows_need_their_inputs():
    data = byheart.load([("The capital of France is", "Paris"), ("The capital of Peru is", "Lima")])
    model = byheart.compile(data)
    with pytest.raises(ByheartError, match="not its inputs"):
        model.recite()
    found = model.recite(data)
    assert [json.loads(x)["label"] for x in found.text.splitlines()] == ["Paris", "Lima"]
    assert found.rows and found.documents == found.tokens == 2


def test_settled_conflicts_show_in_the_hash(tmp_path):
    path = tmp_path / "two.txt"
    path.write_text("a b c\na b c\na b d\n")
    relabelled = compiled(path, options={"on_conflict": "majority"}, documents="line").recite()
    assert relabelled.text == "a b c\na b c\na b c\n" and relabelled.files[0].same is False
    dropped = compiled(path, options={"on_conflict": "drop"}, documents="line")
    with pytest.raises(ByheartError, match="compile the file again"):
        dropped.recite()


def test_an_edited_text_is_recited_as_it_is_now(tmp_path):
    path = tmp_path / "lines.txt"
    path.write_text("one two three\nfour five\nsix seven\n")
    byheart.compile(byheart.load(path, documents="line"), editable=True).save(tmp_path / "old")
    byheart.forget(tmp_path / "old", path, ["four five"], output=tmp_path / "new")
    found = byheart.open(tmp_path / "new").recite()
    assert found.text == "one two three\nsix seven\n" and found.files[0].same is None


def test_a_folder_that_promises_too_much_is_refused(book):
    model = compiled(book, documents="line")
    for lengths in ([10**9] * 3, [2**38] * 3):
        layout = replace(model.record.layout, lengths=tuple(lengths))
        hostile = replace(model, record=replace(model.record, layout=layout))
        with pytest.raises(ByheartError, match="tokens|memory"):
            hostile.recite()
    ids = replace(model.record.layout, lengths=(2**38,), firsts=("the",), files=())
    with pytest.raises(ByheartError, match="memory"):
        replace(model, record=replace(model.record, layout=ids)).recite()


def test_a_first_token_that_the_model_does_not_know_stops(book):
    model = compiled(book, documents="line")
    layout = replace(model.record.layout, firsts=("nobody",) * 3)
    found = replace(model, record=replace(model.record, layout=layout)).recite()
    assert found.stopped == (1, 2, 3) and found.files[0].same is False
    assert Layout.read(layout.text) == layout


def test_a_step_reads_the_last_tokens_alone(tmp_path):
    """Each step of a long document must not go through all that came before."""

    class Long(list):
        def __iter__(self):
            raise AssertionError("the whole document is read")

    path = tmp_path / "text.txt"
    path.write_text("one two one three one two four one five")
    model = byheart.compile(byheart.load(path, documents="whole", window="auto"))
    said = Long(["one"] * 1000 + [" two", " four"])
    assert len(fitting(model, said)) == model.length < 10
    assert fitting(model, said)[-1] == " four"


def test_more_tokens_than_bytes_are_refused_before_they_are_asked_for(book):
    model = compiled(book, unit="char", documents="whole")
    layout = model.record.layout
    at_most = replace(layout, lengths=(layout.files[0].size,))
    assert _check_sizes(model, at_most) is None
    with pytest.raises(ByheartError, match="says that 50 bytes have 51 tokens"):
        _check_sizes(model, replace(layout, lengths=(layout.files[0].size + 1,)))
