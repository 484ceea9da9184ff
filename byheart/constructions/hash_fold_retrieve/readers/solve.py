"""The stored numbers by backtracking: a bit position may have more equations than unknowns.

As in retrieval/solve.py there is one linear system over GF(2) per bit position, lowest first, and
its right-hand side depends on the bits below through the carries. With n equations of rank r, a
random right-hand side is consistent with probability 2**-(n - r). If it is not, another solution
is drawn one position below (its free unknowns are random), which changes bits and carries, and
so the right-hand side; when all those have had their turn, one more position below. The matrix
does not change: it is reduced once, together with a record of what was done to its rows, and a
trial is n sums of bits and a few parities.
"""

import numpy as np
from numba import uint64
from numpy.typing import NDArray

from ....machine.kernels import njit
from ...retrieval.gf2 import ONE, ZERO
from ...retrieval.solve import Terms

MOST_DEPENDENT = 28  # equations beyond the rank: no luck will solve more


def equations(
    column: NDArray, lengths: NDArray, words: NDArray, columns: int, window: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint8]]:
    """Per bit position, lowest first: where its equations begin, their contexts, and their bits."""
    order = np.argsort(column, kind="stable")
    first = np.concatenate([[0], np.cumsum(np.bincount(column, minlength=columns))])
    return _equations(
        order, first, lengths.astype(np.int64), words.astype(np.uint64), columns, window
    )


@njit
def _equations(order, first, lengths, words, columns, window):
    positions = columns + window - 1
    begins = np.zeros(positions + 1, np.int64)
    total = 0
    for i in range(lengths.shape[0]):
        total += lengths[i]
    contexts = np.zeros(total, np.int64)
    wanted = np.zeros(total, np.uint8)
    count = 0
    for position in range(positions):
        last = positions - 1 - position  # the column whose window begins here
        for c in range(max(0, last - window + 1), min(columns - 1, last) + 1):
            digit = last - c
            for o in range(first[c], first[c + 1]):
                i = order[o]
                if digit < lengths[i]:
                    contexts[count] = i
                    wanted[count] = (words[i] >> uint64(window - 1 - digit)) & ONE
                    count += 1
        begins[position + 1] = count
    return begins, contexts, wanted


@njit
def _parity(x):
    x ^= x >> uint64(32)
    x ^= x >> uint64(16)
    x ^= x >> uint64(8)
    x ^= x >> uint64(4)
    x ^= x >> uint64(2)
    x ^= x >> uint64(1)
    return x & ONE


@njit
def next_random(state):
    """splitmix64: advances state[0] and returns 64 random bits."""
    state[0] += uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> uint64(30))) * uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> uint64(27))) * uint64(0x94D049BB133111EB)
    return z ^ (z >> uint64(31))


@njit
def _reduce(rows, record, unknowns, pivots):
    """Reduced echelon form in place, and the rank; pivot rows move to the front.

    record starts as the identity: afterwards record * (original rows) = rows.
    """
    count, words = rows.shape
    kept = record.shape[1]
    rank = 0
    for unknown in range(unknowns):
        if rank == count:
            break
        word, mask = unknown >> 6, ONE << uint64(unknown & 63)
        pivot = -1
        for i in range(rank, count):
            if rows[i, word] & mask:
                pivot = i
                break
        if pivot < 0:
            continue
        if pivot != rank:
            for w in range(words):
                rows[pivot, w], rows[rank, w] = rows[rank, w], rows[pivot, w]
            for w in range(kept):
                record[pivot, w], record[rank, w] = record[rank, w], record[pivot, w]
        for i in range(count):
            if i != rank and rows[i, word] & mask:
                for w in range(word, words):
                    rows[i, w] ^= rows[rank, w]
                for w in range(kept):
                    record[i, w] ^= record[rank, w]
        pivots[rank] = unknown
        rank += 1
    return rank


