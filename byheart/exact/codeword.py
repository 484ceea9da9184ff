"""bits.encoded: the length of one canonical self-delimiting code word for a whole network.

A network is a sequence of decisions, each a bit with a probability; the arithmetic code of the
sequence is about -log2 of their product long. The code is this, with the arithmetic and the
numbers of coder.py:

Network  Dimension, length, positions (a bit); of padding and of the extra vector a bit whether
    there is one, and a tensor; whether every token is answered (a bit), number of blocks; the
    first layer: a bit (1: embedding), width, of an embedding its columns, tensors; of each block
    the number of its kind in BLOCKS, its rows, hidden units or heads and head dimension, its
    tensors, and of sparse attention the connections: their number and, for each, the target less
    the last one's and the source, less that of the last one and 1 if the target is the same; the
    last linear layer (one row). The shapes follow from these sizes. The order of tensors is that
    of network.py. Names of stages are comments, not part of the code.
Tensor  The places of its nonzeros, numbered row by row (W1, W_V: column by column, so that a lane's
    places are neighbours), form maximal runs. A bit: are they those of the last tensor of this name
    (at first none)? If not: the number of runs and, for each, the gap before it (less one, but
    for the first run, which has a field of its own) and its length less one. Then the values.
Value  `before` is the last value in a tensor of this name (at first 1), `again` the last value at
    this row and column of a tensor of this name (at first `before`). A bit: is it `again`? If not,
    in fields that depend on whether `before` has 16 digits or more: a bit for minus; top = digits +
    exponent, less the top of `before`, signed; exponent, less that of `before`, signed; and of an
    odd mantissa of d > 1 digits the number r of ones next to the first digit, at most 1023. The
    digits are: all ones if r = d - 1; else 1, r ones, 0 (not if r = 1023), plain bits, 1. The
    plain bits are in chunks of 32, before them a chunk of what is left over (perhaps no bit).

Counts, runs and last values are the memory of the code: a block like the one before it costs next
to nothing, a digit of a random mantissa one bit. A decision costs at least 1/50 bit and a long
mantissa its digits: what `decode` does and keeps is linear in the length of what it is given.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby

from .coder import SIZE, Coder, Context, Reader, Writer, refuse
from .network import (
    Dyadic,
    Embedding,
    Entry,
    FeedForward,
    HardAttention,
    Input,
    Layer,
    Linear,
    Matrix,
    Network,
    Relu,
    SparseAttention,
    Sum,
    UniformAttention,
)

DIGITS = 1 << 22  # of a number: checker/FORMAT.md, section 2
LONG, ONES = 16, 1023
ZERO, ONE = Dyadic(0, 0), Dyadic(1, 0)
EMPTY = Matrix(0, 0)
FILLER = Linear(EMPTY, EMPTY)
BLOCKS = (FeedForward, UniformAttention, Relu, SparseAttention, HardAttention, Sum)
NOTHING = Network(Input(0, 0, False, ()), (FILLER, FILLER))

Runs = tuple[tuple[int, int], ...]  # (first place, length)


def encode(network: Network) -> bytes:
    """The code word, filled up with zeros to whole bytes."""
    word = _written(network).word()
    size = (len(word) + 7) // 8
    return int(word.ljust(8 * size, "0"), 2).to_bytes(size, "big")


def encoded_bits(network: Network) -> int:
    """The length of the code word."""
    return _written(network).position + 2


def decode(data: bytes) -> Network:
    """The one network whose code is these bytes, its stages without names."""
    network = _network(Reader(data), NOTHING)
    if encode(network) != data:
        refuse("bits follow the network or it is not written in its canonical form")
    return network


def _written(network: Network) -> Writer:
    """The writer after the whole network; what it returns is what a reader will read."""
    writer = Writer()
    bare = replace(network, layers=tuple(replace(layer, stage="") for layer in network.layers))
    if _network(writer, network) != bare:
        refuse("the network's layers, shapes or numbers are not those of checker/FORMAT.md")
    return writer


class _Tensors:
    """Tensors one after another, with the memory of those before."""

    def __init__(self, coder: Coder) -> None:
        self.coder = coder
        self.runs: dict[str, Runs] = {}
        self.last: dict[str, Dyadic] = {}
        self.values: dict[tuple[str, int, int], Dyadic] = {}

    def tensor(self, name: str, rows: int, columns: int, told: Mapping[str, Matrix]) -> Matrix:
        down, across = (1, rows) if name in ("W1", "W_V") else (columns, 1)
        table = {r * down + c * across: v for r, c, v in told.get(name, EMPTY).entries}
        entries = []
        for start, length in self._places(name, rows * columns, _runs(sorted(table))):
            for place in range(start, start + length):
                row, column = place // down % rows, place // across % columns
                value = self._value(name, row, column, table.get(place, ONE))
                entries.append(Entry(row, column, value))
        return Matrix(rows, columns, tuple(sorted(entries)))

    def _places(self, name: str, limit: int, told: Runs) -> Runs:
        before = self.runs.get(name, ())
        same = self.coder.bit((name, "same"), told == before)
        runs = before if same else tuple(self._new_places(name, told))
        if runs and sum(runs[-1]) > limit:
            refuse(f"{name} has a place outside its shape")
        self.runs[name] = runs
        return runs

    def _new_places(self, name: str, told: Runs) -> Iterator[tuple[int, int]]:
        free = 0  # the first place where the next run may begin
        for i in range(self.coder.number((name, "runs"), len(told))):
            start, length = told[i] if i < len(told) else (free, 1)
            start = free + self.coder.number((name, "first" if i == 0 else "gap"), start - free)
            length = 1 + self.coder.number((name, "length"), length - 1)
            free = start + length + 1
            yield start, length

    def _value(self, name: str, row: int, column: int, told: Dyadic) -> Dyadic:
        before = self.last.get(name, ONE)
        again = self.values.get((name, row, column), before)
        same = self.coder.bit((name, "again"), told == again)
        value = again if same else self._new_value((name, before.digits >= LONG), before, told)
        self.last[name] = self.values[name, row, column] = value
        return value

    def _new_value(self, field: Context, before: Dyadic, told: Dyadic) -> Dyadic:
        sign = self.coder.bit((field, "sign"), told.mantissa < 0)
        top = before.digits + before.exponent
        top += self.coder.signed((field, "top"), told.digits + told.exponent - top)
        exponent = told.exponent - before.exponent
        exponent = before.exponent + self.coder.signed((field, "exponent"), exponent)
        if abs(exponent) > DIGITS or not 0 < top - exponent <= DIGITS:
            refuse("a number has no digits or too many")
        mantissa = self._mantissa((field, "ones"), top - exponent, abs(told.mantissa))
        return Dyadic(-mantissa if sign else mantissa, exponent)

    def _mantissa(self, field: Context, digits: int, told: int) -> int:
        """An odd number of that many digits: 1, ones, perhaps a zero, plain bits, 1."""
        if digits == 1:
            return 1
        zeros = ~told & ((1 << digits) - 1)
        ones = self.coder.number(field, min(digits - 1 - zeros.bit_length(), ONES))
        if ones == digits - 1:
            return (1 << digits) - 1
        width = digits - ones - 2 - (ones < ONES)
        if width < 0 or ones > ONES:
            refuse("a mantissa is not canonical")
        plain = self.coder.plain(width, told >> 1 & ((1 << width) - 1))
        return ((2 << ones) - 1) << (digits - ones - 1) | plain << 1 | 1


def _runs(places: list[int]) -> Runs:
    """The maximal runs of sorted places: place less rank is constant on each."""
    groups = groupby(enumerate(places), lambda pair: pair[1] - pair[0])
    runs = ([place for _, place in group] for _, group in groups)
    return tuple((run[0], len(run)) for run in runs)


def _network(coder: Coder, told: Network) -> Network:
    tensors = _Tensors(coder)

    def layer(index: int) -> Layer:
        return told.layers[index] if index < len(told.layers) else FILLER

    given = _input(coder, tensors, told.input)
    every = bool(coder.bit(("every",), told.every))
    blocks = coder.size("number of blocks", len(told.layers) - 2)
    layers: list[Layer] = [_first(coder, tensors, given.coordinates, layer(0))]
    width = layers[0].tensors["weight"].rows
    for i in range(blocks):
        layers.append(_block(coder, tensors, width, layer(i + 1)))
        if isinstance(layers[-1], Relu):
            width = layers[-1].weight.rows
    layers.append(Linear(*_affine(tensors, 1, width, layer(blocks + 1))))
    return Network(given, tuple(layers), every)


def _input(coder: Coder, tensors: _Tensors, told: Input) -> Input:
    dimension = coder.size("dimension", told.dimension)
    length = coder.size("length", told.length)
    positions = bool(coder.bit(("positions",), told.positions))
    padding = _vector(coder, tensors, "padding", dimension, told.padding)
    return Input(
        dimension,
        length,
        positions,
        padding,
        _vector(coder, tensors, "extra", dimension, told.extra),
    )


def _vector(
    coder: Coder, tensors: _Tensors, name: str, size: int, told: tuple[Dyadic, ...] | None
) -> tuple[Dyadic, ...] | None:
    if not coder.bit((name,), told is not None):
        return None
    entries = tuple(Entry(i, 0, v) for i, v in enumerate(told or ()) if v != ZERO)
    given = {name: Matrix(size, 1, entries)}
    values = {row: v for row, _, v in tensors.tensor(name, size, 1, given).entries}
    return tuple(values.get(i, ZERO) for i in range(size))


def _first(coder: Coder, tensors: _Tensors, coordinates: int, told: Layer) -> Layer:
    embedding = coder.bit(("embedding",), isinstance(told, Embedding))
    weight = told.tensors.get("weight", EMPTY)
    width = coder.size("width", weight.rows)
    if not embedding:
        return Linear(*_affine(tensors, width, coordinates, told))
    columns = coder.size("vocabulary", weight.columns)
    table = tensors.tensor("weight", width, columns, told.tensors)
    return Embedding(table, tensors.tensor("position", width, 1, told.tensors), "")


def _affine(tensors: _Tensors, rows: int, columns: int, told: Layer) -> tuple[Matrix, Matrix]:
    weight = tensors.tensor("weight", rows, columns, told.tensors)
    return weight, tensors.tensor("bias", rows, 1, told.tensors)


def _block(coder: Coder, tensors: _Tensors, width: int, told: Layer) -> Layer:
    known = [kind.kind for kind in BLOCKS]
    number = coder.number(("kind",), known.index(told.kind) if told.kind in known else 0)
    if number >= len(BLOCKS):
        refuse("a layer is of no known kind")
    kind = BLOCKS[number]
    if kind is Sum:
        return Sum("")
    if kind is Relu:
        rows = coder.size("rows", told.tensors.get("weight", EMPTY).rows)
        return Relu(*_affine(tensors, rows, width, told))
    if kind is FeedForward:
        hidden = coder.size("hidden", told.tensors.get("W1", EMPTY).rows)
        into = tensors.tensor("W1", hidden, width, told.tensors)
        bias = tensors.tensor("b1", hidden, 1, told.tensors)
        out = tensors.tensor("W2", width, hidden, told.tensors)
        return FeedForward(into, bias, out, tensors.tensor("b2", width, 1, told.tensors))
    return _attention(coder, tensors, width, told, kind)


def _attention(
    coder: Coder, tensors: _Tensors, width: int, told: Layer, kind: type[Layer]
) -> Layer:
    told_heads = told.heads if isinstance(told, HardAttention) else 1
    heads = coder.size("heads", told_heads) if kind is HardAttention else 1
    head = coder.size("hidden", told.tensors.get("W_V", EMPTY).rows // max(1, heads))
    if heads * head > SIZE:
        refuse("its heads are too large")

    def inward(name: str) -> Matrix:
        return tensors.tensor(name, heads * head, width, told.tensors)

    scores = (inward("W_Q"), inward("W_K")) if kind is HardAttention else None
    values, out = inward("W_V"), tensors.tensor("W_O", width, heads * head, told.tensors)
    if scores:
        return HardAttention(*scores, values, out, heads, "")
    if kind is UniformAttention:
        return UniformAttention(values, out, "")
    pairs = told.connections if isinstance(told, SparseAttention) else ()
    return SparseAttention(values, out, tuple(_connections(coder, pairs)), "")


def _connections(coder: Coder, told: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Sorted pairs by their differences: the target, and the source after the last one if the
    target is the same."""
    target = source = 0
    for i in range(coder.size("number of connections", len(told))):
        wanted, other = told[i] if i < len(told) else (target, source + 1)
        step = coder.number(("target",), wanted - target)
        if step or i == 0:
            source = coder.number(("source",), other)
        else:
            source += 1 + coder.number(("next source",), other - source - 1)
        target += step
        if max(target, source) > SIZE:
            refuse("a connection leads too far")
        yield target, source
