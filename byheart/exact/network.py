"""Network: the layer kinds and their exact weights, and nothing else.

A weight is a dyadic rational, mantissa * 2**exponent. The layer kinds are few and closed: every
evaluator, the checker and every export knows all of them (checker/FORMAT.md, section 3, says what
each computes).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from ..errors import ByheartError

if TYPE_CHECKING:
    from .evaluate import Engines

Number = int | float | Fraction
LONGEST_SHOWN = 256  # bits of a number that is spelled out in a message


class Dyadic(NamedTuple):
    """mantissa * 2**exponent, with an odd mantissa (zero is 0 * 2**0)."""

    mantissa: int
    exponent: int

    @property
    def fraction(self) -> Fraction:
        return Fraction(self.mantissa) * Fraction(2) ** self.exponent

    @property
    def digits(self) -> int:
        return abs(self.mantissa).bit_length()

    @property
    def coded_bits(self) -> int:
        """Sign, odd mantissa and, if there is one, a signed exponent."""
        return 1 + self.digits + (1 + abs(self.exponent).bit_length() if self.exponent else 0)

    @property
    def fixed_bits(self) -> int:
        """Digits in plain binary notation: the paper's bit complexity."""
        if self.exponent < 0:
            return max(self.digits, -self.exponent)
        return self.digits + self.exponent


def dyadic(value: Number) -> Dyadic:
    """The canonical form of a number; a float is the dyadic number that it is.

    >>> dyadic(-1.5)
    Dyadic(mantissa=-3, exponent=-1)
    """
    if isinstance(value, int):
        mantissa, exponent = value, 0
    else:
        mantissa, denominator = value.as_integer_ratio()
        exponent = 1 - denominator.bit_length()
        if denominator != 1 << -exponent:
            raise AssertionError(f"{value} is not dyadic")
    if mantissa == 0:
        return Dyadic(0, 0)
    zeros = (mantissa & -mantissa).bit_length() - 1
    return Dyadic(mantissa >> zeros, exponent + zeros)


def short(value: Number) -> str:
    """A number for messages: a long one, whose digits nobody would read, by its length.

    >>> short(Fraction(-1, 2)), short(7**1000)
    ('-1/2', 'a number of 2808 bits')
    """
    bits = max(int(part).bit_length() for part in Fraction(value).as_integer_ratio())
    return str(value) if bits <= LONGEST_SHOWN else f"a number of {bits} bits"


class Entry(NamedTuple):
    row: int
    column: int
    value: Dyadic


@dataclass(frozen=True)
class Matrix:
    """A sparse matrix: its shape and its nonzero entries, sorted by row and column."""

    rows: int
    columns: int
    entries: tuple[Entry, ...] = ()

    @cached_property
    def by_row(self) -> dict[int, list[tuple[int, Dyadic]]]:
        """The nonzero rows: row -> [(column, value), ...]."""
        table: dict[int, list[tuple[int, Dyadic]]] = {}
        for row, column, value in self.entries:
            table.setdefault(row, []).append((column, value))
        return table

    def __getitem__(self, place: tuple[int, int]) -> Fraction:
        row, column = place
        found = (value.fraction for c, value in self.by_row.get(row, []) if c == column)
        return next(found, Fraction(0))


def matrix(rows: int, columns: int, values: Mapping[tuple[int, int], Number]) -> Matrix:
    """A Matrix from {(row, column): number}; zeros are dropped."""
    places = sorted(place for place, value in values.items() if value)
    return Matrix(rows, columns, tuple(Entry(r, c, dyadic(values[r, c])) for r, c in places))


def vector(values: Mapping[int, Number], rows: int) -> Matrix:
    """A column vector from {row: number}."""
    return matrix(rows, 1, {(row, 0): value for row, value in values.items()})


class LayerKind:
    """A dataclass whose matrices are its weights, in the order of the file format."""

    @property
    def tensors(self) -> dict[str, Matrix]:
        return {name: x for name, x in vars(self).items() if isinstance(x, Matrix)}


@dataclass(frozen=True)
class Linear(LayerKind):
    """h -> weight h + bias, column by column."""

    weight: Matrix
    bias: Matrix
    stage: str = ""
    kind: ClassVar[str] = "linear"


