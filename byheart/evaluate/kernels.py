"""Compiled kernels on multi-limb numbers.

A number is two's complement in a frame of L limbs: limbs low..high - 1 are stored, limbs below are 0, limbs from `high` on repeat the
sign (0 or all ones). The top stored limb differs from the sign and the lowest one from 0, so 0 is (0, 0, 0).
"""

import numpy as np
from numba import njit, uint64

GENERAL, FOLDS, POWERS, COUNT, GATE, SHIFT, TABLE, LINEAR = range(8)
ZERO = np.uint64(0)
ONE = np.uint64(1)
ONES = np.uint64(0xFFFFFFFFFFFFFFFF)
HALF = np.uint64(0xFFFFFFFF)


@njit(cache=True, nogil=True, _nrt=False)
def _finish(X, L, state, d, low, high):
    """Set sign and window of slot d, whose limbs low..high - 1 are valid and whose top bit is its sign."""
    base = d * L
    sign = ONES if X[base + high - 1] >> uint64(63) else ZERO
    while high > low and X[base + high - 1] == sign:
        high -= 1
    while low < high and X[base + low] == ZERO:
        low += 1
    if low == high and sign == ZERO:
        low = high = 0
    state[d, 0] = low
    state[d, 1] = high
    state[d, 2] = 1 if sign else 0


@njit(cache=True, nogil=True, _nrt=False)
def _open(X, L, state, d, low, high):
    """Extend slot d so that limbs low..high - 1 are stored."""
    base = d * L
    sign = ONES if state[d, 2] else ZERO
    for i in range(low, state[d, 0]):
        X[base + i] = ZERO
    for i in range(state[d, 1], high):
        X[base + i] = sign


@njit(cache=True, nogil=True, _nrt=False)
def _shift_add(X, L, state, d, S, offset, low, high, negative, shift, subtract):
    """Slot d += (or -=) a number << shift; False if it does not fit."""
    if low == high and not negative:
        return True
    words = shift >> 6
    bits = uint64(shift & 63)
    sign = ONES if negative else ZERO
    first = low + words
    if state[d, 0] == state[d, 1] and not state[d, 2]:
        state[d, 0] = first
        state[d, 1] = first
    bottom = min(state[d, 0], first)
    last = high + words + 1
    top = max(state[d, 1], last) + 1
    if bottom < 0 or top > L:
        return False
    _open(X, L, state, d, bottom, top)
    base = d * L
    mask = ONES if subtract else ZERO
    carry = ONE if subtract else ZERO
    before = ZERO
    start = offset - words
    if bits:
        down = uint64(64) - bits
        for i in range(first, last - 1):
            limb = S[start + i]
            value = ((limb << bits) | (before >> down)) ^ mask
            before = limb
            y = X[base + i] + value
            z = y + carry
            carry = ONE if y < value or z < y else ZERO
            X[base + i] = z
        value = ((sign << bits) | (before >> down)) ^ mask
        y = X[base + last - 1] + value
        z = y + carry
        carry = ONE if y < value or z < y else ZERO
        X[base + last - 1] = z
    else:
        last -= 1
        for i in range(first, last):
            value = S[start + i] ^ mask
            y = X[base + i] + value
            z = y + carry
            carry = ONE if y < value or z < y else ZERO
            X[base + i] = z
    value = sign ^ mask
    for i in range(last, top):
        if value + carry == ZERO:  # 0 without carry or -1 with one: the rest stays
            break
        y = X[base + i] + value
        z = y + carry
        carry = ONE if y < value or z < y else ZERO
        X[base + i] = z
    _finish(X, L, state, d, bottom, top)
    return True


