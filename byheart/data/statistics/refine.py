"""Ordered contexts of a corpus, distinguished one token at a time.

Rows are stretches of the corpus: row r begins at rows[r], and its context of k tokens is followed
by the token k places further on. All rows with the same first k tokens are a group, and the context
that they share was seen as often as the group has rows that continue. Each group is split by its
next token, which gives the groups of k + 1 tokens, and so on.

Why a group of one row may be dropped: whatever follows, no other row will ever share its contexts.
Each of them was seen once, with one label: it adds one to the contexts, one to the correct answers,
nothing to the conflicts and 1 log(1 / 1) = 0 to the entropy. All of this follows from the number of
predictions alone: with P predictions, of which R fall on contexts seen twice or more, exactly P - R
contexts were seen once. So only groups of two rows or more are ever read again.

Splitting is counting: a table of the vocabulary's size holds how often each token follows. No key
is hashed and none is rounded, so the groups are exact.
"""

import os
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..dataset import Ints
from .pairs import Pairs, add, compiled, empty, inlined, merged, with_room

BATCH = 1 << 17  # rows that suit the cache
Batch = tuple[int, int, int]  # members [begin, end), and how many tokens they share
LAST = np.uint32(1 << 31)  # marks the last member of a group
NUMBER = np.uint32((1 << 31) - 1)  # the member without the mark
STRETCH = 8  # tokens of a row that are copied at once to where the cache keeps them
# Sums over contexts that were seen twice or more.
PREDICTIONS, CONTEXTS, RIGHT, CONFLICTS, IN_CONFLICT, SUMS = range(6)


class Rows(NamedTuple):
    """The places of rows, and the lengths of the contexts to count."""

    ids: NDArray
    separator: int
    starts: NDArray  # the place of each row's first token
    apart: NDArray  # the fewest tokens that distinguish a row from all before it, if any do
    least: int  # the fewest tokens of a context
    most: int  # the most


class Room(NamedTuple):
    members: NDArray[np.uint32]  # rows of a batch, group after group, and a place for dropped rows
    tokens: NDArray  # the next token of each member
    names: NDArray[np.uint32]  # the members of one group that continue
    firsts: NDArray[np.uint32]  # the places in that group where a token occurs for the first time
    counts: NDArray[np.int32]  # how often each token follows; zeros between groups
    near: NDArray  # the next STRETCH tokens of each row of a batch
    sums: Ints  # see PREDICTIONS and on


@compiled
def by_first_token(rows, ends, order):
    """Sort the row numbers by first token into groups; ends holds a zero for each token."""
    ids, starts = rows.ids, rows.starts
    for row in range(len(starts)):
        ends[ids[starts[row]]] += 1
    total = 0
    for token in range(len(ends)):
        size = ends[token]
        ends[token] = total
        total += size
    for row in range(len(starts)):
        token = ids[starts[row]]
        order[ends[token]] = row
        ends[token] += 1
    begin = 0
    for token in range(len(ends)):
        if ends[token] > begin:
            rows.apart[order[begin]] = 1
            order[ends[token] - 1] |= LAST
        begin = ends[token]


@compiled
def number(batch, room):
    """Make the rows of a batch the members, numbered from 0; return how many there are."""
    for i in range(len(batch)):
        room.members[i] = i | (batch[i] & LAST)
    return len(batch)


@compiled
def refine(rows, batch, alive, depth, room, pairs):
    """Count the contexts of `depth` tokens and more of a batch whose groups share `depth` tokens.

    Returns (members left, depth reached): some are left if `pairs` has no room for one more level,
    which adds at most a key for each member.
    """
    ids, near, offset = rows.ids, room.near, STRETCH
    while alive and depth <= rows.most and 2 * (pairs.used[0] + alive) <= len(pairs.keys):
        if offset == STRETCH:  # copy the next tokens; beyond the end there are separators
            for i in range(alive):
                member = room.members[i] & NUMBER
                to, at = member * STRETCH, rows.starts[batch[member] & NUMBER] + depth
                if at + STRETCH <= len(ids):
                    for j in range(STRETCH):
                        near[to + j] = ids[at + j]
                else:
                    for j in range(STRETCH):
                        near[to + j] = ids[at + j] if at + j < len(ids) else rows.separator
            offset = 0
        for i in range(alive):
            room.tokens[i] = near[(room.members[i] & NUMBER) * STRETCH + offset]
        alive = _level(rows, batch, alive, depth, room, pairs)
        offset += 1
        depth += 1
    return alive, depth


@compiled
def split(rows, batch, depth, room, pairs):
    """Count the one context of `depth` tokens that a batch shares; return how many rows are left.

    The groups that they make replace the batch. At most 2 + sqrt(2 len(batch)) keys are added: one
    for each different count of a label, and the counts sum to no more than the batch has.
    """
    ids = rows.ids
    for i in range(number(batch, room)):
        at = rows.starts[batch[i] & NUMBER] + depth
        room.tokens[i] = ids[at] if at < len(ids) else rows.separator
    kept = _level(rows, batch, len(batch), depth, room, pairs)
    for i in range(kept):
        member = room.members[i]
        room.names[i] = (batch[member & NUMBER] & NUMBER) | (member & LAST)
    for i in range(kept):
        batch[i] = room.names[i]
    return kept