@dataclass(frozen=True)
class FeedForward(LayerKind):
    """h -> h + W2 relu(W1 h + b1) + b2, column by column (kajitsuka2025, eq. (3))."""

    W1: Matrix
    b1: Matrix
    W2: Matrix
    b2: Matrix
    stage: str = ""
    kind: ClassVar[str] = "feed_forward"


@dataclass(frozen=True)
class Relu(LayerKind):
    """h -> relu(weight h + bias), column by column: a layer without skip connection."""

    weight: Matrix
    bias: Matrix
    stage: str = ""
    kind: ClassVar[str] = "relu"


@dataclass(frozen=True)
class Embedding(LayerKind):
    """Token id -> weight[:, id] + i position, for columns with positions i; the first layer."""

    weight: Matrix
    position: Matrix
    stage: str = "embed"
    kind: ClassVar[str] = "embedding"


@dataclass(frozen=True)
class UniformAttention(LayerKind):
    """Z -> Z + W_O W_V mean(Z), the mean taken over all columns (kajitsuka2025, eq. (39)).

    The mean of n columns is exact if the odd part of n divides every entry of W_O.
    """

    W_V: Matrix
    W_O: Matrix
    stage: str = "attend"
    kind: ClassVar[str] = "uniform_attention"


@dataclass(frozen=True)
class SparseAttention(LayerKind):
    """Column k -> h_k + W_O W_V mean of the columns that k is connected to (Remark 4.5)."""

    W_V: Matrix
    W_O: Matrix
    # pairs (column, source), sorted; a column without connections stays as it is
    connections: tuple[tuple[int, int], ...]
    stage: str = "attend"
    kind: ClassVar[str] = "sparse_attention"


@dataclass(frozen=True)
class HardAttention(LayerKind):
    """Column k -> h_k + the sum over heads of W_O W_V mean of the columns with the largest score.

    The score of column l for column k is (W_K h_l) . (W_Q h_k); several largest ones are averaged
    (kajitsuka2025, eq. (12)). Heads are stacked: head i has rows i s, ..., (i + 1) s - 1 of W_Q,
    W_K and W_V and the same columns of W_O, s being their number divided by `heads`.
    """

    W_Q: Matrix
    W_K: Matrix
    W_V: Matrix
    W_O: Matrix
    heads: int = 1
    stage: str = "attend"
    kind: ClassVar[str] = "hard_attention"

    def head_rows(self, head: int) -> range:
        """The rows of W_Q, W_K and W_V that are one head's."""
        step = self.W_V.rows // self.heads
        return range(head * step, (head + 1) * step)

    @property
    def uniform(self) -> UniformAttention | None:
        """The same layer as an average, if all scores are 0."""
        if self.W_Q.entries and self.W_K.entries:
            return None
        return UniformAttention(self.W_V, self.W_O, self.stage)


@dataclass(frozen=True)
class Sum(LayerKind):
    """All columns -> one column, their sum (kajitsuka2025, eq. (112)); 0 if there is none."""

    stage: str = "sum"
    kind: ClassVar[str] = "sum"


def shapes_of(kind: str, width: int, size: int) -> dict[str, tuple[int, int]]:
    """The shapes of a layer's tensors on `width` lanes; `size` rows, hidden units or head lanes."""
    inward, outward = (size, width), (width, size)
    match kind:
        case "linear" | "relu":
            return {"weight": inward, "bias": (size, 1)}
        case "feed_forward":
            return {"W1": inward, "b1": (size, 1), "W2": outward, "b2": (width, 1)}
        case "uniform_attention" | "sparse_attention":
            return {"W_V": inward, "W_O": outward}
        case "hard_attention":
            return {"W_Q": inward, "W_K": inward, "W_V": inward, "W_O": outward}
    return {}


def divides(count: int, weights: Matrix) -> bool:
    """Whether weights / count is dyadic."""
    odd = count // (count & -count)
    return all(e.value.mantissa % odd == 0 for e in weights.entries)


def divided(weights: Matrix, count: int) -> Matrix:
    """weights / count, exactly."""
    if not divides(count, weights):
        raise AssertionError("W_O / n is not dyadic")
    odd = count >> (twos := (count & -count).bit_length() - 1)
    values = {(r, c): (v.fraction / odd) / (1 << twos) for r, c, v in weights.entries}
    return matrix(weights.rows, weights.columns, values)


