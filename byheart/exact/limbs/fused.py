"""Operations that stand for a whole run of blocks (runs.py finds the runs), compiled.

Each returns DONE; or SINGLY, having changed no slot, if one of its guards fails: then the blocks of
the run are done one by one; or GIVE_UP if that is not possible. The first numbers of an operation
are its kind and how many operations behind it it stands for; its lists are in the table EXTRAS.
"""

import numpy as np
from numpy import uint64

from . import arithmetic as at  # at.FRAME, at.WHOLE, ...: places in the header of I
from .arithmetic import (
    ONE,
    ONES,
    STATE,
    ZERO,
    add_const,
    clear,
    finish,
    inlined,
    product,
    top_bit,
)

# An index of type uint64 is faster than one that may be negative, hence these.
TWO, THREE, FOUR, FIVE, SIX, SEVEN, NINE, TEN = (np.uint64(i) for i in (2, 3, 4, 5, 6, 7, 9, 10))
SIGN = np.uint64(63)  # shifts by it, not comparisons: branches are often mispredicted
STEP = np.uint64(8)  # numbers of a step of fold_run before its updates and lookups
DONE, SINGLY, GIVE_UP = 1, 0, -1
FAR = 1 << 60


@inlined
def fold_run(M, I, op):
    """Folds of one lane (folds.Folds): lane += constant - slope relu(lane - threshold).

    The lane is copied into a window of limbs: call it x, and U the unit of its first limb. Twice a
    threshold, 2 t, is the sum of numbers that registers look up. With slope 2 a fold that fires
    makes x into 2 t - x. Only leading parts are followed at first: |x - lead U| < slack U. Each
    number looked up is its first limb times U and less than U more, so for k of them with the sum
    `total` of first limbs, 2 (x - t) is less than (2 slack + k) U away from (2 lead - total) U. If
    that decides whether the fold fires, and what it does to other lanes, then 2 t is put on a list
    and added to x later. If not, and for other slopes, x is computed. Both ways give the same x: to
    decide less, by a wider margin or none above which a fold fires for sure, is only slower.

    Nothing overflows: lead is below FAR = 2**60 in absolute value before each step, and what is
    looked up is below 2**60 U (folds.ROOM).
    """
    size, x = uint64(I[op + 3]), uint64(I[at.LIMBS] + I[op + 6])
    top = uint64(I[at.LIMBS]) + size - ONE
    extras = uint64(I[at.EXTRAS])
    row, last = extras + uint64(I[op + 7]), extras + uint64(I[op + 8])
    registers = extras + uint64(I[op + 9])
    added = registers + uint64(I[op + 10])
    subtracted = added + uint64(I[op + 11])
    if not _enter(M, I, I[op + 2], I[op + 4], I[op + 5], np.int64(x), I[op + 3]):
        return SINGLY
    for register in range(registers, added):
        I[register] = 0
    plus, minus, odd = added, subtracted, ZERO  # ends of the lists; whether x comes with a minus
    lead, slack = np.int64(M[x + size - ONE]), np.int64(1)
    while row < last:
        if I[row + FIVE] == 0:  # slope 2, one number, nothing else to do
            place = I[row + NINE]
            total = np.int64(M[top + uint64(place)])
            excess, margin = 2 * lead - total, 2 * slack + 1
            if not -margin < excess < margin + I[row + THREE]:
                fires = ~uint64(excess) >> SIGN
                lead -= excess & -np.int64(fires)
                slack += np.int64(fires)
                odd ^= fires
                I[plus] = I[minus] = place
                plus += fires & ~odd
                minus += fires & odd
                I[row + SIX] = np.int64(fires)
                row += TEN
                if not _near(lead):
                    return SINGLY
                continue
        slope, end, blur = I[row], row + uint64(I[row + ONE]), I[row + TWO]
        first = row + STEP + uint64(I[row + SEVEN])
        total, found = np.int64(0), ZERO
        k = first
        while k < end:
            place = I[k + ONE] + I[registers + uint64(I[k])]
            I[plus + found] = I[minus + found] = place
            total += np.int64(M[top + uint64(place)])
            found += ONE
            k += TWO
        excess, margin = 2 * lead - total, 2 * slack + blur
        if slope == 2 and not -margin < excess < margin + I[row + THREE]:
            fires = ~uint64(excess) >> SIGN
            fired = np.int64(fires)
            lead -= excess & -fired
            slack += blur & -fired
            odd ^= fires
            if I[row + FIVE] == 2:
                leading = top_bit(uint64(max(2, excess - margin)) >> ONE)
                fired *= 1 + 64 * (np.int64(size) - 1) + leading
        elif slope == 0:
            lead, slack = lead + total, slack + blur
            fires, fired = ONE, np.int64(0)
        else:
            _settle(M, I, x, size, added, plus, subtracted, minus, odd)
            k = ZERO
            while k < found:
                I[added + k] = I[minus + k]
                k += ONE
            plus, minus, odd, fires = added, subtracted, ZERO, ZERO
            fired = _fold(M, I, row, x, size, added, added + found)
            if fired < 0:
                return SINGLY
            lead, slack = np.int64(M[x + size - ONE]), np.int64(1)
        if not _near(lead):
            return SINGLY
        plus += found * (fires & ~odd)
        minus += found * (fires & odd)
        I[row + SIX] = fired
        k = row + STEP
        while k < first:
            I[registers + uint64(I[k])] += I[k + ONE] if fired else 0
            k += TWO
        row = end
    _settle(M, I, x, size, added, plus, subtracted, minus, odd)
    _leave(M, I, I[op + 2], I[op + 4], I[op + 5], np.int64(x), I[op + 3])
    _effects(M, I, op, last)
    return DONE


