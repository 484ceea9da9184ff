"""The interpreter of a Program (program.py): operation by operation, one input row at a time."""

import numpy as np
from numpy import uint64

from . import arithmetic as at  # at.FRAME, at.WHOLE, ...: places in the header of I
from .arithmetic import ONE, ONES, STATE, ZERO, add_const, add_multiple, clear, finish, inlined
from .fused import DONE, GIVE_UP, SINGLY, fold_run, powers, small

# FOLDS and on: fused.py
GENERAL, TABLE, LINEAR, FOLDS, POWERS = range(5)
OPERATION = 15  # numbers of an operation


@inlined
def _closed(I, d):
    """Whether d was closed: (0, 0, 1) is minus the unit of limb 0, which no number uses."""
    state = STATE + 3 * d
    return I[I[at.BOUNDS] + d] >= 0 and I[state + 2] and I[state + 1] == 0


@inlined
def _write(M, I, d, s, w):
    """Slot d += weight w times relu(slot s); a gated lane that becomes negative is closed."""
    state = STATE + 3 * s
    if I[state + 2] or I[state] == I[state + 1] or _closed(I, d):
        return True
    bound = I[I[at.BOUNDS] + d]
    row = I[at.WEIGHTS] + 5 * w
    if bound >= 0 and I[row] == 1:
        digit = I[at.DIGITS] + 2 * I[row + 1]
        place = 64 * (I[state + 1] - 1) + at.top_bit(M[s * I[at.FRAME] + I[state + 1] - 1])
        if I[digit + 1] and place + I[digit] >= bound:
            lane = STATE + 3 * d
            I[lane] = I[lane + 1] = 0
            I[lane + 2] = 1
            return True
    return add_multiple(M, I, d, s, w)


@inlined
def _unit(M, I, unit):
    """Compute one hidden unit into its slot; False if it does not fit, or a gate is in doubt."""
    slot, guard, first = I[unit + 3], I[unit + 5], I[unit]
    clear(I, slot)
    if guard >= 0 and not at.exceeds(M, I, I[I[at.TERMS] + 2 * first], guard):
        return True
    if guard == -2:
        # the sum of two slots is below 0 if one is negative and a limb longer than the other, or
        # closed and longer: its limb 0 holds the place of a bit (folds.Folds, takes)
        x, y = I[I[at.TERMS] + 2 * first], I[I[at.TERMS] + 2 * first + 2]
        if I[STATE + 3 * x + 2]:
            x, y = y, x
        a, b = STATE + 3 * x, STATE + 3 * y
        if I[b + 2] and I[b + 1] == 0:
            top = I[a + 1] - 1
            length = 0 if I[a + 1] == 0 else 64 * top + 1 + at.top_bit(M[x * I[at.FRAME] + top])
            return I[a + 2] != 0 or length <= np.int64(M[y * I[at.FRAME]])
        if I[a + 2] != I[b + 2] and I[b + 1] - 1 > I[a + 1]:
            return True
    for t in range(first, I[unit + 1]):
        term = I[at.TERMS] + 2 * t
        if not add_multiple(M, I, slot, I[term], I[term + 1]):
            return False
    if I[unit + 2] >= 0 and not add_const(M, I, slot, I[unit + 2]):
        return False
    if I[STATE + 3 * slot + 2]:
        clear(I, slot)
    return True


@inlined
def _single(M, I, op):
    """One block; False if a number does not fit or a guess fails."""
    kind, lane, c = I[op], I[op + 7], I[op + 8]
    first, last = I[op + 5], I[op + 6]
    if kind == TABLE:
        value = small(M, I, lane, c)
        if value >= 0:  # add the row of this value
            count = I[op + 10]
            const = I[op + 9] + value * count
            for i in range(count):
                d = I[I[at.ADDS] + 2 * (I[op + 11] + i)]
                if not _closed(I, d) and not add_const(M, I, d, const + i):
                    return False
            return True
        if I[at.GUESS]:
            return False
    if kind == LINEAR:
        for w in range(I[op + 3], I[op + 4]):
            write = I[at.WRITES] + 3 * w
            if not add_multiple(M, I, I[write], I[write + 1], I[write + 2]):
                return False
    else:  # all units first, then all writes
        for u in range(I[op + 1], I[op + 2]):
            unit = I[at.UNITS] + 6 * u
            # a unit that is a lane itself needs no slot
            if not I[unit + 4] and not _unit(M, I, unit):
                return False
        for w in range(I[op + 3], I[op + 4]):
            write = I[at.WRITES] + 3 * w
            if not _write(M, I, I[write], I[I[at.UNITS] + 6 * I[write + 1] + 3], I[write + 2]):
                return False
    for a in range(first, last):
        row = I[at.ADDS] + 2 * a
        if not _closed(I, I[row]) and not add_const(M, I, I[row], I[row + 1]):
            return False
    return True


@inlined
def _read_out(M, I, slot, result, row, o):
    """Copy a slot to result[row, o], sign-extended, and note which limbs it needs."""
    state = STATE + 3 * slot
    low, high, negative = I[state], I[state + 1], I[state + 2]
    base = slot * I[at.FRAME]
    sign = ONES if negative else ZERO
    for i in range(low):
        result[row, o, i] = ZERO
    for i in range(low, high):
        result[row, o, i] = M[base + i]
    for i in range(high, I[at.FRAME]):
        result[row, o, i] = sign
    if high == 0 and not negative:
        return
    same = high > low and M[base + high - 1] >> uint64(63) == sign & ONE
    I[at.LOWEST] = min(I[at.LOWEST], low)
    I[at.HIGHEST] = max(I[at.HIGHEST], high if same else high + 1)


@at.compiled
def run(M, I, inputs, base, result):
    """Interpret the program on every row of inputs [rows, numbers, limbs].

    False if a number outgrows the frame or a guess of the program fails;
    result [rows, outputs, L] receives full frames, sign-extended.
    All outputs are within limbs I[at.LOWEST]..I[at.HIGHEST] - 1.
    """
    L, width = I[at.FRAME], inputs.shape[2]
    if base < 0 or base + width + 1 > L or I[at.WHOLE] + 2 > L:
        return False
    I[at.LOWEST], I[at.HIGHEST] = L, 0
    for row in range(inputs.shape[0]):
        I[STATE : STATE + 3 * (I[at.SPARE] + 1)] = 0
        for k in range(inputs.shape[1]):
            for i in range(width):
                M[k * L + base + i] = inputs[row, k, i]
            below = 1 if M[k * L + base + width - 1] >> uint64(63) else 0
            finish(M, I, k, base, base + width, -below)
        op = 0
        while op < I[at.OPERATIONS]:
            place = I[at.OPS] + OPERATION * op
            if I[place] < FOLDS:
                done = DONE if _single(M, I, place) else GIVE_UP
            else:
                done = fold_run(M, I, place) if I[place] == FOLDS else powers(M, I, place)
                op += I[place + 1] if done == DONE else 0
                I[at.SINGLES] += 1 if done == SINGLY else 0
            if done == GIVE_UP:
                return False
            op += 1
        for o in range(I[at.OUTPUTS]):
            _read_out(M, I, I[at.FIRST_OUTPUT] + o, result, row, o)
    return I[at.HIGHEST] <= L