@njit(cache=True, nogil=True, _nrt=False)
def _product(a, b):
    """(high, low) limbs of a * b."""
    a0, a1 = a & HALF, a >> uint64(32)
    b0, b1 = b & HALF, b >> uint64(32)
    low = a0 * b0
    middle = a1 * b0 + (low >> uint64(32))
    other = a0 * b1 + (middle & HALF)
    return a1 * b1 + (middle >> uint64(32)) + (other >> uint64(32)), (other << uint64(32)) | (low & HALF)


@njit(cache=True, nogil=True, _nrt=False)
def _add_multiple(X, L, state, d, s, weights, digits, limbs, w, spare):
    """Slot d += weight w times slot s; False if it does not fit."""
    low, high, negative = state[s, 0], state[s, 1], state[s, 2]
    if low == high and not negative:
        return True
    count, start, stop = weights[w, 0], weights[w, 1], weights[w, 2]
    if count:
        for i in range(start, stop):
            if not _shift_add(
                X, L, state, d, X, s * L, low, high, negative, digits[i, 0], digits[i, 1]
            ):
                return False
        return True
    if high + 1 > L:
        return False
    base = spare * L
    for k in range(stop - start):
        factor = limbs[start + k]
        carry = ZERO
        for i in range(low, high):
            up, down = _product(X[s * L + i], factor)
            total = down + carry
            X[base + i] = total
            carry = up + (ONE if total < down else ZERO)
        X[base + high] = carry - factor if negative else carry
        shift = weights[w, 4] + 64 * k
        if not _shift_add(
            X, L, state, d, X, base, low, high + 1, negative and factor > ZERO, shift, weights[w, 3]
        ):
            return False
    return True


@njit(cache=True, nogil=True, _nrt=False)
def _exceeds(X, L, state, d, consts, limbs, c):
    """Whether slot d is greater than the positive constant c."""
    if state[d, 2]:
        return False
    high = state[d, 1]
    if high != consts[c, 2]:
        return high > consts[c, 2]
    low = min(state[d, 0], consts[c, 1])
    for i in range(high - 1, low - 1, -1):
        x = X[d * L + i] if i >= state[d, 0] else ZERO
        y = limbs[consts[c, 0] + i] if i >= consts[c, 1] else ZERO
        if x != y:
            return x > y
    return False


@njit(cache=True, nogil=True, _nrt=False)
def _reflect(X, L, state, d, consts, limbs, c):
    """Slot d = constant c minus slot d; False if it does not fit."""
    low = min(state[d, 0], consts[c, 1])
    high = max(state[d, 1], consts[c, 2]) + 1
    if high > L:
        return False
    _open(X, L, state, d, low, high)
    base = d * L
    borrow = ZERO
    for i in range(low, high):
        y = limbs[consts[c, 0] + i] if consts[c, 1] <= i < consts[c, 2] else ZERO
        x = X[base + i]
        z = y - x
        X[base + i] = z - borrow
        borrow = ONE if y < x or z < borrow else ZERO
    _finish(X, L, state, d, low, high)
    return True


@njit(cache=True, nogil=True, _nrt=False)
def _add_const(X, L, state, d, consts, limbs, c):
    return _shift_add(
        X, L, state, d, limbs, consts[c, 0], consts[c, 1], consts[c, 2], consts[c, 3], 0, 0
    )


@njit(cache=True, nogil=True, _nrt=False)
def _powers(X, L, state, d, lowest, highest):
    """Fold slot d at 2**t for t = highest, ..., lowest (bit places in the frame): x > 2**t becomes 2**(t + 1) - x.

    Only the fold at the top bit of x can fire, so the others are skipped; there 2**(t + 1) - x is the two's complement of
    x in t + 1 bits. False if x is not below 2**(highest + 1): then the caller folds one by one.
    """
    if state[d, 2] or state[d, 0] == state[d, 1]:
        return True
    base, low, high = d * L, state[d, 0], state[d, 1]
    bit = 63
    while not X[base + high - 1] >> uint64(bit) & ONE:
        bit -= 1
    top = 64 * (high - 1) + bit
    if top > highest:
        return False
    while top >= lowest:
        if low == high - 1 and X[base + low] == ONE << uint64(bit):  # a power of two meets the next threshold
            if top > lowest:
                low = high = 0
            break
        X[base + low] = ~X[base + low] + ONE
        for i in range(low + 1, high):
            X[base + i] = ~X[base + i]
        if bit < 63:
            X[base + high - 1] &= (ONE << uint64(bit + 1)) - ONE
        while X[base + high - 1] == ZERO:
            high -= 1
            bit = 64
        bit = min(bit, 63)
        while not X[base + high - 1] >> uint64(bit) & ONE:
            bit -= 1
        top = 64 * (high - 1) + bit
    state[d, 0] = low
    state[d, 1] = high
    return True