@inlined
def _enter(M, I, d, words, bits, x, size):
    """Copy slot d to M[x..], from bit `bits` of limb `words` on; False if it does not fit."""
    state = STATE + 3 * d
    low, high, base = I[state], I[state + 1], d * I[at.FRAME]
    sign = ONES if I[state + 2] else ZERO
    top = words + size
    if top + 1 > I[at.FRAME] or high > top + 1:
        return False
    if low < words and (low < high or sign):
        return False
    for i in range(size):
        M[x + i] = ZERO
    start = min(max(words, low - 1), top)
    below = M[base + start] if low <= start < high else (sign if start >= high else ZERO)
    if start == words and below & ((ONE << uint64(bits)) - ONE):
        return False
    for i in range(start, top):
        above = M[base + i + 1] if i + 1 < high else sign
        M[x + i - words] = (below >> uint64(bits)) | ((above << ONE) << uint64(63 - bits))
        below = above
    lead = np.int64(M[x + size - 1])
    same = np.int64(below) >> bits == lead >> 63 == -I[state + 2]  # all above repeats the sign
    return _near(lead) and same


@inlined
def _leave(M, I, d, words, bits, x, size):
    """Slot d = x + the constant behind it and the room for an excess, shifted back."""
    base = d * I[at.FRAME] + words
    constant = x + 2 * size + 1
    carry = before = ZERO
    for i in range(size):
        value = M[x + i] + carry
        carry = ONE if value < carry else ZERO
        value += M[constant + i]
        carry += ONE if value < M[constant + i] else ZERO
        M[base + i] = (value << uint64(bits)) | ((before >> ONE) >> uint64(63 - bits))
        before = value
    M[base + size] = uint64((np.int64(before) >> 1) >> (63 - bits))
    finish(M, I, d, words, words + size + 1, np.int64(before) >> 63)


@inlined
def _settle(M, I, x, size, added, plus, subtracted, minus, odd):
    """x += the numbers I[added..plus - 1] lists - those of I[subtracted..minus - 1]; -x if odd."""
    base = uint64(I[at.LIMBS])
    flip = ZERO - odd
    carry = plus - added + ONE if odd else minus - subtracted
    i = ZERO
    while i < size:  # two limbs at a time; the second one of the last may be none of x
        total, second = M[x + i] ^ flip, M[x + i + ONE] ^ flip
        total += carry
        over = ONE if total < carry else ZERO
        carry = ZERO
        k = added
        while k < plus:
            place = base + uint64(I[k]) + i
            value = M[place] ^ flip
            total += value
            over += ONE if total < value else ZERO
            value = M[place + ONE] ^ flip
            second += value
            carry += ONE if second < value else ZERO
            k += ONE
        k = subtracted
        while k < minus:
            place = base + uint64(I[k]) + i
            value = ~(M[place] ^ flip)
            total += value
            over += ONE if total < value else ZERO
            value = ~(M[place + ONE] ^ flip)
            second += value
            carry += ONE if second < value else ZERO
            k += ONE
        M[x + i] = total
        second += over
        carry += ONE if second < over else ZERO
        if i + ONE < size:
            M[x + i + ONE] = second
        i += TWO


