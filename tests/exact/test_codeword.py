"""encode and decode: one code word for one network, everything else refused, and short."""

import random
import time
import tracemalloc
from dataclasses import replace
from hashlib import sha256
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import check
import packed
from byheart.api.compile import compile
from byheart.data.generate import random as generate
from byheart.errors import ByheartError
from byheart.exact.coder import Reader
from byheart.exact.codeword import BLOCKS, decode, encode, encoded_bits
from byheart.exact.network import (
    Dyadic,
    Embedding,
    Entry,
    FeedForward,
    HardAttention,
    Input,
    Layer,
    Linear,
    Matrix,
    Mixing,
    Network,
    Relu,
    SparseAttention,
    Sum,
    TokenWise,
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
def connections(draw: st.DrawFn) -> tuple[tuple[int, int], ...]:
    near = st.tuples(st.integers(0, 4), st.integers(0, 4))
    far = st.tuples(st.integers(0, 1 << 20), st.integers(0, 1 << 20))
    star = st.integers(1, 40).map(lambda n: {(0, k) for k in range(n)})
    return tuple(sorted(draw(st.one_of(st.sets(near), st.sets(far, max_size=5), star))))


@st.composite
def blocks(draw: st.DrawFn, width: int) -> Layer:
    """One layer of any kind between the first and the last."""
    kind, units = draw(st.sampled_from(BLOCKS)), draw(st.integers(1, 3))
    if kind is Sum:
        return Sum("")
    if kind is Relu:
        return Relu(draw(matrices(units, width)), draw(matrices(units, 1)))
    if kind is FeedForward:
        shapes = (units, width), (units, 1), (width, units), (width, 1)
        return FeedForward(*(draw(matrices(*shape)) for shape in shapes))
    if kind is HardAttention:
        heads = draw(st.integers(1, 3))
        inward = [draw(matrices(heads * units, width)) for _ in range(3)]
        return HardAttention(*inward, draw(matrices(width, heads * units)), heads, "")
    inward, out = draw(matrices(units, width)), draw(matrices(width, units))
    if kind is SparseAttention:
        return SparseAttention(inward, out, draw(connections()), "")
    return UniformAttention(inward, out, "")


@st.composite
def inputs(draw: st.DrawFn) -> Input:
    dimension = draw(st.integers(0, 3))
    coordinate = st.one_of(st.just(Dyadic(0, 0)), values)
    vectors = st.none() | st.tuples(*[coordinate] * dimension)
    length, positions = draw(st.integers(0, 1 << 20)), draw(st.booleans())
    return Input(dimension, length, positions, draw(vectors), draw(vectors))


@st.composite
def networks(draw: st.DrawFn) -> Network:
    entry, width = draw(inputs()), draw(st.integers(1, 4))
    if draw(st.booleans()):
        table = draw(matrices(width, draw(st.integers(0, 5))))
        layers: list[Layer] = [Embedding(table, draw(matrices(width, 1)), "")]
    else:
        layers = [Linear(draw(matrices(width, entry.coordinates)), draw(matrices(width, 1)))]
    for _ in range(draw(st.integers(0, 4))):
        block = draw(blocks(width))
        narrower = isinstance(block, Relu) and block.weight.rows != width
        layers += [block] * (1 if narrower else draw(st.sampled_from([1, 1, 10])))
        width = block.weight.rows if isinstance(block, Relu) else width
    last = Linear(draw(matrices(1, width)), draw(matrices(1, 1)))
    return Network(entry, (*layers, last), draw(st.booleans()))


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


def kinds() -> Network:
    """A network with every kind of layer; no model folder would hold it."""
    table = Embedding(matrix(2, 3, {(0, 0): 1, (0, 1): 2, (1, 2): -0.5}), vector({0: 3}, 2))
    read, out = matrix(2, 2, {(0, 0): 1, (1, 1): 1}), matrix(2, 2, {(0, 0): 3, (0, 1): -3})
    blocks = (
        fold(3),
        HardAttention(read, read, read, out, heads=2),
        SparseAttention(matrix(1, 2, {(0, 0): 1}), matrix(2, 1, {(1, 0): 3}), LINKS, "gather"),
        UniformAttention(matrix(1, 2, {(0, 1): 1}), matrix(2, 1, {(0, 0): 3})),
        Relu(matrix(3, 2, {(0, 0): 1, (1, 1): -1, (2, 0): 7}), vector({2: 0.25}, 3)),
        Sum(),
    )
    last = Linear(matrix(1, 3, {(0, 2): 1}), vector({0: 5}, 1))
    entry = Input(1, 3, True, (Dyadic(0, 0),), (Dyadic(1, 1),))
    return Network(entry, (table, *blocks, last), every=True)


LINKS = ((0, 1), (0, 2), (0, 3), (2, 0), (2, 2), (3, 3))


def test_every_kind_of_layer_is_tried() -> None:
    tried = {type(layer) for layer in kinds().layers}
    assert tried == set(get_args(TokenWise) + get_args(Mixing))
    assert decode(encode(kinds())) == without_stages(kinds())


def test_two_networks_have_these_codes_for_ever() -> None:
    assert encode(tiny()).hex() == "98661510c17201caed217538ebf823356f5921776ee8"
    assert encoded_bits(tiny()) == 174
    assert encode(kinds()).hex() == (
        "98f4093bdc2a52237b61a266656a11627191c3c33df4b537"
        "c2e244810b50cd596add68af2f39956cc5367689705c"
    )
    assert encoded_bits(kinds()) == 368


class Plain:
    """The code once more, word for word after the docstrings: one long number, no carries."""

    def __init__(self) -> None:
        self.low, self.range, self.doublings = 0, (1 << 64) - 1, 0
        self.counts: dict = {}
        self.runs: dict = {}
        self.values: dict = {}

    def take(self, start: int, size: int) -> None:
        self.low, self.range = self.low + start, size
        while self.range < 1 << 63:
            self.low, self.range, self.doublings = 2 * self.low, 2 * self.range, self.doublings + 1

    def bit(self, context: object, bit: bool) -> None:
        counts = self.counts.setdefault(context, [1, 1])
        split = self.range * counts[0] // sum(counts)
        self.take(*((split, self.range - split) if bit else (0, split)))
        counts[bit] += 2
        if sum(counts) > 63:
            counts[:] = [-(-count // 2) for count in counts]

    def number(self, field: object, number: int) -> None:
        digits = f"{number + 1:b}"
        for i in range(len(digits)):
            self.bit((field, i), i < len(digits) - 1)
        for i in range(1, len(digits)):
            self.bit((field, len(digits), digits[:i]), digits[i] == "1")

    def signed(self, field: object, number: int) -> None:
        self.number(field, 2 * number - 1 if number > 0 else -2 * number)

    def tensor(self, name: str, tensor: Matrix) -> None:
        down = name in ("W1", "W_V")
        table = {(c, r) if down else (r, c): (r, c, v) for r, c, v in tensor.entries}
        wide = tensor.rows if down else tensor.columns
        places = sorted(a * wide + b for a, b in table)
        begins = [p for p in places if p - 1 not in places]
        ends = [p for p in places if p + 1 not in places]
        runs = list(zip(begins, ends, strict=True))
        self.bit((name, "same"), runs == self.runs.get(name, []))
        if runs != self.runs.get(name, []):
            self.number((name, "runs"), len(runs))
            for i, (begin, end) in enumerate(runs):
                gap = begin - runs[i - 1][1] - 2 if i else begin
                self.number((name, "gap" if i else "first"), gap)
                self.number((name, "length"), end - begin)
        self.runs[name] = runs
        for _, (r, c, value) in sorted(table.items()):
            self.value(name, r, c, value)

    def value(self, name: str, row: int, column: int, value: Dyadic) -> None:
        before = self.values.get(name, Dyadic(1, 0))
        again = self.values.get((name, row, column), before)
        self.bit((name, "again"), value == again)
        self.values[name] = self.values[name, row, column] = value
        if value == again:
            return
        field = name, before.digits >= 16
        self.bit((field, "minus"), value.mantissa < 0)
        tops = [x.digits + x.exponent for x in (value, before)]
        self.signed((field, "top"), tops[0] - tops[1])
        self.signed((field, "exponent"), value.exponent - before.exponent)
        digits = f"{abs(value.mantissa):b}"
        if len(digits) > 1:
            ones = min(1023, len(digits[1:]) - len(digits[1:].lstrip("1")))
            self.number((field, "ones"), ones)
            if ones < len(digits) - 1:
                self.plain(digits[1 + ones + (ones < 1023) : -1])

    def plain(self, digits: str) -> None:
        first = len(digits) % 32
        for begin in range(first - 32, len(digits), 32):
            chunk = digits[max(0, begin) : begin + 32]
            unit = self.range // 2 ** len(chunk)
            self.take(int(chunk or "0", 2) * unit, unit)

    def vector(self, name: str, values: tuple[Dyadic, ...] | None) -> None:
        self.bit(name, values is not None)
        if values is not None:
            entries = tuple(Entry(i, 0, v) for i, v in enumerate(values) if v.mantissa)
            self.tensor(name, Matrix(len(values), 1, entries))

    def network(self, network: Network) -> str:
        entry, first = network.input, network.layers[0]
        self.number("dimension", entry.dimension)
        self.number("length", entry.length)
        self.bit("positions", entry.positions)
        self.vector("padding", entry.padding)
        self.vector("extra", entry.extra)
        self.bit("every", network.every)
        self.number("blocks", len(network.layers) - 2)
        self.bit("embedding", isinstance(first, Embedding))
        self.number("width", first.tensors["weight"].rows)
        if isinstance(first, Embedding):
            self.number("ids", first.weight.columns)
        for i, layer in enumerate(network.layers):
            if 0 < i < len(network.layers) - 1:
                self.sizes(layer)
            for name, tensor in layer.tensors.items():
                self.tensor(name, tensor)
            if isinstance(layer, SparseAttention):
                self.connections(layer.connections)
        return f"{-(-self.low >> 62):0{self.doublings + 2}b}"

    def sizes(self, layer: Layer) -> None:
        self.number("kind", [kind.kind for kind in BLOCKS].index(layer.kind))
        match layer:
            case Relu():
                self.number("rows", layer.weight.rows)
            case FeedForward():
                self.number("hidden", layer.W1.rows)
            case HardAttention():
                self.number("heads", layer.heads)
                self.number("hidden", layer.W_V.rows // layer.heads)
            case UniformAttention() | SparseAttention():
                self.number("hidden", layer.W_V.rows)

    def connections(self, pairs: tuple[tuple[int, int], ...]) -> None:
        self.number("connections", len(pairs))
        last = (0, -1)
        for i, (target, source) in enumerate(pairs):
            self.number("target", target - last[0])
            if i and target == last[0]:
                self.number("next source", source - last[1] - 1)
            else:
                self.number("source", source)
            last = target, source


@settings(deadline=None, max_examples=40)
@given(networks())
def test_the_code_is_the_written_one(network: Network) -> None:
    word = Plain().network(network)
    assert encoded_bits(network) == len(word)
    assert encode(network) == int(word.ljust(-(-len(word) // 8) * 8, "0"), 2).to_bytes(
        -(-len(word) // 8), "big"
    )


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
    for network in (tiny(), kinds()):
        assert flips_that_decode(network) > 0


def flips_that_decode(network: Network) -> int:
    data, network = encode(network), without_stages(network)
    number, decoded = int.from_bytes(data, "big"), 0
    for first in range(8 * len(data)):
        for second in {first, (first + 1) % (8 * len(data))}:
            flipped = (number ^ (1 << first | 1 << second)).to_bytes(len(data), "big")
            if assert_canonical(flipped):
                assert decode(flipped) != network
                decoded += 1
    return decoded


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


@settings(deadline=None, max_examples=80)
@given(networks(), st.binary(max_size=60), st.randoms(use_true_random=False))
def test_a_code_that_turns_into_garbage_raises_nothing_else(
    network: Network, garbage: bytes, chance: random.Random
) -> None:
    """Deep in the grammar, where random bytes alone never come."""
    data = encode(network)
    cut = chance.randrange(len(data))
    assert_canonical(data[:cut] + garbage)
    assert_canonical(data[:cut] + garbage + data[cut:])


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
    empty = FeedForward(Matrix(1, size), Matrix(1, 1), Matrix(size, 1), Matrix(size, 1))
    codes.append(encode(Network(entry, (wide, *[empty] * 1000, last))))
    table = Embedding(Matrix(1, size, tuple(Entry(0, i, Dyadic(1, 0)) for i in range(2000))), EMPTY)
    read = Linear(Matrix(1, 1), Matrix(1, 1))
    links = tuple((0, k) for k in range(5_000))
    star = SparseAttention(Matrix(1, 1), Matrix(1, 1), links)
    heads = HardAttention(*[Matrix(size, 1)] * 3, Matrix(1, size), size)
    codes.append(encode(Network(entry, (table, read))))
    codes.append(encode(Network(entry, (read, star, read))))
    codes.append(encode(Network(entry, (read, *[heads] * 100, *[Sum()] * 1000, read))))
    whole = [code for code in codes if len(code) < 10_000]
    return whole + [piece for code in codes for piece in (code[:20], code[: len(code) // 2])]


EMPTY = Matrix(1, 1)


def assert_quick(data: bytes) -> None:
    tracemalloc.start()
    started = time.process_time()
    assert_canonical(data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert time.process_time() - started < 20
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
    one, entry, size = Dyadic(1, 0), tiny().input, 1 << 20
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
    links = [((1, 0), (0, 0)), ((0, 1), (0, 1)), ((0, -1),), ((-1, 0),), ((0, size + 1),)]
    for pairs in links:
        star = SparseAttention(matrix(1, 2, {}), matrix(2, 1, {}), pairs)
        with pytest.raises(ByheartError):
            encode(Network(entry, (first, star, last)))
    with pytest.raises(ByheartError):  # three lanes are not two heads
        odd = HardAttention(*[Matrix(3, 2)] * 3, Matrix(2, 3), 2)
        encode(Network(entry, (first, odd, last)))
    with pytest.raises(ByheartError):
        encode(Network(entry, (first, Embedding(Matrix(2, 2), Matrix(2, 1)), last)))
    with pytest.raises(ByheartError):  # the last layer reads what the one before it leaves
        encode(Network(entry, (first, Relu(Matrix(3, 2), Matrix(3, 1)), last)))
    with pytest.raises(ByheartError):
        encode(replace(tiny(), input=replace(entry, padding=())))
    with pytest.raises(ByheartError):
        encode(replace(tiny(), input=replace(entry, extra=())))
    with pytest.raises(ByheartError):
        encode(replace(tiny(), input=replace(entry, length=(1 << 20) + 1)))


def test_a_block_like_the_one_before_costs_less_than_a_bit() -> None:
    first, *_, last = tiny().layers
    folds = [fold(t) for t in range(1000, 0, -1)]
    some, more = (Network(tiny().input, (first, *folds[:n], last)) for n in (100, 1000))
    assert encoded_bits(more) - encoded_bits(some) < 900
    # for ever, like the tiny one
    assert sha256(encode(more)).hexdigest()[:16] == "d06abd71c98cd989"


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
        Reader(b"\xff" * 16).chunk(32, 0)


def test_ones_cannot_promise_more_digits_than_there_are_bits() -> None:
    bias = Matrix(1, 1, (Entry(0, 0, Dyadic((1 << 100_000) - 1, 0)),))
    network = replace(tiny(), layers=(*tiny().layers[:-1], Linear(matrix(1, 2, {}), bias)))
    assert encoded_bits(network) > 98_000
    assert decode(encode(network)) == without_stages(network)


def test_a_compiled_network_is_short() -> None:
    model = compile(generate(1000, seed=1))
    bits = model.record.bits
    assert bits.encoded == encoded_bits(model.network)
    assert bits.encoded < 1.4 * bits.total
    assert decode(encode(model.network)) == without_stages(model.network)


def by_the_checker(word: bytes) -> object:
    """The network that the checker's own decoder reads, in plain numbers; None if it refuses."""
    try:
        found = packed.CodeWord(word).network()
    except check.Refusal:
        return None
    return (
        (found.dimension, found.length, found.positions, found.padding, found.extra, found.every),
        [(layer.kind, layer.connections) for layer in found.layers],
        found.tensors,
    )


def plain(network: Network) -> object:
    reads = network.input
    ends = [None if x is None else [list(v) for v in x] for x in (reads.padding, reads.extra)]
    tensors = [tensor for layer in network.layers for tensor in layer.tensors.values()]
    return (
        (reads.dimension, reads.length, reads.positions, *ends, network.every),
        [(layer.kind, list(getattr(layer, "connections", ()))) for layer in network.layers],
        [[(row, column, *value) for row, column, value in x.entries] for x in tensors],
    )


@given(networks(), st.data())
@settings(max_examples=60)
def test_the_checker_reads_the_same_network(network, data):
    """Two decoders, which share no code, agree about words and about what is none."""
    word = encode(network)
    assert by_the_checker(word) == plain(network)
    place = data.draw(st.integers(0, 8 * len(word) - 1))
    changed = bytearray(word)
    changed[place // 8] ^= 1 << place % 8
    for other in (bytes(changed), word[: place // 8], word + b"\0", word + b"\1"):
        try:
            wanted = plain(decode(other))
        except ByheartError:
            wanted = None
        assert by_the_checker(other) == wanted
