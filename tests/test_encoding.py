"""encode and decode: one code word for one network, everything else refused, and short."""

import random
import time
import tracemalloc
from dataclasses import replace
from hashlib import sha256

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from byheart.compile import compile
from byheart.encoding import _Reader, decode, encode, encoded_bits
from byheart.errors import ByheartError
from byheart.generate import random as generate
from byheart.network import (
    Dyadic,
    Entry,
    FeedForward,
    Input,
    Layer,
    Linear,
    Matrix,
    Network,
    UniformAttention,
    dyadic,
    matrix,
    vector,
)

small = st.integers(-4, 4).filter(bool)
huge = st.builds(
    lambda bits, sign: sign * (bits | 1), st.integers(0, 1 << 3000), st.sampled_from([-1, 1])
)
ones = st.builds(
    lambda digits: (1 << digits) - 1, st.sampled_from([1, 2, 3, 40, 1023, 1024, 1025, 1026, 2000])
)
exponents = st.one_of(
    st.integers(-3, 3), st.integers(-4000, 4000), st.sampled_from([-(1 << 22), 1 << 22])
)
values = st.one_of(
    st.builds(dyadic, small),
    st.builds(lambda m, e: Dyadic(dyadic(m).mantissa, e), st.one_of(small, huge, ones), exponents),
)


@st.composite
def matrices(draw: st.DrawFn, rows: int, columns: int) -> Matrix:
    places = [(r, c) for r in range(rows) for c in range(columns)]
    kept = draw(st.lists(st.sampled_from(places), unique=True)) if places else []
    if draw(st.booleans()):
        kept = places
    return Matrix(rows, columns, tuple(Entry(r, c, draw(values)) for r, c in sorted(kept)))


@st.composite
def blocks(draw: st.DrawFn, width: int) -> Layer:
    units = draw(st.integers(0, 3))
    if draw(st.booleans()):
        return UniformAttention(draw(matrices(units, width)), draw(matrices(width, units)), "")
    return FeedForward(
        draw(matrices(units, width)),
        draw(matrices(units, 1)),
        draw(matrices(width, units)),
        draw(matrices(width, 1)),
    )


@st.composite
def networks(draw: st.DrawFn) -> Network:
    dimension, width = draw(st.integers(0, 3)), draw(st.integers(0, 4))
    padding = tuple(draw(st.one_of(st.just(Dyadic(0, 0)), values)) for _ in range(dimension))
    entry = Input(dimension, draw(st.integers(0, 1 << 20)), draw(st.booleans()), padding)
    first = Linear(draw(matrices(width, entry.coordinates)), draw(matrices(width, 1)))
    middle = draw(st.lists(blocks(width), max_size=4))
    repeated = middle * draw(st.sampled_from([1, 1, 10]))
    last = Linear(draw(matrices(1, width)), draw(matrices(1, 1)))
    return Network(entry, (first, *repeated, last))


def without_stages(network: Network) -> Network:
    return replace(network, layers=tuple(replace(layer, stage="") for layer in network.layers))


def fold(exponent: int) -> FeedForward:
    """lane 0 -= 2 relu(lane 0 - 2**exponent)."""
    return FeedForward(
        matrix(1, 2, {(0, 0): 1}),
        vector({0: -(1 << exponent)}, 1),
        matrix(2, 1, {(0, 0): -2}),
        vector({}, 2),
        "fold",
    )


def tiny() -> Network:
    first = Linear(matrix(2, 1, {(0, 0): 5, (1, 0): -0.75}), vector({1: 1}, 2), "embed")
    attend = UniformAttention(matrix(1, 2, {(0, 1): 1}), matrix(2, 1, {(0, 0): 3}))
    last = Linear(matrix(1, 2, {(0, 0): 1}), vector({}, 1), "output")
    return Network(Input(1, 3, False, (Dyadic(0, 0),)), (first, fold(3), fold(2), attend, last))


@settings(deadline=None, max_examples=40)
@given(networks())
def test_round_trip(network: Network) -> None:
    data = encode(network)
    assert decode(data) == network
    assert len(data) == (encoded_bits(network) + 7) // 8
    assert encode(decode(data)) == data


