"""Labels by attention alone, with fewer heads than interpolation needs."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import byheart
from byheart.data.load import from_rows
from byheart.errors import AssumptionError

METHOD = "attention-only-argmax"


def compiled(rows, **options):
    return byheart.compile(from_rows(rows), method=METHOD, **options)


def pairs(count, vocabulary=20, seed=0):
    random = np.random.default_rng(seed)
    chosen = random.permutation(vocabulary**2)[:count]
    return [
        ([f"w{i // vocabulary}", f"w{i % vocabulary}"], f"w{random.integers(vocabulary)}")
        for i in chosen.tolist()
    ]


def proved(model):
    verified = model.record.verification
    assert verified.evidence == "proved" and verified.fit.max <= model.claim.gap
    assert verified.fit.accuracy == 1


@st.composite
def associations(draw):
    tokens = st.lists(st.sampled_from("abcd"), min_size=1, max_size=3).map(tuple)
    found = draw(st.dictionaries(tokens, st.sampled_from("abxy"), min_size=2, max_size=20))
    return [(list(tokens), label) for tokens, label in [*found.items(), (("z",), "a")]]


@settings(max_examples=8, deadline=None)
@given(rows=associations(), exponent=st.integers(-10, -1))
def test_labels_are_kept(rows, exponent):
    """G1, and G2: no more heads than interpolation needs."""
    model = compiled(rows, gap=10.0**exponent)
    proved(model)
    assert all(model.recall(tokens) == label for tokens, label in rows)
    full = byheart.compile(from_rows(rows), method="attention-only").network.shape
    assert model.network.shape.heads <= full.heads
    shape = model.network.shape
    N, S, d, d_h, H = (
        shape.vocabulary, shape.length, shape.dimension, shape.value_dimension, shape.heads
    )  # fmt: skip
    assert shape.parameters == d * (S + 2 * N + 4 * d_h * H)


def test_by_hand():
    """Two labels, by the last token alone: one head of one dimension does for 9 contexts."""
    rows = [([a, b], "even" if b == 2 else "odd") for a in (1, 2, 3) for b in (1, 2, 3)]
    model = compiled(rows, dimension=4, head_dimension=1)
    proved(model)
    assert model.network.shape.heads <= 4
    assert model.recall([3, 2]) == "even" and model.recall([2, 3]) == "odd"


def test_fewer_heads_than_interpolation():
    """Half of the heads at most, and the notes say that it is an upper bound."""
    model = compiled(pairs(120), dimension=8)
    proved(model)
    said = re.search(
        r"smallest H found: (\d+) for 120 contexts \(attention-only: 15\), an upper bound",
        model.record.notes[0],
    )
    assert int(said.group(1)) == model.network.shape.heads <= 7
    assert "observed in float32" in model.record.notes[-1]


def test_heads_that_are_named():
    assert compiled(pairs(60), dimension=8, heads=6).network.shape.heads == 6
    with pytest.raises(AssumptionError, match="A3 fails: with 1 heads .* of 60 labels .* heads="):
        compiled(pairs(60), dimension=8, heads=1)


def test_two_dimensions():
    model = compiled(pairs(20, 5), dimension=2)
    proved(model)


def test_several_labels_are_refused():
    with pytest.raises(AssumptionError, match="A1 fails: contexts with several labels: 1;"):
        compiled([(["a", "b"], "x"), (["a", "b"], "y"), (["b", "b"], "x")])
    with pytest.raises(AssumptionError, match="A1 fails"):
        compiled([(["a", "a"], "a")])


def test_sizes_are_refused():
    with pytest.raises(AssumptionError, match="A2 fails: heads of dimension 3"):
        compiled(pairs(10), dimension=2, head_dimension=3)
    with pytest.raises(AssumptionError, match="use dimension 2"):
        compiled(pairs(10), dimension=1)


def test_the_seed_decides():
    rows = pairs(20)
    assert compiled(rows, seed=1).network == compiled(rows, seed=1).network
    assert compiled(rows, seed=1).network != compiled(rows, seed=2).network


def test_different_lengths():
    rows = [(["a"], "x"), (["a", "a"], "y"), (["b", "a", "a"], "x")]
    model = compiled(rows)
    assert model.tokens[-1] == "<pad>" and [model.recall(t) for t, _ in rows] == ["x", "y", "x"]
