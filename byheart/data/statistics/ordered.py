"""Ordered contexts of a corpus: batches that suit the cache, one thread per core."""

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from ..dataset import Ints
from . import refine as kernels
from .pairs import Pairs, empty, merged, with_room
from .refine import LAST, STRETCH, SUMS, Room, Rows

BATCH = 1 << 17  # rows
Batch = tuple[int, int, int]  # members [begin, end), and how many tokens they share
Members = NDArray[np.uint32]


def ordered(rows: Rows, vocabulary: int, pairs: Pairs) -> tuple[Ints, Pairs]:
    """The sums of refine.py, and the pairs with all contexts of the rows entered.

    A group larger than a batch is split by itself: its rows stand in the order of the corpus, so
    they are read nearly one after another. The rows of smaller groups are scattered; they are
    copied to one place first. Either way memory is read in an order that suits the machine.
    """
    order, ends = np.empty(len(rows.starts), np.uint32), np.zeros(vocabulary, np.int64)
    kernels.by_first_token(rows, ends, order)
    largest = int(np.diff(ends, prepend=0).max())
    batches, sums, pairs = _without_large(rows, order, largest, vocabulary, pairs)
    threads = min(os.cpu_count() or 1, len(batches)) or 1

    def count(mine: list[Batch]) -> tuple[Ints, Pairs]:
        """The sums and pairs of some batches."""
        room, pairs = _room(rows, min(BATCH, len(order)), vocabulary), empty()
        for begin, end, depth in mine:
            batch = order[begin:end]
            alive = kernels.number(batch, room)
            while alive and depth <= rows.most:
                pairs = with_room(pairs, alive)
                alive, depth = kernels.refine(rows, batch, alive, depth, room, pairs)
        return room.sums, pairs

    with ThreadPoolExecutor(threads) as pool:
        for more, other in pool.map(count, (batches[i::threads] for i in range(threads))):
            sums, pairs = sums + more, merged(pairs, other)
    return sums, pairs


def _without_large(
    rows: Rows, order: Members, largest: int, vocabulary: int, pairs: Pairs
) -> tuple[list[Batch], Ints, Pairs]:
    """Batches of the groups that are left after large ones were split; sums and pairs so far.

    A batch is a range of whole groups with at most BATCH members.
    """
    room = _room(rows, largest if largest > BATCH else 0, vocabulary)
    batches: list[Batch] = []
    todo = [(0, len(order), 1)]
    while todo:
        a, end, depth = todo.pop()
        ends = a + np.flatnonzero(order[a:end] >= LAST) + 1  # of groups
        while a < end:
            last = int(np.searchsorted(ends, a + BATCH, side="right")) - 1
            if last < 0 or ends[last] <= a:
                last += 1
            b = int(ends[last])
            if b - a <= BATCH:
                batches.append((a, b, depth))
            elif depth <= rows.most:
                pairs = with_room(pairs, 2 + int((2 * (b - a)) ** 0.5))
                kept = kernels.split(rows, order[a:b], depth, room, pairs)
                todo.append((a, a + kept, depth + 1))
            a = b
    return batches, room.sums, pairs


def _room(rows: Rows, size: int, vocabulary: int) -> Room:
    """Arrays for `size` members; near is for one batch."""
    return Room(
        members=np.empty(size + 1, np.uint32),
        tokens=np.empty(size, rows.ids.dtype),
        names=np.empty(size, np.uint32),
        firsts=np.empty(min(size, vocabulary) + 1, np.uint32),
        counts=np.zeros(vocabulary, np.int32),
        near=np.empty(min(size, BATCH) * STRETCH, rows.ids.dtype),
        sums=np.zeros(SUMS, np.int64),
    )