def test_a_tiny_network_has_this_code_for_ever() -> None:
    assert encode(tiny()).hex() == "986e110c17201cbdd217538ebf82335877e69ddbba"
    assert encoded_bits(tiny()) == 168


def test_stages_are_comments() -> None:
    assert encode(tiny()) == encode(without_stages(tiny()))
    assert all(layer.stage == "" for layer in decode(encode(tiny())).layers)


def assert_canonical(data: bytes) -> bool:
    """Refused, or the code of what it decodes to. Returns whether it was decoded."""
    try:
        network = decode(data)
    except ByheartError:
        return False
    assert encode(network) == data
    return True


@settings(deadline=None, max_examples=20)
@given(networks(), st.randoms(use_true_random=False))
def test_a_flipped_bit_is_refused_or_another_network(
    network: Network, chance: random.Random
) -> None:
    data = encode(network)
    places = range(8 * len(data))
    for place in places if len(places) < 30 else chance.sample(places, 30):
        flipped = (int.from_bytes(data, "big") ^ 1 << place).to_bytes(len(data), "big")
        if assert_canonical(flipped):
            assert decode(flipped) != network


def test_every_flip_of_one_or_two_neighbouring_bits_of_a_tiny_code() -> None:
    data, network = encode(tiny()), without_stages(tiny())
    number, decoded = int.from_bytes(data, "big"), 0
    for first in range(8 * len(data)):
        for second in {first, (first + 1) % (8 * len(data))}:
            flipped = (number ^ (1 << first | 1 << second)).to_bytes(len(data), "big")
            if assert_canonical(flipped):
                assert decode(flipped) != network
                decoded += 1
    assert decoded > 0


@settings(deadline=None, max_examples=20)
@given(networks())
def test_truncated_and_extended_are_refused(network: Network) -> None:
    data = encode(network)
    for length in range(max(0, len(data) - 6), len(data)):
        with pytest.raises(ByheartError):
            decode(data[:length])
    for extension in (b"\0", b"\1", b"\xff", b"\0" * 20):
        with pytest.raises(ByheartError):
            decode(data + extension)
    unused = 8 * len(data) - encoded_bits(network)
    for place in range(unused):
        with pytest.raises(ByheartError):
            decode(data[:-1] + bytes([data[-1] | 1 << place]))


@settings(deadline=None, max_examples=300)
@given(st.binary(max_size=200))
def test_random_bytes_raise_nothing_else(data: bytes) -> None:
    assert_canonical(data)


@pytest.mark.parametrize("data", [b"", b"\0" * 3000, b"\xff" * 3000, b"\x55" * 3000])
def test_constant_bytes_are_quick(data: bytes) -> None:
    assert_quick(data)


