"""Compiled kernels on multi-limb numbers.

A number is two's complement in a frame of L limbs: limbs low..high - 1 are stored, limbs below are 0, limbs from `high` on repeat the
sign (0 or all ones). The top stored limb differs from the sign and the lowest one from 0, so 0 is (0, 0, 0).

All memory is two arrays, because every further array argument costs a call more than the arithmetic in it:
M  uint64  L limbs for each slot, then the limbs of constants and weights
I  int64   the header (names below), then (low, high, negative) of each slot, then the tables of the program
"""

import numpy as np
from numba import njit, uint64

GENERAL, FOLDS, POWERS, COUNT, GATE, SHIFT, TABLE, LINEAR = range(8)
(
    FRAME,  # limbs of a slot
    WHOLE,  # the limb that holds the units
    FIRST_OUTPUT,
    OUTPUTS,
    SPARE,  # a slot for products
    GUESS,  # whether gated lanes may be closed
    OPS,  # where the tables begin in I ...
    OPERATIONS,  # ... and how many operations there are
    UNITS,
    TERMS,
    WRITES,
    ADDS,
    WEIGHTS,
    DIGITS,
    CONSTS,
    BOUNDS,
    LIMBS,  # where constants begin in M
    STATE,
) = range(18)
SIZES = {
    OPS: 12,
    UNITS: 6,
    TERMS: 2,
    WRITES: 3,
    ADDS: 2,
    WEIGHTS: 5,
    DIGITS: 2,
    CONSTS: 4,
    BOUNDS: 1,
}
ZERO = np.uint64(0)
ONE = np.uint64(1)
ONES = np.uint64(0xFFFFFFFFFFFFFFFF)
HALF = np.uint64(0xFFFFFFFF)

compiled = njit(cache=True, nogil=True, _nrt=False)  # nothing here allocates
inlined = njit(
    cache=True, nogil=True, _nrt=False, forceinline=True
)  # a call costs more than most bodies


@inlined
def _finish(M, I, d, low, high, rest):
    """Set the window of slot d: limbs low..high - 1 are valid, and `rest` (-2..1) is the value of all above. False if it does not fit."""
    base = d * I[FRAME]
    if rest == 1 or rest == -2:
        if high == I[FRAME]:
            return False
        M[base + high] = ONE if rest == 1 else ONES - ONE
        high += 1
    sign = ONES if rest < 0 else ZERO
    while high > low and M[base + high - 1] == sign:
        high -= 1
    while low < high and M[base + low] == ZERO:
        low += 1
    if low == high and rest >= 0:
        low = high = 0
    state = STATE + 3 * d
    I[state] = low
    I[state + 1] = high
    I[state + 2] = 1 if rest < 0 else 0
    return True


@inlined
def _clear(I, d):
    state = STATE + 3 * d
    I[state] = I[state + 1] = I[state + 2] = 0


@inlined
def _is_zero(I, d):
    state = STATE + 3 * d
    return I[state] == I[state + 1] and not I[state + 2]


@inlined
def _add_within(M, I, d, start, first, last, negative, subtract):
    """Slot d += (or -=) limbs M[start + first..start + last - 1], all of them inside d's window."""
    state = STATE + 3 * d
    own, top, below = I[state], I[state + 1], I[state + 2]
    base = d * I[FRAME]
    mask = ONES if subtract else ZERO
    carry = ONE if subtract else ZERO
    for i in range(first, last):
        value = M[start + i] ^ mask
        y = M[base + i] + value
        z = y + carry
        carry = ONE if y < value or z < y else ZERO
        M[base + i] = z
    value = (ONES if negative else ZERO) ^ mask
    for i in range(last, top):
        if value + carry == ZERO:  # 0 without carry or -1 with one: the rest stays
            return _finish(M, I, d, own, top, -below)
        y = M[base + i] + value
        z = y + carry
        carry = ONE if y < value or z < y else ZERO
        M[base + i] = z
    return _finish(M, I, d, own, top, np.int64(carry) - below - (1 if value else 0))


