"""Dataset as a Python value: rows, iteration, slices, pictures."""

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


def test_the_table_of_options_is_the_signature_of_load():
    parameters = inspect.signature(loading.load).parameters
    defaults = {option.name: option.default for option in loading.LOADING}
    assert defaults == {name: p.default for name, p in parameters.items() if name != "data"}
    for option in loading.LOADING:
        assert option.help.endswith(".") and set(option.files) <= set(loading.READERS)
        assert option.default in (None, ()) or option.default in option.choices


def test_numbers_that_occur(monkeypatch):
    values = np.array([[3, 1, 3], [5, 1, 0]])
    for block in (1, 2, 100):
        monkeypatch.setattr("byheart.data.arrays.BLOCK", block)
        assert np.flatnonzero(occurs(values)).tolist() == [0, 1, 3, 5]
        assert np.flatnonzero(occurs(values[:, 1])).tolist() == [1]
