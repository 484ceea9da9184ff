"""The stored numbers: a sparse linear system over GF(2) per bit position, from the lowest bit up.

A context reads the sum W of a few stored numbers with signs that it knows, and a bit of its word is
the exclusive or of two neighbouring bits of W (what folding at powers of two leaves). Below
position p all stored bits are known, hence also every carry; so at position p the unknown bits
satisfy linear equations over GF(2), one for each context whose window covers p.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numba import uint64
from numpy.typing import NDArray

from ...machine.kernels import njit

ONE = np.uint64(1)
ZERO = np.uint64(0)


@dataclass(frozen=True, eq=False)
class Terms:
    """The stored numbers that each context adds up.

    Those of context i are units[starts[i]:starts[i + 1]]; ~u stands for minus the number u.
    """

    starts: NDArray[np.int64]
    units: NDArray[np.int32]


def gather(contexts: int, kernel: Callable, *arrays: object) -> Terms:
    """The terms that a kernel writes: it is called to count them, then to fill them in."""
    starts = np.zeros(contexts + 1, np.int64)
    kernel(*arrays, starts, np.zeros(0, np.int32), False)
    starts = np.cumsum(starts)
    units = np.zeros(starts[-1], np.int32)
    kernel(*arrays, starts, units, True)
    return Terms(starts, units)


@njit
def eliminate(rows, right, unknowns, solution):
    """Solve rows x = right over GF(2), 64 unknowns per word; False if there is no solution.

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


@njit
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


@njit
def _solve(starts, units, words, lengths, order, first, window, unknowns, numbers):
    """Fill numbers [unknowns, limbs]; False if a position has no solution."""
    columns = first.shape[0] - 1
    positions = columns + window - 1
    packed = (unknowns + 63) // 64
    solution = np.zeros(packed, np.uint64)
    total = np.zeros(numbers.shape[1], np.uint64)
    for position in range(positions):
        last = positions - 1 - position  # the column whose window begins here
        from_column, to_column = max(0, last - window + 1), min(columns - 1, last)
        most = first[to_column + 1] - first[from_column]
        rows = np.zeros((most, packed), np.uint64)
        right = np.zeros(most, np.uint64)
        count = 0
        limbs = (position >> 6) + 1
        for column in range(from_column, to_column + 1):
            digit = last - column
            for o in range(first[column], first[column + 1]):
                i = order[o]
                if digit >= lengths[i]:
                    continue
                total[:limbs] = ZERO
                for e in range(starts[i], starts[i + 1]):
                    u = units[e]
                    negative = u < 0
                    if negative:
                        u = ~u
                    rows[count, u >> 6] ^= ONE << uint64(u & 63)
                    _accumulate(total, numbers[u], limbs, negative)
                bit = (total[position >> 6] >> uint64(position & 63)) & ONE
                below = ZERO
                if position:
                    below = (total[(position - 1) >> 6] >> uint64((position - 1) & 63)) & ONE
                wanted = (words[i] >> uint64(window - 1 - digit)) & ONE
                right[count] = bit ^ below ^ wanted
                count += 1
        if count > unknowns or not eliminate(rows[:count], right[:count], unknowns, solution):
            return False
        for u in range(unknowns):
            if (solution[u >> 6] >> uint64(u & 63)) & ONE:
                numbers[u, position >> 6] |= ONE << uint64(position & 63)
    return True


def solve(
    unknowns: int,
    columns: int,
    column: NDArray,
    terms: Terms,
    words: NDArray,
    lengths: NDArray,
    window: int,
) -> list[int] | None:
    """The stored numbers, each in [0, 2**K), or None if some position has no solution.

    column  [contexts] where its window begins, counted from the top
    words   Gray coded and left-aligned in `window` bits; only the first `lengths` bits count
    """
    order = np.argsort(column, kind="stable")
    loads = np.bincount(column, minlength=columns)
    first = np.concatenate([[0], np.cumsum(loads)]).astype(np.int64)
    numbers = np.zeros((unknowns, (columns + window - 2) // 64 + 1), np.uint64)
    solved = _solve(
        terms.starts,
        terms.units,
        words.astype(np.uint64),
        lengths.astype(np.int64),
        order,
        first,
        window,
        unknowns,
        numbers,
    )
    return [int.from_bytes(row.tobytes(), "little") for row in numbers] if solved else None