@inlined
def _add(M, I, d, offset, low, high, negative, shift, subtract):
    """Slot d += (or -=) the number with limbs M[offset + low..] << shift; False if it does not fit."""
    if low == high and not negative:
        return True
    words = shift >> 6
    bits = uint64(shift & 63)
    first, last = low + words, high + words
    state = STATE + 3 * d
    own, top, below = I[state], I[state + 1], I[state + 2]
    if own == top and not below:
        own = top = first
    if first < 0 or last + 1 > I[FRAME]:
        return False
    base = d * I[FRAME]
    if not bits and not subtract and own == top and not below:  # d is 0: a copy
        for i in range(first, last):
            M[base + i] = M[offset - words + i]
        return _finish(M, I, d, first, last, -negative)
    if not bits and own <= first < last <= top:  # all within d's window
        return _add_within(M, I, d, offset - words, first, last, negative, subtract)
    sign = ONES if below else ZERO
    for i in range(top, first):  # a gap between the two
        M[base + i] = sign
    mask = ONES if subtract else ZERO
    carry = ONE if subtract else ZERO
    start = offset - words
    before = ZERO
    down = uint64(64) - bits
    for i in range(first, last):
        limb = M[start + i]
        value = limb
        if bits:
            value = (limb << bits) | (before >> down)
            before = limb
        value ^= mask
        x = M[base + i] if own <= i < top else (ZERO if i < own else sign)
        y = x + value
        z = y + carry
        carry = ONE if y < value or z < y else ZERO
        M[base + i] = z
    over = ONES if negative else ZERO
    if bits:
        value = ((over << bits) | (before >> down)) ^ mask
        x = M[base + last] if own <= last < top else (ZERO if last < own else sign)
        y = x + value
        z = y + carry
        carry = ONE if y < value or z < y else ZERO
        M[base + last] = z
        last += 1
    value = over ^ mask
    for i in range(last, own):  # a gap above: the number lies below all of d
        z = value + carry
        carry = ONE if z < value else ZERO
        M[base + i] = z
    for i in range(max(last, own), top):
        if value + carry == ZERO:  # 0 without carry or -1 with one: the rest stays
            return _finish(M, I, d, min(own, first), top, -below)
        y = M[base + i] + value
        z = y + carry
        carry = ONE if y < value or z < y else ZERO
        M[base + i] = z
    rest = np.int64(carry) - below - (1 if value else 0)
    return _finish(M, I, d, min(own, first), max(top, last), rest)


@inlined
def _add_const(M, I, d, c):
    row = I[CONSTS] + 4 * c
    return _add(M, I, d, I[LIMBS] + I[row], I[row + 1], I[row + 2], I[row + 3], 0, 0)


@inlined
def _product(a, b):
    """(high, low) limbs of a * b."""
    a0, a1 = a & HALF, a >> uint64(32)
    b0, b1 = b & HALF, b >> uint64(32)
    low = a0 * b0
    middle = a1 * b0 + (low >> uint64(32))
    other = a0 * b1 + (middle & HALF)
    return a1 * b1 + (middle >> uint64(32)) + (other >> uint64(32)), (other << uint64(32)) | (
        low & HALF
    )


@inlined
def _add_multiple(M, I, d, s, w):
    """Slot d += weight w times slot s; False if it does not fit."""
    state = STATE + 3 * s
    low, high, negative = I[state], I[state + 1], I[state + 2]
    if low == high and not negative:
        return True
    L = I[FRAME]
    row = I[WEIGHTS] + 5 * w
    if I[row]:
        for i in range(I[row + 1], I[row + 2]):
            digit = I[DIGITS] + 2 * i
            if not _add(M, I, d, s * L, low, high, negative, I[digit], I[digit + 1]):
                return False
        return True
    if high + 1 > L:
        return False
    base = I[SPARE] * L
    for k in range(I[row + 2] - I[row + 1]):
        factor = M[I[LIMBS] + I[row + 1] + k]
        carry = ZERO
        for i in range(low, high):
            up, down = _product(M[s * L + i], factor)
            total = down + carry
            M[base + i] = total
            carry = up + (ONE if total < down else ZERO)
        M[base + high] = carry - factor if negative else carry
        below = 1 if negative and factor > ZERO else 0
        if not _add(M, I, d, base, low, high + 1, below, I[row + 4] + 64 * k, I[row + 3]):
            return False
    return True


@inlined
def _exceeds(M, I, d, c):
    """Whether slot d is greater than the positive constant c."""
    state = STATE + 3 * d
    row = I[CONSTS] + 4 * c
    if I[state + 2]:
        return False
    high = I[state + 1]
    if high != I[row + 2]:
        return high > I[row + 2]
    base = d * I[FRAME]
    other = I[LIMBS] + I[row]
    for i in range(high - 1, min(I[state], I[row + 1]) - 1, -1):
        x = M[base + i] if i >= I[state] else ZERO
        y = M[other + i] if i >= I[row + 1] else ZERO
        if x != y:
            return x > y
    return False


