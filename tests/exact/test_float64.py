"""float64: double arithmetic is exact where it is proved to be, and the proof misses nothing."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from byheart.errors import ByheartError
from byheart.exact import reference as exact
from byheart.exact.batch import Batch
from byheart.exact.float64 import engine as float64
from byheart.exact.network import (
    FeedForward,
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

WIDTH = 3
LENGTH = 4


def numbers(longest):
    """Doubles with mantissas of up to `longest` bits and some exponents."""
    return st.builds(
        lambda m, e: Fraction(m) * Fraction(2) ** e,
        st.integers(-(2**longest) + 1, 2**longest - 1),
        st.integers(-longest, 6),
    )


def sparse(draw, rows, columns, longest):
    places = st.tuples(st.integers(0, rows - 1), st.integers(0, columns - 1))
    values = st.one_of(st.integers(-2, 2), numbers(longest))
    return matrix(rows, columns, draw(st.dictionaries(places, values, max_size=2 * rows)))


@st.composite
def layers(draw, longest):
    kind = draw(st.sampled_from(["feed_forward", "feed_forward", "relu", "attention"]))
    if kind == "attention":
        return UniformAttention(sparse(draw, 2, WIDTH, longest), sparse(draw, WIDTH, 2, longest))
    if kind == "relu":
        return Relu(sparse(draw, WIDTH, WIDTH, longest), sparse(draw, WIDTH, 1, longest))
    hidden = draw(st.integers(1, 3))
    return FeedForward(
        sparse(draw, hidden, WIDTH, longest),
        sparse(draw, hidden, 1, longest),
        sparse(draw, WIDTH, hidden, longest),
        sparse(draw, WIDTH, 1, longest),
    )


@st.composite
def networks(draw):
    """Short numbers, where every sum is exact, to long ones, where some is not."""
    longest = draw(st.sampled_from([1, 4, 8, 16, 30, 53]))
    embed = Linear(sparse(draw, WIDTH, 2, longest), sparse(draw, WIDTH, 1, longest))
    body = draw(st.lists(layers(longest), min_size=1, max_size=4))
    output = Linear(sparse(draw, 1, WIDTH, 3), vector({}, 1))
    return Network(Input(2, LENGTH, False, (dyadic(0), dyadic(0))), (embed, *body, output))


@st.composite
def batches(draw):
    coordinate = st.one_of(st.integers(-9, 9), st.integers(-(2**20), 2**20).map(lambda x: x / 64))
    vectors = draw(st.lists(st.tuples(coordinate, coordinate), min_size=1, max_size=4, unique=True))
    sizes = draw(st.lists(st.integers(1, LENGTH), min_size=1, max_size=4))
    ids = [draw(st.integers(0, len(vectors) - 1)) for _ in range(sum(sizes))]
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return Batch(np.array(vectors, np.float64), np.array(ids), starts)


# --- a second opinion, in fractions


class Inexact(Exception):
    pass


def power(value):
    """The largest power of two that divides the number."""
    numerator, denominator = value.as_integer_ratio()
    return Fraction(numerator & -numerator, denominator)


def added(terms):
    terms = [Fraction(x) for x in terms if x]
    if terms and sum(map(abs, terms)) > 2**53 * min(map(power, terms)):
        raise Inexact
    return sum(terms, Fraction(0))


def times(weight, column, more):
    """weight column + more, row by row; more: lists of further terms."""
    products = [[weight[r, c] * x for c, x in enumerate(column)] for r in range(weight.rows)]
    return [added([*terms, *extra]) for terms, extra in zip(products, more, strict=True)]


def relu(column):
    return [max(Fraction(0), x) for x in column]


def constants(tensor):
    return [[tensor[r, 0]] for r in range(tensor.rows)]


def naive(network, sequence):
    """The output, or Inexact if some weighted sum may be rounded.

    After the last attention, or if there is none, only the last column counts.
    """
    padding = [x.fraction for x in network.input.padding]
    stream = [padding] * (network.input.length - len(sequence)) + sequence
    last = max(
        (i for i, x in enumerate(network.layers) if x.kind == "uniform_attention"), default=-1
    )
    stream = stream[-1:] if last == -1 else stream
    for number, layer in enumerate(network.layers):
        if isinstance(layer, UniformAttention):
            sums = [added(lane) for lane in zip(*stream, strict=True)]
            means = [x / len(stream) for x in sums]
            heads = times(layer.W_V, means, [[]] * layer.W_V.rows)
            stream = stream[-1:] if number == last else stream
            stream = [times(layer.W_O, heads, [[x] for x in column]) for column in stream]
        elif isinstance(layer, FeedForward):
            hidden = [relu(times(layer.W1, column, constants(layer.b1))) for column in stream]
            more = [
                [[x, *b] for x, b in zip(column, constants(layer.b2), strict=True)]
                for column in stream
            ]
            stream = [times(layer.W2, h, m) for h, m in zip(hidden, more, strict=True)]
        else:
            stream = [times(layer.weight, column, constants(layer.bias)) for column in stream]
            if isinstance(layer, Relu):
                stream = [relu(column) for column in stream]
    return stream[-1][0]


def sequences(batch):
    return [
        [[Fraction(x) for x in batch.vectors[i].tolist()] for i in batch.ids[a:b]]
        for a, b in pairwise(batch.starts)
    ]


def proved(network, batch):
    try:
        return float64.prove(network, batch)
    except ByheartError:
        return None


@given(networks(), batches())
@settings(max_examples=150, deadline=None)
def test_the_proof_decides_as_fractions_do(network, batch):
    try:
        wanted = [naive(network, sequence) for sequence in sequences(batch)]
    except Inexact:
        wanted = None
    found = proved(network, batch)
    assert (found is None) == (wanted is None)
    if found is not None:
        assert [Fraction(x) for x in found] == wanted == exact.evaluate(network, batch)


# --- by hand


def one_sum(weights, values):
    """A network that adds up the coordinates, and one sequence with them."""
    embed = Linear(
        matrix(1, len(weights), {(0, i): w for i, w in enumerate(weights)}), vector({}, 1)
    )
    unembed = Linear(matrix(1, 1, {(0, 0): 1}), vector({}, 1))
    spec = Input(len(weights), 1, False, (dyadic(0),) * len(weights))
    batch = Batch(np.array([values], np.float64), np.array([0]), np.array([0, 1]))
    return Network(spec, (embed, unembed)), batch


@pytest.mark.parametrize(
    "weights, values, exact_sum",
    [
        ([1, 1], [2.0**53 - 1, 1.0], True),  # exactly 2**53 units
        ([1, 1], [2.0**53 - 2, 3.0], False),  # 2**53 + 1
        ([1, -1], [2.0**53, 1.0], False),  # the result is a double, its terms are too long
        ([1, 1], [2.0**53, 2.0], True),  # units of two
        ([2**27 + 1], [2.0**26 + 1], False),  # 2**53 + ... as one product
        ([2**26 + 1], [2.0**26 + 1], True),
        ([2**52 + 1], [3.0], False),  # a product of 54 bits
        ([Fraction(1, 2**900)], [2.0**-90], True),
        ([Fraction(1, 2**900)], [2.0**-110], False),  # near the end of the range
        ([2**900], [2.0**110], False),
        ([1, 1], [0.0, 0.0], True),
        ([1], [2.0**1000], True),  # the ends of the range belong to it
        ([1, 1], [2.0**999, 2.0**999], True),
        ([1, 1], [2.0**999, -(2.0**999 + 2.0**947)], False),  # the terms add up to more than 2^1000
        ([2**500, 1], [2.0**500, 2.0**948], False),
        ([1], [2.0**-1000], True),
        ([1], [1.5 * 2.0**-1000], False),  # from 2^-1000 on, but its last digit is below
        ([2**1001], [0.0], True),  # terms that are 0 are left out, whatever the weight
        ([Fraction(1, 2**1074)], [0.0], True),
        ([2**1001], [1.0], False),
    ],
)
def test_by_hand(weights, values, exact_sum):
    network, batch = one_sum(weights, values)
    found = proved(network, batch)
    assert (found is not None) == exact_sum
    if exact_sum:
        assert Fraction(found[0]) == exact.evaluate(network, batch)[0]


@pytest.mark.parametrize("weight", [0, 1])
@pytest.mark.parametrize("value", [2.0**-1001, 1.5 * 2.0**-1001, 5e-324, -(2.0**1001), 1.7e308])
def test_coordinates_have_a_size(weight, value):
    """Rule 1 of the format, section 4: also for a coordinate that no weight reads."""
    network, batch = one_sum([1, weight], [3.0, value])
    with pytest.raises(ByheartError, match="neither 0 nor from 2.-1000 to 2.1000"):
        float64.prove(network, batch)
    assert float64.differences(network, batch, np.array([3]))


def test_items_are_looked_at_one_by_one():
    """2**60 and 1 in one lane: the lane's bounds do not suffice, its items do."""
    network, _ = one_sum([1, 1], [0.0, 0.0])
    vectors = np.array([[2.0**60, 2.0**58], [1.0, 3.0]])
    batch = Batch(vectors, np.array([0, 1]), np.array([0, 1, 2]))
    assert float64.prove(network, batch).tolist() == [2.0**60 + 2.0**58, 4.0]
    mixed = Batch(np.array([[2.0**60, 1.0]]), np.array([0]), np.array([0, 1]))
    with pytest.raises(ByheartError, match="Layer 0, weight, row 0"):
        float64.prove(network, mixed)


