"""Dataset as a Python value: rows, frames and splits to datasets, iteration, slices, pictures."""

import doctest
import inspect

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from byheart.data import dataset as module
from byheart.data import load as loading
from byheart.data.arrays import occurs
from byheart.data.dataset import Dataset
from byheart.errors import ByheartError

ROWS = [(["the", "cat"], "sat"), (["the", "dog"], "ran"), (["cat"], "sat")]
words = st.lists(st.sampled_from("abc"), min_size=1, max_size=4)
rows = st.lists(st.tuples(words, st.sampled_from("xyz"), st.integers(1, 9)), min_size=1, max_size=9)


class Column(list):
    """A column of a data frame as pandas and polars have it."""

    def to_list(self):
        return list(self)


class Frame(dict):
    """A data frame, of which from_pandas needs columns by name."""

    @property
    def columns(self):
        return list(self)


class Split(list):
    """A datasets.Dataset, of which from_dataset needs rows."""

    column_names = ("text", "label")


@pytest.mark.parametrize("place", [module, loading])
def test_examples_of_docstrings(place):
    assert doctest.testmod(place).failed == 0


@given(rows=rows)
def test_a_dataset_is_a_sequence_of_pairs(rows):
    data = Dataset.from_rows(rows)
    assert list(data) == [(tokens, label) for tokens, label, count in rows]
    assert [data[i] for i in range(-len(rows), 0)] == list(data)
    for outside in (len(rows), -len(rows) - 1):
        with pytest.raises(IndexError):
            data[outside]


@given(
    rows=rows,
    start=st.integers(-10, 10),
    stop=st.integers(-10, 10),
    step=st.sampled_from([None, 1, 2, -1]),
)
def test_a_slice_is_the_dataset_of_its_rows(rows, start, stop, step):
    kept = rows[start:stop:step]
    part = Dataset.from_rows(rows)[start:stop:step]
    assert list(part) == [(tokens, label) for tokens, label, count in kept]
    if kept:
        assert part.sha256() == Dataset.from_rows(kept).sha256()


def test_labels_of_tokens_come_as_a_list():
    data = Dataset.from_rows([(["a", "b"], [1, 2]), ([], []), (["b"], [2])])
    assert list(data) == [(["a", "b"], [1, 2]), ([], []), (["b"], [2])]
    assert data[-1] == (["b"], [2]) and list(data[::2]) == [data[0], data[2]]
    assert repr(data) == (
        "<Dataset: 3 sequences of up to 2 tokens, 2 distinct strings, 2 labels, one per token>"
    )


def test_a_prefix_is_a_dataset_of_its_own():
    data = Dataset.from_rows([([1.5, 2], "x", 3), ([7, 8], "y"), ([2], "x")])
    assert data.prefix(1).tokens.tolist() == [[1.5], [2]] and data.prefix(1).counts.tolist() == [3]
    assert data.prefix(3).sha256() == data.sha256()
    for count in (0, -1, 4):
        with pytest.raises(ByheartError, match="from 1 to the 3 sequences"):
            data.prefix(count)


def test_html_is_escaped_and_short():
    data = Dataset.from_rows([([f"<b>{i}"], "a & b", i + 1) for i in range(20)])
    shown = data._repr_html_()
    assert "&lt;b&gt;0" in shown and "a &amp; b" in shown and "<b>" not in shown
    assert shown.count("<tr>") == 9 and "and 12 more" in shown and "<th>count</th>" in shown
    assert "<th>count</th>" not in Dataset.from_rows(ROWS)._repr_html_()


def test_frames():
    frame = Frame(
        text=Column(["the cat", "a dog!", "the, the"]),
        more=Column([["sat", "down"], ("ran",), np.array(["up"])]),
        label=Column(["x", "y", "x"]),
        seen=Column([1, 2, np.int64(3)]),
    )
    one = Dataset.from_pandas(frame, input="text", label="label")
    assert list(one)[1:] == [(["a", "dog", "!"], "y"), (["the", ",", "the"], "x")]
    both = Dataset.from_pandas(frame, input=["more", "text"], label="label", count="seen")
    assert both[0] == (["sat", "down", "the", "cat"], "x") and both.counts.tolist() == [1, 2, 3]