@inlined
def _reflect(M, I, d, c):
    """Slot d = constant c minus slot d; False if it does not fit."""
    state = STATE + 3 * d
    row = I[CONSTS] + 4 * c
    start, stop = I[row + 1], I[row + 2]
    own, top, below = I[state], I[state + 1], I[state + 2]
    low, high = min(own, start), max(top, stop)
    if high > I[FRAME]:
        return False
    base = d * I[FRAME]
    other = I[LIMBS] + I[row]
    borrow = ZERO
    if own <= start and stop <= top:  # the constant lies within d's window
        for i in range(low, start):
            x = M[base + i]
            M[base + i] = ZERO - x - borrow
            borrow = ONE if x or borrow else ZERO
        for i in range(start, stop):
            x, y = M[base + i], M[other + i]
            z = y - x
            M[base + i] = z - borrow
            borrow = ONE if y < x or z < borrow else ZERO
        for i in range(stop, high):
            x = M[base + i]
            M[base + i] = ZERO - x - borrow
            borrow = ONE if x or borrow else ZERO
        return _finish(M, I, d, low, high, below - np.int64(borrow))
    sign = ONES if below else ZERO
    for i in range(low, high):
        y = M[other + i] if start <= i < stop else ZERO
        x = M[base + i] if own <= i < top else (ZERO if i < own else sign)
        z = y - x
        M[base + i] = z - borrow
        borrow = ONE if y < x or z < borrow else ZERO
    return _finish(M, I, d, low, high, below - np.int64(borrow))


@inlined
def _top_bit(limb):
    """The place of the highest set bit of a limb that is not 0."""
    bit = 0
    for step in (32, 16, 8, 4, 2, 1):
        if limb >> uint64(step):
            limb >>= uint64(step)
            bit += step
    return bit


@inlined
def _powers(M, I, d, lowest, highest):
    """Fold slot d at 2**t for t = highest, ..., lowest (bit places in the frame): x > 2**t becomes 2**(t + 1) - x.

    Only the fold at the top bit of x can fire, so the others are skipped; there 2**(t + 1) - x is the two's complement of
    x in t + 1 bits. False if x is not below 2**(highest + 1): then the caller folds one by one.
    """
    state = STATE + 3 * d
    low, high = I[state], I[state + 1]
    if I[state + 2] or low == high:
        return True
    base = d * I[FRAME]
    bit = _top_bit(M[base + high - 1])
    if 64 * (high - 1) + bit > highest:
        return False
    while 64 * (high - 1) + bit >= lowest:
        if low == high - 1 and M[base + low] == ONE << uint64(bit):
            if (
                64 * (high - 1) + bit > lowest
            ):  # a power of two meets the next threshold and becomes 0
                low = high = 0
            break
        M[base + low] = ~M[base + low] + ONE
        for i in range(low + 1, high):
            M[base + i] = ~M[base + i]
        if bit < 63:
            M[base + high - 1] &= (ONE << uint64(bit + 1)) - ONE
        if M[base + high - 1] == ZERO:
            while M[base + high - 1] == ZERO:
                high -= 1
            bit = 63
        while not M[base + high - 1] >> uint64(bit):
            bit -= 1
    I[state] = low
    I[state + 1] = high
    return True


@inlined
def _shift(M, I, d, shift):
    """Slot d *= 2**shift, for a positive slot and shift; False if it does not fit."""
    state = STATE + 3 * d
    low, high = I[state], I[state + 1]
    words = shift >> 6
    bits = uint64(shift & 63)
    if high + words + 1 > I[FRAME]:
        return False
    base = d * I[FRAME]
    if bits:
        down = uint64(64) - bits
        M[base + high + words] = M[base + high - 1] >> down
        for i in range(high - 1, low, -1):
            M[base + i + words] = (M[base + i] << bits) | (M[base + i - 1] >> down)
        M[base + low + words] = M[base + low] << bits
        high += 1
    else:
        for i in range(high - 1, low - 1, -1):
            M[base + i + words] = M[base + i]
    low += words
    high += words
    if M[base + high - 1] == ZERO:
        high -= 1
    if M[base + low] == ZERO:
        low += 1
    I[state] = low
    I[state + 1] = high
    return True


@inlined
def _outweighed(I, a, b):
    """Whether a + b < 0 at a glance: one is negative and a limb longer than the other, which is not."""
    a, b = STATE + 3 * a, STATE + 3 * b
    if I[a + 2] == I[b + 2]:
        return False
    if I[a + 2]:
        a, b = b, a
    return I[b + 1] - 1 > I[a + 1]