def test_the_padding_counts_only_where_it_is_met():
    network, _ = one_sum([1, 1], [0.0, 0.0])
    spec = Input(2, 2, False, (dyadic(2**60), dyadic(1)))
    attention = UniformAttention(matrix(1, 1, {}), matrix(1, 1, {}))
    alone = Network(spec, network.layers)
    network = Network(spec, (network.layers[0], attention, network.layers[1]))
    vectors = np.array([[1.0, 2.0]])
    full = Batch(vectors, np.array([0, 0]), np.array([0, 2]))
    assert float64.prove(network, full).tolist() == [3.0]
    with pytest.raises(ByheartError):
        float64.prove(network, Batch(vectors, np.array([0]), np.array([0, 1])))
    # without attention the answer depends on the last column alone
    assert float64.prove(alone, Batch(vectors, np.array([0]), np.array([0, 1]))).tolist() == [3.0]


def test_what_has_no_float64_form_is_refused():
    network, batch = one_sum([1], [1.0])
    spec = network.input
    with pytest.raises(ByheartError, match="kind sum"):
        float64.prove(Network(spec, (network.layers[0], Sum(), network.layers[1])), batch)
    attention = UniformAttention(matrix(1, 1, {(0, 0): 1}), matrix(1, 1, {(0, 0): 3}))
    three = Network(
        Input(1, 3, False, (dyadic(0),)), (network.layers[0], attention, network.layers[1])
    )
    with pytest.raises(ByheartError, match="power of two"):
        float64.prove(three, batch)
    long, batch = one_sum([2**53 + 1], [1.0])
    with pytest.raises(ByheartError, match="not a double"):
        float64.prove(long, batch)
    with pytest.raises(ByheartError, match="not a double"):
        float64.float_tensors(long)
    beyond = Batch(np.array([[2**53 + 1]]), np.array([0]), np.array([0, 1]))
    with pytest.raises(ByheartError, match="not a double"):
        float64.prove(network, beyond)


