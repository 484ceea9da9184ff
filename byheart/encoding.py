"""bits.encoded: the length of one canonical self-delimiting code word for a whole network.

A network is a sequence of decisions, each a bit with a probability; the arithmetic code of the
sequence is about -log2 of their product long. The code is this:

Arithmetic  The interval is [low, low + range); at first low = 0, range = 2^64 - 1. A bit whose
    *context* has the counts (a, b), at first (1, 1), takes [0, s) of the range if it is 0 and
    [s, range) if it is 1, s = floor(range a / (a + b)). Then its count grows by 2; if a + b > 63
    both are halved, rounded up. A *chunk* of k <= 32 plain bits with value v takes
    [v u, (v + 1) u), u = floor(range / 2^k). While range < 2^63, low and range double, and one
    digit of low moves above 2^64. At the end low is rounded up to a multiple of 2^62, which lies
    in the interval with all its continuations. The code word is the digits of low from 2^62 up:
    one for each doubling and two more. `encode` adds zeros up to a whole byte.
Number  n >= 0 in a field f, for n + 1 of k + 1 binary digits: k ones and a zero in the contexts
    (f, 0), (f, 1), ...; then the k digits after the first one, each in the context (f, k, digits
    before it). A signed n is the number 2n - 1 if n > 0, else -2n.
Network  Dimension, length, positions (a bit), tensor `padding`, width, number of blocks; the first
    linear layer; of each block a bit (1: attention), its hidden units or head dimension, and its
    tensors; the last linear layer (one row). The shapes follow from these sizes. The order of
    tensors is that of network.py. Names of stages are comments, not part of the code.
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

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import groupby
from typing import NoReturn

from .errors import ByheartError
from .network import (
    Dyadic,
    Entry,
    FeedForward,
    Input,
    Layer,
    Linear,
    Matrix,
    Network,
    UniformAttention,
)

SIZE, DIGITS = 1 << 20, 1 << 22  # the limits of checker/FORMAT.md, section 2
LONG, ONES = 16, 1023
ZERO, ONE = Dyadic(0, 0), Dyadic(1, 0)
EMPTY = Matrix(0, 0)
FILLER = Linear(EMPTY, EMPTY)
NOTHING = Network(Input(0, 0, False, ()), (FILLER, FILLER))

Context = tuple[object, ...]
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
    network = _network(_Reader(data), NOTHING)
    if encode(network) != data:
        _refuse("bits follow the network or it is not written in its canonical form")
    return network


def _written(network: Network) -> "_Writer":
    """The writer after the whole network; what it returns is what a reader will read."""
    writer = _Writer()
    bare = replace(network, layers=tuple(replace(layer, stage="") for layer in network.layers))
    if _network(writer, network) != bare:
        _refuse("the network's layers, shapes or numbers are not those of checker/FORMAT.md")
    return writer


def _refuse(reason: str) -> NoReturn:
    raise ByheartError(f"this is not the encoding of a network: {reason}")


class _Coder(ABC):
    """What both directions share: a writer returns what it is told, a reader what it reads."""

    def __init__(self) -> None:
        self.range = (1 << 64) - 1
        self.position = 0
        self.counts: dict[Context, tuple[int, int]] = {}

    @abstractmethod
    def choose(self, told: int, unit: int) -> int:
        """The number of the part that is taken, for parts of size unit."""

    @abstractmethod
    def narrow(self, start: int, size: int) -> None:
        """Takes the part [start, start + size) of the interval."""

    def bit(self, context: Context, told: int) -> int:
        zeros, ones = self.counts.get(context, (1, 1))
        split = self.range * zeros // (zeros + ones)
        bit = min(1, self.choose(told, split))
        self.narrow(*((split, self.range - split) if bit else (0, split)))
        zeros, ones = zeros + 2 * (1 - bit), ones + 2 * bit
        full = zeros + ones > 63
        self.counts[context] = ((zeros + 1) // 2, (ones + 1) // 2) if full else (zeros, ones)
        return bit

    def chunk(self, width: int, told: int) -> int:
        unit = self.range >> width
        value = self.choose(told, unit)
        if value >> width:
            _refuse("its digits are not canonical")
        self.narrow(value * unit, unit)
        return value

    def plain(self, width: int, told: int) -> int:
        words = width // 32
        given = told.to_bytes(4 * words + 4, "big")
        taken = bytearray()
        for i in range(words + 1):
            word = int.from_bytes(given[4 * i : 4 * i + 4], "big")
            taken += self.chunk(32 if i else width % 32, word).to_bytes(4, "big")
        return int.from_bytes(taken, "big")

    def number(self, field: Context, told: int) -> int:
        wanted, length = (told + 1).bit_length() - 1, 0
        while self.bit((field, length), length < wanted):
            length += 1
            if length > 48:
                _refuse("a number is absurdly large")
        number = 1
        for place in reversed(range(length)):
            number = 2 * number + self.bit((field, length, number), (told + 1) >> place & 1)
        return number - 1

    def signed(self, field: Context, told: int) -> int:
        number = self.number(field, 2 * told - 1 if told > 0 else -2 * told)
        return (number + 1) // 2 if number % 2 else -number // 2

    def size(self, field: str, told: int) -> int:
        size = self.number((field,), told)
        if size > SIZE:
            _refuse(f"its {field} is {size}, above {SIZE}")
        return size


class _Writer(_Coder):
    def __init__(self) -> None:
        super().__init__()
        self.low = 0
        self.pieces: list[tuple[int, int]] = []  # (value, digits), before carries

    def choose(self, told: int, unit: int) -> int:
        return told

    def narrow(self, start: int, size: int) -> None:
        shift = 64 - size.bit_length()
        self.low = (self.low + start) << shift
        self.range = size << shift
        if shift:
            self.pieces.append((self.low >> 64, shift))
            self.low &= (1 << 64) - 1
            self.position += shift

    def word(self) -> str:
        """The code word in binary; a piece with a digit too many carries into the one before."""
        texts, carry = [], 0
        for piece, digits in reversed([*self.pieces, (-(-self.low >> 62), 2)]):
            carry, rest = divmod(piece + carry, 1 << digits)
            texts.append(f"{rest:0{digits}b}")
        return "".join(reversed(texts))


class _Reader(_Coder):
    def __init__(self, data: bytes) -> None:
        super().__init__()
        self.data = data
        self.value = int.from_bytes(data[:8].ljust(8, b"\0"), "big")  # less low

    def choose(self, told: int, unit: int) -> int:
        return self.value // unit

    def narrow(self, start: int, size: int) -> None:
        shift = 64 - size.bit_length()
        byte, used = divmod(self.position + 64, 8)
        window = int.from_bytes(self.data[byte : byte + 9].ljust(9, b"\0"), "big")
        following = window >> (72 - used - shift) & ((1 << shift) - 1)
        self.value = (self.value - start) << shift | following
        self.range = size << shift
        self.position += shift
        if self.position + 2 > 8 * len(self.data):
            _refuse("it is cut off")


class _Tensors:
    """Tensors one after another, with the memory of those before."""

    def __init__(self, coder: _Coder) -> None:
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
            _refuse(f"{name} has a place outside its shape")
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
            _refuse("a number has no digits or too many")
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
            _refuse("a mantissa is not canonical")
        plain = self.coder.plain(width, told >> 1 & ((1 << width) - 1))
        return ((2 << ones) - 1) << (digits - ones - 1) | plain << 1 | 1


def _runs(places: list[int]) -> Runs:
    """The maximal runs of sorted places: place less rank is constant on each."""
    groups = groupby(enumerate(places), lambda pair: pair[1] - pair[0])
    runs = ([place for _, place in group] for _, group in groups)
    return tuple((run[0], len(run)) for run in runs)


def _network(coder: _Coder, told: Network) -> Network:
    tensors = _Tensors(coder)

    def layer(index: int) -> Layer:
        return told.layers[index] if index < len(told.layers) else FILLER

    given = _input(coder, tensors, told.input)
    width = coder.size("width", layer(0).tensors.get("weight", EMPTY).rows)
    blocks = coder.size("number of blocks", len(told.layers) - 2)
    first = _linear(tensors, width, given.coordinates, layer(0))
    middle = [_block(coder, tensors, width, layer(i + 1)) for i in range(blocks)]
    return Network(given, (first, *middle, _linear(tensors, 1, width, layer(blocks + 1))))


def _input(coder: _Coder, tensors: _Tensors, told: Input) -> Input:
    dimension = coder.size("dimension", told.dimension)
    length = coder.size("length", told.length)
    positions = bool(coder.bit(("positions",), told.positions))
    entries = tuple(Entry(i, 0, v) for i, v in enumerate(told.padding) if v != ZERO)
    given = {"padding": Matrix(dimension, 1, entries)}
    values = {row: v for row, _, v in tensors.tensor("padding", dimension, 1, given).entries}
    padding = tuple(values.get(i, ZERO) for i in range(dimension))
    return Input(dimension, length, positions, padding)


def _linear(tensors: _Tensors, rows: int, columns: int, told: Layer) -> Linear:
    weight = tensors.tensor("weight", rows, columns, told.tensors)
    return Linear(weight, tensors.tensor("bias", rows, 1, told.tensors))


def _block(coder: _Coder, tensors: _Tensors, width: int, told: Layer) -> Layer:
    attention = coder.bit(("attention",), told.kind == "uniform_attention")
    inward, outward = ("W_V", "W_O") if attention else ("W1", "W2")
    units = coder.size("hidden", told.tensors.get(inward, EMPTY).rows)
    into = tensors.tensor(inward, units, width, told.tensors)
    bias = EMPTY if attention else tensors.tensor("b1", units, 1, told.tensors)
    out = tensors.tensor(outward, width, units, told.tensors)
    if attention:
        return UniformAttention(into, out, "")
    return FeedForward(into, bias, out, tensors.tensor("b2", width, 1, told.tensors))