@njit(cache=True, nogil=True, _nrt=False)
def _fold(X, L, state, d, consts, limbs, threshold, twice):
    """x > t becomes 2t - x; False if it does not fit."""
    if _exceeds(X, L, state, d, consts, limbs, threshold):
        return _reflect(X, L, state, d, consts, limbs, twice)
    return True


@njit(cache=True, nogil=True, _nrt=False)
def _gate(X, L, state, op, ops, units, writes, weights, digits, consts, limbs, sizes, bounds):
    """A fold that fires: x > t. Hand x - t to the other lanes, then reflect."""
    d = ops[op, 7]
    c = ops[op, 8]
    slot = units[ops[op, 1], 3]
    low = min(state[d, 0], consts[c, 1])
    high = state[d, 1]
    base, place = slot * L, d * L
    borrow = ZERO
    for i in range(low, high):
        x = X[place + i] if i >= state[d, 0] else ZERO
        y = limbs[consts[c, 0] + i] if consts[c, 1] <= i < consts[c, 2] else ZERO
        z = x - y
        X[base + i] = z - borrow
        borrow = ONE if x < y or z < borrow else ZERO
    while X[base + high - 1] == ZERO:
        high -= 1
    while X[base + low] == ZERO:
        low += 1
    state[slot, 0] = low
    state[slot, 1] = high
    state[slot, 2] = 0
    for w in range(ops[op, 3], ops[op, 4]):
        if writes[w, 0] != d and not _write(
            X, L, state, writes[w, 0], slot, weights, digits, limbs, writes[w, 2], sizes[3], bounds
        ):
            return False
    return _reflect(X, L, state, d, consts, limbs, c + 1)


@njit(cache=True, nogil=True, _nrt=False)
def _shift(X, L, state, d, shift):
    """Slot d *= 2**shift, for shift > 0; False if it does not fit."""
    low, high = state[d, 0], state[d, 1]
    words = shift >> 6
    bits = uint64(shift & 63)
    if high + words + 1 > L:
        return False
    base = d * L
    if not bits:
        for i in range(high - 1, low - 1, -1):
            X[base + i + words] = X[base + i]
        state[d, 0] = low + words
        state[d, 1] = high + words
        return True
    down = uint64(64) - bits
    X[base + high + words] = X[base + high - 1] >> down
    for i in range(high - 1, low, -1):
        X[base + i + words] = (X[base + i] << bits) | (X[base + i - 1] >> down)
    X[base + low + words] = X[base + low] << bits
    low += words
    high += words + 1
    if X[base + high - 1] == ZERO:
        high -= 1
    if X[base + low] == ZERO:
        low += 1
    state[d, 0] = low
    state[d, 1] = high
    return True


@njit(cache=True, nogil=True, _nrt=False)
def _bits(X, L, state, d):
    """The place of the top bit of a positive slot."""
    limb = X[d * L + state[d, 1] - 1]
    bit = 63
    while not limb >> uint64(bit) & ONE:
        bit -= 1
    return 64 * (state[d, 1] - 1) + bit


