"""The two engines and a third, naive evaluation agree on random networks, not only on ours."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from byheart.errors import ByheartError
from byheart.exact import reference as exact
from byheart.exact.batch import Batch
from byheart.exact.evaluate import choose, evaluate
from byheart.exact.limbs import engine as limbs
from byheart.exact.network import (
    FeedForward,
    Input,
    Linear,
    Network,
    UniformAttention,
    dyadic,
    matrix,
    vector,
)

WIDTH = 4
numbers = st.one_of(
    st.integers(-4, 4),
    st.integers(-(2**200), 2**200),
    st.builds(lambda m, e: Fraction(m) / 2**e, st.integers(-9, 9), st.integers(0, 90)),
    st.sampled_from([2**64, 2**128 - 1, -(2**64) + 1, Fraction(1, 2**64), -(2**63)]),
)
small = st.integers(-3, 3)


def sparse(draw, rows, columns, values, density=2):
    places = st.tuples(st.integers(0, rows - 1), st.integers(0, columns - 1))
    return matrix(rows, columns, draw(st.dictionaries(places, values, max_size=density * rows)))


@st.composite
def general_block(draw):
    hidden = draw(st.integers(1, 4))
    return FeedForward(
        sparse(draw, hidden, WIDTH, draw(st.sampled_from([numbers, small]))),
        sparse(draw, hidden, 1, numbers),
        sparse(draw, WIDTH, hidden, draw(st.sampled_from([numbers, small]))),
        sparse(draw, WIDTH, 1, numbers),
    )


@st.composite
def fold_block(draw):
    """lane - 2 relu(lane - t), often with further writes: what the kernels treat apart."""
    lane = draw(st.integers(0, WIDTH - 1))
    threshold = draw(numbers)
    writes = {(lane, 0): -2}
    if draw(st.booleans()):
        writes[draw(st.integers(0, WIDTH - 1)), 0] = draw(st.sampled_from([-4, -2, 1, -(2**70)]))
    return FeedForward(
        matrix(1, WIDTH, {(0, lane): 1}),
        vector({0: -threshold}, 1),
        matrix(WIDTH, 1, writes),
        vector({}, WIDTH),
    )


@st.composite
def counting_block(draw):
    lane, counter = draw(st.permutations(range(WIDTH)))[:2]
    threshold = draw(st.integers(1, 2**80))
    gap = draw(st.sampled_from([1, 2**10, 2**70, 3]))
    step = Fraction(draw(st.integers(1, 3)), 1 << draw(st.integers(0, 70)))
    return FeedForward(
        matrix(2, WIDTH, {(0, lane): 1, (1, lane): 1}),
        vector({0: -threshold, 1: -threshold - gap}, 2),
        matrix(WIDTH, 2, {(lane, 0): -2, (counter, 0): step, (counter, 1): -step}),
        vector({}, WIDTH),
    )


@st.composite
def table_block(draw):
    lane = draw(st.integers(0, WIDTH - 1))
    units = draw(st.integers(3, 6))
    bias = {i: -i for i in range(units)}
    return FeedForward(
        matrix(units, WIDTH, {(i, lane): 1 for i in range(units)}),
        vector(bias, units),
        sparse(draw, WIDTH, units, numbers, units),
        sparse(draw, WIDTH, 1, numbers),
    )


@st.composite
def gated_blocks(draw):
    """A lane that only grows by tables, is closed by a fold and read once by relu(lane)."""
    source, lane, index, target = draw(st.permutations(range(WIDTH)))
    threshold = draw(st.integers(1, 2**70))
    table = draw(table_block())
    shift = draw(st.sampled_from([0, 0, 5, 1000]))
    values = {(lane, i): draw(st.integers(-(2**90), 2**90)) for i in range(4)}
    return [
        FeedForward(
            matrix(1, WIDTH, {(0, source): 1}),
            vector({0: -threshold}, 1),
            matrix(WIDTH, 1, {(source, 0): -2, (lane, 0): -(2 ** draw(st.integers(0, 60)))}),
            vector({}, WIDTH),
        ),
        FeedForward(
            matrix(4, WIDTH, {(i, index): 1 for i in range(4)}),
            vector({i: shift - i for i in range(4)}, 4),
            matrix(WIDTH, 4, values),
            vector({lane: draw(small)}, WIDTH),
        ),
        FeedForward(
            matrix(1, WIDTH, {}),
            vector({}, 1),
            matrix(WIDTH, 1, {}),
            vector({lane: draw(st.integers(0, 2**100))}, WIDTH),
        ),
        *([table] if draw(st.booleans()) else []),
        FeedForward(
            matrix(1, WIDTH, {(0, lane): 1}),
            vector({}, 1),
            matrix(WIDTH, 1, {(target, 0): 1}),
            vector({}, WIDTH),
        ),
    ]


@st.composite
def shift_block(draw):
    lane, gate = draw(st.permutations(range(WIDTH)))[:2]
    return FeedForward(
        matrix(1, WIDTH, {(0, lane): 1, (0, gate): 1}),
        vector({}, 1),
        matrix(WIDTH, 1, {(lane, 0): 2 ** draw(st.sampled_from([1, 5, 64, 100])) - 1}),
        vector({}, WIDTH),
    )


@st.composite
def power_blocks(draw):
    lane = draw(st.integers(0, WIDTH - 1))
    top = draw(st.integers(0, 140))
    return [
        FeedForward(
            matrix(1, WIDTH, {(0, lane): 1}),
            vector({0: -(2**t)}, 1),
            matrix(WIDTH, 1, {(lane, 0): -2}),
            vector({}, WIDTH),
        )
        for t in reversed(range(max(0, top - draw(st.integers(0, 80))), top + 1))
    ]


@st.composite
def networks(draw):
    length = draw(st.integers(1, 5))
    dimension = draw(st.integers(1, 2))
    positions = draw(st.booleans())
    spec = Input(dimension, length, positions, tuple(dyadic(draw(small)) for _ in range(dimension)))
    layers = [
        Linear(sparse(draw, WIDTH, spec.coordinates, numbers), sparse(draw, WIDTH, 1, numbers))
    ]
    block = st.one_of(
        general_block(),
        fold_block(),
        counting_block(),
        table_block(),
        shift_block(),
        power_blocks(),
        gated_blocks(),
    )
    for attention in [False, *draw(st.lists(st.just(True), max_size=2))]:
        if attention:
            odd = length >> ((length & -length).bit_length() - 1)
            output = {
                place: value.value.fraction * odd
                for value in sparse(draw, WIDTH, 2, small).entries
                for place in [(value.row, value.column)]
            }
            layers.append(UniformAttention(sparse(draw, 2, WIDTH, small), matrix(WIDTH, 2, output)))
        for blocks in draw(st.lists(block, max_size=3)):
            layers += blocks if isinstance(blocks, list) else [blocks]
    layers.append(Linear(sparse(draw, 1, WIDTH, numbers), sparse(draw, 1, 1, numbers)))
    return Network(spec, tuple(layers))


@st.composite
def batches(draw, spec):
    token = st.lists(
        st.one_of(st.integers(-5, 5), st.integers(-(2**40), 2**40)),
        min_size=spec.dimension,
        max_size=spec.dimension,
    )
    tokens = draw(st.lists(token, min_size=1, max_size=4))
    lengths = draw(st.lists(st.integers(1, spec.length), min_size=1, max_size=5))
    ids = [draw(st.integers(0, len(tokens) - 1)) for _ in range(sum(lengths))]
    vectors = np.array(tokens, dtype=np.int64)
    if draw(st.booleans()):
        vectors = vectors / 2.0 ** draw(st.integers(0, 12))
    return Batch(vectors, np.array(ids), np.concatenate([[0], np.cumsum(lengths)]))


def naive(network: Network, batch: Batch) -> list[Fraction]:
    """Straight from checker/FORMAT.md, with fractions."""
    spec = network.input
    answers = []
    for start, stop in zip(batch.starts, batch.starts[1:], strict=False):
        rows = [[Fraction(x) for x in row] for row in batch.vectors[batch.ids[start:stop]].tolist()]
        rows = [[p.fraction for p in spec.padding]] * (spec.length - len(rows)) + rows
        if spec.positions:
            rows = [row + [Fraction(i)] for i, row in enumerate(rows)]
        for layer in network.layers:
            rows = naive_layer(layer, rows)
        answers.append(rows[-1][0])
    return answers


def times(m, x):
    return [sum((m[i, j] * x[j] for j in range(m.columns)), Fraction(0)) for i in range(m.rows)]


def plus(a, b):
    return [x + y for x, y in zip(a, b, strict=True)]


def naive_layer(layer, rows):
    if isinstance(layer, Linear):
        return [plus(times(layer.weight, h), times(layer.bias, [1])) for h in rows]
    if isinstance(layer, FeedForward):
        hidden = [
            [max(Fraction(0), x) for x in plus(times(layer.W1, h), times(layer.b1, [1]))]
            for h in rows
        ]
        change = [plus(times(layer.W2, u), times(layer.b2, [1])) for u in hidden]
        return [plus(h, c) for h, c in zip(rows, change, strict=True)]
    mean = [sum(x) / len(rows) for x in zip(*rows, strict=True)]
    change = times(layer.W_O, times(layer.W_V, mean))
    return [plus(h, change) for h in rows]


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_engines_agree_with_fractions(data):
    network = data.draw(networks())
    batch = data.draw(batches(network.input))
    wanted = naive(network, batch)
    assert list(exact.evaluate(network, batch)) == wanted
    evaluator = limbs.Evaluator(network)
    assert list(evaluator(batch)) == list(evaluator.many(batch, None, map)) == wanted
    single = Batch(batch.vectors, batch.ids[: batch.starts[1]], batch.starts[:2])
    assert list(evaluator(single)) == wanted[:1]  # by the programs of the others


def test_answers_decide_which_engine_is_worth_its_start():
    """One label per token: a few long sequences have many answers."""
    network = Network(Input(1, 100, False, (dyadic(0),)), (), every=True)
    batch = Batch(np.array([[1]]), np.zeros(3000, np.int64), np.arange(0, 3001, 100))
    assert choose("auto", network, batch) == "limbs"
    assert choose("auto", replace(network, every=False), batch) == "exact"


def test_by_hand():
    # One lane: x -> x - 2 relu(x - 3), then + 2 * sum over two columns, output the last.
    network = Network(
        Input(1, 2, False, (dyadic(0),)),
        (
            Linear(matrix(1, 1, {(0, 0): 1}), vector({}, 1)),
            FeedForward(
                matrix(1, 1, {(0, 0): 1}),
                vector({0: -3}, 1),
                matrix(1, 1, {(0, 0): -2}),
                vector({}, 1),
            ),
            UniformAttention(matrix(1, 1, {(0, 0): 1}), matrix(1, 1, {(0, 0): 4})),
            Linear(matrix(1, 1, {(0, 0): 1}), vector({}, 1)),
        ),
    )
    batch = Batch(np.array([[5], [2]]), np.array([0, 1, 1]), np.array([0, 2, 3]))
    # 5 folds to 1, 2 stays: 2 + 2 (1 + 2) = 8; alone: 2 + 2 (0 + 2) = 6.
    for engine in ("exact", "limbs"):
        assert list(evaluate(network, batch, engine)) == [8, 6]


def test_numbers_beyond_every_frame_are_refused():
    grow = FeedForward(
        matrix(1, 1, {(0, 0): 1}), vector({}, 1), matrix(1, 1, {(0, 0): 2**70000}), vector({}, 1)
    )
    network = Network(
        Input(1, 1, False, (dyadic(0),)),
        (
            Linear(matrix(1, 1, {(0, 0): 1}), vector({}, 1)),
            *[grow] * 3,
            Linear(matrix(1, 1, {(0, 0): 1}), vector({}, 1)),
        ),
    )
    batch = Batch(np.array([[1]]), np.array([0]), np.array([0, 1]))
    with pytest.raises(limbs.LimbsError):
        limbs.Evaluator(network)(batch)
    assert exact.evaluate(network, batch)[0] == (1 + 2**70000) ** 3


def test_values_without_end_are_refused():
    """A stranger's folder whose numbers grow layer by layer must not fill the memory."""
    grow = FeedForward(
        matrix(1, 1, {(0, 0): 1}),
        vector({}, 1),
        matrix(1, 1, {(0, 0): 2**4_000_000}),
        vector({}, 1),
    )
    network = Network(
        Input(1, 1, False, (dyadic(0),)),
        (
            Linear(matrix(1, 1, {(0, 0): 1}), vector({}, 1)),
            *[grow] * 50,
            Linear(matrix(1, 1, {(0, 0): 1}), vector({}, 1)),
        ),
    )
    batch = Batch(np.array([[1]]), np.array([0]), np.array([0, 1]))
    with pytest.raises(ByheartError, match="2\\^23 bits"):
        evaluate(network, batch, "exact")


