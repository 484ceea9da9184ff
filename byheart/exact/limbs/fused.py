"""Operations that stand for a whole run of blocks (runs.py finds the runs), compiled.

Each returns DONE; or SINGLY, having changed no slot, if one of its guards fails: then the blocks of
the run are done one by one; or GIVE_UP if that is not possible. The first numbers of an operation
are its kind and how many operations behind it it stands for; its lists are in the table EXTRAS.
"""

import numpy as np
from numba import uint64

from . import arithmetic as at  # at.FRAME, at.WHOLE, ...: places in the header of I
from .arithmetic import ONE, ONES, STATE, ZERO, clear, finish, inlined, is_zero, shift, top_bit

# An index of type uint64 is faster than one that may be negative, hence these.
TWO, THREE = np.uint64(2), np.uint64(3)
FOLD = 4  # words of one fold in M: threshold, slope, least excess, and room for the excess
SHORT = 58  # bits of the leading part of a lane that fold_run folds; slopes are below 2**5
DONE, SINGLY, GIVE_UP = 1, 0, -1


@inlined
def fold_run(M, I, op):
    """Folds of one lane x, which also close, count or take from other lanes (runs.Folds).

    x = v 2**unit + rest, and so are the thresholds, with 0 <= rest < 2**unit. A fold at t makes x
    into 2 t - x, that is v into 2 v_t - v and the rest into 2 rest_t - rest. Only v is followed;
    the rests, at most 2 n + 1 units after n folds, are added up at the end. So x > t is certain if
    v - v_t is at least `slack` = 2 n + 2, and x < t if v_t - v is. Folds with another slope than
    2 have no rests and no slack.
    """
    lane, unit, slack = I[op + 2], I[op + 3], I[op + 4]
    first, last = I[at.LIMBS] + I[op + 5], I[at.LIMBS] + I[op + 6]
    low, top = I[op + 7], (unit >> 6) + 2
    state = STATE + 3 * lane
    if I[state + 2] or I[state + 1] > top or top > I[at.FRAME]:
        return SINGLY
    rests = _split(M, I, lane, unit, low, last)
    v = np.int64(M[last])
    if rests < 0 or v >> SHORT or (rests and not slack):
        return SINGLY
    worst = np.int64(0)
    for fold in range(uint64(first), uint64(last), uint64(FOLD)):
        excess = v - np.int64(M[fold])
        worst |= excess - np.int64(M[fold + TWO]) if excess > 0 else -excess - slack
        excess = max(excess, np.int64(0))
        v -= np.int64(M[fold + ONE]) * excess
        M[fold + THREE] = uint64(excess)
    if worst < 0:
        return SINGLY
    found = I[at.EXTRAS] + I[op + 8]
    end = _signed_rests(M, I, first, last, top - low, found, rests) if slack else found
    place = last + 1
    for i in range(top - low):
        M[place + i] = ZERO
    bits = uint64(unit & 63)
    M[place + top - low - 2] = uint64(v) << bits
    M[place + top - low - 1] = uint64((v >> 1) >> (63 - (unit & 63)))
    I[end] = place
    clear(I, lane)
    _add_all(M, I, lane, low, top - low, found, end + 1)
    _effects(M, I, op, first)
    return DONE


@inlined
def _split(M, I, d, unit, low, last):
    """M[last] = v, and the rest behind it and a number of room, negated too; slot d is both.

    Returns whether there is a rest, or -1 if the slot has limbs below `low` or v is too long.
    """
    state = STATE + 3 * d
    M[last] = ZERO
    if I[state + 1] == 0:
        return 0
    if I[state] < low:
        return -1
    base = d * I[at.FRAME]
    cut, bits = unit >> 6, uint64(unit & 63)
    lower = M[base + cut] if I[state] <= cut < I[state + 1] else ZERO
    upper = M[base + cut + 1] if I[state + 1] == cut + 2 else ZERO
    M[last] = (lower >> bits) | ((upper << ONE) << (uint64(63) - bits))
    if upper >> bits or M[last] >> uint64(SHORT):
        return -1
    lower &= (ONE << bits) - ONE
    if I[state] >= cut and lower == ZERO:
        return 0
    size = cut + 2 - low
    plus = last + 1 + size
    borrow = ZERO
    for i in range(size):
        x = ZERO
        if I[state] <= low + i < min(cut, I[state + 1]):
            x = M[base + low + i]
        elif low + i == cut:
            x = lower
        M[plus + i] = x
        M[plus + size + i] = ZERO - x - borrow
        borrow = ONE if x or borrow else ZERO
    return 1


