"""The stored numbers: a linear system over GF(2) a bit position, from the lowest bit up.

A context reads the sum W of its stored numbers, and a bit of its word is the exclusive or of two
neighbouring bits of W (what folding at powers of two leaves). Below position p all stored bits are
known, hence also every carry into it: at position p the unknown bits satisfy linear equations, one
for each context whose window covers p.
"""

from dataclasses import dataclass

import numpy as np
from numba import njit, uint64
from numpy.typing import NDArray

from ..hash_fold_retrieve.solve import eliminate
from .layout import Layout, Reading

ONE = np.uint64(1)


@dataclass(frozen=True, eq=False)
class Numbers:
    """values: one a unit, each below 2**positions; digits: every context's sum is below
    2**digits."""

    values: list[int]
    digits: int


def solve(
    layout: Layout, reading: Reading, words: NDArray, lengths: NDArray, window: int
) -> Numbers | None:
    """The stored numbers, or None if some position has no solution.

    words are Gray coded and left-aligned in `window` bits; only the first `lengths` bits count.
    """
    plan = layout.plan
    positions = plan.columns + window - 1
    starts, units = units_of(layout, reading)
    order = np.argsort(reading.shift, kind="stable")
    loads = np.bincount(reading.shift, minlength=plan.columns)
    first = np.concatenate([[0], np.cumsum(loads)]).astype(np.int64)
    bits = np.zeros((positions, plan.unknowns), np.uint8)
    carry = np.zeros(len(words), np.int64)
    solved = _solve(
        starts, units, words.astype(np.uint64), lengths, order, first, window, bits, carry
    )
    if not solved:
        return None
    packed = np.packbits(bits.T, axis=1, bitorder="little")
    values = [int.from_bytes(row.tobytes(), "little") for row in packed]
    return Numbers(values, positions + int(carry.max()).bit_length())


def units_of(layout: Layout, reading: Reading) -> tuple[NDArray, NDArray]:
    """The stored numbers that each context adds up: units[starts[i]:starts[i + 1]]."""
    plan = layout.plan
    arrays = (
        reading.rows,
        reading.closed,
        np.array(plan.masks, np.int64),
        np.array(plan.tables, np.int64),
        np.array(layout.starts, np.int64),
    )
    starts = np.zeros(len(reading.closed) + 1, np.int64)
    _units(*arrays, starts, np.zeros(0, np.int32), False)
    starts = np.cumsum(starts)
    units = np.zeros(starts[-1], np.int32)
    _units(*arrays, starts, units, True)
    return starts, units


@njit(cache=True, nogil=True)
def _units(rows, closed, masks, tables, table_start, starts, units, fill):
    """Count each context's units (starts[i + 1]), or fill them in."""
    for i in range(closed.shape[0]):
        count = 0
        for lane in range(masks.shape[0]):
            if closed[i] & masks[lane]:
                continue
            if fill:
                units[starts[i] + count] = lane
            count += 1
            for r in range(tables.shape[0]):
                if rows[i, r] > 0:
                    if fill:
                        cell = lane * (tables[r] - 1) + rows[i, r] - 1
                        units[starts[i] + count] = table_start[r] + cell
                    count += 1
        if not fill:
            starts[i + 1] = count


@njit(cache=True, nogil=True)
def _solve(starts, units, words, lengths, order, first, window, bits, carry):
    """Fill bits [positions, unknowns]; False if a position has no solution.

    carry  [contexts] what the sum carries into the next position
    """
    positions, unknowns = bits.shape
    columns = first.shape[0] - 1
    packed = (unknowns + 63) // 64
    solution = np.zeros(packed, np.uint64)
    below = np.zeros(carry.shape[0], np.int64)  # the sum's bit below the position
    for position in range(positions):
        last = positions - 1 - position  # shift whose window begins here
        from_shift, to_shift = max(0, last - window + 1), min(columns - 1, last)
        rows = np.zeros((first[to_shift + 1] - first[from_shift], packed), np.uint64)
        right = np.zeros(rows.shape[0], np.uint64)
        count = 0
        for shift in range(from_shift, to_shift + 1):
            digit = last - shift
            for o in range(first[shift], first[shift + 1]):
                i = order[o]
                if digit >= lengths[i]:
                    continue
                for e in range(starts[i], starts[i + 1]):
                    rows[count, units[e] >> 6] ^= ONE << uint64(units[e] & 63)
                wanted = (words[i] >> uint64(window - 1 - digit)) & ONE
                right[count] = wanted ^ uint64((carry[i] ^ below[i]) & 1)
                count += 1
        if count > unknowns or not eliminate(rows[:count], right[:count], unknowns, solution):
            return False
        for u in range(unknowns):
            bits[position, u] = (solution[u >> 6] >> uint64(u & 63)) & ONE
        for i in range(carry.shape[0]):
            total = carry[i]
            for e in range(starts[i], starts[i + 1]):
                total += bits[position, units[e]]
            below[i] = total & 1
            carry[i] = total >> 1
    return True
