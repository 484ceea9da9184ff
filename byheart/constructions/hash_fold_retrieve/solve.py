"""The stored numbers: a sparse linear system over GF(2) a bit position, from the lowest bit up.

A context reads the sum W of a few stored numbers with signs that it knows, and its label bit is the
exclusive or of two neighbouring bits of W (what folding at powers of two leaves, see
assemble._strip). Below position p all stored bits are known, hence also every carry; so at position
p the unknown bits satisfy linear equations over GF(2), one for each context whose window covers p.
"""

import numpy as np
from numba import njit, uint64
from numpy.typing import NDArray

from .layout import ROLES, Layout

ONE = np.uint64(1)
ZERO = np.uint64(0)
ROW, GATE = ROLES.index("row"), ROLES.index("gate")


@njit(cache=True, nogil=True)
def _coefficients(bits, arrays, units, signs):
    """The stored numbers that a context reads, with signs; returns how many.

    bits: bit t is the outcome of fold t, counted from the last fold. Every later fold that
    fires flips the sign.
    """
    (
        roles,
        targets,
        weights,
        stored,
        table_place,
        table_rows,
        table_start,
        masks,
        lane_constant,
        drop,
    ) = arrays
    count = 1
    units[0] = 0
    signs[0] = 1
    sign = 1
    gates = 0
    tables = table_rows.shape[0]
    rows = np.zeros(tables, np.int64)
    table_sign = np.ones(tables, np.int64)
    for t in range(roles.shape[0]):
        for r in range(tables):
            if table_place[r] == t:
                table_sign[r] = sign
        fired = (bits >> uint64(t)) & ONE
        if roles[t] == ROW:
            if fired:
                rows[targets[t]] += weights[t]
        elif roles[t] == GATE:
            if not fired:
                gates |= weights[t]
        if fired:
            if stored[t] >= 0:
                units[count] = stored[t]
                signs[count] = sign
                count += 1
            sign = -sign
    for lane in range(masks.shape[0]):
        if gates & masks[lane] != masks[lane]:
            continue
        for r in range(tables):
            if rows[r] > 0:
                unit = table_start[r] + lane * (table_rows[r] - 1) + rows[r] - 1
                if unit < drop:
                    units[count] = unit
                    signs[count] = table_sign[r]
                    count += 1
        if lane_constant[lane] >= 0:
            units[count] = lane_constant[lane]
            signs[count] = 1
            count += 1
    return count


@njit(cache=True, nogil=True)
def eliminate(rows, right, unknowns, solution):
    """Solve rows x = right over GF(2), 64 unknowns a word; False if there is no solution.

    Free unknowns become 0. Destroys rows and right. Pivot rows move to the front; below row i only
    the words from its pivot on matter.
    """
    count, words = rows.shape
    pivots = np.empty(min(count, unknowns), np.int64)
    rank = 0
    for column in range(unknowns):
        if rank == count:
            break
        word = column >> 6
        mask = ONE << uint64(column & 63)
        pivot = -1
        for i in range(rank, count):
            if rows[i, word] & mask:
                pivot = i
                break
        if pivot < 0:
            continue
        if pivot != rank:
            for w in range(word, words):
                swap = rows[pivot, w]
                rows[pivot, w] = rows[rank, w]
                rows[rank, w] = swap
            keep = right[pivot]
            right[pivot] = right[rank]
            right[rank] = keep
        for i in range(pivot + 1, count):
            if rows[i, word] & mask:
                for w in range(word, words):
                    rows[i, w] ^= rows[rank, w]
                right[i] ^= right[rank]
        pivots[rank] = column
        rank += 1
    for i in range(rank, count):
        if right[i]:
            return False
    solution[:] = ZERO
    for i in range(rank - 1, -1, -1):
        parity = right[i]
        mixed = ZERO
        for w in range(pivots[i] >> 6, words):
            mixed ^= rows[i, w] & solution[w]
        for shift in (32, 16, 8, 4, 2, 1):
            mixed ^= mixed >> uint64(shift)
        if (mixed & ONE) ^ parity:
            solution[pivots[i] >> 6] |= ONE << uint64(pivots[i] & 63)
    return True


@njit(cache=True, nogil=True)
def _accumulate(total, number, limbs, negative):
    """total += number or total -= number, modulo 2**(64 limbs)."""
    carry = ZERO
    if negative:
        for q in range(limbs):
            x = total[q] - number[q]
            borrow = total[q] < number[q]
            y = x - carry
            carry = ONE if borrow or x < carry else ZERO
            total[q] = y
    else:
        for q in range(limbs):
            x = total[q] + number[q]
            over = x < number[q]
            y = x + carry
            carry = ONE if over or y < x else ZERO
            total[q] = y


@njit(cache=True, nogil=True)
def _solve(bits, words, lengths, order, start, columns, window, unknowns, arrays, numbers):
    """Fill numbers [unknowns, limbs]; returns the bit position without a solution, or 0."""
    positions = columns + window - 1
    packed = (unknowns + 63) // 64
    solution = np.zeros(packed, np.uint64)
    units = np.zeros(unknowns + 1, np.int64)
    signs = np.zeros(unknowns + 1, np.int64)
    total = np.zeros(numbers.shape[1], np.uint64)
    for position in range(1, positions + 1):
        first = max(0, positions - position - window + 1)
        last = min(columns - 1, positions - position)
        most = start[last + 1] - start[first]
        rows = np.zeros((most, packed), np.uint64)
        right = np.zeros(most, np.uint64)
        count = 0
        limbs = (position >> 6) + 1
        for column in range(first, last + 1):
            digit = positions - position - column
            for o in range(start[column], start[column + 1]):
                i = order[o]
                if digit >= lengths[i]:
                    continue
                used = _coefficients(bits[i], arrays, units, signs)
                total[:limbs] = ZERO
                for e in range(used):
                    u = units[e]
                    rows[count, u >> 6] ^= ONE << uint64(u & 63)
                    _accumulate(total, numbers[u], limbs, signs[e] < 0)
                high = (total[position >> 6] >> uint64(position & 63)) & ONE
                low = (total[(position - 1) >> 6] >> uint64((position - 1) & 63)) & ONE
                wanted = (words[i] >> uint64(window - 1 - digit)) & ONE
                right[count] = high ^ low ^ wanted
                count += 1
        if count > unknowns or not eliminate(rows[:count], right[:count], unknowns, solution):
            return position
        for u in range(unknowns):
            if (solution[u >> 6] >> uint64(u & 63)) & ONE:
                numbers[u, position >> 6] |= ONE << uint64(position & 63)
    return 0


def solve(
    layout: Layout, bits: NDArray, words: NDArray, lengths: NDArray, window: int
) -> list[int] | None:
    """The stored numbers, each in [0, 2**(K + 1)), or None if some position has no solution.

    words are Gray coded and left-aligned in `window` bits; only the first `lengths` bits count.
    """
    column = layout.column_of(bits)
    order = np.argsort(column, kind="stable")
    loads = np.bincount(column, minlength=layout.columns)
    start = np.concatenate([[0], np.cumsum(loads)]).astype(np.int64)
    limbs = (layout.columns + window - 1) // 64 + 1
    numbers = np.zeros((layout.unknowns, limbs), np.uint64)
    failed = _solve(
        bits,
        words.astype(np.uint64),
        lengths.astype(np.int64),
        order,
        start,
        layout.columns,
        window,
        layout.unknowns,
        layout.arrays,
        numbers,
    )
    if failed:
        return None
    return [int.from_bytes(row.tobytes(), "little") for row in numbers]