@inlined
def _closed(I, d):
    """Whether d is a gated lane that was closed: nothing more need be added (program.gated_lanes)."""
    state = STATE + 3 * d
    return I[I[BOUNDS] + d] >= 0 and I[state + 2] and I[state] == I[state + 1]


@inlined
def _write(M, I, d, s, w):
    """Slot d += weight w times slot s, a hidden unit: nothing if s <= 0. A gated lane is closed if this makes it negative for good."""
    state = STATE + 3 * s
    if I[state + 2] or I[state] == I[state + 1] or _closed(I, d):
        return True
    bound = I[I[BOUNDS] + d]
    row = I[WEIGHTS] + 5 * w
    if bound >= 0 and I[row] == 1:
        digit = I[DIGITS] + 2 * I[row + 1]
        place = 64 * (I[state + 1] - 1) + _top_bit(M[s * I[FRAME] + I[state + 1] - 1])
        if I[digit + 1] and place + I[digit] >= bound:
            lane = STATE + 3 * d
            I[lane] = I[lane + 1] = 0
            I[lane + 2] = 1
            return True
    if I[row] == 1:
        digit = I[DIGITS] + 2 * I[row + 1]
        start = s * I[FRAME]
        return _add(M, I, d, start, I[state], I[state + 1], 0, I[digit], I[digit + 1])
    return _add_multiple(M, I, d, s, w)


@inlined
def _gate(M, I, op):
    """A fold that fires: x > t. Hand x - t to the other lanes, then reflect."""
    d, c = I[op + 7], I[op + 8]
    state = STATE + 3 * d
    row = I[CONSTS] + 4 * c
    slot = I[I[UNITS] + 6 * I[op + 1] + 3]
    own, start, stop = I[state], I[row + 1], I[row + 2]
    low, high = min(own, start), I[state + 1]
    base, place, other = slot * I[FRAME], d * I[FRAME], I[LIMBS] + I[row]
    borrow = ZERO
    for i in range(low, high):
        x = M[place + i] if i >= own else ZERO
        y = M[other + i] if start <= i < stop else ZERO
        z = x - y
        M[base + i] = z - borrow
        borrow = ONE if x < y or z < borrow else ZERO
    while M[base + high - 1] == ZERO:
        high -= 1
    while M[base + low] == ZERO:
        low += 1
    hidden = STATE + 3 * slot
    I[hidden] = low
    I[hidden + 1] = high
    I[hidden + 2] = 0
    for w in range(I[op + 3], I[op + 4]):
        write = I[WRITES] + 3 * w
        if I[write] != d and not _write(M, I, I[write], slot, I[write + 2]):
            return False
    return _reflect(M, I, d, c + 1)


@inlined
def _unit(M, I, unit):
    """Compute one hidden unit into its slot; False if it does not fit."""
    slot, guard, first = I[unit + 3], I[unit + 5], I[unit]
    _clear(I, slot)
    if guard >= 0 and not _exceeds(M, I, I[I[TERMS] + 2 * first], guard):
        return True
    if guard == -2 and _outweighed(I, I[I[TERMS] + 2 * first], I[I[TERMS] + 2 * first + 2]):
        return True
    for t in range(first, I[unit + 1]):
        term = I[TERMS] + 2 * t
        if not _add_multiple(M, I, slot, I[term], I[term + 1]):
            return False
    if I[unit + 2] >= 0 and not _add_const(M, I, slot, I[unit + 2]):
        return False
    if I[STATE + 3 * slot + 2]:
        _clear(I, slot)
    return True


@inlined
def _add_all(M, I, op):
    for a in range(I[op + 5], I[op + 6]):
        row = I[ADDS] + 2 * a
        if not _add_const(M, I, I[row], I[row + 1]):
            return False
    return True


@inlined
def _feed_forward(M, I, op):
    """Any block: all units first, then all writes."""
    for u in range(I[op + 1], I[op + 2]):
        unit = I[UNITS] + 6 * u
        if not I[unit + 4] and not _unit(M, I, unit):  # a unit that is a lane itself needs no slot
            return False
    for w in range(I[op + 3], I[op + 4]):
        write = I[WRITES] + 3 * w
        if not _write(M, I, I[write], I[I[UNITS] + 6 * I[write + 1] + 3], I[write + 2]):
            return False
    return _add_all(M, I, op)


