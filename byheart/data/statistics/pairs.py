"""How often contexts and their labels were seen, as a histogram that compiled code fills.

A key is n << 32 | m: a context seen n times that was followed m times by one of its labels; m = 0
stands for the context itself. Entropy, best accuracy and T_epsilon depend on nothing else, and the
distinct keys are few however large the corpus is: n contexts of different counts have at least
n^2 / 2 predictions.
"""

from typing import NamedTuple

import numpy as np

from ...machine.kernels import njit
from ..dataset import Ints

# Counting references to arrays (_nrt) costs more than most loops here, so compiled code allocates
# nothing. A call with some arrays costs as much, so what is called for each row is inlined.
compiled = njit(_nrt=False)
inlined = njit(_nrt=False, forceinline=True)


class Pairs(NamedTuple):
    """A table with open addressing; 0 is an empty slot. used[0] is the number of keys."""

    keys: Ints
    times: Ints
    used: Ints


def empty(size: int = 1 << 12) -> Pairs:
    return Pairs(np.zeros(size, np.int64), np.zeros(size, np.int64), np.zeros(1, np.int64))


@inlined
def add(pairs, seen, with_label, more):
    key = seen << 32 | with_label
    mask = len(pairs.keys) - 1
    slot = (key * 0x9E3779B97F4A7C15 >> 20) & mask
    while pairs.keys[slot] != 0 and pairs.keys[slot] != key:
        slot = (slot + 1) & mask
    if pairs.keys[slot] == 0:
        pairs.keys[slot] = key
        pairs.used[0] += 1
    pairs.times[slot] += more


def with_room(pairs: Pairs, more: int) -> Pairs:
    """The table, enlarged if need be, so that `more` keys leave half of it free."""
    size = len(pairs.keys)
    while 2 * (int(pairs.used[0]) + more) > size:
        size *= 2
    if size == len(pairs.keys):
        return pairs
    larger = empty(size)
    _copy(pairs, larger)
    return larger


def merged(one: Pairs, other: Pairs) -> Pairs:
    """Both tables in one, which may be the first."""
    one = with_room(one, int(other.used[0]))
    _copy(other, one)
    return one


@compiled
def _copy(pairs, larger):
    for slot in range(len(pairs.keys)):
        if pairs.keys[slot] != 0:
            add(larger, pairs.keys[slot] >> 32, pairs.keys[slot] & 0xFFFFFFFF, pairs.times[slot])


def counted(pairs: Pairs) -> Ints:
    filled = np.flatnonzero(pairs.keys)
    keys = pairs.keys[filled]
    return np.column_stack([keys >> 32, keys & 0xFFFFFFFF, pairs.times[filled]])