@njit
def _low_bits(starts, units, i, numbers, total, position):
    """Bits `position` and `position` + 1 of the sum that context i reads, by the bits below."""
    limbs, edge = ((position + 1) >> 6) + 1, position >> 6
    mask = (ONE << uint64(position & 63)) - ONE
    for q in range(limbs):
        total[q] = ZERO
    for e in range(starts[i], starts[i + 1]):
        u = units[e]
        carry = ZERO
        if u >= 0:
            for q in range(limbs):
                number = numbers[u, q] if q != edge else numbers[u, q] & mask
                x = total[q] + number
                over = x < number
                y = x + carry
                carry = ONE if over or y < x else ZERO
                total[q] = y
        else:
            u = ~u
            for q in range(limbs):
                number = numbers[u, q] if q != edge else numbers[u, q] & mask
                x = total[q] - number
                borrow = total[q] < number
                y = x - carry
                carry = ONE if borrow or x < carry else ZERO
                total[q] = y
    low = (total[edge] >> uint64(position & 63)) & ONE
    position += 1
    return low | ((total[position >> 6] >> uint64(position & 63)) & ONE) << ONE


@njit
def _keep(numbers, level, bits):
    """Write bit `level` of every number, and clear those above."""
    limb, mask = level >> 6, (ONE << uint64(level & 63)) - ONE
    for u in range(numbers.shape[0]):
        numbers[u, limb] &= mask
        if bits[u]:
            numbers[u, limb] |= ONE << uint64(level & 63)
        for q in range(limb + 1, numbers.shape[1]):
            numbers[u, q] = ZERO


@njit
def _draw(rows, record, right, pivots, rank, bits, free, state, random):
    """A solution of the reduced system; free unknowns are 0 or random."""
    unknowns, words = bits.shape[0], free.shape[0]
    for w in range(words):
        free[w] = next_random(state) if random else ZERO
    for r in range(rank):
        free[pivots[r] >> 6] &= ~(ONE << uint64(pivots[r] & 63))
    for u in range(unknowns):
        bits[u] = (free[u >> 6] >> uint64(u & 63)) & ONE
    for r in range(rank):
        mixed = ZERO
        for w in range(right.shape[0]):
            mixed ^= record[r, w] & right[w]
        if random:
            for w in range(words):
                mixed ^= rows[r, w] & free[w]
        bits[pivots[r]] = _parity(mixed)


@njit
def _solve(starts, units, begins, contexts, wanted, numbers, state, most, memory):
    """Fill numbers [unknowns, limbs]: bit p + 1 solves position p, bit 0 is 0 or random.

    False if that would take more than `most` steps, or is impossible. The reduced systems of the
    last positions are kept, as many as `memory` says: the search goes back no further.
    """
    unknowns, positions = numbers.shape[0], begins.shape[0] - 1
    widest = 0
    for p in range(positions):
        widest = max(widest, begins[p + 1] - begins[p])
    words, kept = (unknowns + 63) // 64, (widest + 63) // 64
    rows = np.zeros((memory, widest, words), np.uint64)
    record = np.zeros((memory, widest, kept), np.uint64)
    rights = np.zeros((memory, kept), np.uint64)
    pivots = np.zeros((memory, unknowns), np.int64)
    ranks = np.zeros(memory, np.int64)
    held = np.full(memory, -1, np.int64)  # which position is in a slot
    base = np.zeros((memory, widest), np.int64)
    based = np.zeros(memory, np.bool_)  # whether base belongs to the bits below
    solutions = np.zeros((positions + 1, unknowns), np.uint8)  # row p + 1 solves position p
    misses = np.zeros(positions, np.int64)
    free = np.zeros(words, np.uint64)
    total = np.zeros(numbers.shape[1], np.uint64)
    numbers[:] = ZERO
    work, p = 0.0, 0
    while p < positions:
        slot, start = p % memory, begins[p]
        count = begins[p + 1] - start
        if held[slot] != p:
            held[slot], based[slot] = p, False
            rows[slot, :count] = ZERO
            record[slot, :count] = ZERO
            for z in range(count):
                i = contexts[start + z]
                for e in range(starts[i], starts[i + 1]):
                    u = units[e] if units[e] >= 0 else ~units[e]
                    rows[slot, z, u >> 6] ^= ONE << uint64(u & 63)
                record[slot, z, z >> 6] |= ONE << uint64(z & 63)
            ranks[slot] = _reduce(rows[slot, :count], record[slot, :count], unknowns, pivots[slot])
            work += ranks[slot] * count * (words + kept) * 0.3
            if count - ranks[slot] > MOST_DEPENDENT:
                return False
        if not based[slot]:
            for z in range(count):
                i = contexts[start + z]
                base[slot, z] = _low_bits(starts, units, i, numbers, total, p)
                work += (starts[i + 1] - starts[i]) * (2.0 + p / 32)
            based[slot] = True
        work += 20.0 * unknowns + 100
        right = rights[slot]
        right[:] = ZERO
        for z in range(count):
            i = contexts[start + z]
            t = base[slot, z]
            for e in range(starts[i], starts[i + 1]):
                u = units[e]
                t += np.int64(solutions[p, u]) if u >= 0 else -np.int64(solutions[p, ~u])
            work += starts[i + 1] - starts[i]
            if (t ^ (t >> 1) ^ wanted[start + z]) & 1:
                right[z >> 6] |= ONE << uint64(z & 63)
        consistent = True
        for z in range(ranks[slot], count):
            mixed = ZERO
            for w in range(kept):
                mixed ^= record[slot, z, w] & right[w]
            if _parity(mixed):
                consistent = False
                break
        solved, again = p, False
        if not consistent:
            if work > most:
                return False
            misses[p] += 1
            back, used = 1, 0
            while back <= p:
                if held[(p - back) % memory] != p - back:
                    return False
                used += unknowns - ranks[(p - back) % memory]
                if used > 40 or misses[p] % (1 << used):
                    break
                back += 1
            solved, again = p - back, True
        if solved < 0:
            for u in range(unknowns):
                solutions[0, u] = next_random(state) & ONE
        else:
            s = solved % memory
            _draw(
                rows[s],
                record[s],
                rights[s],
                pivots[s],
                ranks[s],
                solutions[solved + 1],
                free,
                state,
                again,
            )
        _keep(numbers, solved + 1, solutions[solved + 1])
        p = solved + 1
        for q in range(p + 1, p + memory):
            if held[q % memory] == q:
                based[q % memory] = False
    return True