@inlined
def _table(M, I, op, value):
    """Add row `value` of a tabulated block."""
    count = I[op + 10]
    first = I[op + 9] + value * count
    for i in range(count):
        d = I[I[ADDS] + 2 * (I[op + 11] + i)]
        if not _closed(I, d) and not _add_const(M, I, d, first + i):
            return False
    return True


@inlined
def _small(M, I, d, size):
    """The value of slot d if it is a whole number below size, else -1."""
    state = STATE + 3 * d
    if I[state + 2]:
        return -1
    if I[state] == I[state + 1]:
        return 0
    whole = I[WHOLE]
    limb = M[d * I[FRAME] + whole]
    if I[state] == whole and I[state + 1] == whole + 1 and limb < uint64(size):
        return np.int64(limb)
    return -1


@inlined
def _linear(M, I, op):
    for w in range(I[op + 3], I[op + 4]):
        write = I[WRITES] + 3 * w
        if not _add_multiple(M, I, I[write], I[write + 1], I[write + 2]):
            return False
    return _add_all(M, I, op)


@inlined
def _step(M, I, op):
    """One operation on all slots; False if a number does not fit or a shortcut does not apply."""
    kind, lane, c = I[op], I[op + 7], I[op + 8]
    if kind == POWERS and _powers(M, I, lane, I[op + 9], I[op + 10]):
        return True
    if kind == FOLDS or kind == POWERS:
        for k in range(c, c + 2 * I[op + 11], 2):
            if _exceeds(M, I, lane, k) and not _reflect(M, I, lane, k + 1):
                return False
        return True
    if kind == GATE:
        return not _exceeds(M, I, lane, c) or _gate(M, I, op)
    if kind == COUNT:
        if not _exceeds(M, I, lane, c):
            return True
        if _exceeds(M, I, lane, c + 2):
            return _reflect(M, I, lane, c + 1) and _add_const(M, I, I[op + 9], c + 3)
    if kind == SHIFT:
        if _is_zero(I, c):
            return I[STATE + 3 * lane + 2] or _is_zero(I, lane) or _shift(M, I, lane, I[op + 9])
        if _outweighed(I, lane, c):
            return True
    if kind == TABLE:
        value = _small(M, I, lane, c)
        if value >= 0:
            return _table(M, I, op, value)
        if I[GUESS]:
            return False
    if kind == LINEAR:
        return _linear(M, I, op)
    return _feed_forward(M, I, op)


@compiled
def run(M, I, inputs, base, result):
    """Interpret the program on every row of inputs [rows, numbers, limbs]; False if a number outgrows the frame.

    result [rows, outputs, L] receives full frames, sign-extended.
    """
    L, width = I[FRAME], inputs.shape[2]
    if base < 0 or base + width + 1 > L or I[WHOLE] + 2 > L:
        return False
    for row in range(inputs.shape[0]):
        I[STATE : STATE + 3 * (I[SPARE] + 1)] = 0
        for k in range(inputs.shape[1]):
            for i in range(width):
                M[k * L + base + i] = inputs[row, k, i]
            below = 1 if M[k * L + base + width - 1] >> uint64(63) else 0
            _finish(M, I, k, base, base + width, -below)
        for op in range(I[OPERATIONS]):
            if not _step(M, I, I[OPS] + 12 * op):
                return False
        for o in range(I[OUTPUTS]):
            slot = I[FIRST_OUTPUT] + o
            state = STATE + 3 * slot
            sign = ONES if I[state + 2] else ZERO
            for i in range(L):
                inside = I[state] <= i < I[state + 1]
                outside = sign if i >= I[state + 1] else ZERO
                result[row, o, i] = M[slot * L + i] if inside else outside
    return True


@compiled
def _sum_rows(numbers, index, out):
    rows, lanes, size = out.shape
    for r in range(rows):
        for lane in range(lanes):
            for c in range(index.shape[1]):
                place = index[r, c]
                carry = ZERO
                sign = ONES if numbers[place, lane, size - 2] >> uint64(63) else ZERO
                for i in range(size):
                    value = numbers[place, lane, i] if i < size - 1 else sign
                    y = out[r, lane, i] + value
                    z = y + carry
                    carry = ONE if y < value or z < y else ZERO
                    out[r, lane, i] = z


def column_sums(numbers, index):
    """The sum of the numbers of every sequence's columns: [sequences, lanes, limbs + 1]."""
    out = np.zeros((len(index), numbers.shape[1], numbers.shape[2] + 1), dtype=np.uint64)
    _sum_rows(numbers, index, out)
    return out
