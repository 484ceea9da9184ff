"""The stored numbers: a sparse linear system over GF(2) per bit position, from the lowest bit up.

A context reads the sum W of a few stored numbers with signs that it knows, and a bit of its word is
the exclusive or of two neighbouring bits of W (what folding at powers of two leaves). Below
position p all stored bits are known, hence also every carry; so at position p the unknown bits
satisfy linear equations over GF(2), one for each context whose window covers p.

The matrix of a position does not depend on the bits below it, only the right-hand side does. So
matrices are factored ahead, on as many threads as there are cores, and a position that has more
equations than unknowns, or dependent ones, need not fail: its right-hand side must satisfy d
equations, and it is a quadratic function of the bits at p - 1 (the carry out of them is the second
elementary symmetric function of the bits that are added, plus linear terms). Position p - 1 leaves
some of its unknowns free; a common zero of d quadratic forms in these is found by visiting their
values one after another. Where they do not suffice, the search goes back a few positions.

A context whose word is an interval (gadgets/prefix_code.py) has no equation, unless the bits below
its first digit make the word one of c ones: W is the same at c positions below. Then that digit
must be 0. So the matrix of a position does depend on the bits below it. It is smaller, and factored
when it is reached; a position without a solution sends the search back to draw other free unknowns.
"""

import math
import os
import random
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from numpy import uint64
from numpy.typing import NDArray

from ...machine.kernels import njit
from .gf2 import ONE, ZERO, Factors, common_zero, factored

# lengths, the longest one, and of the contexts with intervals the share that has an equation
Words = tuple[NDArray[np.int64], int, float]
MOST_FORMS = 29  # dependent equations of a position that are worth 2**29 steps
SURPLUS = 5  # free unknowns beyond the forms: a zero is missed once in e**32
LEAST = 12  # free unknowns that are tried in any case
USUAL_FORMS = 20  # dependent equations up to which all free unknowns that help are tried
THREADED = 400  # unknowns from which on threads pay
MANY = 1 << 20  # contexts from which on terms are small


@dataclass(frozen=True)
class Patience:
    returns: int = 96  # times that a position sends the search back before it is given up
    # the same if labels have several bits: then neighbouring positions are full too
    returns_of_words: int = 12
    kept: int = 8  # positions whose factors are kept for going back
    # free unknowns that may be missing: then the search goes back and draws others
    missing: int = 6
    cheap: int = 20  # dependent equations of a position beyond which each one halves the returns
    # of intervals: times that a position sends the search back, fewer if its matrix is large
    draws: int = 256
    drawn: int = 1 << 14  # draws times equations


USUAL = Patience()


