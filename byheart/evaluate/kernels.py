"""The interpreter of a Program (program.py): operation by operation, one input row at a time."""

import numpy as np
from numba import uint64

from .arithmetic import (
    ADDS,
    BOUNDS,
    CONSTS,
    DIGITS,
    FIRST_OUTPUT,
    FRAME,
    GUESS,
    LIMBS,
    ONE,
    ONES,
    OPERATIONS,
    OPS,
    OUTPUTS,
    SPARE,
    STATE,
    TERMS,
    UNITS,
    WEIGHTS,
    WHOLE,
    WRITES,
    ZERO,
    add,
    add_const,
    add_multiple,
    clear,
    compiled,
    exceeds,
    finish,
    inlined,
    is_zero,
    powers,
    reflect,
    shift,
    top_bit,
)

GENERAL, FOLDS, POWERS, COUNT, GATE, SHIFT, TABLE, LINEAR = range(8)
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


@inlined
def _outweighed(I, a, b):
    """Whether a + b < 0 at a glance: one is negative and a limb longer than the other, positive."""
    a, b = STATE + 3 * a, STATE + 3 * b
    if I[a + 2] == I[b + 2]:
        return False
    if I[a + 2]:
        a, b = b, a
    return I[b + 1] - 1 > I[a + 1]


@inlined
def _closed(I, d):
    """Whether d is a gated lane that was closed: see shortcuts.gated_lanes."""
    state = STATE + 3 * d
    return I[I[BOUNDS] + d] >= 0 and I[state + 2] and I[state] == I[state + 1]


@inlined
def _write(M, I, d, s, w):
    """Slot d += weight w times slot s, a hidden unit: nothing if s <= 0.

    A gated lane is closed if this makes it negative for good.
    """
    state = STATE + 3 * s
    if I[state + 2] or I[state] == I[state + 1] or _closed(I, d):
        return True
    bound = I[I[BOUNDS] + d]
    row = I[WEIGHTS] + 5 * w
    if bound >= 0 and I[row] == 1:
        digit = I[DIGITS] + 2 * I[row + 1]
        place = 64 * (I[state + 1] - 1) + top_bit(M[s * I[FRAME] + I[state + 1] - 1])
        if I[digit + 1] and place + I[digit] >= bound:
            lane = STATE + 3 * d
            I[lane] = I[lane + 1] = 0
            I[lane + 2] = 1
            return True
    if I[row] == 1:
        digit = I[DIGITS] + 2 * I[row + 1]
        start = s * I[FRAME]
        return add(M, I, d, start, I[state], I[state + 1], 0, I[digit], I[digit + 1])
    return add_multiple(M, I, d, s, w)


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
    return reflect(M, I, d, c + 1)


@inlined
def _unit(M, I, unit):
    """Compute one hidden unit into its slot; False if it does not fit."""
    slot, guard, first = I[unit + 3], I[unit + 5], I[unit]
    clear(I, slot)
    if guard >= 0 and not exceeds(M, I, I[I[TERMS] + 2 * first], guard):
        return True
    if guard == -2 and _outweighed(I, I[I[TERMS] + 2 * first], I[I[TERMS] + 2 * first + 2]):
        return True
    for t in range(first, I[unit + 1]):
        term = I[TERMS] + 2 * t
        if not add_multiple(M, I, slot, I[term], I[term + 1]):
            return False
    if I[unit + 2] >= 0 and not add_const(M, I, slot, I[unit + 2]):
        return False
    if I[STATE + 3 * slot + 2]:
        clear(I, slot)
    return True


@inlined
def _add_all(M, I, op):
    for a in range(I[op + 5], I[op + 6]):
        row = I[ADDS] + 2 * a
        if not _closed(I, I[row]) and not add_const(M, I, I[row], I[row + 1]):
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
        if not _closed(I, d) and not add_const(M, I, d, first + i):
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
        if not add_multiple(M, I, I[write], I[write + 1], I[write + 2]):
            return False
    return _add_all(M, I, op)


@inlined
def _step(M, I, op):
    """One operation on all slots; False if a number does not fit or a shortcut does not apply."""
    kind, lane, c = I[op], I[op + 7], I[op + 8]
    if kind == POWERS and powers(M, I, lane, I[op + 9], I[op + 10]):
        return True
    if kind == FOLDS or kind == POWERS:
        for k in range(c, c + 2 * I[op + 11], 2):
            if exceeds(M, I, lane, k) and not reflect(M, I, lane, k + 1):
                return False
        return True
    if kind == GATE:
        return not exceeds(M, I, lane, c) or _gate(M, I, op)
    if kind == COUNT:
        if not exceeds(M, I, lane, c):
            return True
        if exceeds(M, I, lane, c + 2):
            return reflect(M, I, lane, c + 1) and add_const(M, I, I[op + 9], c + 3)
    if kind == SHIFT:
        if is_zero(I, c):
            return I[STATE + 3 * lane + 2] or is_zero(I, lane) or shift(M, I, lane, I[op + 9])
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
    """Interpret the program on every row of inputs [rows, numbers, limbs].

    False if a number outgrows the frame or a guess of the program fails;
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
            finish(M, I, k, base, base + width, -below)
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
