"""Sequences as a network reads them: the distinct columns, and which make up each sequence."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ..network import Input

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Batch:
    """Sequences over token vectors: sequence i is vectors[ids[starts[i]:starts[i + 1]]]."""

    vectors: NDArray  # [V, d], int64 or float64
    ids: NDArray[np.integer]
    starts: Ints

    def __len__(self) -> int:
        return len(self.starts) - 1


@dataclass(frozen=True, eq=False)
class Columns:
    """The distinct input columns of a batch.

    vectors   [columns, coordinates] integers (int64, or Python integers if one is too long)
    exponent  the value is vectors * 2**exponent
    """

    vectors: NDArray
    exponent: int
    batch: Batch
    length: int
    numbers: Ints | None  # column number of (token, position), or None without positions

    def indices(self, chunk: int) -> Iterator[tuple[slice, NDArray]]:
        """Slices of the batch, with the column numbers of their sequences: [chunk, length]."""
        for start in range(0, len(self.batch), chunk):
            part = slice(start, min(start + chunk, len(self.batch)))
            padded = padded_ids(self.batch, part, self.length)
            if self.numbers is not None:
                padded = self.numbers[padded * self.length + np.arange(self.length)]
            yield part, padded


def columns(spec: Input, batch: Batch, chunk: int = 1 << 16) -> Columns:
    """The distinct columns the network sees: token vectors, padding, positions if asked for."""
    vectors, exponent = exact_integers(batch.vectors, spec.padding)
    if not spec.positions:
        return Columns(vectors, exponent, batch, spec.length, None)
    used = np.zeros(len(vectors) * spec.length, dtype=bool)
    for start in range(0, len(batch), chunk):
        padded = padded_ids(batch, slice(start, min(start + chunk, len(batch))), spec.length)
        used[(padded * spec.length + np.arange(spec.length)).ravel()] = True
    token, position = np.divmod(np.flatnonzero(used), spec.length)
    unit = 1 << -exponent
    if vectors.dtype == object or unit * spec.length >= 1 << 62:
        position = position.astype(object)
    with_position = np.concatenate([vectors[token], (position * unit)[:, None]], axis=1)
    return Columns(with_position, exponent, batch, spec.length, np.cumsum(used) - 1)


def padded_ids(batch: Batch, part: slice, length: int) -> Ints:
    """[chunk, length] token numbers, front-padded with the number V of the padding vector."""
    starts = batch.starts[part.start : part.stop + 1]
    lengths = np.diff(starts)
    assert lengths.max(initial=0) <= length, "a sequence is longer than the network reads"
    if lengths.min(initial=length) == length:
        return batch.ids[starts[0] : starts[-1]].astype(np.int64).reshape(len(lengths), length)
    padded = np.full((len(lengths), length), len(batch.vectors), dtype=np.int64)
    place = np.arange(length) >= (length - lengths)[:, None]
    padded[place] = batch.ids[starts[0] : starts[-1]]
    return padded


def exact_integers(vectors: NDArray, padding: tuple) -> tuple[NDArray, int]:
    """Token vectors and, as last row, the padding, as integers times one power of two.

    The power's exponent is at most 0.
    """
    if vectors.dtype.kind == "i" and all(p.exponent >= 0 for p in padding):
        last = [p.mantissa << p.exponent for p in padding]
        if max(map(abs, last), default=0) < 1 << 62:
            return np.concatenate([vectors, np.array([last], dtype=np.int64)]), 0
    rows = [[Fraction(x) for x in row] for row in vectors.tolist()]
    rows.append([p.fraction for p in padding])
    digits = max((x.denominator.bit_length() - 1 for row in rows for x in row), default=0)
    integers = [[int(x * (1 << digits)) for x in row] for row in rows]
    longest = max((abs(x) for row in integers for x in row), default=0)
    dtype = np.int64 if longest < 1 << 62 else object
    return np.array(integers, dtype=dtype).reshape(len(rows), len(padding)), -digits