@inlined
def _level(rows, batch, alive, depth, room, pairs):
    """Split each group by its next tokens; the remaining groups of two or more come first."""
    place, kept = 0, 0
    while place < alive:
        begin, head = place, room.members[place] & NUMBER
        place, size, distinct = _read_group(rows.separator, place, room)
        for i in range(distinct):
            name = room.names[room.firsts[i]]
            if name != head:
                rows.apart[batch[name] & NUMBER] = depth + 1
        if size >= 2 and depth >= rows.least:
            _tally(begin, size, distinct, room, pairs)
        kept = _regroup(begin, size, distinct, kept, room)
    return kept


@inlined
def _read_group(separator, place, room):
    """Count the tokens that follow in the group from `place` on, except for rows that end."""
    begin, size, distinct, last = place, 0, 0, False
    while not last:
        member, token = room.members[place], room.tokens[place]
        last = member >= LAST
        place += 1
        if token == separator:
            continue
        room.names[size] = member & NUMBER
        room.tokens[begin + size] = token
        seen = room.counts[token]
        room.counts[token] = seen + 1
        room.firsts[distinct] = size
        distinct += seen == 0
        size += 1
    return place, size, distinct


@inlined
def _tally(begin, size, distinct, room, pairs):
    best, once = 0, 0
    for i in range(distinct):
        seen = room.counts[room.tokens[begin + room.firsts[i]]]
        best = max(best, seen)
        once += seen == 1
        if seen > 1 and distinct > 1:
            add(pairs, size, seen, 1)
    add(pairs, size, 0, 1)
    if once:
        add(pairs, size, 1, once)
    room.sums[PREDICTIONS] += size
    room.sums[CONTEXTS] += 1
    room.sums[RIGHT] += best
    room.sums[CONFLICTS] += distinct > 1
    room.sums[IN_CONFLICT] += size if distinct > 1 else 0


@inlined
def _regroup(begin, size, distinct, kept, room):
    """Write the new groups of two or more to members[kept:]; counts is all zeros again."""
    members, counts = room.members, room.counts
    for i in range(distinct):
        token = room.tokens[begin + room.firsts[i]]
        seen = counts[token]
        counts[token] = kept if seen > 1 else len(members) - 1
        kept += seen if seen > 1 else 0
    for i in range(size):
        token = room.tokens[begin + i]
        place = counts[token]
        members[place] = room.names[i]
        counts[token] = place + 1
    for i in range(distinct):
        token = room.tokens[begin + room.firsts[i]]
        members[counts[token] - 1] |= LAST
        counts[token] = 0
    return kept


def ordered(rows: Rows, vocabulary: int, pairs: Pairs) -> tuple[Ints, Pairs]:
    """The sums over contexts, and the pairs with all contexts of the rows entered.

    A group larger than a batch is split by itself: its rows stand in the order of the corpus, so
    they are read nearly one after another. The rows of smaller groups are scattered; they are
    copied to one place first. Either way memory is read in an order that suits the machine.
    """
    order, ends = np.empty(len(rows.starts), np.uint32), np.zeros(vocabulary, np.int64)
    by_first_token(rows, ends, order)
    largest = int(np.diff(ends, prepend=0).max())
    batches, sums, pairs = _without_large(rows, order, largest, vocabulary, pairs)
    threads = min(os.cpu_count() or 1, len(batches)) or 1

    def count(mine: list[Batch]) -> tuple[Ints, Pairs]:
        room, pairs = _room(rows, min(BATCH, len(order)), vocabulary), empty()
        for begin, end, depth in mine:
            batch = order[begin:end]
            alive = number(batch, room)
            while alive and depth <= rows.most:
                pairs = with_room(pairs, alive)
                alive, depth = refine(rows, batch, alive, depth, room, pairs)
        return room.sums, pairs

    with ThreadPoolExecutor(threads) as pool:
        for more, other in pool.map(count, (batches[i::threads] for i in range(threads))):
            sums, pairs = sums + more, merged(pairs, other)
    return sums, pairs


def _without_large(
    rows: Rows, order: NDArray[np.uint32], largest: int, vocabulary: int, pairs: Pairs
) -> tuple[list[Batch], Ints, Pairs]:
    """Batches of whole groups that are left after large ones were split; sums and pairs so far."""
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
                todo.append((a, a + split(rows, order[a:b], depth, room, pairs), depth + 1))
            a = b
    return batches, room.sums, pairs


def _room(rows: Rows, size: int, vocabulary: int) -> Room:
    return Room(
        members=np.empty(size + 1, np.uint32),
        tokens=np.empty(size, rows.ids.dtype),
        names=np.empty(size, np.uint32),
        firsts=np.empty(min(size, vocabulary) + 1, np.uint32),
        counts=np.zeros(vocabulary, np.int32),
        near=np.empty(min(size, BATCH) * STRETCH, rows.ids.dtype),
        sums=np.zeros(SUMS, np.int64),
    )
