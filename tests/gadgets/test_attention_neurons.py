"""A ReLU unit is a head of hard attention, for every number, tie, position and layer kind."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from byheart.errors import AssumptionError
from byheart.exact.batch import Batch
from byheart.exact.evaluate import evaluate
from byheart.exact.network import (
    Embedding,
    FeedForward,
    HardAttention,
    Input,
    Linear,
    Network,
    Relu,
    Sum,
    UniformAttention,
    dyadic,
    matrix,
    vector,
)
from byheart.gadgets.attention_neurons import attention_alone

IDS, WIDTH = 4, 2
weights = st.integers(-3, 3) | st.sampled_from([Fraction(1, 2), Fraction(-5, 4), 1 << 40])


@st.composite
def matrices(draw, rows, columns, multiple=1):
    return matrix(
        rows,
        columns,
        {(r, c): multiple * draw(weights) for r in range(rows) for c in range(columns)},
    )


@st.composite
def networks(draw):
    """Blocks and relu layers before and after an average, or without one."""
    length, positions = draw(st.integers(1, 4)), draw(st.booleans())

    def token_wise():
        if draw(st.booleans()):
            rows = draw(st.integers(1, 2))
            shapes = (rows, WIDTH), (rows, 1), (WIDTH, rows), (WIDTH, 1)
            return FeedForward(*(draw(matrices(*shape)) for shape in shapes))
        return Relu(draw(matrices(WIDTH, WIDTH)), draw(matrices(WIDTH, 1)))

    layers = [token_wise() for _ in range(draw(st.integers(0, 2)))]
    if draw(st.booleans()):
        out = draw(matrices(WIDTH, 1, 3))  # three columns: the mean is dyadic
        layers.append(UniformAttention(draw(matrices(1, WIDTH)), out))
        layers += [token_wise() for _ in range(draw(st.integers(0, 2)))]
    first = Embedding(draw(matrices(WIDTH, IDS)), draw(matrices(WIDTH, 1)))
    last = Linear(draw(matrices(1, WIDTH)), draw(matrices(1, 1)))
    return Network(Input(1, length, positions, (dyadic(3),)), (first, *layers, last))


def batch_of(rows):
    flat = np.array([[x] for row in rows for x in row], np.int64)
    return Batch(flat, np.arange(len(flat)), np.cumsum([0, *map(len, rows)]))


@settings(max_examples=150)
@given(networks(), st.data())
def test_the_answers_stay_the_same(network, data):
    length = network.input.length
    row = st.lists(st.integers(0, IDS - 1), min_size=1, max_size=length)
    rows = data.draw(st.lists(row, min_size=1, max_size=4))
    found = attention_alone(network)
    assert {layer.kind for layer in found.layers[1:-1]} <= {"hard_attention"}
    answers = [list(evaluate(x, batch_of(rows), "exact")) for x in (network, found)]
    assert answers[0] == answers[1]


def test_one_unit_by_hand():
    """relu(x - 2) of the last of two tokens, x the id: 2 (1 + 1) + 1 + 4 parameters."""
    first = Embedding(matrix(1, 3, {(0, 1): 1, (0, 2): 2}), vector({}, 1))
    one, minus = matrix(1, 1, {(0, 0): 1}), vector({0: -1}, 1)
    block = FeedForward(one, minus, one, vector({}, 1))
    network = Network(Input(1, 2, False, (dyadic(0),)), (first, block, Linear(one, vector({}, 1))))
    found = attention_alone(network)
    (layer,) = found.layers[1:-1]
    assert sum(len(x.entries) for x in layer.tensors.values()) == 2 * (1 + 1) + 1 + 4
    assert (layer.heads, layer.W_Q.rows) == (1, 2)
    assert list(evaluate(found, batch_of([[2, 1], [2, 0], [2, 2], [1]]), "exact")) == [1, 0, 3, 1]


def test_what_it_does_not_take_is_refused():
    one, nothing = matrix(1, 1, {(0, 0): 1}), vector({}, 1)
    ids, linear = Embedding(matrix(1, 3, {(0, 1): 1}), nothing), Linear(one, nothing)
    spec = Input(1, 2, False, (dyadic(0),))
    with pytest.raises(AssumptionError, match="A2 fails: only a network that reads ids"):
        attention_alone(Network(spec, (linear, linear)))
    with pytest.raises(AssumptionError, match="A1 fails: only a network that answers with its las"):
        attention_alone(Network(spec, (ids, linear), every=True))
    with pytest.raises(AssumptionError, match="A2 fails"):
        attention_alone(Network(Input(1, 2, False, None), (ids, Sum(), linear)))
    scores = HardAttention(one, one, one, one)
    with pytest.raises(AssumptionError, match="A3 fails: a layer of the kind hard_attention"):
        attention_alone(Network(spec, (ids, scores, linear)))