@inlined
def _signed_rests(M, I, first, last, size, found, rests):
    """Where the numbers are whose sum is the rest after all folds; returns the end of the list.

    Twice the rest of a threshold is negated by every later fold that fires, the lane's own by all.
    Behind M[last], two numbers for the lane and two for each threshold: with either sign.
    """
    place = last + 1 + size + 2 * size * ((last - first) // FOLD)
    end = found
    odd = 0
    for fold in range(last - FOLD, first - FOLD, -FOLD):
        fires = 1 if M[fold + 3] else 0
        I[end] = place + odd * size
        end += fires
        odd ^= fires
        place -= 2 * size
    I[end] = place + odd * size
    return end + rests


@inlined
def _effects(M, I, op, first):
    """The effects of the folds that fired on lanes that are still 0; see runs.Folds."""
    row = I[at.EXTRAS] + I[op + 9]
    for _ in range(I[op + 10]):
        I[STATE + 3 * I[row] + 2] |= 1 if M[first + I[row + 1]] else 0
        row += 2
    for _ in range(I[op + 11]):
        excess = M[first + I[row + 1]]
        if excess:
            I[STATE + 3 * I[row] + 2] = 1
            M[I[row] * I[at.FRAME]] = excess - uint64(I[op + 4])
        row += 2
    for _ in range(I[op + 12]):
        stop = row + 2 + 2 * I[row + 1]
        total = 0
        for item in range(row + 2, stop, 2):
            total += I[item + 1] if M[first + I[item]] else 0
        M[I[row] * I[at.FRAME] + I[at.WHOLE]] = uint64(total)
        finish(M, I, I[row], I[at.WHOLE], I[at.WHOLE] + 1, 0)
        row = stop


@inlined
def powers(M, I, op):
    """Fold a lane at 2**t for t = highest, ..., lowest (bit places in the frame).

    Lemma: for 0 <= x <= 2**(t + 1) the fold at 2**t gives the distance from x to the nearest
    multiple of 2**(t + 1): x itself up to 2**t, 2**(t + 1) - x above. The distance to the multiples
    of 2**(t + 1) is at most 2**t, and multiples of 2**(t + 1) are multiples of 2**t, so the next
    fold gives the distance from the original x to the multiples of 2**t. Hence all of them give the
    distance to the multiples of 2**(lowest + 1): the low bits of x, negated if bit `lowest` is set.
    """
    d, lowest, highest = I[op + 2], I[op + 3], I[op + 4]
    state = STATE + 3 * d
    low, high = I[state], I[state + 1]
    if I[state + 2] or low == high:
        return DONE
    base = d * I[at.FRAME]
    limb = M[base + high - 1]
    bit = top_bit(limb)
    top = 64 * (high - 1) + bit
    power = low == high - 1 and limb == ONE << uint64(bit)
    if top > highest and not (top == highest + 1 and power):
        return SINGLY
    last, place = lowest >> 6, uint64(lowest & 63)
    if low > last:
        clear(I, d)
        return DONE
    if high > last:
        high = last + 1
        mask = (uint64(2) << place) - ONE
        if (M[base + last] >> place) & ONE:
            carry = ONE
            for i in range(low, high):
                M[base + i] = ~M[base + i] + carry
                carry = ONE if carry and M[base + i] == ZERO else ZERO
        M[base + last] &= mask
    finish(M, I, d, low, high, 0)
    return DONE


@inlined
def shifts(M, I, op):
    """Blocks lane + (2**s - 1) relu(lane + gate): the lane is shifted by s where the gate is 0.

    A gate below -lane leaves the lane alone. A closed gate is at most -2**place times the number in
    its limb 0 (runs.Folds, takes). Of any other, only the length is looked at: the top limb of a
    negative number of h limbs is not -1, so the number is below -2**(64 (h - 1)).
    """
    d = I[op + 2]
    state = STATE + 3 * d
    first, last = I[at.EXTRAS] + I[op + 3], I[at.EXTRAS] + I[op + 4]
    closed = 0
    for row in range(first, last, 3):
        gate = STATE + 3 * I[row]
        closed |= I[gate + 2] and I[gate + 1] == 0
    fail = GIVE_UP if closed else SINGLY
    if I[state + 2] or is_zero(I, d):
        return fail
    bits = 64 * I[state + 1] - 63 + top_bit(M[d * I[at.FRAME] + I[state + 1] - 1])
    for row in range(first, last, 3):
        gate = STATE + 3 * I[row]
        least = 64 * (I[gate + 1] - 1)
        if I[gate + 1] == 0:
            least = I[row + 2] + top_bit(M[I[row] * I[at.FRAME]])
        if is_zero(I, I[row]):
            bits += I[row + 1]
        elif not I[gate + 2] or bits > least:
            return fail
    places = bits - 64 * I[state + 1] + 63 - top_bit(M[d * I[at.FRAME] + I[state + 1] - 1])
    return DONE if shift(M, I, d, places) else fail


@inlined
def small(M, I, d, size):
    """The value of slot d if it is a whole number below size, else -1."""
    state = STATE + 3 * d
    if I[state + 2]:
        return -1
    if I[state] == I[state + 1]:
        return 0
    whole = I[at.WHOLE]
    limb = M[d * I[at.FRAME] + whole]
    if I[state] == whole and I[state + 1] == whole + 1 and limb < uint64(size):
        return np.int64(limb)
    return -1


@inlined
def gather(M, I, op):
    """Tables that add to gated lanes, which are then added up in one target lane.

    Every gated lane is 0 or closed, and the tables add nothing negative to it: so what a table adds
    to a lane reaches the target if all lanes on its way are open, and else adds nothing to it.
    """
    ways = I[at.EXTRAS] + I[op + 3]  # (lane, the next one's number); the target has number 0
    opened = I[at.EXTRAS] + I[op + 4]
    tables, found = I[at.EXTRAS] + I[op + 5], I[at.EXTRAS] + I[op + 6]
    size = I[op + 8]
    I[opened] = 1
    used = 0
    for k in range((opened - ways) // 2):
        state = STATE + 3 * I[ways + 2 * k]
        used |= I[state] | I[state + 1]
        I[opened + 1 + k] = I[opened + I[ways + 2 * k + 1]] & (1 - I[state + 2])
    if used:
        return SINGLY
    end = found
    row = tables
    while row < found:
        count = I[row + 3]
        value = small(M, I, I[row], I[row + 1])
        if value < 0:
            return SINGLY
        place = I[at.LIMBS] + I[row + 2] + value * count * size
        for k in range(count):
            I[end] = place + k * size
            end += I[opened + I[row + 4 + k]]
        row += 4 + count
    return DONE if _add_all(M, I, I[op + 2], I[op + 7], size, found, end) else SINGLY


@inlined
def _add_all(M, I, d, low, size, found, end):
    """Slot d += the numbers whose `size` limbs, from limb `low` on, are at M[I[found..end - 1]]."""
    state = STATE + 3 * d
    own, top, below = I[state], I[state + 1], I[state + 2]
    if own == top and not below:
        own = top = low
    if top > low + size - 1 or low + size > I[at.FRAME]:
        return False
    base = d * I[at.FRAME]
    sign = ONES if below else ZERO
    for i in range(top, low):
        M[base + i] = sign
    carry = ZERO
    for i in range(size):
        x = M[base + low + i] if own <= low + i < top else (ZERO if low + i < own else sign)
        total = x + carry
        carry = ONE if total < x else ZERO
        for k in range(uint64(found), uint64(end)):
            x = M[uint64(I[k]) + uint64(i)]
            total += x
            carry += ONE if total < x else ZERO
        M[base + low + i] = total
    negative = M[base + low + size - 1] >> uint64(63)
    return finish(M, I, d, min(own, low), low + size, -1 if negative else 0)