@njit(cache=True, nogil=True, _nrt=False)
def _write(X, L, state, d, s, weights, digits, limbs, w, spare, bounds):
    """Slot d += weight w times slot s >= 0, where d may be a gated lane: see program.gated_lanes."""
    if state[s, 2] or state[s, 0] == state[s, 1]:
        return True
    if bounds[d] >= 0:
        if state[d, 2] and state[d, 0] == state[d, 1]:
            return True  # closed already
        if weights[w, 0] == 1 and digits[weights[w, 1], 1]:
            if _bits(X, L, state, s) + digits[weights[w, 1], 0] >= bounds[d]:
                state[d, 0] = state[d, 1] = 0
                state[d, 2] = 1  # closed: whatever is still added, it stays below 0
                return True
    return _add_multiple(X, L, state, d, s, weights, digits, limbs, w, spare)


@njit(cache=True, nogil=True, _nrt=False)
def _feed_forward(
    X, L, state, op, ops, units, terms, writes, adds, weights, digits, consts, limbs, sizes, bounds
):
    for u in range(ops[op, 1], ops[op, 2]):
        slot = units[u, 3]
        if units[u, 4]:
            continue
        state[slot, 0] = state[slot, 1] = state[slot, 2] = 0
        source = terms[units[u, 0], 0]
        if units[u, 5] >= 0 and not _exceeds(X, L, state, source, consts, limbs, units[u, 5]):
            continue
        if units[u, 5] == -2 and _outweighed(X, L, state, source, terms[units[u, 0] + 1, 0]):
            continue
        for t in range(units[u, 0], units[u, 1]):
            if not _add_multiple(
                X, L, state, slot, terms[t, 0], weights, digits, limbs, terms[t, 1], sizes[3]
            ):
                return False
        if units[u, 2] >= 0 and not _add_const(X, L, state, slot, consts, limbs, units[u, 2]):
            return False
        if state[slot, 2]:
            state[slot, 0] = state[slot, 1] = state[slot, 2] = 0
    for w in range(ops[op, 3], ops[op, 4]):
        slot = units[writes[w, 1], 3]
        if not _write(
            X, L, state, writes[w, 0], slot, weights, digits, limbs, writes[w, 2], sizes[3], bounds
        ):
            return False
    for a in range(ops[op, 5], ops[op, 6]):
        if not _add_const(X, L, state, adds[a, 0], consts, limbs, adds[a, 1]):
            return False
    return True


@njit(cache=True, nogil=True, _nrt=False)
def _outweighed(X, L, state, a, b):
    """Whether a + b < 0 at a glance: one is negative and two bits longer than the other, which is not."""
    if state[a, 2] == state[b, 2]:
        return False
    if state[a, 2]:
        a, b = b, a
    return state[b, 1] - 1 > state[a, 1]


@njit(cache=True, nogil=True, _nrt=False)
def _small(X, L, state, d, zero, size):
    """The value of slot d if it is a whole number below size, else -1."""
    if state[d, 2]:
        return -1
    if state[d, 0] == state[d, 1]:
        return 0
    if state[d, 0] == zero and state[d, 1] == zero + 1 and X[d * L + zero] < uint64(size):
        return np.int64(X[d * L + zero])
    return -1


