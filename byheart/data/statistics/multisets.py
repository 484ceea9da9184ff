"""Multisets with a last token, of a corpus: how many there are, and how many have two labels.

Order does not count, so rows that once were different may become equal again: a row cannot be
dropped for being alone. Three other things save work.

Equal prefixes. Of all rows that begin with the same k + 1 tokens one is enough: they have the same
context and the same label. Rows.apart says which rows those are.

Keys. A context has a key of 64 bits that equal contexts share. Rows are sent to buckets by the
first bits of their keys, and a bucket is small enough for the cache to find equal keys in it.

Proof only where it is needed. Different keys mean different contexts. Rows with equal keys are
compared token by token, as multisets, and unequal ones stay apart: no number depends on the hash.
Up to two tokens the key is a permutation of the context itself, and needs no comparison.
"""

import os
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..dataset import Ints
from .pairs import compiled, inlined
from .refine import Rows

CONFLICT = np.uint32(1 << 31)  # of a table entry: two labels were seen
ENTRY = np.uint32((1 << 31) - 1)  # its place among the keys, counted from 1
BUCKET = 1 << 13  # rows that a bucket should have
ROUNDS = 4  # in which a thread sends rows to buckets, to save memory
Hashes = NDArray[np.uint64]


def random_words(vocabulary: int) -> Hashes:
    return np.random.default_rng(0).integers(0, 2**64, vocabulary, np.uint64)


class Work(NamedTuple):
    """Arrays to work in: keys and names of the rows in some buckets, a hash table, token counts."""

    keys: Hashes
    names: NDArray[np.uint32]
    table: NDArray[np.uint32]
    counts: NDArray[np.int32]


def multisets(rows: Rows, words: Hashes, sums: Hashes) -> tuple[int, int]:
    """How many multisets with last token there are, and how many of them have two labels.

    sums holds the hash of each row's first least - 1 tokens. It is used up, as the rows are.
    """
    alive, depth, totals = len(sums), rows.least, np.zeros(2, np.int64)
    while alive > BUCKET and depth <= rows.most:
        alive = _extend(rows, words, sums, alive, depth)
        totals += _one_length(rows, sums, alive, depth, len(words))
        depth += 1
    _few(rows, words, sums, alive, depth, _room(BUCKET, BUCKET, len(words)), totals)
    return int(totals[0]), int(totals[1])


def _room(rows: int, bucket: int, vocabulary: int) -> Work:
    """Arrays for this many rows at once, of which at most `bucket` are in one bucket."""
    table = np.empty(1 << (2 * bucket).bit_length(), np.uint32)
    counts = np.zeros(vocabulary, np.int32)
    return Work(np.empty(rows, np.uint64), np.empty(rows, np.uint32), table, counts)