def test_numbers_and_vectors_of_frames():
    frame = Frame(a=Column([1, 2]), b=[2.5, 3.0], v=[[[1, 2]], [[3, 4], [5, 6]]], y=[0, 1])
    assert list(Dataset.from_pandas(frame, ["a", "b"], "y")) == [([1, 2.5], 0), ([2, 3], 1)]
    assert Dataset.from_pandas(frame, "v", "y")[1] == ([[3, 4], [5, 6]], 1)


@pytest.mark.parametrize(
    ("frame", "reason"),
    [
        (Frame(a=["x"], y=[1]), r"the frame has no column 'text'; its columns are 'a', 'y'"),
        (Frame(text=["a", " "], y=[1, 1]), "frame, row 2: the input is empty"),
        (Frame(text=["a", None], y=[1, 1]), "frame, row 2: a token is null"),
        (Frame(text=["a", float("nan")], y=[1, 1]), "frame, row 2: a number is infinite or not"),
        (Frame(text=["a", 3], y=[1, 1]), "frame, row 2: tokens of different kinds"),
        (Frame(text=["a"], y=[1.5]), "frame, row 1: the label is a number"),
        (Frame(text=[], y=[]), "frame holds no sequences"),
    ],
)
def test_bad_frames(frame, reason):
    with pytest.raises(ByheartError, match=reason):
        Dataset.from_pandas(frame, input="text", label="y")


def test_splits():
    split = Split([{"text": "the cat", "label": 3}, {"text": "a dog", "label": 4}])
    data = Dataset.from_dataset(split, input="text", label="label")
    assert list(data) == [(["the", "cat"], 3), (["a", "dog"], 4)]
    with pytest.raises(ByheartError, match="row 1: there is no column 'name'; .* 'text', 'label'"):
        Dataset.from_dataset(split, input="name", label="label")
    with pytest.raises(ByheartError, match="several splits cannot be read; give one of train"):
        Dataset.from_dataset({"train": split}, input="text", label="label")


def test_real_frames():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"text": ["the cat", "the dog"], "y": [1, 2]})
    assert list(Dataset.from_pandas(frame, "text", "y")) == [
        (["the", "cat"], 1),
        (["the", "dog"], 2),
    ]


def test_real_polars_frames():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"tokens": [["the", "cat"], ["dog"]], "y": [1, 2]})
    assert list(Dataset.from_pandas(frame, "tokens", "y")) == [(["the", "cat"], 1), (["dog"], 2)]


def test_real_splits():
    datasets = pytest.importorskip("datasets")
    split = datasets.Dataset.from_dict({"text": ["the cat", "the dog"], "y": [1, 2]})
    assert list(Dataset.from_dataset(split, "text", "y")) == [
        (["the", "cat"], 1),
        (["the", "dog"], 2),
    ]


def test_the_table_of_options_is_the_signature_of_load():
    parameters = inspect.signature(loading.load).parameters
    defaults = {option.name: option.default for option in loading.LOADING}
    assert defaults == {name: p.default for name, p in parameters.items() if name != "path"}
    for option in loading.LOADING:
        assert option.help.endswith(".") and set(option.files) <= set(loading.READERS)
        assert option.default in (None, ()) or option.default in option.choices


def test_numbers_that_occur(monkeypatch):
    values = np.array([[3, 1, 3], [5, 1, 0]])
    for block in (1, 2, 100):
        monkeypatch.setattr("byheart.data.arrays.BLOCK", block)
        assert np.flatnonzero(occurs(values)).tolist() == [0, 1, 3, 5]
        assert np.flatnonzero(occurs(values[:, 1])).tolist() == [1]