@njit(cache=True, nogil=True, _nrt=False)
def _step(
    X, L, state, op, ops, units, terms, writes, adds, weights, digits, consts, limbs, sizes, bounds
):
    """One operation on all slots; False if a number does not fit or a shortcut does not apply."""
    kind = ops[op, 0]
    lane = ops[op, 7]
    if kind == POWERS and _powers(X, L, state, lane, ops[op, 9], ops[op, 10]):
        return True
    if kind == FOLDS or kind == POWERS:
        for c in range(ops[op, 8], ops[op, 8] + 2 * ops[op, 11], 2):
            if not _fold(X, L, state, lane, consts, limbs, c, c + 1):
                return False
        return True
    if kind == COUNT:
        if not _exceeds(X, L, state, lane, consts, limbs, ops[op, 8]):
            return True
        if _exceeds(X, L, state, lane, consts, limbs, ops[op, 8] + 2):
            return _reflect(X, L, state, lane, consts, limbs, ops[op, 8] + 1) and _add_const(
                X, L, state, ops[op, 9], consts, limbs, ops[op, 8] + 3
            )
    if kind == GATE:
        if not _exceeds(X, L, state, lane, consts, limbs, ops[op, 8]):
            return True
        return _gate(X, L, state, op, ops, units, writes, weights, digits, consts, limbs, sizes, bounds)
    if kind == SHIFT:
        gate = ops[op, 8]
        if state[gate, 0] == state[gate, 1] and not state[gate, 2]:
            if state[lane, 2] or state[lane, 0] == state[lane, 1]:
                return True
            return _shift(X, L, state, lane, ops[op, 9])
        if _outweighed(X, L, state, lane, gate):
            return True
    if kind == TABLE:
        value = _small(X, L, state, lane, sizes[0], ops[op, 8])
        if value < 0 and sizes[4]:
            return False
        if value >= 0:
            first = ops[op, 9] + value * ops[op, 10]
            for i in range(ops[op, 10]):
                d = adds[ops[op, 11] + i, 0]
                if bounds[d] >= 0 and state[d, 2] and state[d, 0] == state[d, 1]:
                    continue  # a closed lane
                if not _add_const(X, L, state, d, consts, limbs, first + i):
                    return False
            return True
    if kind != LINEAR:
        return _feed_forward(
            X, L, state, op, ops, units, terms, writes, adds, weights, digits, consts, limbs, sizes, bounds
        )
    for w in range(ops[op, 3], ops[op, 4]):
        if not _add_multiple(
            X, L, state, writes[w, 0], writes[w, 1], weights, digits, limbs, writes[w, 2], sizes[3]
        ):
            return False
    for a in range(ops[op, 5], ops[op, 6]):
        if not _add_const(X, L, state, adds[a, 0], consts, limbs, adds[a, 1]):
            return False
    return True


@njit(cache=True, nogil=True, _nrt=False)
def run(arrays, inputs, base, L, X, state, result):
    """Interpret the program on every row of inputs [rows, numbers, limbs]; False if a number outgrows the frame.

    result [rows, outputs, L] receives full frames, sign-extended.
    """
    ops, units, terms, writes, adds, weights, digits, consts, limbs, sizes, bounds = arrays
    width = inputs.shape[2]
    if base < 0 or base + width + 1 > L or sizes[0] + 2 > L:
        return False
    for row in range(inputs.shape[0]):
        state[:, :] = 0
        for k in range(inputs.shape[1]):
            for i in range(width):
                X[k * L + base + i] = inputs[row, k, i]
            _finish(X, L, state, k, base, base + width)
        for op in range(ops.shape[0]):
            if not _step(
                X, L, state, op, ops, units, terms, writes, adds, weights, digits, consts, limbs, sizes, bounds
            ):
                return False
        for o in range(sizes[2]):
            slot = sizes[1] + o
            sign = ONES if state[slot, 2] else ZERO
            for i in range(L):
                inside = state[slot, 0] <= i < state[slot, 1]
                result[row, o, i] = X[slot * L + i] if inside else (sign if i >= state[slot, 1] else ZERO)
    return True


@njit(cache=True, nogil=True, _nrt=False)
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
                    x = out[r, lane, i]
                    y = x + value
                    z = y + carry
                    carry = ONE if y < x or z < y else ZERO
                    out[r, lane, i] = z


def column_sums(numbers, index):
    """The sum of the numbers of every sequence's columns: [sequences, lanes, limbs + 1]."""
    out = np.zeros((len(index), numbers.shape[1], numbers.shape[2] + 1), dtype=np.uint64)
    _sum_rows(numbers, index, out)
    return out
