"""Ordered contexts of a corpus, told apart one token at a time.

Rows are stretches of the corpus: row r begins at rows[r], and its context of k tokens is followed
by the token k places further on. All rows with the same first k tokens are a group, and the context
that they share was seen as often as the group has rows that go on. Each group is split by its next
token, which gives the groups of k + 1 tokens, and so on.

Why a group of one row may be dropped: whatever follows, no other row will ever share its contexts.
Each of them was seen once, with one label: it adds one to the contexts, one to what can be right,
nothing to the conflicts and 1 log(1 / 1) = 0 to the entropy. All of this follows from the number of
predictions alone: with P predictions, of which R fall on contexts seen twice or more, exactly P - R
contexts were seen once. So only groups of two rows or more are ever read again.

Splitting is counting: a table of the vocabulary's size holds how often each token follows. No key
is hashed and none is rounded, so the groups are exact.
"""

import numpy as np
from numba import njit

compiled = njit(cache=True, nogil=True)

LAST = np.uint32(1 << 31)  # marks the last member of a group
NUMBER = np.uint32((1 << 31) - 1)  # the row without the mark
PREDICTIONS, CONTEXTS, RIGHT, CONFLICTS, IN_CONFLICT = range(5)  # of contexts seen twice or more
TOTALS = 5


@compiled
def by_first_token(ids, rows, ends, order, apart):
    """Put the rows in the order of their first tokens: order[ends[t - 1] : ends[t]] begin with t.

    The last row of each group is marked; the first is apart from all rows before it by one token.
    """
    for row in range(len(rows)):
        ends[ids[rows[row]]] += 1
    total = 0
    for token in range(len(ends)):
        size = ends[token]
        ends[token] = total
        total += size
    for row in range(len(rows)):
        token = ids[rows[row]]
        order[ends[token]] = row
        ends[token] += 1
    begin = 0
    for token in range(len(ends)):
        if ends[token] > begin:
            apart[order[begin]] = 1
            order[ends[token] - 1] |= LAST
        begin = ends[token]


@compiled
def slot_of(keys, key):
    """Where the key is in the table, or the free place where it belongs."""
    mask = len(keys) - 1
    slot = (key * 0x9E3779B97F4A7C15 >> 20) & mask
    while keys[slot] != 0 and keys[slot] != key:
        slot = (slot + 1) & mask
    return slot


@compiled
def roomy(keys, times, used, more):
    """The table, enlarged so that `more` new keys leave half of it free."""
    size = len(keys)
    while 2 * (used + more) > size:
        size *= 2
    if size == len(keys):
        return keys, times
    larger, moved = np.zeros(size, np.int64), np.zeros(size, np.int64)
    for old in range(len(keys)):
        if keys[old] != 0:
            slot = slot_of(larger, keys[old])
            larger[slot], moved[slot] = keys[old], times[old]
    return larger, moved


@compiled
def add(keys, times, key):
    """Count the key once more; 1 if it is new, else 0."""
    slot = slot_of(keys, key)
    new = keys[slot] == 0
    keys[slot] = key
    times[slot] += 1
    return 1 if new else 0


@compiled
def refine(
    ids, separator, rows, members, apart, least, most, count, touched, who, what, totals, keys, times
):
    """Count the contexts of `least` to `most` tokens of the groups in `members`.

    members  rows whose first token is the same, group after group; used up.
    apart    is set, for a row that is the first to begin with some k tokens, to the least such k.
    count    zeros, one for each token of the vocabulary, and zeros again in the end.
    keys     the table of counted pairs, with `times`: n << 32 | m for a context seen n times and m
             times with some label, n << 32 for the context itself. Returned, since it may grow.
    """
    used = 0
    for slot in range(len(keys)):
        used += keys[slot] != 0
    alive, depth = len(members), 1
    while alive and depth <= most:
        place, kept = 0, 0
        while place < alive:
            head = members[place] & NUMBER
            size, distinct = 0, 0
            last = False
            while not last:
                row = members[place] & NUMBER
                last = members[place] >= LAST
                place += 1
                at = rows[row] + depth
                if at >= len(ids) or ids[at] == separator:
                    continue
                token = ids[at]
                who[size], what[size] = row, token
                size += 1
                if count[token] == 0:
                    touched[distinct] = token
                    distinct += 1
                    if row != head:
                        apart[row] = depth + 1
                count[token] += 1
            if size >= 2 and depth >= least:
                keys, times = roomy(keys, times, used, distinct + 1)
                used += add(keys, times, size << 32)
                best = 0
                for i in range(distinct):
                    seen = count[touched[i]]
                    best = max(best, seen)
                    if distinct > 1:
                        used += add(keys, times, size << 32 | seen)
                totals[PREDICTIONS] += size
                totals[CONTEXTS] += 1
                totals[RIGHT] += best
                totals[CONFLICTS] += distinct > 1
                totals[IN_CONFLICT] += size if distinct > 1 else 0
            kept = _split(members, kept, who, what, size, count, touched, distinct)
        alive = kept
        depth += 1
    return keys, times


@compiled
def _split(members, kept, who, what, size, count, touched, distinct):
    """Write the groups of two or more that the tokens make to members[kept:]; count is cleared."""
    for i in range(distinct):
        seen = count[touched[i]]
        count[touched[i]] = kept if seen > 1 else -1
        kept += seen if seen > 1 else 0
    for i in range(size):
        place = count[what[i]]
        if place >= 0:
            members[place] = who[i]
            count[what[i]] = place + 1
    for i in range(distinct):
        if count[touched[i]] > 0:
            members[count[touched[i]] - 1] |= LAST
        count[touched[i]] = 0
    return kept
