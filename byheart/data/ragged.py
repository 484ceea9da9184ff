"""Sequences of different lengths kept one after another in one array."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from .dataset import Ints

BLOCK = 1 << 22  # token numbers handled at once: temporary arrays stay at some tens of megabytes


def offsets(lengths: NDArray) -> Ints:
    """Where each sequence starts, and one entry more: where the last one ends."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])


def blocks(starts: Ints) -> Iterator[tuple[int, int]]:
    """Ranges of sequences [a, b) that hold about BLOCK entries each and at least one sequence."""
    a, count = 0, len(starts) - 1
    while a < count:
        b = int(np.searchsorted(starts, starts[a] + BLOCK, side="right")) - 1
        b = min(max(b, a + 1), count)
        yield a, b
        a = b


def places(starts: Ints, lengths: Ints) -> Ints:
    """The indices starts[i] ... starts[i] + lengths[i] - 1 of every i, one after another."""
    ends = offsets(lengths)
    return np.repeat(starts - ends[:-1], lengths) + np.arange(ends[-1])


def take(values: NDArray, starts: Ints, lengths: Ints) -> NDArray:
    """The pieces values[starts[i] : starts[i] + lengths[i]], one after another."""
    ends = offsets(lengths)
    result = np.empty(ends[-1], values.dtype)
    for a, b in blocks(ends):
        result[ends[a] : ends[b]] = values[places(starts[a:b], lengths[a:b])]
    return result