@pytest.mark.parametrize("power", [4_000_000, -4_000_000])
def test_values_of_one_digit_are_refused_as_well(power):
    """A power of two far above or far below 1 is short, and what is added to it is not."""
    weight = Fraction(2**power) if power > 0 else Fraction(1, 2**-power)
    step = Linear(matrix(1, 1, {(0, 0): weight}), vector({}, 1))
    batch = Batch(np.array([[1]]), np.array([0]), np.array([0, 1]))
    for layers, fits in ((2, True), (3, False)):
        network = Network(Input(1, 1, False, (dyadic(0),)), (step,) * layers)
        if fits:
            assert exact.evaluate(network, batch) == [weight**layers]
        else:
            with pytest.raises(ByheartError, match="2\\^23 bits"):
                exact.evaluate(network, batch)


def test_outputs_that_are_all_zero_in_one_chunk_and_not_in_another():
    ends = [Linear(matrix(1, 1, {(0, 0): x}), vector({}, 1)) for x in (2**200, 1)]
    network = Network(Input(1, 1, False, (dyadic(0),)), tuple(ends))
    ids = np.array([0] * 70_000 + [1])
    batch = Batch(np.array([[0], [3]]), ids, np.arange(len(ids) + 1))
    found = limbs.Evaluator(network)(batch)
    assert list(found[:3]) == [0, 0, 0] and found[-1] == 3 * 2**200


def test_a_table_on_a_lane_that_nothing_writes_to():
    """Tabulated values need fraction bits even where the lane they are for stays 0."""
    table = FeedForward(
        matrix(3, 1, {(i, 0): 1 for i in range(3)}),
        vector({1: -1, 2: -2}, 3),
        matrix(1, 3, {(0, 0): Fraction(1, 2**65)}),
        vector({}, 1),
    )
    network = Network(
        Input(1, 1, False, (dyadic(0),)),
        (
            Linear(matrix(1, 1, {}), vector({}, 1)),
            table,
            Linear(matrix(1, 1, {(0, 0): 1}), vector({}, 1)),
        ),
    )
    batch = Batch(np.array([[3]]), np.array([0]), np.array([0, 1]))
    assert list(evaluate(network, batch, "limbs")) == list(evaluate(network, batch, "exact")) == [0]
