"""diff: the parameters and bits that differ, and the answers."""

from fractions import Fraction

import numpy as np
import pytest

import byheart
from byheart.api.diff import diff
from byheart.data.dataset import Dataset
from byheart.exact.differ import flipped
from byheart.exact.network import Dyadic, dyadic

ROWS = [(["a", "b"], "x"), (["b", "b"], "y"), (["b", "a"], "y")]


def test_bits_by_hand():
    """5 = 101 and 6 = 110 differ in two bits; 1/2 and 5/8 in one; the sign is one."""
    pairs = ((5, 6, 2), (Fraction(1, 2), Fraction(5, 8), 1), (3, -3, 1), (0, 7, 3), (4, 4, 0))
    for one, two, bits in pairs:
        assert flipped(dyadic(one), dyadic(two)) == flipped(dyadic(two), dyadic(one)) == bits
    assert flipped(Dyadic(1, 100), Dyadic(1, -100)) == 2


@pytest.mark.parametrize("method", ["hash-fold-retrieve", "one-layer", "attention-only"])
def test_a_model_does_not_differ_from_itself(method):
    data = Dataset.from_rows(ROWS)
    model = byheart.compile(data, method)
    found = diff(model, model, data)
    assert (found.parameters, found.bits, found.answers, found.asked) == (0, 0, (), 3)
    counts = model.parameters
    whole = counts.nonzero if method == "hash-fold-retrieve" else counts.dense
    assert sum(stage.parameters for stage in found.stages) == whole


def test_what_an_edit_changed_is_found():
    data = Dataset.from_rows(ROWS)
    model = byheart.compile(data, editable=True)
    other = byheart.edit(model, data, change=[(["b", "a"], "x")]).model
    found = diff(model, other, data)
    assert found.answers == ((["b", "a"], "y", "x"),)
    assert found.parameters == len(found.places) == sum(stage.changed for stage in found.stages) > 0
    names = {stage.name for stage in found.stages if stage.changed}
    assert names <= {"store", "gate", "select"}  # stored numbers and nothing else
    assert found.json()["bits"] == found.bits


def test_a_decoder_is_compared_double_by_double():
    data = Dataset.from_rows(ROWS)
    model = byheart.compile(data, "one-layer")
    tensors = {name: tensor.copy() for name, tensor in model.network.tensors.items()}
    tensors["hidden.bias"][1] = np.nextafter(tensors["hidden.bias"][1], np.inf)
    other = type(model)(
        type(model.network)(model.network.shape, tensors), model.words, model.claim, model.record
    )
    found = diff(model, other)
    assert [tuple(place) for place in found.places] == [(2, "hidden.bias", 1, 0)]
    assert found.bits >= 1 and found.answers is None


def test_other_shapes_are_refused():
    data = Dataset.from_rows(ROWS)
    one = byheart.compile(data)
    for other in (byheart.compile(data, "one-layer"), byheart.compile(data, "bit-extraction")):
        with pytest.raises(byheart.ByheartError, match="different shapes"):
            diff(one, other)