@dataclass(frozen=True, eq=False)
class Terms:
    """What each context i adds up: units[starts[i]:starts[i + 1]]; ~u is minus the number u."""

    starts: NDArray[np.int64]
    units: NDArray[np.signedinteger]

    def sums(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """What each context adds up if these are the numbers."""
        return _sums(self.starts, self.units, values)


def gather(unknowns: int, kernel: Callable, hashes: NDArray, program: object) -> Terms:
    """The terms that a kernel writes: it is called to count them, then to fill them in.

    Of many contexts, numbers below 2**15 have two bytes.
    """
    kind = np.int16 if len(hashes) >= MANY and unknowns <= 1 << 15 else np.int32
    starts = np.zeros(len(hashes) + 1, np.int64)
    kernel(hashes, program, starts, np.zeros(0, kind), False)
    np.cumsum(starts, out=starts)
    units = np.zeros(starts[-1], kind)
    kernel(hashes, program, starts, units, True)
    return Terms(starts, units)


def dependent(terms: Terms, unknowns: int, order: NDArray[np.int64] | None = None) -> int:
    """How many equations of the contexts depend on others, if all are at one position."""
    return _factors(terms, np.arange(len(terms.starts) - 1), unknowns, order).dependent


def _factors(terms: Terms, contexts: NDArray, unknowns: int, order: NDArray | None) -> Factors:
    rows = np.zeros((len(contexts), (unknowns + 63) // 64), np.uint64)
    _rows(terms.starts, terms.units, contexts, unknowns, rows)
    return factored(rows, unknowns, order)


class System:
    """The equations by bit position, from the lowest up.

    column       [contexts] where the window of a context begins, counted from the top
    words        [contexts] Gray coded and left-aligned in `window` bits
    lengths      [contexts] the bits of each word that count; 0 if the word is an interval
    lowest       whether numbers have one more bit, below all positions, so that the first position
                 has free unknowns below it too
    elimination  all numbers in the order in which they are eliminated: tables of which a context
                 reads one row had better stay together by row, the largest first
    interval     c of the words that are intervals
    """

    def __init__(
        self,
        columns: int,
        column: NDArray,
        terms: Terms,
        words: NDArray,
        lengths: NDArray,
        window: int,
        lowest: bool = False,
        elimination: NDArray[np.int64] | None = None,
        interval: int = 0,
    ) -> None:
        self.columns, self.window, self.elimination = columns, window, elimination
        self.interval = interval
        self.positions = columns + window - 1 + lowest
        self.column, self.terms, self.lengths = column, terms, lengths
        self.words = words.astype(np.uint64)
        self.order = np.argsort(column, kind="stable")
        self.first = np.concatenate([[0], np.cumsum(np.bincount(column, minlength=columns))])

    def active(self, position: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The contexts whose words reach this position, and which of their digits is there."""
        last = self.positions - 1 - position  # the column whose window begins here
        low, high = max(0, last - self.window + 1), min(self.columns - 1, last)
        contexts = self.order[self.first[low] : self.first[high + 1]]
        if self.window == 1:
            return contexts, np.zeros(len(contexts), np.int64)
        digits = last - self.column[contexts]
        reached = digits < self.lengths[contexts]
        return contexts[reached], digits[reached]

    def open(self, position: int) -> NDArray[np.int64]:
        """The contexts with intervals whose first digit is here."""
        column = self.positions - 1 - position
        if not self.interval or column >= self.columns:
            return self.order[:0]
        contexts = self.order[self.first[column] : self.first[column + 1]]
        return contexts[self.lengths[contexts] == 0]

    def factors(self, position: int, unknowns: int) -> Factors:
        return self.factored(self.active(position)[0], unknowns)

    def factored(self, contexts: NDArray[np.int64], unknowns: int) -> Factors:
        order = self.elimination
        order = None if order is None else order[order < unknowns]
        return _factors(self.terms, contexts, unknowns, order)


def solve(
    system: System,
    unknowns: int,
    most: int | None = None,
    canonical: bool = False,
    patience: Patience = USUAL,
) -> list[int] | None:
    """The stored numbers, each in [0, 2**positions), or None if some position has no solution.

    most       numbers that there may be; as many as needed beyond `unknowns` come in right below
               positions without a solution, with zeros further down. Terms beyond them do not count
    canonical  whether free unknowns must be 0, so that the numbers are a function of the equations
               whatever their order; None if a position has no solution then

    Where every position has a solution with all free unknowns 0, that one is returned. The result
    does not depend on the number of threads.
    """
    most = unknowns if most is None else most
    return Search(system, unknowns, most, canonical, patience).run()


def expected_trials(system: System, unknowns: int) -> float:
    """log2 of the right-hand sides of a position that are tried, if they are random.

    A position with n equations of rank r is met by one of 2**(n - r) right-hand sides. A solution
    of the position below gives 2**(its free unknowns) of them; if that is too few, it must be
    solved several times. Unknowns that no equation of any position distinguishes do not count.
    """
    useful = len(system.column) - dependent(system.terms, unknowns)
    factors = [system.factors(position, unknowns) for position in range(system.positions)]
    below = [useful, *(useful - each.rank for each in factors[:-1])]
    solved = trials = 0.0  # log2 of how often a position is solved; sum of all trials
    for position in reversed(range(system.positions)):
        solved += factors[position].dependent
        trials += 2.0 ** min(solved, 1000.0)
        solved = max(0.0, solved - below[position])
    # not even all bits below the first position are enough
    return math.inf if solved > 0 else math.log2(trials)


class Search:
    """Bits from the lowest position up; back a little where a position has no solution.

    numbers  [most, limbs] the bits so far
    recent   [most] the 63 bits below the position, the highest in bit 62
    solved   the factors of the positions that the search may go back to
    """

    def __init__(
        self,
        system: System,
        unknowns: int,
        most: int,
        canonical: bool = False,
        patience: Patience = USUAL,
    ) -> None:
        self.system, self.unknowns, self.most = system, unknowns, most
        self.canonical, self.patience = canonical, patience
        self.numbers = np.zeros((most, (system.positions - 1) // 64 + 1), np.uint64)
        self.recent = np.zeros(most, np.uint64)
        self.solved: dict[int, Factors] = {}
        self.rng = random.Random(0)

    def run(self) -> list[int] | None:
        if self.system.interval:
            return self._drawn()
        position, blocked = 0, -1
        returns = [0] * self.system.positions
        patience, words = self.patience, self.system.window > 1
        allowed = patience.returns_of_words if words else patience.returns
        with factoring(self.system, self.unknowns) as factors_of:
            while position < self.system.positions:
                factors = self.solved.get(position) or factors_of(position, self.unknowns)
                self.solved[position] = factors
                self.solved.pop(position - patience.kept, None)
                reduced = self._reduced(position, factors)
                if reduced is not None:
                    solution = np.zeros(len(reduced), np.uint64)
                    if position < blocked:  # other free unknowns than last time
                        solution = self._any(factors, len(reduced))
                    factors.solution(reduced, solution)
                    _append(self.numbers, self.recent, position, solution)
                    position += 1
                elif self.canonical:
                    return None
                elif self._short(position, factors) <= self.patience.missing and (
                    returns[position] < allowed >> max(0, factors.dependent - patience.cheap)
                ):
                    returns[position] += 1
                    blocked = position
                    position = max(0, position - 2 - returns[position] // 16)
                    _rewind(self.numbers, position, self.recent)
                elif self.unknowns < self.most:
                    # the position below has to be solved again: there they are free
                    more = -(-(self._short(position, factors) - self.patience.missing) // 2)
                    self.unknowns = min(self.most, self.unknowns + max(1, more))
                    returns[position] = 0
                    self.solved.pop(position)
                    position = max(0, position - 1)
                    self.solved.pop(position, None)
                    _rewind(self.numbers, position, self.recent)
                else:
                    return None
        return self._found()

    def _found(self) -> list[int]:
        return [int.from_bytes(row.tobytes(), "little") for row in self.numbers[: self.unknowns]]

    def _drawn(self) -> list[int] | None:
        """Depth first: free unknowns are drawn, and drawn again where a later position needs it.

        chosen  of each position below: its factors, its right-hand side, and how often its free
                unknowns may be drawn again
        """
        chosen: list[tuple[Factors, NDArray[np.uint64], int]] = []
        missed, patience = [0] * self.system.positions, self.patience
        while (position := len(chosen)) < self.system.positions:
            equations = self._equations(position)
            factors = self.system.factored(equations[2], self.unknowns)
            right = np.zeros(len(factors.rows), np.uint64)
            reduced = np.zeros(len(factors.masks), np.uint64)
            _right(*equations, right)
            if not factors.reduced(right, reduced):
                free = min(self.unknowns - factors.rank, patience.draws.bit_length())
                chosen.append((factors, reduced, (1 << free) - 1))
            else:
                missed[position] += 1
                most = min(patience.draws, patience.drawn // len(right))
                if missed[position] > most or factors.dependent > patience.cheap:
                    if self.unknowns == self.most:
                        return None
                    # the position below has to be solved again: there they are free
                    self.unknowns, missed[position] = self.unknowns + 1, 0
                    chosen = chosen[:-1]
                    _rewind(self.numbers, len(chosen), self.recent)
                    continue
                while chosen and not chosen[-1][2]:
                    chosen.pop()
                if not chosen:
                    return None
                chosen[-1] = *chosen[-1][:2], chosen[-1][2] - 1
                _rewind(self.numbers, len(chosen) - 1, self.recent)
            factors, reduced, _ = chosen[-1]
            solution = self._any(factors, len(reduced))
            factors.solution(reduced, solution)
            _append(self.numbers, self.recent, len(chosen) - 1, solution)
        return self._found()

    def _any(self, factors: Factors, words: int) -> NDArray[np.uint64]:
        solution = np.zeros(words, np.uint64)
        for unknown in factors.free:
            solution[unknown >> 6] |= np.uint64(self.rng.getrandbits(1)) << np.uint64(unknown & 63)
        return solution

    def _reduced(self, position: int, factors: Factors) -> NDArray[np.uint64] | None:
        """The right-hand side, reduced; None if it has no solution and cannot be given one."""
        right, reduced = self._right(position, factors), np.zeros(len(factors.masks), np.uint64)
        if not factors.reduced(right, reduced):
            return reduced
        if self.canonical or not self._changed(position, factors):
            return None
        unmet = factors.reduced(self._right(position, factors), reduced)
        assert not unmet
        return reduced

    def _right(self, position: int, factors: Factors) -> NDArray[np.uint64]:
        right = np.zeros(len(factors.rows), np.uint64)
        _right(*self._equations(position), right)
        return right

    def _equations(self, position: int) -> tuple:
        """What the right-hand side of a position depends on."""
        system, (contexts, digits) = self.system, self.system.active(position)
        if len(below := system.open(position)):
            bits = position, self.recent, self.numbers, system.interval
            below = below[_ones(system.terms.starts, system.terms.units, below, *bits)]
            contexts = np.append(contexts, below)
            digits = np.append(digits, np.zeros_like(below))
        shifts = (system.window - 1 - digits).astype(np.uint64)
        terms, wanted = system.terms, system.words[contexts] >> shifts & ONE
        return terms.starts, terms.units, contexts, wanted, position, self.recent, self.numbers

    def _short(self, position: int, factors: Factors) -> int:
        """The dependent equations that are too many for the search, or for the position below."""
        below, forms = self.solved.get(position - 1), factors.dependent
        if position == 0:
            return forms + self.patience.missing + 1
        free = 0 if below is None else below.unknowns - below.rank
        return forms - min(free, MOST_FORMS - self.patience.missing)

    def _changed(self, position: int, factors: Factors) -> bool:
        """Whether other free unknowns of the position below give this one a solution.

        If so, they are changed. Each free unknown is a direction in which the bits below may move.
        """
        if self._short(position, factors) > self.patience.missing:
            return False
        below = self.solved[position - 1]
        free = below.free.tolist()
        forms = factors.dependent
        variables = max(LEAST, min(forms + SURPLUS, max(forms + 1, USUAL_FORMS + SURPLUS)))
        free = self.rng.sample(free, min(len(free), variables))
        directions = np.zeros((len(free), len(below.masks)), np.uint64)
        nothing = np.zeros(len(below.masks), np.uint64)
        for direction, unknown in zip(directions, free, strict=True):
            direction[unknown >> 6] = ONE << np.uint64(unknown & 63)
            below.solution(nothing, direction)
        starts, units, contexts, wanted, *bits = self._equations(position)
        circuits = factors.circuits()
        part = circuits != 0
        equations = starts, units, contexts[part], wanted[part], *bits
        zero = common_zero(*_forms(*equations, directions, circuits[part]))
        if zero < 0:
            return False
        for i, direction in enumerate(directions):
            if zero >> i & 1:
                _flip(self.numbers, self.recent, position - 1, direction)
        return True


@contextmanager
def factoring(system: System, unknowns: int) -> Iterator[Callable[[int, int], Factors]]:
    """A function of position and unknowns, which factors the next positions meanwhile."""
    threads = os.cpu_count() or 1
    if threads == 1 or unknowns < THREADED:
        yield system.factors
        return
    ahead: dict[tuple[int, int], Future[Factors]] = {}
    pool = ThreadPoolExecutor(threads)

    def factors(position: int, unknowns: int) -> Factors:
        for later in range(position, min(system.positions, position + 2 * threads)):
            if (later, unknowns) not in ahead:
                ahead[later, unknowns] = pool.submit(system.factors, later, unknowns)
        return ahead.pop((position, unknowns)).result()

    try:
        yield factors
    finally:
        pool.shutdown(cancel_futures=True)


@njit
def _sums(starts, units, values):
    sums = np.zeros(starts.shape[0] - 1)
    for i in range(sums.shape[0]):
        for e in range(starts[i], starts[i + 1]):
            sums[i] += values[units[e]] if units[e] >= 0 else -values[~units[e]]
    return sums


@njit
def _rows(starts, units, contexts, unknowns, rows):
    """One row for each context: the numbers that it adds up, modulo 2."""
    for r in range(contexts.shape[0]):
        i = contexts[r]
        for e in range(starts[i], starts[i + 1]):
            u = units[e] if units[e] >= 0 else ~units[e]
            if u < unknowns:
                rows[r, u >> 6] ^= ONE << uint64(u & 63)


@njit
def _listed(starts, units, i, most, listed):
    """Write down the terms of context i that are among the first `most` numbers; how many."""
    count = np.int64(0)
    for e in range(starts[i], starts[i + 1]):
        u = units[e]
        listed[count] = u
        count += (u if u >= 0 else ~u) < most
    return count


@njit
def _longest(starts, contexts):
    """Room for the terms of any of these contexts, and one more."""
    longest = 0
    for i in contexts:
        longest = max(longest, starts[i + 1] - starts[i])
    return longest + 1


@njit
def _total(listed, count, position, recent, numbers):
    """The sum of the last 63 bits, with the carry out of those below.

    They add less than one unit each. Where that could matter for one of the 24 highest bits, which
    is rare, they are added up.
    """
    inside = (ONE << uint64(40)) - ONE
    total = ZERO
    for e in range(count):
        u = listed[e]
        if u >= 0:
            total += recent[u]
        else:
            total -= recent[~u]
    if position > 63:
        near, room = total & inside, uint64(count)
        if near <= room or near >= inside - room:
            total += _carry(listed, count, position - 63, numbers)
    return total


@njit
def _right(starts, units, contexts, wanted, position, recent, numbers, right):
    """Where the sum of the bits below differs from what is wanted."""
    listed = np.zeros(_longest(starts, contexts), np.int64)
    for r in range(contexts.shape[0]):
        count = _listed(starts, units, contexts[r], recent.shape[0], listed)
        total = _total(listed, count, position, recent, numbers)
        right[r] = (total >> uint64(63)) ^ ((total >> uint64(62)) & ONE) ^ wanted[r]


@njit
def _ones(starts, units, contexts, position, recent, numbers, interval):
    """Whether the sum has the same bit at all of the `interval` positions below."""
    found = np.zeros(contexts.shape[0], np.bool_)
    listed = np.zeros(_longest(starts, contexts), np.int64)
    mask = (ONE << uint64(interval)) - ONE
    for r in range(contexts.shape[0]):
        count = _listed(starts, units, contexts[r], recent.shape[0], listed)
        bits = _total(listed, count, position, recent, numbers) >> uint64(63 - interval) & mask
        found[r] = bits == ZERO or bits == mask
    return found


@njit
def _carry(listed, count, bits, numbers):
    """The sum of the lowest `bits` bits of the numbers in the list, divided by 2**bits."""
    limbs = (bits >> 6) + 2
    total = np.zeros(limbs, np.uint64)
    for e in range(count):
        negative = listed[e] < 0
        u = ~listed[e] if negative else listed[e]
        carry = ZERO
        for q in range(limbs):
            limb = numbers[u, q] if q <= bits >> 6 and q < numbers.shape[1] else ZERO
            if q == bits >> 6:
                limb &= (ONE << uint64(bits & 63)) - ONE
            if negative:
                x = total[q] - limb
                borrow = total[q] < limb
                y = x - carry
                carry = ONE if borrow or x < carry else ZERO
            else:
                x = total[q] + limb
                over = x < limb
                y = x + carry
                carry = ONE if over or y < x else ZERO
            total[q] = y
    q, shift = bits >> 6, uint64(bits & 63)
    if shift == ZERO:
        return total[q]
    return total[q] >> shift | total[q + 1] << (uint64(64) - shift)


@njit
def _forms(starts, units, contexts, wanted, position, recent, numbers, directions, circuits):
    """The equations between right-hand sides as quadratic forms in the directions taken.

    circuits  [contexts] the equations in which its right-hand side takes part

    A right-hand side is the exclusive or of the two highest bits of the sum, T = (x, y) with x the
    lower one, and of what is wanted. A step in direction i changes the bits right below the
    position of some numbers, and T by d_i, modulo 4: +1 or -1 for each. Steps i and j together
    change it by d_i + d_j + 2 n, if n numbers are in both. With d_i = l_i + 2 h_i, the right-hand
    side changes by l_i + h_i + x l_i for i alone, and in addition by n + l_i l_j for i and j.
    """
    count = directions.shape[0]
    linear = np.zeros(count, np.uint64)
    square = np.zeros((count, count), np.uint64)
    flips = np.zeros(64 * directions.shape[1], np.uint64)  # of each number: which directions
    for i in range(count):
        for u in range(flips.shape[0]):
            flips[u] |= ((directions[i, u >> 6] >> uint64(u & 63)) & ONE) << uint64(i)
    listed = np.zeros(_longest(starts, contexts), np.int64)
    both = np.zeros(count, np.uint64)
    constant = ZERO
    for r in range(contexts.shape[0]):
        terms = _listed(starts, units, contexts[r], recent.shape[0], listed)
        total = _total(listed, terms, position, recent, numbers)
        x = (total >> uint64(62)) & ONE
        if (total >> uint64(63)) ^ x ^ wanted[r]:
            constant ^= circuits[r]
        low = high = ZERO
        both[:] = ZERO
        for e in range(terms):
            u = listed[e] if listed[e] >= 0 else ~listed[e]
            if u >= flips.shape[0] or flips[u] == ZERO:
                continue
            down = (recent[u] >> uint64(62)) & ONE
            if listed[e] < 0:
                down ^= ONE
            high ^= flips[u] & (~low if down else low)
            low ^= flips[u]
            for i in range(count):
                both[i] ^= flips[u] & (ZERO - ((flips[u] >> uint64(i)) & ONE))
        alone = high if x else low ^ high
        for i in range(count):
            if (alone >> uint64(i)) & ONE:
                linear[i] ^= circuits[r]
            pairs = both[i] ^ (low & (ZERO - ((low >> uint64(i)) & ONE)))
            for j in range(i):
                square[i, j] ^= circuits[r] & (ZERO - ((pairs >> uint64(j)) & ONE))
    for i in range(count):
        for j in range(i):
            square[j, i] = square[i, j]
    return constant, linear, square


@njit
def _flip(numbers, recent, position, direction):
    """Change the bits at the position, which are the highest in `recent`."""
    for u in range(64 * direction.shape[0]):
        if (direction[u >> 6] >> uint64(u & 63)) & ONE:
            recent[u] ^= ONE << uint64(62)
            numbers[u, position >> 6] ^= ONE << uint64(position & 63)


@njit
def _append(numbers, recent, position, solution):
    for u in range(recent.shape[0]):
        bit = ZERO
        if u >> 6 < solution.shape[0]:
            bit = (solution[u >> 6] >> uint64(u & 63)) & ONE
        recent[u] = recent[u] >> ONE | bit << uint64(62)
        numbers[u, position >> 6] |= bit << uint64(position & 63)


@njit
def _rewind(numbers, position, recent):
    """Erase the bits from the position on."""
    limb, mask = position >> 6, (ONE << uint64(position & 63)) - ONE
    for u in range(numbers.shape[0]):
        numbers[u, limb] &= mask
        numbers[u, limb + 1 :] = ZERO
        recent[u] = ZERO
        for place in range(max(0, position - 63), position):
            bit = (numbers[u, place >> 6] >> uint64(place & 63)) & ONE
            recent[u] |= bit << uint64(62 - (position - 1 - place))