@njit
def _rank(starts, units, contexts, unknowns):
    """The rank of the equations of some contexts."""
    rows = np.zeros((contexts.shape[0], (unknowns + 63) // 64), np.uint64)
    for z in range(contexts.shape[0]):
        for e in range(starts[contexts[z]], starts[contexts[z] + 1]):
            u = units[e] if units[e] >= 0 else ~units[e]
            rows[z, u >> 6] ^= ONE << uint64(u & 63)
    nothing = np.zeros((contexts.shape[0], 0), np.uint64)
    return _reduce(rows, nothing, unknowns, np.zeros(unknowns, np.int64))


@njit
def _expected(starts, units, begins, contexts, unknowns):
    """log2 of the right-hand sides that are tried, if they are random.

    A position with n equations of rank r is met by one of 2**(n - r) right-hand sides. A solution
    of the position below gives 2**(its free unknowns) of them; if that is too few, it must be
    solved several times. Unknowns that no equation of any position tells apart do not count.
    """
    useful = _rank(starts, units, np.arange(starts.shape[0] - 1), unknowns)
    solved, tried = 0.0, 0.0  # log2 of how often a position is solved; sum of all tries
    for p in range(begins.shape[0] - 2, -1, -1):
        here = contexts[begins[p] : begins[p + 1]]
        solved += here.shape[0] - _rank(starts, units, here, unknowns)
        tried += 2.0 ** min(solved, 1000.0)
        free = useful
        if p:
            free -= _rank(starts, units, contexts[begins[p - 1] : begins[p]], unknowns)
        solved = max(0.0, solved - free)
    if solved > 0:
        return np.inf  # not even all bits below the first position are enough
    return np.log2(tried)


def expected(
    terms: Terms, begins: NDArray[np.int64], contexts: NDArray[np.int64], unknowns: int
) -> float:
    """log2 of the right-hand sides that `solve` is expected to try, by what `equations` gives."""
    return float(_expected(terms.starts, terms.units, begins, contexts, unknowns))


def solve(
    unknowns: int,
    columns: int,
    column: NDArray,
    terms: Terms,
    words: NDArray,
    lengths: NDArray,
    window: int,
    seed: int,
    most: float,
    memory: int = 8,
) -> list[int] | None:
    """The stored numbers, each in [0, 2**(K + 1)), or None if they were not found.

    most    steps, about one per nanosecond, after which it gives up
    memory  positions that it may go back
    """
    parts = equations(column, lengths, words, columns, window)
    numbers = np.zeros((unknowns, (columns + window) // 64 + 1), np.uint64)
    state = np.array([seed], np.uint64)
    if not _solve(terms.starts, terms.units, *parts, numbers, state, most, memory):
        return None
    return [int.from_bytes(row.tobytes(), "little") for row in numbers]
