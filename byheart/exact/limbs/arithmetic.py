"""Exact arithmetic on multi-limb numbers, compiled.

A number is two's complement in a frame of L limbs: limbs low..high - 1 are stored, limbs below are
0, limbs from `high` on repeat the sign (0 or all ones). The top stored limb differs from the sign
and the lowest one from 0, so 0 is (0, 0, 0). The package's docstring draws the arrays M and I.
"""

import numpy as np
from numpy import uint64

from ...machine.kernels import njit

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
    EXTRAS,  # lists of the fused operations
    LIMBS,  # where constants begin in M
    LOWEST,  # the limbs that the outputs of all rows need: from ...
    HIGHEST,  # ... up to this one, exclusive
    SINGLES,  # how often a run of blocks had to be done one by one
    STATE,
) = range(22)
ZERO = np.uint64(0)
ONE = np.uint64(1)
ONES = np.uint64(0xFFFFFFFFFFFFFFFF)
HALF = np.uint64(0xFFFFFFFF)

# Nothing here allocates, so reference counting (_nrt) is left out; and a call with two arrays costs
# more than most bodies, so all but the outermost functions are inlined.
compiled = njit(_nrt=False)
inlined = njit(_nrt=False, forceinline=True)


@inlined
def finish(M, I, d, low, high, rest):
    """Set the window of slot d from limbs low..high - 1 and `rest` (-2..1) above, if it fits."""
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
def clear(I, d):
    state = STATE + 3 * d
    I[state] = I[state + 1] = I[state + 2] = 0


@inlined
def add(M, I, d, offset, low, high, negative, shift, subtract):
    """Slot d += (or -=) the number with limbs M[offset + low..] << shift; False if too long."""
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
        return finish(M, I, d, first, last, -negative)
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
            return finish(M, I, d, min(own, first), top, -below)
        y = M[base + i] + value
        z = y + carry
        carry = ONE if y < value or z < y else ZERO
        M[base + i] = z
    rest = np.int64(carry) - below - (1 if value else 0)
    return finish(M, I, d, min(own, first), max(top, last), rest)


@inlined
def add_const(M, I, d, c):
    row = I[CONSTS] + 4 * c
    return add(M, I, d, I[LIMBS] + I[row], I[row + 1], I[row + 2], I[row + 3], 0, 0)


@inlined
def product(a, b):
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
def add_multiple(M, I, d, s, w):
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
            if not add(M, I, d, s * L, low, high, negative, I[digit], I[digit + 1]):
                return False
        return True
    if high + 1 > L:
        return False
    base = I[SPARE] * L
    for k in range(I[row + 2] - I[row + 1]):
        factor = M[I[LIMBS] + I[row + 1] + k]
        carry = ZERO
        for i in range(low, high):
            up, down = product(M[s * L + i], factor)
            total = down + carry
            M[base + i] = total
            carry = up + (ONE if total < down else ZERO)
        M[base + high] = carry - factor if negative else carry
        below = 1 if negative and factor > ZERO else 0
        if not add(M, I, d, base, low, high + 1, below, I[row + 4] + 64 * k, I[row + 3]):
            return False
    return True


@inlined
def exceeds(M, I, d, c):
    """Whether slot d is greater than the constant c."""
    state = STATE + 3 * d
    row = I[CONSTS] + 4 * c
    negative = I[state + 2]
    if negative != I[row + 3]:
        return negative == 0
    high = I[state + 1]
    if high != I[row + 2]:  # the longer one of two negative numbers is the smaller one
        return (high > I[row + 2]) != (negative == 1)
    base = d * I[FRAME]
    other = I[LIMBS] + I[row]
    for i in range(high - 1, min(I[state], I[row + 1]) - 1, -1):
        x = M[base + i] if i >= I[state] else ZERO
        y = M[other + i] if i >= I[row + 1] else ZERO
        if x != y:
            return x > y
    return False


@inlined
def top_bit(limb):
    """The place of the highest set bit of a limb that is not 0."""
    bit = 0
    for step in (32, 16, 8, 4, 2, 1):
        if limb >> uint64(step):
            limb >>= uint64(step)
            bit += step
    return bit


@inlined
def extended(numbers, place, lane, i):
    """Limb i of a number [place, lane], sign-extended by a limb."""
    size = numbers.shape[2]
    if i < size:
        return numbers[place, lane, i]
    return ONES if numbers[place, lane, size - 1] >> uint64(63) else ZERO


@compiled
def connect(numbers, index, keep, ranges, sources, out):
    """The input of a stack after attention: of each kept column its own lanes, then their sums.

    The sums are over the columns that it looks at: sources[first:last], first and last being its
    range.
    """
    lanes, size = numbers.shape[1], out.shape[2]
    length = index.shape[1]
    for r in range(index.shape[0]):
        for k in range(keep):
            column = length - keep + k
            for lane in range(lanes):
                for i in range(size):
                    out[r * keep + k, lane, i] = extended(numbers, index[r, column], lane, i)
                    out[r * keep + k, lanes + lane, i] = ZERO
                for s in range(ranges[column, 0], ranges[column, 1]):
                    carry = ZERO
                    for i in range(size):
                        value = extended(numbers, index[r, sources[s]], lane, i)
                        y = out[r * keep + k, lanes + lane, i] + value
                        z = y + carry
                        carry = ONE if y < value or z < y else ZERO
                        out[r * keep + k, lanes + lane, i] = z