@inlined
def _fold(M, I, row, x, size, first, end):
    """x -= slope relu(x - t): a step with all limbs; I[first..end - 1] lists the parts of 2 t.

    Returns 0 if it does not fire, and else 1 more than the place of the excess's highest bit; or
    -1 if the excess is less than it must be, or x too large.
    """
    base, d, slope = uint64(I[at.LIMBS]), x + size, I[row]
    carry = ZERO
    for i in range(size):  # 2 t
        total = carry
        carry = ZERO
        for k in range(first, end):
            value = M[base + uint64(I[k]) + i]
            total += value
            carry += ONE if total < value else ZERO
        M[d + i] = total
    M[d + size] = ONES if M[d + size - ONE] >> uint64(63) else ZERO
    borrow = some = ZERO
    for i in range(size):  # x - t
        half = (M[d + i] >> ONE) | (M[d + i + ONE] << uint64(63))
        value = M[x + i] - half
        less = ONE if M[x + i] < half else ZERO
        M[d + i] = value - borrow
        borrow = less + (ONE if value < borrow else ZERO)
        some |= M[d + i]
    if M[d + size - ONE] >> uint64(63) or some == ZERO:
        return 0
    if slope != 2 and M[d + size - ONE] >> uint64(57):
        return -1
    if I[row + FOUR] >= 0:
        least = base + uint64(I[row + FOUR])
        i = size - ONE
        while i > ZERO and M[d + i] == M[least + i]:
            i -= ONE
        if M[d + i] < M[least + i]:
            return -1
    up = borrow = ZERO
    for i in range(size):
        high, low = product(M[d + i], uint64(slope))
        value = low + up
        up = high + (ONE if value < low else ZERO)
        less = M[x + i] - value
        under = ONE if M[x + i] < value else ZERO
        M[x + i] = less - borrow
        borrow = under + (ONE if less < borrow else ZERO)
    i = size - ONE
    while M[d + i] == ZERO:
        i -= ONE
    return 1 + 64 * np.int64(i) + top_bit(M[d + i])


@inlined
def _near(lead):
    """Whether a leading part is small enough for the next step."""
    return -FAR < lead < FAR


@inlined
def _effects(M, I, op, row):
    """What the folds that fired did to lanes that are still 0; see folds.Folds."""
    extras, last = uint64(I[at.EXTRAS]), row + TWO * uint64(I[op + 12])
    while row < last:
        I[uint64(STATE + 2 + 3 * I[row])] |= 1 if I[extras + uint64(I[row + ONE])] else 0
        row += TWO
    last += THREE * uint64(I[op + 13])
    while row < last:
        fired = I[extras + uint64(I[row + ONE])]
        if fired:
            I[uint64(STATE + 2 + 3 * I[row])] = 1
            M[uint64(I[row] * I[at.FRAME])] = uint64(fired - 1 + I[row + TWO])
        row += THREE
    for _ in range(I[op + 14]):
        d, item = I[row], row + TWO
        row = item + TWO * uint64(I[row + ONE])
        total = 0
        while item < row:
            total += I[item + ONE] if I[extras + uint64(I[item])] else 0
            item += TWO
        M[uint64(d * I[at.FRAME] + I[at.WHOLE])] = uint64(total)
        finish(M, I, d, I[at.WHOLE], I[at.WHOLE] + 1, 0)


@inlined
def powers(M, I, op):
    """Fold y = lane + before at 2**t for t = highest, ..., lowest, and add `after`.

    Lemma: for 0 <= y <= 2**(t + 1) the fold at 2**t gives the distance from y to the nearest
    multiple of 2**(t + 1): y itself up to 2**t, 2**(t + 1) - y above. The distance to the multiples
    of 2**(t + 1) is at most 2**t, and multiples of 2**(t + 1) are multiples of 2**t, so the next
    fold gives the distance from the original y to the multiples of 2**t. Hence all of them give the
    distance to the multiples of 2**(lowest + 1): the low bits of y, negated if bit `lowest` is set.
    A negative y is not folded.
    """
    d, lowest, highest, before = I[op + 2], I[op + 3], I[op + 4], I[op + 5]
    if before >= 0 and not add_const(M, I, d, before):
        return GIVE_UP
    done = _nearest(M, I, d, lowest, highest)
    after = I[op + 6]
    if not done:
        after = I[op + 7]  # take `before` off again
    if after >= 0 and not add_const(M, I, d, after):
        return GIVE_UP
    return DONE if done else SINGLY


@inlined
def _nearest(M, I, d, lowest, highest):
    """Slot d = its distance to the multiples of 2**(lowest + 1), unless it is far above."""
    state = STATE + 3 * d
    low, high = I[state], I[state + 1]
    if I[state + 2] or low == high:
        return True
    base = d * I[at.FRAME]
    limb = M[base + high - 1]
    bit = top_bit(limb)
    top = 64 * (high - 1) + bit
    power = low == high - 1 and limb == ONE << uint64(bit)
    if top > highest and not (top == highest + 1 and power):
        return False
    last, place = lowest >> 6, uint64(lowest & 63)
    if low > last:
        clear(I, d)
        return True
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
    return True


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