def test_differences():
    network, batch = one_sum([1, 1], [2.0, 3.0])
    assert float64.differences(network, batch, np.array([5])) == ()
    assert float64.differences(network, batch, np.array([Fraction(5)])) == ()
    (sentence,) = float64.differences(network, batch, np.array([4]))
    assert sentence.startswith("sequence 1: the output is 4, in float64 5")
    network, batch = one_sum([1, 1], [2.0**60, 3.0])
    (sentence,) = float64.differences(network, batch, np.array([2**60 + 3]))
    assert sentence.startswith("Layer 0, weight, row 0")


def test_no_sequence_has_no_output():
    network, _ = one_sum([1], [1.0])
    empty = Batch(np.zeros((1, 1)), np.zeros(0, np.int64), np.zeros(1, np.int64))
    assert float64.prove(network, empty).tolist() == []


@given(networks())
@settings(max_examples=30, deadline=None)
def test_tensors_hold_every_weight(network):
    tensors = float64.float_tensors(network)
    assert all(x.dtype == np.float64 for x in tensors.values())
    names = [f"layers.{i}.{name}" for i, x in enumerate(network.layers) for name in x.tensors]
    assert list(tensors) == names
    assert sum(np.count_nonzero(x) for x in tensors.values()) == len(list(network.parameters()))
    for layer, name, row, column, value in network.parameters():
        tensor = tensors[f"layers.{layer}.{name}"]
        found = tensor[row] if tensor.ndim == 1 else tensor[row, column]
        assert Fraction(float(found)) == value.fraction
