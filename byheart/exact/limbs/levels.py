"""Folds at descending levels that each store a number: found by their weights, done in one pass.

The thresholds of such a run are 2**t Q - Q/2 + r_t for t = top, ..., b, with Q a power of two and
small r_t. Let P = 2**b Q, x = A P + z - Q/2 with 0 <= z < P, and say that fold t is *sound* if
r_t < z < P + r_t when its turn comes. Then x - threshold = (A - 2**(t - b)) P + z - r_t is positive
if A >= 2**(t - b), and else negative: whether the fold fires depends on A alone. If it fires, A
becomes 2**(t - b + 1) - 1 - A, and z becomes P + 2 r_t - z.

So bits of A tell which folds fire: fold t if the bits t - b and t - b + 1 of A differ; after it
fire an odd number of folds if the bits t - b and 0 differ. At the end A = 0, and z is a sum of
numbers P + 2 r_t and the original z, with signs that are known.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numba import uint64

from . import arithmetic as at  # at.FRAME, at.WHOLE, ...: places in the header of I
from .arithmetic import ONE, ONES, STATE, ZERO, finish, inlined, top_bit
from .fused import DONE, SINGLY
from .shortcuts import Fold

FEWEST = 8  # folds that are worth an operation of their own
MOST_BELOW = 4  # b
LEADING = 56  # bits of z that are followed


@dataclass
class Levels:
    """Folds of one lane at 2**t * 2**unit - 2**(unit - 1) + rests[i], t = top - i, last one b."""

    lane: int
    unit: int
    lowest: int  # b
    rests: list[int]

    @property
    def blocks(self) -> int:
        return len(self.rests)


def levels(folds: Iterable[Fold | None]) -> Levels | None:
    """The run with which these folds begin."""
    found: list[Fold] = []
    run: Levels | None = None
    for fold in folds:
        if fold is None or not fold.plain or fold.constant:
            break
        found.append(fold)
        if len(found) < 2:
            continue
        if run is None:
            # the first two thresholds are 2**t Q - Q/2 and half as much less Q/4, or nearly so
            twice = 2 * (found[0].threshold - 2 * found[1].threshold)
            if twice <= 8:
                return None
            run = Levels(fold.lane, (4 * twice // 3).bit_length() - 1, 0, [])
            if not _append(run, found[0]):
                return None
        if not _append(run, fold):
            break
    if run is None or run.blocks < FEWEST or run.lowest > MOST_BELOW:
        return None
    return run


def _append(run: Levels, fold: Fold) -> bool:
    """Whether the fold is the next one of the run; if so, it is appended."""
    size = 1 << run.unit
    level = (fold.threshold + size) >> run.unit
    rest = fold.threshold + size // 2 - level * size
    place = level.bit_length() - 1
    if fold.lane != run.lane or level <= 0 or level & (level - 1) or 8 * abs(rest) > size:
        return False
    if run.rests and place != run.lowest - 1:
        return False
    run.lowest = place
    run.rests.append(rest)
    return True


@inlined
def level_run(M, I, op):
    """See the head of this file; leads are r_t and P + 2 r_t in units of P / 2**LEADING."""
    d, place, half, count = I[op + 2], I[op + 3], I[op + 4], I[op + 5]
    low, size, whole = I[op + 6], I[op + 7], I[op + 8]
    state = STATE + 3 * d
    first, high = I[state], I[state + 1]
    if I[state + 2] or first == high:
        return DONE  # below all thresholds
    base = d * I[at.FRAME]
    top = 64 * (high - 1) + top_bit(M[base + high - 1])
    if top < place - 4:
        return DONE  # below P / 16: A = 0, and every fold is sound
    if top > place + count or first < low or low + size > I[at.FRAME]:
        return SINGLY
    x = I[at.LIMBS] + I[op + 9]
    carry = ZERO
    for i in range(whole):  # x + Q/2 = A P + z
        value = M[base + low + i] if first <= low + i < high else ZERO
        total = value + carry
        carry = ONE if total < value else ZERO
        if low + i == half >> 6:
            value = ONE << uint64(half & 63)
            total += value
            carry += ONE if total < value else ZERO
        M[x + i] = total
    if _bit(M, x, place + count - 64 * low):
        return SINGLY
    odd = _bit(M, x, place - 64 * low)
    numbers, leads = I[at.LIMBS] + I[op + 10], I[at.EXTRAS] + I[op + 11]
    added = I[at.EXTRAS] + I[op + 12]
    subtracted = added + count + 2
    plus, minus = added, subtracted
    # |z - lead units| < slack units; a rest is less than a unit above its lead
    lead, slack, above = _leading(M, x, place - LEADING - 64 * low), 1, ZERO
    for fold in range(count):
        bit = _bit(M, x, place + count - 1 - fold - 64 * low)
        distance = lead - I[leads + 2 * fold]
        if not slack < distance < (1 << LEADING) - slack:
            return SINGLY
        if bit != above:
            lead = I[leads + 2 * fold + 1] - lead
            slack += 1
            I[plus] = I[minus] = numbers + size * fold
            plus += 1 if bit == odd else 0
            minus += 1 if bit != odd else 0
        above = bit
    end = (place >> 6) - low  # z is what is below P
    M[x + end] &= (ONE << uint64(place & 63)) - ONE
    M[x + end + 1] = ZERO
    I[plus] = I[minus] = x
    plus += 1 if odd == ZERO else 0
    minus += 1 if odd else 0
    I[plus] = numbers + size * count
    _add_up(M, I, base + low, size, added, plus + 1, subtracted, minus)
    negative = M[base + low + size - 1] >> uint64(63)
    finish(M, I, d, low, low + size, -1 if negative else 0)
    return DONE


@inlined
def _bit(M, x, place):
    return (M[x + (place >> 6)] >> uint64(place & 63)) & ONE


@inlined
def _leading(M, x, place):
    """The 56 bits of M[x..] from a place on."""
    limb, bits = x + (place >> 6), uint64(place & 63)
    value = (M[limb] >> bits) | ((M[limb + 1] << ONE) << (uint64(63) - bits))
    return np.int64(value & ((ONE << uint64(LEADING)) - ONE))


@inlined
def _add_up(M, I, target, size, added, plus, subtracted, minus):
    """M[target..] = the numbers at M[I[added..plus - 1]] less those at M[I[subtracted..minus - 1]].

    Minus a number is its complement and 1.
    """
    carry = uint64(minus - subtracted)
    for i in range(uint64(size)):
        total = carry
        carry = ZERO
        for k in range(uint64(added), uint64(plus)):
            value = M[uint64(I[k]) + i]
            total += value
            carry += ONE if total < value else ZERO
        for k in range(uint64(subtracted), uint64(minus)):
            value = M[uint64(I[k]) + i] ^ ONES
            total += value
            carry += ONE if total < value else ZERO
        M[uint64(target) + i] = total
