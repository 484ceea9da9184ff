"""Targets: what follows each context, counted."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import byheart
from byheart.data.contexts import contexts
from byheart.data.load import from_rows
from byheart.data.targets import targets
from byheart.errors import ByheartError
from byheart.softmax.decoder import Decoder, Shape

ROWS = [(["a", "b"], "c"), (["a", "b"], "a"), (["b"], "a"), (["a", "b"], "c")]


def made(rows):
    dataset = from_rows(rows)
    return targets(dataset, contexts(dataset, positions=True))


def test_by_hand():
    found = made(ROWS)
    assert found.vocabulary == ("a", "b", "c")
    assert found.tokens.tolist() == [0, 1, 1] and found.starts.tolist() == [0, 2, 3]
    assert found.following.tolist() == [0, 2, 0] and found.ends.tolist() == [0, 2, 3]
    assert found.counts.tolist() == [1, 2, 1]
    assert found.weight.tolist() == [3, 1] and found.support.tolist() == [2, 1]
    assert found.probabilities.tolist() == [1 / 3, 2 / 3, 1]
    assert found.entropy == pytest.approx(math.log(3) + 2 * math.log(1.5))
    assert found.accuracy(np.array([2, 0])) == 3 / 4
    assert found.accuracy(np.array([1, 1])) == 0


def test_padded():
    found = made(ROWS).padded(7, 3)
    assert found.tokens.tolist() == [7, 0, 1, 7, 7, 1] and found.starts.tolist() == [0, 3, 6]


@given(
    st.lists(
        st.tuples(st.lists(st.integers(0, 3), min_size=1, max_size=3), st.integers(0, 5)),
        min_size=1,
        max_size=40,
    )
)
def test_it_counts(rows):
    found = made(rows)
    seen = set()
    for i in range(len(found)):
        tokens = [found.vocabulary[t] for t in found.tokens[found.starts[i] : found.starts[i + 1]]]
        labels = [label for row, label in rows if row == tokens]
        here = slice(found.ends[i], found.ends[i + 1])
        names = [found.vocabulary[j] for j in found.following[here]]
        assert dict(zip(names, found.counts[here].tolist(), strict=True)) == {
            label: labels.count(label) for label in labels
        }
        assert (np.diff(found.following[here]) > 0).all()
        seen.add(tuple(tokens))
    assert seen == {tuple(row) for row, _ in rows}
    kept = found.subset(np.array([len(found) - 1]))
    assert kept.counts.sum() == found.weight[-1] and kept.vocabulary == found.vocabulary


def test_numbers_that_are_no_integers_are_not_in_the_vocabulary():
    model = byheart.compile(from_rows([([1], 2), ([2], 1)]), method="one-layer")
    answer = byheart.verify(model, from_rows([([1.5], 2), ([2], 1)]))
    assert answer.evidence is None and not answer.holds and "1.5" in answer.failures[0]


def test_a_decoder_holds_doubles_or_dyadic_numbers():
    shape = Shape(2, 1, 1, "token_sum", 0, 0, 0, False, 1, "tanh")
    tensors = {name: np.zeros(sizes, np.float32) for name, sizes in shape.tensors.items()}
    with pytest.raises(AssertionError, match="float32"):
        Decoder(shape, tensors)


def test_tensors_lie_row_after_row():
    """safetensors writes the memory of an array, whatever its strides are."""
    shape = Shape(3, 2, 1, "token_sum", 0, 0, 0, False, 4, "tanh")
    tensors = {name: np.zeros(sizes[::-1]).T for name, sizes in shape.tensors.items()}
    found = Decoder(shape, tensors).tensors
    assert all(tensor.flags.c_contiguous for tensor in found.values())


@pytest.mark.parametrize("token", [math.inf, -math.inf, math.nan, 1.5, "1", True])
def test_a_model_of_integers_reads_nothing_else(token):
    model = byheart.compile(from_rows([([1], 2), ([2], 1)]), method="one-layer")
    with pytest.raises(ByheartError, match="reads integers"):
        model.recall([token])
    assert model.recall([10**400]) is None
