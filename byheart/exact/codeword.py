"""bits.encoded: the length of one canonical self-delimiting code word for a whole network.

A network is a sequence of decisions, each a bit with a probability; the arithmetic code of the
sequence is about -log2 of their product long. The code is this, with the arithmetic and the
numbers of coder.py:

Network  Dimension, length, positions (a bit); for the padding and the extra vector, a bit whether
    there is one, and a tensor; whether every token is answered (a bit), number of blocks; the
    first layer: a bit (1: embedding), width, of an embedding its columns, tensors; of each block
    the number of its kind in BLOCKS, its rows, hidden units or heads and head dimension, its
    tensors, and of sparse attention the connections: their number and, for each, the target less
    the last one's and the source, less that of the last one and 1 if the target is the same; the
    last linear layer (one row). The shapes follow from these sizes. The order of tensors is that
    of network.py. Names of stages are comments, not part of the code.
Tensor  The places of its nonzeros, numbered row by row (W1, W_V: column by column, so that a lane's
    places are neighbours), form maximal runs. A bit: are they those of the last tensor of this name
    (at first none)? If not: the number of runs and, for each, the gap before it (less one, except
    for the first run, which has a field of its own) and its length less one. Then the values.
Value  `before` is the last value in a tensor of this name (at first 1), `again` the last value at
    this row and column of a tensor of this name (at first `before`). A bit: is it `again`? If not,
    in fields that depend on whether `before` has 16 digits or more: a bit for minus; top = digits +
    exponent, less the top of `before`, signed; exponent, less that of `before`, signed; and of an
    odd mantissa of d > 1 digits the number r of ones next to the first digit, at most 1023. The
    digits are: all ones if r = d - 1; else 1, r ones, 0 (not if r = 1023), plain bits, 1. The
    plain bits are in chunks of 32, preceded by a chunk of the remaining ones (perhaps no bit).

Counts, runs and last values are the memory of the code: a block like the one before it costs next
to nothing, a digit of a random mantissa one bit. A decision costs at least 1/50 bit and a long
mantissa its digits: the time and memory of `decode` are linear in the length of its input.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import groupby
from typing import Any

from . import network as kinds
from .coder import SIZE, Coder, Context, Reader, Writer, refuse
from .network import Dyadic, Entry, Input, Layer, Linear, Matrix, Network

DIGITS = 1 << 22  # of a number: checker/FORMAT.md, section 2
LONG, ONES = 16, 1023
ZERO, ONE = Dyadic(0, 0), Dyadic(1, 0)
EMPTY = Matrix(0, 0)
FILLER = Linear(EMPTY, EMPTY)
BLOCKS = (
    kinds.FeedForward,
    kinds.UniformAttention,
    kinds.Relu,
    kinds.SparseAttention,
    kinds.HardAttention,
    kinds.Sum,
)
ROWS = {"relu": "weight", "feed_forward": "W1"}  # the tensor whose rows are coded, if not W_V
NOTHING = Network(Input(0, 0, False, ()), (FILLER, FILLER))

Pairs = tuple[tuple[int, int], ...]  # runs: (first place, length); connections: (target, source)


def encode(network: Network) -> bytes:
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
    writer = Writer()
    bare = replace(network, layers=tuple(replace(layer, stage="") for layer in network.layers))
    if _network(writer, network) != bare:
        refuse("the network's layers, shapes or numbers are not those of checker/FORMAT.md")
    return writer


def runs(places: Iterable[int]) -> Pairs:
    """The maximal runs of sorted places: place less rank is constant on each."""
    groups = groupby(enumerate(places), lambda pair: pair[1] - pair[0])
    members = ([place for _, place in group] for _, group in groups)
    return tuple((run[0], len(run)) for run in members)


class _Tensors:
    """Tensors one after another, with the memory of those before."""

    def __init__(self, coder: Coder) -> None:
        self.coder = coder
        self.runs: dict[str, Pairs] = {}
        self.last: dict[str, Dyadic] = {}
        self.values: dict[tuple[str, int, int], Dyadic] = {}

    def tensor(self, name: str, rows: int, columns: int, given: Mapping[str, Matrix]) -> Matrix:
        down, across = (1, rows) if name in ("W1", "W_V") else (columns, 1)
        table = {r * down + c * across: v for r, c, v in given.get(name, EMPTY).entries}
        wanted, before = runs(sorted(table)), self.runs.get(name, ())
        if self.coder.bit((name, "same"), wanted == before):
            coded = list(before)
        else:
            coded, free = [], 0  # free: the first place where the next run may begin
            for i in range(self.coder.number((name, "runs"), len(wanted))):
                start, length = wanted[i] if i < len(wanted) else (free, 1)
                start = free + self.coder.number((name, "gap" if i else "first"), start - free)
                length = 1 + self.coder.number((name, "length"), length - 1)
                free = start + length + 1
                coded.append((start, length))
        if coded and sum(coded[-1]) > rows * columns:
            refuse(f"{name} has a place outside its shape")
        self.runs[name] = tuple(coded)
        entries = []
        for start, length in coded:
            for place in range(start, start + length):
                row, column = place // down % rows, place // across % columns
                value = self._value(name, row, column, table.get(place, ONE))
                entries.append(Entry(row, column, value))
        return Matrix(rows, columns, tuple(sorted(entries)))

    def _value(self, name: str, row: int, column: int, given: Dyadic) -> Dyadic:
        coder, before = self.coder, self.last.get(name, ONE)
        again = self.values.get((name, row, column), before)
        if coder.bit((name, "again"), given == again):
            value = again
        else:
            field = name, before.digits >= LONG
            sign = coder.bit((field, "sign"), given.mantissa < 0)
            top = before.digits + before.exponent
            top += coder.signed((field, "top"), given.digits + given.exponent - top)
            exponent = given.exponent - before.exponent
            exponent = before.exponent + coder.signed((field, "exponent"), exponent)
            if abs(exponent) > DIGITS or not 0 < top - exponent <= DIGITS:
                refuse("a number has no digits or too many")
            mantissa = self._mantissa((field, "ones"), top - exponent, abs(given.mantissa))
            value = Dyadic(-mantissa if sign else mantissa, exponent)
        self.last[name] = self.values[name, row, column] = value
        return value

    def _mantissa(self, field: Context, digits: int, given: int) -> int:
        """An odd number with that many digits: 1, ones, perhaps a zero, plain bits, 1."""
        if digits == 1:
            return 1
        zeros = ~given & ((1 << digits) - 1)
        ones = self.coder.number(field, min(digits - 1 - zeros.bit_length(), ONES))
        if ones == digits - 1:
            return (1 << digits) - 1
        width = digits - ones - 2 - (ones < ONES)
        if width < 0 or ones > ONES:
            refuse("a mantissa is not canonical")
        plain = self.coder.plain(width, given >> 1 & ((1 << width) - 1))
        return ((2 << ones) - 1) << (digits - ones - 1) | plain << 1 | 1

    def layer(self, kind: str, width: int, size: int, given: Layer) -> dict[str, Any]:
        shapes = kinds.shapes_of(kind, width, size)
        return {name: self.tensor(name, *shape, given.tensors) for name, shape in shapes.items()}

    def vector(
        self, name: str, size: int, given: tuple[Dyadic, ...] | None
    ) -> tuple[Dyadic, ...] | None:
        if not self.coder.bit((name,), given is not None):
            return None
        entries = tuple(Entry(i, 0, v) for i, v in enumerate(given or ()) if v != ZERO)
        column = self.tensor(name, size, 1, {name: Matrix(size, 1, entries)})
        values = {row: value for row, _, value in column.entries}
        return tuple(values.get(i, ZERO) for i in range(size))


def _network(coder: Coder, given: Network) -> Network:
    tensors = _Tensors(coder)

    def layer(index: int) -> Layer:
        return given.layers[index] if index < len(given.layers) else FILLER

    dimension = coder.size("dimension", given.input.dimension)
    length = coder.size("length", given.input.length)
    positions = bool(coder.bit(("positions",), given.input.positions))
    padding = tensors.vector("padding", dimension, given.input.padding)
    extra = tensors.vector("extra", dimension, given.input.extra)
    reads = Input(dimension, length, positions, padding, extra)
    every = bool(coder.bit(("every",), given.every))
    blocks = coder.size("number of blocks", len(given.layers) - 2)

    first = layer(0)
    embedding = coder.bit(("embedding",), isinstance(first, kinds.Embedding))
    weight = first.tensors.get("weight", EMPTY)
    width = coder.size("width", weight.rows)
    layers: list[Layer] = []
    if embedding:
        columns = coder.size("vocabulary", weight.columns)
        table = tensors.tensor("weight", width, columns, first.tensors)
        layers += [kinds.Embedding(table, tensors.tensor("position", width, 1, first.tensors), "")]
    else:
        layers += [Linear(**tensors.layer("linear", reads.coordinates, width, first))]

    for i in range(blocks):
        layers.append(_block(coder, tensors, width, layer(i + 1)))
        if isinstance(layers[-1], kinds.Relu):
            width = layers[-1].weight.rows
    layers.append(Linear(**tensors.layer("linear", width, 1, layer(blocks + 1))))
    return Network(reads, tuple(layers), every)


def _block(coder: Coder, tensors: _Tensors, width: int, given: Layer) -> Layer:
    known = [kind.kind for kind in BLOCKS]
    number = coder.number(("kind",), known.index(given.kind) if given.kind in known else 0)
    if number >= len(BLOCKS):
        refuse("a layer is of no known kind")
    kind: Any = BLOCKS[number]
    size = 0
    more: dict[str, Any] = {"stage": ""}
    if kind is kinds.HardAttention:
        heads = given.heads if isinstance(given, kinds.HardAttention) else 1
        more["heads"] = coder.size("heads", heads)
    if kind is not kinds.Sum:
        heads = more.get("heads", 1)
        rows = given.tensors.get(ROWS.get(kind.kind, "W_V"), EMPTY).rows
        size = heads * coder.size("rows" if kind is kinds.Relu else "hidden", rows // max(1, heads))
        if size > SIZE:
            refuse("its heads are too large")
    own = tensors.layer(kind.kind, width, size, given)
    if kind is kinds.SparseAttention:
        wanted = given.connections if isinstance(given, kinds.SparseAttention) else ()
        more["connections"] = _connections(coder, wanted)
    return kind(**own, **more)


def _connections(coder: Coder, given: Pairs) -> Pairs:
    connections: list[tuple[int, int]] = []
    target = source = 0
    for i in range(coder.size("number of connections", len(given))):
        to, other = given[i] if i < len(given) else (target, source + 1)
        step = coder.number(("target",), to - target)
        if step or i == 0:
            source = coder.number(("source",), other)
        else:
            source += 1 + coder.number(("next source",), other - source - 1)
        target += step
        if max(target, source) > SIZE:
            refuse("a connection leads too far")
        connections.append((target, source))
    return tuple(connections)