TokenWise = Linear | FeedForward | Relu | Embedding
Mixing = UniformAttention | SparseAttention | HardAttention | Sum  # where columns meet
Layer = TokenWise | Mixing


@dataclass(frozen=True)
class Input:
    """The input of a network: at most `length` vectors."""

    dimension: int
    length: int
    positions: bool  # each carries its position as one more coordinate
    # the vector that fills up shorter sequences at the front; None: they stay short
    padding: tuple[Dyadic, ...] | None
    # a vector put before all others (and before the padding) with the position `length`, or None
    extra: tuple[Dyadic, ...] | None = None

    @property
    def coordinates(self) -> int:
        return self.dimension + self.positions

    @property
    def columns(self) -> int:
        return self.length + (self.extra is not None)


class Parameter(NamedTuple):
    """One nonzero weight and its place."""

    layer: int
    tensor: str
    row: int
    column: int
    value: Dyadic


@dataclass(frozen=True)
class Network:
    """A transformer with exact weights: embedding, blocks, one output coordinate."""

    input: Input
    layers: tuple[Layer, ...]
    # whether the answer is the output of every token's column, or of the last column only
    every: bool = False

    def __post_init__(self) -> None:
        for index, layer in enumerate(self.layers[1:-1], 1):
            if not all(tensor.rows and tensor.columns for tensor in layer.tensors.values()):
                raise ByheartError(
                    f"layer {index} ({layer.kind}) has a matrix without rows or columns; "
                    "a layer needs at least one unit."
                )

    @cached_property
    def engines(self) -> "Engines":
        """What all runs of the network share."""
        from .evaluate import Engines

        return Engines(self)

    def __getstate__(self) -> dict[str, Any]:
        return {name: x for name, x in vars(self).items() if name != "engines"}

    @property
    def length(self) -> int:
        return self.input.length

    @property
    def width(self) -> int:
        """Lanes."""
        return max(
            x.weight.rows for x in self.layers[:-1] if isinstance(x, Linear | Relu | Embedding)
        )

    @property
    def breadth(self) -> int:
        """The width of kajitsuka2025: the most lanes, hidden units of a block or rows of W_V."""
        hidden = [x.W1.rows for x in self.layers if isinstance(x, FeedForward)]
        heads = [x.tensors["W_V"].rows for x in self.layers if "W_V" in x.tensors]
        return max([self.width, *hidden, *heads])

    @property
    def depth(self) -> int:
        """Blocks between embedding and output."""
        return len(self.layers) - 2

    @property
    def units(self) -> int:
        """Neurons (hidden units of blocks, rows of relu layers) and heads of attention."""
        found = 0
        for layer in self.layers:
            match layer:
                case FeedForward():
                    found += layer.W1.rows
                case Relu():
                    found += layer.weight.rows
                case HardAttention():
                    found += layer.heads
                case UniformAttention() | SparseAttention():
                    found += 1
        return found

    @property
    def attentions(self) -> tuple[int, ...]:
        return tuple(i for i, x in enumerate(self.layers) if isinstance(x, Mixing))

    def parameters(self) -> Iterator[Parameter]:
        """Every nonzero parameter, in the order of the file format."""
        for index, layer in enumerate(self.layers):
            for name, tensor in layer.tensors.items():
                for row, column, value in tensor.entries:
                    yield Parameter(index, name, row, column, value)

    def counts(self) -> tuple[dict[str, int], dict[str, int]]:
        """The `parameters` and `bits` of checker/FORMAT.md, section 4, except those of data."""
        values = [p.value for p in self.parameters()]
        ends = {0, len(self.layers) - 1}
        outside = sum(p.layer in ends for p in self.parameters())
        parameters = {
            "nonzero": len(values),
            "dense": sum(t.rows * t.columns for x in self.layers for t in x.tensors.values()),
            "counted": len(values) - outside,
            "outside": outside,
        }
        bits = {
            "total": sum(v.coded_bits for v in values),
            "fixed": sum(v.fixed_bits for v in values),
            "largest": max((v.fixed_bits for v in values), default=0),
        }
        return parameters, bits