def bombs() -> list[bytes]:
    """Codes that promise much, or are as cheap as a code can be, and are cut off."""
    size, digits = 1 << 20, 1 << 22
    entry = Input(1, 1, False, (Dyadic(0, 0),))
    last = Linear(Matrix(1, size), Matrix(1, 1))
    wide = Linear(Matrix(size, 1), Matrix(size, 1))
    full = tuple(Entry(i, 0, Dyadic(1, 0)) for i in range(5000))
    alternating = tuple(Entry(i, 0, Dyadic((-1) ** i * 1023, digits)) for i in range(1000))
    long = (Entry(0, 0, Dyadic((1 << digits) - 1, 0)),)
    firsts = [replace(wide, weight=Matrix(size, 1, e)) for e in (full, alternating, long)]
    codes = [encode(Network(entry, (first, last))) for first in firsts]
    empty = FeedForward(Matrix(0, size), Matrix(0, 1), Matrix(size, 0), Matrix(size, 1))
    codes.append(encode(Network(entry, (wide, *[empty] * 1000, last))))
    return [piece for code in codes for piece in (code[:20], code[: len(code) // 2])]


def assert_quick(data: bytes) -> None:
    tracemalloc.start()
    started = time.perf_counter()
    assert_canonical(data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert time.perf_counter() - started < 20
    assert peak < 50_000_000 + 200_000 * len(data)


def test_hostile_sizes_are_quick_and_small() -> None:
    for data in bombs():
        assert_quick(data)


@pytest.mark.parametrize(
    ("mantissa", "exponent"), [(2, 0), (0, 0), (0, 1), (1, (1 << 22) + 1), (1, -(1 << 22) - 1)]
)
def test_a_number_that_is_not_canonical_has_no_code(mantissa: int, exponent: int) -> None:
    assert_no_code(Dyadic(mantissa, exponent))


def test_a_mantissa_that_is_too_long_has_no_code() -> None:
    assert_no_code(Dyadic(-(1 << (1 << 22)) - 1, 0))


def assert_no_code(value: Dyadic) -> None:
    bias = Matrix(1, 1, (Entry(0, 0, value),))
    network = replace(tiny(), layers=(*tiny().layers[:-1], Linear(matrix(1, 2, {}), bias)))
    with pytest.raises(ByheartError):
        encode(network)


def test_a_network_of_the_wrong_shape_has_no_code() -> None:
    first, *middle, last = tiny().layers
    one, entry = Dyadic(1, 0), tiny().input
    outside = [(Entry(0, 2, one),), (Entry(-1, 0, one),), (Entry(0, -1, one),)]
    unsorted = (Entry(0, 1, one), Entry(0, 0, one))
    doubled = (Entry(0, 0, one), Entry(0, 0, one))
    wrong: list[tuple[Layer, ...]] = [
        (),
        (first,),
        (first, first, last),
        (*middle, last),
        (first, *middle),
    ]
    for entries in (*outside, unsorted, doubled):
        wrong.append((first, Linear(Matrix(1, 2, entries), Matrix(1, 1))))
    for layers in wrong:
        with pytest.raises(ByheartError):
            encode(Network(entry, layers))
    with pytest.raises(ByheartError):
        encode(replace(tiny(), input=replace(entry, padding=())))
    with pytest.raises(ByheartError):
        encode(replace(tiny(), input=replace(entry, length=(1 << 20) + 1)))


def test_a_block_like_the_one_before_costs_less_than_a_bit() -> None:
    first, *_, last = tiny().layers
    folds = [fold(t) for t in range(1000, 0, -1)]
    some, more = (Network(tiny().input, (first, *folds[:n], last)) for n in (100, 1000))
    assert encoded_bits(more) - encoded_bits(some) < 900
    # for ever, like the tiny one
    assert sha256(encode(more)).hexdigest()[:16] == "8ddb70387b26d22e"


def test_random_mantissas_cost_their_digits() -> None:
    chance = random.Random(1)
    numbers = {(r, c): chance.getrandbits(500) - (1 << 499) for r in range(20) for c in range(20)}
    last = Linear(matrix(1, 20, {}), Matrix(1, 1))
    first = Linear(matrix(20, 20, numbers), Matrix(20, 1))
    network = Network(Input(20, 1, False, (Dyadic(0, 0),) * 20), (first, last))
    assert 400 * 500 < encoded_bits(network) < 400 * 500 * 1.01


def test_a_chunk_beyond_the_last_part_is_refused() -> None:
    """2^32 parts of floor(range / 2^32) leave a little of the range over: it is no chunk's."""
    with pytest.raises(ByheartError):
        _Reader(b"\xff" * 16).chunk(32, 0)


def test_ones_cannot_promise_more_digits_than_there_are_bits() -> None:
    bias = Matrix(1, 1, (Entry(0, 0, Dyadic((1 << 100_000) - 1, 0)),))
    network = replace(tiny(), layers=(*tiny().layers[:-1], Linear(matrix(1, 2, {}), bias)))
    assert encoded_bits(network) > 98_000
    assert decode(encode(network)) == without_stages(network)


def test_a_compiled_network_is_short() -> None:
    model = compile(generate(1000, seed=1))
    bits = model.about["bits"]
    assert bits["encoded"] == encoded_bits(model.network)
    assert bits["encoded"] < 1.4 * bits["total"]
    assert decode(encode(model.network)) == without_stages(model.network)
