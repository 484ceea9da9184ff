"""The exact evaluator against forty lines of plain fractions, on every kind of layer."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from byheart.errors import ByheartError
from byheart.exact.batch import Batch
from byheart.exact.evaluate import evaluate
from byheart.exact.network import (
    Embedding,
    FeedForward,
    HardAttention,
    Input,
    Linear,
    Matrix,
    Network,
    Relu,
    SparseAttention,
    Sum,
    UniformAttention,
    dyadic,
    matrix,
    vector,
)

# --- the naive evaluator: a sequence is a list of columns, a column a list of fractions


def times(weights: Matrix, column):
    return [
        sum(weights[r, c] * column[c] for c in range(weights.columns)) for r in range(weights.rows)
    ]


def plus(one, other):
    return [a + b for a, b in zip(one, other, strict=True)]


def mean(columns):
    return [sum(lane) / len(columns) for lane in zip(*columns, strict=True)]


def affine(weights, bias, column):
    return plus(times(weights, column), [bias[r, 0] for r in range(bias.rows)])


def positive(column):
    return [max(Fraction(0), x) for x in column]


def head(layer, number, column, columns):
    """What one head of hard attention adds to a column: times W_O, over its own lanes."""
    lanes = range(
        number * layer.W_V.rows // layer.heads, (number + 1) * layer.W_V.rows // layer.heads
    )
    query = times(layer.W_Q, column)
    scores = [sum(query[i] * times(layer.W_K, other)[i] for i in lanes) for other in columns]
    best = [other for other, score in zip(columns, scores, strict=True) if score == max(scores)]
    values = times(layer.W_V, mean(best))
    return times(layer.W_O, [values[i] if i in lanes else 0 for i in range(layer.W_V.rows)])


def through(layer, columns, width):
    match layer:
        case Linear():
            return [affine(layer.weight, layer.bias, h) for h in columns]
        case Relu():
            return [positive(affine(layer.weight, layer.bias, h)) for h in columns]
        case FeedForward():
            hidden = [positive(affine(layer.W1, layer.b1, h)) for h in columns]
            return [
                plus(h, affine(layer.W2, layer.b2, x)) for h, x in zip(columns, hidden, strict=True)
            ]
        case Embedding():
            return [
                [layer.weight[r, int(x)] + sum(i) * layer.position[r, 0] for r in range(width)]
                for x, *i in columns
            ]
        case UniformAttention():
            return [plus(h, times(layer.W_O, times(layer.W_V, mean(columns)))) for h in columns]
        case SparseAttention():
            found = []
            for k, h in enumerate(columns):
                sources = [columns[source] for target, source in layer.connections if target == k]
                added = (
                    times(layer.W_O, times(layer.W_V, mean(sources))) if sources else [0] * width
                )
                found.append(plus(h, added))
            return found
        case HardAttention():
            found = []
            for h in columns:
                total = h
                for number in range(layer.heads):
                    total = plus(total, head(layer, number, h, columns))
                found.append(total)
            return found
        case Sum():
            return [
                [sum(lane, Fraction(0)) for lane in zip(*columns, strict=True)]
                or [Fraction(0)] * width
            ]


def naive(network, tokens):
    """The outputs for one sequence of vectors."""
    spec = network.input
    columns = [[Fraction(x) for x in token] for token in tokens]
    if spec.padding is not None:
        filling = [x.fraction for x in spec.padding]
        columns = [filling] * (spec.length - len(columns)) + columns
    if spec.positions:
        columns = [[*column, Fraction(i)] for i, column in enumerate(columns)]
    if spec.extra is not None:
        place = [Fraction(spec.length)] * spec.positions
        columns = [[*(x.fraction for x in spec.extra), *place], *columns]
    width = network.layers[0].weight.rows
    for layer in network.layers:
        columns = through(layer, columns, width)
        width = layer.weight.rows if isinstance(layer, Linear | Relu) else width
    return [column[0] for column in columns[-len(tokens) if network.every else -1 :]]


def batch_of(sequences, dimension):
    flat = [token for tokens in sequences for token in tokens]
    whole = all(isinstance(x, int) for token in flat for x in token)
    vectors = np.array(flat, np.int64 if whole else np.float64).reshape(len(flat), dimension)
    starts = np.cumsum([0, *map(len, sequences)])
    return Batch(vectors, np.arange(len(flat)), starts)


def agree(network, sequences):
    expected = [y for tokens in sequences for y in naive(network, tokens)]
    try:
        found = evaluate(network, batch_of(sequences, network.input.dimension), "exact")
    except ByheartError as error:
        assert "not a dyadic number" in str(error)
        assert any(isinstance(layer, HardAttention) for layer in network.layers)
    else:
        assert list(found) == expected


# --- networks drawn layer by layer


weights = st.one_of(
    st.integers(-3, 3), st.integers(-9, 9).map(lambda n: Fraction(n, 8)), st.just(1 << 70)
)


@st.composite
def matrices(draw, rows, columns, multiple=1):
    places = [(r, c) for r in range(rows) for c in range(columns)]
    kept = draw(st.lists(st.sampled_from(places), unique=True, max_size=6)) if places else []
    return matrix(rows, columns, {place: multiple * draw(weights) for place in kept})


@st.composite
def connections(draw, columns):
    pairs = st.tuples(st.integers(0, columns - 1), st.integers(0, columns - 1))
    return tuple(sorted(draw(st.sets(pairs, max_size=3 * columns))))


def all_odd_parts(largest):
    """A number that is divisible by every number up to the largest, but for powers of two."""
    product = 1
    for number in range(3, largest + 1, 2):
        product *= number
    return product


@st.composite
def layers(draw, width, spec, mixing):
    """One block and the width after it."""
    kinds = ["relu", "feed_forward"] + (["uniform", "sparse", "hard"] if mixing else [])
    kind = draw(st.sampled_from(kinds))
    exact = all_odd_parts(spec.columns)
    if kind == "relu":
        rows = draw(st.integers(1, 3))
        return Relu(draw(matrices(rows, width)), draw(matrices(rows, 1))), rows
    if kind == "feed_forward":
        hidden = draw(st.integers(1, 3))
        shapes = (hidden, width), (hidden, 1), (width, hidden), (width, 1)
        return FeedForward(*(draw(matrices(*shape)) for shape in shapes)), width
    lanes = draw(st.integers(1, 2))
    if kind == "uniform":
        out = draw(matrices(width, lanes, exact))
        return UniformAttention(draw(matrices(lanes, width)), out), width
    if kind == "sparse":
        out = draw(matrices(width, lanes, exact))
        read = draw(matrices(lanes, width))
        return SparseAttention(read, out, draw(connections(spec.columns))), width
    heads = draw(st.integers(1, 2))
    rows = heads * lanes
    asked = [draw(matrices(rows, width)) for _ in range(3)]
    exact = draw(st.sampled_from([exact, exact, 1]))  # a mean may be dyadic by chance
    return HardAttention(*asked, draw(matrices(width, rows, exact)), heads), width


@st.composite
def networks(draw):
    """A network and sequences for it: padded or a deep set, numbers or ids, one answer or many."""
    deep_set, ids = draw(st.booleans()), draw(st.booleans())
    dimension = 1 if ids else draw(st.integers(1, 2))
    length = draw(st.integers(1, 5))
    positions = not deep_set and draw(st.booleans())
    vocabulary = 4
    coordinate = st.integers(0, vocabulary - 1) if ids else st.integers(-4, 4).map(lambda n: n / 4)
    vectors = st.lists(coordinate, min_size=dimension, max_size=dimension)
    fixed = vectors.map(lambda row: tuple(map(dyadic, row)))
    padding = None if deep_set else draw(fixed)
    extra = None if deep_set else draw(st.none() | fixed)
    spec = Input(dimension, length, positions, padding, extra)
    width = draw(st.integers(1, 3))
    if ids:
        blocks = [Embedding(draw(matrices(width, vocabulary)), draw(matrices(width, 1)))]
    else:
        blocks = [Linear(draw(matrices(width, spec.coordinates)), draw(matrices(width, 1)))]
    for _ in range(draw(st.integers(0, 3))):
        block, width = draw(layers(width, spec, not deep_set))
        blocks.append(block)
    if deep_set:
        blocks.append(Sum())
        for _ in range(draw(st.integers(0, 2))):
            block, width = draw(layers(width, spec, False))
            blocks.append(block)
    blocks.append(Linear(draw(matrices(1, width)), draw(matrices(1, 1))))
    sequence = st.lists(vectors, min_size=0 if deep_set else 1, max_size=length)
    sequences = draw(st.lists(sequence, min_size=1, max_size=4))
    every = not deep_set and draw(st.booleans())
    return Network(spec, tuple(blocks), every), sequences


@settings(max_examples=250)
@given(networks())
def test_agrees_with_plain_fractions(case):
    agree(*case)


# --- each kind by hand


PLAIN = Input(1, 3, False, (dyadic(0),))
READ = Linear(matrix(1, 1, {(0, 0): 1}), vector({}, 1))
ONE = matrix(1, 1, {(0, 0): 1})
BOTH = Linear(matrix(2, 1, {(0, 0): 1}), vector({1: 1}, 2))  # the token and a 1
FIRST = Linear(matrix(1, 2, {(0, 0): 1}), vector({}, 1))


def outputs(network, *sequences):
    batch = batch_of([[[x] for x in tokens] for tokens in sequences], 1)
    return list(evaluate(network, batch, "exact"))


def test_relu_changes_the_width():
    split = Relu(matrix(2, 1, {(0, 0): 1, (1, 0): -1}), vector({0: -1}, 2))
    join = Linear(matrix(1, 2, {(0, 0): 10, (0, 1): 1}), vector({0: 7}, 1))
    network = Network(PLAIN, (READ, split, join))
    assert outputs(network, [5], [-5], [1]) == [47, 12, 7]  # 10 relu(x - 1) + relu(-x) + 7


def test_embedding_adds_the_position():
    table = Embedding(matrix(1, 3, {(0, 1): 100, (0, 2): 200}), vector({0: 3}, 1))
    spec = Input(1, 3, True, (dyadic(0),), (dyadic(2),))
    network = Network(spec, (table, READ), every=True)
    assert outputs(network, [2, 1], [1, 1, 1]) == [203, 106, 100, 103, 106]
    # the extra column is id 2 at position 3: 209; all four add up to 0 + 103 + 206 + 209
    summed = UniformAttention(ONE, matrix(1, 1, {(0, 0): 4}))
    assert outputs(Network(spec, (table, summed, READ)), [1, 2]) == [206 + 518]
    still = Embedding(table.weight, table.position)
    assert outputs(Network(PLAIN, (still, READ)), [1]) == [100]  # without positions: no position


def test_sparse_attention_takes_each_column_s_own_mean():
    links = ((0, 0), (0, 1), (2, 0), (2, 1), (2, 2))  # two sources, none, three
    layer = SparseAttention(ONE, matrix(1, 1, {(0, 0): 3}), links)
    network = Network(PLAIN, (READ, layer, READ), every=True)
    assert outputs(network, [1, 2, 6]) == [1 + Fraction(9, 2), 2, 6 + 9]
    assert outputs(network, [6]) == [12]  # 0 0 6: the padding counts


def test_two_sparse_layers_and_an_extra_column_are_one_sum():
    spec = Input(1, 3, False, (dyadic(0),), (dyadic(50),))
    gather = SparseAttention(
        matrix(1, 2, {(0, 0): 1}), matrix(2, 1, {(1, 0): 3}), ((0, 1), (0, 2), (0, 3))
    )
    spread = SparseAttention(
        matrix(1, 2, {(0, 1): 1}), matrix(2, 1, {(0, 0): 1}), ((1, 0), (2, 0), (3, 0))
    )
    first = Linear(matrix(2, 1, {(0, 0): 1}), vector({}, 2))
    network = Network(spec, (first, gather, spread, FIRST), every=True)
    assert outputs(network, [1, 2, 4], [8, 16]) == [8, 9, 11, 32, 40]


def test_hard_attention_averages_ties():
    # the score of l for k is x_k x_l: a positive token looks at the largest, a negative one at the
    # smallest
    layer = HardAttention(ONE, ONE, ONE, ONE)
    network = Network(PLAIN, (READ, layer, READ), every=True)
    assert outputs(network, [2, 7, 7]) == [9, 14, 14]
    assert outputs(network, [-2, -1, -2]) == [-4, -3, -4]
    # query 0 ties all three: their sum must be divisible by 3
    assert outputs(network, [0, 5, 4]) == [3, 10, 9]


def test_two_heads_look_at_different_columns():
    # the query is 1; head 0 scores x and head 1 scores -x: the largest and the smallest token
    query, key = matrix(2, 2, {(0, 1): 1, (1, 1): 1}), matrix(2, 2, {(0, 0): 1, (1, 0): -1})
    value = matrix(2, 2, {(0, 0): 1, (1, 0): 1})
    layer = HardAttention(query, key, value, matrix(2, 2, {(0, 0): 100, (0, 1): 10}), heads=2)
    assert outputs(Network(PLAIN, (BOTH, layer, FIRST)), [3, 9, 5], [4]) == [935, 404]


def test_no_scores_is_the_mean_of_all():
    nothing = matrix(1, 1, {})
    layer = HardAttention(nothing, nothing, ONE, matrix(1, 1, {(0, 0): 3}))
    assert outputs(Network(PLAIN, (READ, layer, READ)), [1, 2, 4]) == [11]
    layer = HardAttention(nothing, nothing, ONE, ONE)  # 3 does not divide 1, but a sum of tokens
    assert outputs(Network(PLAIN, (READ, layer, READ)), [1, 2, 3], [3]) == [5, 4]
    with pytest.raises(ByheartError, match="mean of 3 columns"):
        outputs(Network(PLAIN, (READ, layer, READ)), [1, 2, 4])


def test_sum_of_nothing_is_zero():
    shifted = Linear(ONE, vector({0: 1}, 1))
    network = Network(Input(1, 4, False, None), (shifted, Sum(), shifted))
    assert outputs(network, [], [5], [], [5, 5], [-1, -1, -1, -1]) == [1, 7, 1, 13, 1]
    assert outputs(network, []) == [1] == outputs(network, [], [])[:1]


def test_every_answers_tokens_in_order():
    summed = UniformAttention(ONE, matrix(1, 1, {(0, 0): 3}))
    network = Network(PLAIN, (READ, summed, READ), every=True)
    assert outputs(network, [5], [1, 2], [3, 4, 5]) == [10, 4, 5, 15, 16, 17]
    assert outputs(Network(PLAIN, (READ, READ), every=True), [5], [1, 2]) == [5, 1, 2]


def test_every_answers_many_sequences_in_order():
    chance = np.random.default_rng(0)
    sequences = [chance.integers(-9, 9, chance.integers(1, 4)).tolist() for _ in range(5000)]
    summed = UniformAttention(ONE, matrix(1, 1, {(0, 0): 3}))
    network = Network(PLAIN, (READ, summed, READ), every=True)
    expected = [x + sum(tokens) for tokens in sequences for x in tokens]
    assert outputs(network, *sequences) == expected


# --- what has no answer


def test_a_mean_that_is_not_dyadic_is_refused():
    layer = HardAttention(ONE, ONE, ONE, ONE)
    network = Network(PLAIN, (READ, layer, READ), every=True)
    with pytest.raises(ByheartError, match="mean of 3 columns"):
        outputs(network, [0, 5, 5])  # the query 0 ties all three, and their sum is 10
    assert outputs(network, [1, 5, 5]) == [6, 10, 10]


@pytest.mark.parametrize("token", [3, -1, 0.5, 2.0**60])
def test_what_is_no_id_is_refused(token):
    table = Embedding(matrix(1, 3, {(0, 1): 5}), vector({}, 1))
    network = Network(PLAIN, (table, READ))
    assert outputs(network, [1.0], [2]) == [5, 0]
    with pytest.raises(ByheartError, match="not an id from 0 to 2"):
        outputs(network, [1, token])


def test_padding_that_is_no_id_is_refused_where_it_is_read():
    table = Embedding(matrix(1, 3, {(0, 1): 5}), vector({}, 1))
    network = Network(Input(1, 2, False, (dyadic(9),)), (table, READ))
    with pytest.raises(ByheartError, match="not an id"):
        outputs(network, [1])


def test_a_layer_without_units_is_refused():
    """It could be evaluated, but no model folder can hold it (checker/FORMAT.md, section 2)."""
    empty = FeedForward(matrix(0, 1, {}), vector({}, 0), matrix(1, 0, {}), vector({0: 1}, 1))
    with pytest.raises(ByheartError, match=r"^layer 1 \(feed_forward\) has a matrix without rows"):
        Network(PLAIN, (READ, empty, READ))
    gone = Relu(matrix(0, 1, {}), vector({}, 0))
    with pytest.raises(ByheartError, match=r"^layer 1 \(relu\) has a matrix without rows"):
        Network(PLAIN, (READ, gone, Linear(matrix(1, 0, {}), vector({}, 1))))
