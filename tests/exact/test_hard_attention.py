"""Hard attention, layer after layer: one answer for the last token, and one for every token."""

from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from byheart.exact import reference
from byheart.exact.batch import Batch
from byheart.exact.evaluate import evaluate
from byheart.exact.network import (
    FeedForward,
    HardAttention,
    Input,
    Linear,
    Network,
    dyadic,
    matrix,
    vector,
)

LENGTH, WIDTH = 4, 3
SPEC = Input(1, LENGTH, True, (dyadic(0),))
READ = Linear(matrix(WIDTH, 2, {(0, 0): 1, (1, 1): 1}), vector({2: 1}, WIDTH))  # token, place, 1
LAST = Linear(matrix(1, WIDTH, {(0, 0): 1}), vector({}, 1))


def batch_of(rows):
    flat = np.array([[x] for row in rows for x in row], np.int64)
    return Batch(flat, np.arange(len(flat)), np.cumsum([0, *map(len, rows)]))


def head(query, key, value, write):
    sides = (matrix(1, WIDTH, {(0, lane): w for lane, w in x.items()}) for x in (query, key, value))
    return HardAttention(*sides, matrix(WIDTH, 1, {(lane, 0): w for lane, w in write.items()}))


def block(draw):
    lanes = st.integers(0, WIDTH - 1)
    unit = {(0, draw(lanes)): draw(st.integers(-2, 2))}
    write = {(0, 0): draw(st.integers(-2, 2))}
    bias = vector({0: draw(st.integers(-2, 2))}, 1)
    return FeedForward(matrix(1, WIDTH, unit), bias, matrix(WIDTH, 1, write), vector({}, WIDTH))


@settings(max_examples=100)
@given(st.data())
def test_the_last_answer_is_that_of_the_last_column(data):
    """Queries read the token, keys the place or the token."""
    number, layers = st.integers(-3, 3), []
    for _ in range(data.draw(st.integers(1, 5))):
        if data.draw(st.booleans()):
            layers.append(block(data.draw))
            continue
        query, key = ({lane: data.draw(number) for lane in range(WIDTH)} for _ in range(2))
        key = {lane: w for lane, w in key.items() if lane or data.draw(st.booleans())}
        value = {data.draw(st.integers(0, 2)): 12}  # 3 and 4 columns may tie
        layers.append(head(query, key, value, {0: data.draw(number)}))
    network = Network(SPEC, (READ, *layers, LAST))
    rows = data.draw(st.lists(st.lists(number, min_size=1, max_size=LENGTH), min_size=1))
    found = evaluate(network, batch_of(rows), "exact")
    whole = Network(SPEC, network.layers, every=True)
    outputs, place = evaluate(whole, batch_of(rows), "exact"), -1
    for row, output in zip(rows, found, strict=True):
        place += len(row)
        assert outputs[place] == output


def test_each_token_reads_the_first_one_ten_times():
    first = head({2: -1}, {1: 1}, {0: 1}, {0: 1})
    spec = Input(1, 5, True, (dyadic(0),))
    network = Network(spec, (READ, *[first] * 10, LAST))
    (output,) = reference.evaluate(network, batch_of([[1, 2, 3, 4, 5]]))
    assert output == Fraction(5 + sum(2**i for i in range(10)))  # the first one doubles itself