def _one_length(rows: Rows, sums: Hashes, alive: int, depth: int, vocabulary: int) -> Ints:
    """The multisets of `depth` tokens, and those with two labels; one thread per core.

    A thread fills as many buckets as it has room for, and then looks for equal keys in them.
    """
    bits = (alive // BUCKET).bit_length()
    ends = np.zeros(1 << bits, np.int64)
    _sizes(rows, sums, alive, depth, bits, ends)
    threads, largest = os.cpu_count() or 1, int(ends.max())
    room = max(largest, alive // (ROUNDS * threads))
    ranges, first = [], 0  # of buckets that fit into the room
    while first < len(ends):
        stop = _range(ends, first, room)
        ranges.append((first, stop))
        first = stop

    def count(mine: list[tuple[int, int]]) -> Ints:
        work, totals = _room(room, largest, vocabulary), np.zeros(2, np.int64)
        for first, stop in mine:
            _count_buckets(rows, sums, alive, depth, bits, first, stop, ends, work, totals)
        return totals

    with ThreadPoolExecutor(threads) as pool:
        return sum(pool.map(count, (ranges[i::threads] for i in range(threads))), np.zeros(2, int))


@compiled
def _few(rows, words, sums, alive, depth, work, totals):
    """Count the rest once all rows fit into one bucket: documents may be very long."""
    while alive and depth <= rows.most:
        alive = _extend(rows, words, sums, alive, depth)
        size = 0
        for row in range(alive):
            if rows.apart[row] <= depth + 1:
                work.keys[size], work.names[size] = _key(rows, sums, row, depth), row
                size += 1
        _enter(rows, depth, 0, size, work, totals)
        depth += 1


@inlined
def mixed(key):
    """A permutation of the 64-bit numbers whose first bits depend on all bits."""
    key = (key ^ (key >> np.uint64(32))) * np.uint64(0xBF58476D1CE4E5B9)
    key = (key ^ (key >> np.uint64(29))) * np.uint64(0x9E3779B97F4A7C15)
    return key ^ (key >> np.uint64(32))


@inlined
def key_of(total, last):
    """The key of a multiset, whose words sum to `total`, with its last token."""
    return mixed(total + np.uint64(last) * np.uint64(0xD6E8FEB86659FD93))


@inlined
def _key(rows, sums, row, depth):
    """The key of a row's context; one or two tokens are written out in it."""
    last = rows.starts[row] + depth - 1
    if depth > 2:
        return key_of(sums[row], rows.ids[last])
    before = np.uint64(rows.ids[last - 1]) << np.uint64(32) if depth == 2 else np.uint64(0)
    return mixed(before | np.uint64(rows.ids[last]))


@compiled
def _extend(rows, words, sums, alive, depth):
    """Add a token to the hash of each row that has a label after `depth` tokens; drop the rest."""
    ids, starts, kept = rows.ids, rows.starts, 0
    for i in range(alive):
        at = starts[i] + depth
        if at >= len(ids) or ids[at] == rows.separator:
            continue
        sums[kept] = sums[i] + words[ids[at - 1]]
        starts[kept], rows.apart[kept] = starts[i], rows.apart[i]
        kept += 1
    return kept


@inlined
def _bucket(key, bits):
    """The first `bits` bits; two shifts, as a shift by 64 is not defined."""
    return np.int64(key >> np.uint64(1) >> np.uint64(63 - bits))


@compiled
def _sizes(rows, sums, alive, depth, bits, sizes):
    for row in range(alive):
        if rows.apart[row] <= depth + 1:
            sizes[_bucket(_key(rows, sums, row, depth), bits)] += 1


@compiled
def _range(sizes, first, room):
    """The end of the longest range of buckets that fits; sizes become their beginnings."""
    stop, total = first, 0
    while stop < len(sizes) and total + sizes[stop] <= room:
        size = sizes[stop]
        sizes[stop] = total
        total += size
        stop += 1
    return stop


@compiled
def _count_buckets(rows, sums, alive, depth, bits, first, stop, ends, work, totals):
    """Write keys and names of rows to their buckets, and count these up to their `ends`."""
    for row in range(alive):
        if rows.apart[row] <= depth + 1:
            key = _key(rows, sums, row, depth)
            bucket = _bucket(key, bits)
            if first <= bucket and bucket < stop:
                place = ends[bucket]
                work.keys[place], work.names[place] = key, row
                ends[bucket] = place + 1
    begin = 0
    for bucket in range(first, stop):
        _enter(rows, depth, begin, ends[bucket], work, totals)
        begin = ends[bucket]


@inlined
def _enter(rows, depth, begin, end, work, totals):
    """Enter the rows of a bucket in an empty table; count multisets and those with two labels."""
    size = 1
    while size < 2 * (end - begin):
        size *= 2
    keys, names, table, starts = work.keys, work.names, work.table, rows.starts
    table[:size] = 0
    for i in range(begin, end):
        slot = np.int64(keys[i]) & (size - 1)
        while table[slot]:  # until the context is found, or the free place where it belongs
            other = np.int64(table[slot] & ENTRY) - 1
            if keys[other] == keys[i] and (
                depth <= 2
                or _equal(rows.ids, starts[names[other]], starts[names[i]], depth, work.counts)
            ):
                break
            slot = (slot + 1) & (size - 1)
        if table[slot] == 0:
            table[slot] = i + 1
            totals[0] += 1
        elif table[slot] < CONFLICT:
            first = starts[names[table[slot] - 1]]
            if rows.ids[first + depth] != rows.ids[starts[names[i]] + depth]:
                table[slot] |= CONFLICT
                totals[1] += 1


@inlined
def _equal(ids, one, other, depth, counts):
    """Whether two stretches of `depth` tokens are equal as multisets and end alike."""
    same = ids[one + depth - 1] == ids[other + depth - 1]
    for j in range(depth):
        counts[ids[one + j]] += 1
    for j in range(depth):
        counts[ids[other + j]] -= 1
        same &= counts[ids[other + j]] >= 0
    for j in range(depth):
        counts[ids[one + j]] = 0
        counts[ids[other + j]] = 0
    return same
