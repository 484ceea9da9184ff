"""Arrays: values numbered in sorted order, and sequences of different lengths in one array."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import OptionError

Ints = NDArray[np.int64]
FITS = 2**62
ROWS = 1 << 24  # rows numbered at once if there are many
BLOCK = 1 << 22  # token numbers handled at once: temporary arrays stay at some tens of megabytes
WRITTEN, OVERLAP = 1 << 24, 4  # token numbers of pieces that are written out, in all, per value


@dataclass(frozen=True, eq=False)
class Windows:
    """Pieces of one array, one after another; they may overlap, and are not written out.

    A text of n tokens has n contexts of up to w tokens: written out, these are n w numbers. Parts
    of them (slices, and the numbers at given places) are arrays.
    """

    values: NDArray[np.integer]
    begins: Ints  # [pieces] in the values
    starts: Ints  # [pieces + 1] in what this stands for, as of a dataset

    def __len__(self) -> int:
        return int(self.starts[-1])

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, slice):
            return self.values[self.origin(np.asarray(key))]
        start, stop, _ = key.indices(len(self))
        a = int(np.searchsorted(self.starts, start, side="right")) - 1
        b = int(np.searchsorted(self.starts, stop))
        own = self.starts[a : b + 1].clip(start, stop)
        return self.values[places(self.begins[a:b] + own[:-1] - self.starts[a:b], np.diff(own))]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray:
        """All of it written out, for who needs that."""
        return take(self.values, self.begins, np.diff(self.starts)).astype(dtype or self.dtype)

    @property
    def dtype(self) -> np.dtype:
        return self.values.dtype

    def astype(self, dtype: Any) -> "Windows":
        return replace(self, values=self.values.astype(dtype))

    def origin(self, at: Ints) -> Ints:
        """Where the numbers at these places stand in the values."""
        piece = np.searchsorted(self.starts, at, side="right") - 1
        return self.begins[piece] + at - self.starts[piece]

    def numbered(self) -> tuple[NDArray, "Windows"]:
        """The distinct values in increasing order, and the place of each value among them."""
        change = np.bincount(self.begins, minlength=len(self.values) + 1)
        ends = self.begins + np.diff(self.starts)
        inside = np.cumsum(change - np.bincount(ends, minlength=len(change)))[:-1] > 0
        distinct, numbers = number(self.values[inside])
        values = np.zeros(len(self.values), np.int64)
        values[inside] = numbers
        return distinct, replace(self, values=values)


def pieces(values: "NDArray | Windows", starts: Ints, lengths: Ints) -> "NDArray | Windows":
    """The pieces values[starts[i] : starts[i] + lengths[i]], one after another.

    Very many numbers stay where they are if most of them overlap. A piece of windows lies in one.
    """
    if isinstance(values, Windows):
        starts, values = values.origin(starts), values.values
    if int(lengths.sum()) > max(WRITTEN, OVERLAP * len(values)):
        return Windows(values, starts, offsets(lengths))
    return take(values, starts, lengths)


def check_size(name: str, value: object, least: int = 1) -> None:
    """Refuse a size that is not an integer from `least` to 2^31 - 1."""
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value < 2**31:
        raise OptionError(name, value, f"must be an integer of {least} or more")


def number(values: "NDArray | Windows", room: int = 1024) -> tuple[NDArray, Any]:
    """The distinct values in increasing order, and the place of each value among them.

    Integers close to each other need no sorting: mark those that occur, then count the marks from
    the left. There is always room for some marks, however few values there are.
    """
    if isinstance(values, Windows):
        return values.numbered()
    if values.dtype.kind in "iu" and len(values):
        low, high = int(values.min()), int(values.max())
        if high - low < max(4 * len(values), room):
            shifted = values.astype(np.int64) - low
            marks = np.zeros(high - low + 1, bool)
            marks[shifted] = True
            distinct = (np.flatnonzero(marks) + low).astype(values.dtype)
            return distinct, (np.cumsum(marks, dtype=np.int64) - 1)[shifted]
    distinct, places = np.unique(values, return_inverse=True)
    return distinct, places.astype(np.int64, copy=False)


def number_rows(rows: NDArray) -> tuple[NDArray, NDArray[np.signedinteger]]:
    """The distinct rows in lexicographic order, and the place of each row among them.

    np.unique(axis=0) would sort their bytes. Here the columns' places are the digits of one
    integer, so the integers sort as the rows do. Before the integer would outgrow 64 bits it is
    replaced by its own place, which keeps the order; a place is below 2^31 and so is a column's,
    hence their product always fits.

    Very many rows, which may be mapped from a file, are numbered block by block, and then the
    distinct rows of all blocks together, unless most of them are distinct: that takes less memory.
    """
    if len(rows) > 4 * ROWS:
        room = 4 * ROWS
        distinct, places = _number_rows(rows[:ROWS], room)
        if 2 * len(distinct) < ROWS:
            numbers, parts, held = np.empty(len(rows), np.int32), [distinct], [len(distinct)]
            numbers[:ROWS] = places
            for start in range(ROWS, len(rows), ROWS):
                distinct, places = _number_rows(rows[start : start + ROWS], room)
                numbers[start : start + ROWS] = places
                parts.append(distinct)
                held.append(len(distinct))
            distinct, merged = _number_rows(np.concatenate(parts), room)
            for block, first in enumerate(offsets(np.array(held))[:-1]):
                part = slice(block * ROWS, (block + 1) * ROWS)
                numbers[part] = merged[first:][numbers[part]]
            return distinct, numbers
    return _number_rows(rows)


def _number_rows(rows: NDArray, room: int = 1024) -> tuple[NDArray, Ints]:
    """`number_rows` of all rows at once."""
    key, size = np.zeros(len(rows), np.int64), 1
    for column in rows.T:
        distinct, places = number(column)
        if size * len(distinct) >= FITS:
            values, key = number(key)
            size = len(values)
        key = key * len(distinct) + places
        size *= len(distinct)
    numbers = number(key, room)[1]
    member = np.empty(int(numbers.max(initial=-1)) + 1, np.int64)
    member[numbers] = np.arange(len(rows))
    return rows[member], numbers


def totals(rows: Ints) -> Ints:
    """The distinct rows but for their last column, in order, each with the sum of that column."""
    distinct, places = number_rows(rows[:, :-1])
    sums = np.zeros(len(distinct), np.int64)
    np.add.at(sums, places, rows[:, -1])
    return np.column_stack([distinct, sums])


def occurs(values: NDArray) -> NDArray[np.bool_]:
    """Which of the numbers 0, 1, ..., values.max() are among the values, at least one."""
    result = np.zeros(int(values.max()) + 1, np.bool_)
    rows = max(1, BLOCK // max(1, values[0].size))
    for start in range(0, len(values), rows):
        result[values[start : start + rows]] = True
    return result


def beyond_float(integers: Ints) -> bool:
    """Whether some integer is not an IEEE double (2^63 - 1 rounds up to 2^63, hence the clip)."""
    rounded = np.minimum(integers.astype(np.float64), 2.0**63 - 1024)
    return bool((rounded.astype(np.int64) != integers).any())


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


def take(values: "NDArray | Windows", starts: Ints, lengths: Ints) -> NDArray:
    """The pieces values[starts[i] : starts[i] + lengths[i]], one after another, written out."""
    if isinstance(values, Windows):
        starts, values = values.origin(starts), values.values
    ends = offsets(lengths)
    result = np.empty(ends[-1], values.dtype)
    for a, b in blocks(ends):
        result[ends[a] : ends[b]] = values[places(starts[a:b], lengths[a:b])]
    return result


def batches(
    sequences: Sequence[Any], numbers: Callable[[int], int], room: int = 1 << 24
) -> Iterator[list[int]]:
    """The places of sequences of one length, as many at once as `room` numbers allow.

    numbers  that one sequence of a length takes
    """
    lengths = np.array([len(sequence) for sequence in sequences], np.int64)
    for length in np.unique(lengths).tolist():
        members = np.flatnonzero(lengths == length).tolist()
        step = max(1, room // numbers(length))
        for first in range(0, len(members), step):
            yield members[first : first + step]
