"""Sequences as a network reads them: the distinct columns, and which make up each sequence."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..data.arrays import BLOCK, Windows
from ..machine.memory import require
from .network import Dyadic, Input, dyadic

BYTES = 5  # of memory for a token at a position, whether it occurs or not
COLUMN_BYTES = 40  # for one that occurs, beside its coordinates: its hash or its lanes
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Batch:
    """Sequences over token vectors: sequence i is vectors[ids[starts[i]:starts[i + 1]]]."""

    vectors: NDArray  # [V, d], int64 or float64
    ids: NDArray[np.integer] | Windows
    starts: Ints

    def __len__(self) -> int:
        return len(self.starts) - 1


@dataclass(frozen=True, eq=False)
class Columns:
    """The distinct input columns of a batch."""

    vectors: NDArray  # [columns, coordinates] int64, or Python integers if one is too long
    exponent: int  # the value is vectors * 2**exponent
    batch: Batch
    spec: Input
    numbers: NDArray[np.int32] | None  # of (token, position), or None without positions

    @property
    def absent(self) -> int | None:
        """The number that stands for no column, if sequences are not padded."""
        return len(self.batch.vectors) if self.spec.padding is None else None

    @property
    def inputs(self) -> NDArray:
        """The vectors; a padding vector that no sequence needs may be anything, here a token."""
        length = self.spec.length
        padded = int(np.diff(self.batch.starts).min(initial=length)) < length
        if padded or self.numbers is not None:
            return self.vectors
        vectors = self.vectors.copy()
        vectors[len(self.batch.vectors)] = vectors[0]
        return vectors

    def indices(self, chunk: int) -> Iterator[tuple[slice, NDArray]]:
        """Slices of the batch, with the column numbers of their sequences: [chunk, columns]."""
        for part in parts(self.batch, chunk):
            yield part, self.index(part)

    def index(self, part: slice) -> NDArray[np.int64]:
        """The column numbers of some of the sequences: [sequences, columns]."""
        padded = padded_ids(self.batch, part, self.spec)
        if self.numbers is None:
            return padded
        return self.numbers[padded * self.places + positions(self.spec)].astype(np.int64)

    @property
    def places(self) -> int:
        """The positions of a token in `numbers`, and the extra column's."""
        return self.spec.length + 1

    def tokens(self, part: slice) -> NDArray[np.bool_]:
        """[chunk, columns]: which columns are tokens of their sequence."""
        lengths = np.diff(self.batch.starts[part.start : part.stop + 1])
        return np.arange(self.spec.columns) >= (self.spec.columns - lengths)[:, None]


def columns(spec: Input, batch: Batch) -> Columns:
    """The distinct columns the network sees; ByheartError if they do not fit into memory."""
    padding = spec.padding or (dyadic(0),) * spec.dimension
    vectors, exponent = exact_integers(batch.vectors, [padding, *filter(None, [spec.extra])])
    if not spec.positions:
        return Columns(vectors, exponent, batch, spec, None)
    places = spec.length + 1
    require(BYTES * len(vectors) * places, "this data", what := "a column per token and position")
    used = np.zeros(len(vectors) * places, dtype=bool)
    for part in parts(batch, max(1, BLOCK // spec.columns)):
        used[(padded_ids(batch, part, spec) * places + positions(spec)).ravel()] = True
    found = np.flatnonzero(used)
    require((COLUMN_BYTES + 8 * spec.dimension) * len(found), "this data", what)
    unit = 1 << -exponent
    long = vectors.dtype == object or unit * places >= 1 << 62
    result = np.empty((len(found), spec.dimension + 1), object if long else np.int64)
    for start in range(0, len(found), BLOCK):
        token, position = np.divmod(found[start : start + BLOCK], places)
        result[start : start + BLOCK, :-1] = vectors[token]
        result[start : start + BLOCK, -1] = position.astype(result.dtype) * unit
    return Columns(result, exponent, batch, spec, np.cumsum(used, dtype=np.int32) - np.int32(1))


def parts(batch: Batch, chunk: int) -> Iterator[slice]:
    for start in range(0, len(batch), chunk):
        yield slice(start, min(start + chunk, len(batch)))


def positions(spec: Input) -> Ints:
    return np.arange(-1, spec.length)[-spec.columns :] % (spec.length + 1)


def padded_ids(batch: Batch, part: slice, spec: Input) -> Ints:
    """[chunk, columns] token numbers: V is the padding (or no column), V + 1 the extra column."""
    starts = batch.starts[part.start : part.stop + 1]
    lengths = np.diff(starts)
    ids = batch.ids[starts[0] : starts[-1]]
    if lengths.max(initial=0) > spec.length:
        raise AssertionError("a sequence is longer than the network reads")
    if lengths.min(initial=spec.length) == spec.columns:
        return ids.astype(np.int64).reshape(len(lengths), spec.length)
    padded = np.full((len(lengths), spec.columns), len(batch.vectors), dtype=np.int64)
    padded[np.arange(spec.columns) >= (spec.columns - lengths)[:, None]] = ids
    if spec.extra is not None:
        padded[:, 0] = len(batch.vectors) + 1
    return padded


def exact_integers(vectors: NDArray, more: Sequence[tuple[Dyadic, ...]]) -> tuple[NDArray, int]:
    """Token vectors and more rows, as integers times 2^exponent, which is at most 0."""
    whole, powers = _odd(vectors) if vectors.dtype.kind == "f" else (vectors, np.zeros(1, np.int64))
    if vectors.dtype.kind == "O":  # Python's integers, or fractions of them by powers of two
        whole = np.frompyfunc(lambda x: x.numerator, 1, 1)(vectors)
        powers = np.frompyfunc(lambda x: 1 - x.denominator.bit_length(), 1, 1)(vectors)
    rows = [x for row in more for x in row]
    exponent = min([0, int(powers.min(initial=0)), *(x.exponent for x in rows)])
    last = [x.mantissa << x.exponent - exponent for x in rows]
    longest = max((abs(x).bit_length() for x in last), default=0)
    if vectors.dtype.kind == "O":
        longest = 63
    elif exponent or vectors.dtype.kind == "f":
        ends = float(vectors.min(initial=0)), float(vectors.max(initial=0))
        longest = max([longest, *(math.frexp(x)[1] - exponent for x in ends if x)])
    if longest > 62:
        whole, powers = whole.astype(object), powers.astype(object)
    whole = whole << powers - exponent
    rest = np.array(last, dtype=whole.dtype).reshape(len(more), vectors.shape[1])
    return np.concatenate([whole, rest]), exponent


def _odd(numbers: NDArray[np.float64]) -> tuple[Ints, Ints]:
    """Odd integers, or 0, and the powers of two that give the numbers with them."""
    fractions, powers = np.frexp(numbers)
    whole = (fractions * 2.0**53).astype(np.int64)
    zeros = np.frexp((whole & -whole).astype(np.float64))[1] - 1  # at the end of the number
    powers = np.where(whole == 0, 0, powers.astype(np.int64) + zeros - 53)
    return whole >> zeros.clip(0), powers
