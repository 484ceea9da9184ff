"""Number values and rows in sorted order, without np.unique(axis=0), which sorts bytes."""

import numpy as np
from numpy.typing import NDArray

from .dataset import Ints

FITS = 2**62


def number(values: NDArray) -> tuple[NDArray, Ints]:
    """The distinct values in increasing order, and the place of each value among them."""
    if values.dtype.kind in "iu" and len(values):
        low, high = int(values.min()), int(values.max())
        if high - low < 4 * len(values) + 1024:
            return _number_by_table(values, low, high)
    distinct, places = np.unique(values, return_inverse=True)
    return distinct, places.astype(np.int64, copy=False)


def _number_by_table(values: NDArray, low: int, high: int) -> tuple[NDArray, Ints]:
    """`number` without sorting: mark what occurs, then count the marks from the left."""
    shifted = values.astype(np.int64) - low
    occurs = np.zeros(high - low + 1, bool)
    occurs[shifted] = True
    distinct = (np.flatnonzero(occurs) + low).astype(values.dtype)
    return distinct, (np.cumsum(occurs, dtype=np.int64) - 1)[shifted]


def number_rows(rows: NDArray) -> tuple[NDArray, Ints]:
    """The distinct rows in lexicographic order, and the place of each row among them.

    The columns' places are the digits of one integer, so the integers sort as the rows do. Before
    the integer would outgrow 64 bits it is replaced by its own place, which keeps the order; a
    place is below 2^31 and so is a column's, hence their product always fits.
    """
    key, size = np.zeros(len(rows), np.int64), 1
    for column in rows.T:
        distinct, places = number(column)
        if size * len(distinct) >= FITS:
            values, key = number(key)
            size = len(values)
        key = key * len(distinct) + places
        size *= len(distinct)
    numbers = number(key)[1]
    member = np.empty(int(numbers.max(initial=-1)) + 1, np.int64)
    member[numbers] = np.arange(len(rows))
    return rows[member], numbers
