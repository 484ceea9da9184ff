"""Two blocks: every stored number holds two numbers, and the folds between them hold more.

A stored number is x = a S + b with S a large power of two, so a context's stored sum is
v = A S + B, where A is a sum of numbers a and B one of numbers b, with the same signs. One fold of
the hash, the block bit, decides which of the two is the context's own.

upper   A context of the upper block reads its word from A; B is a fraction of a unit S.
lower   For a context of the lower block v is multiplied by S ("block shift"). Then A is folded away
        ("block fold"), from its highest bit t = m - 1 down to t = 0: the fold at
        (2**t - 1/2) S**2 + e_t S / 2 turns A >= 2**t into 2**(t + 1) - 1 - A, and B into e_t - B.
        At the end v = B' S, and the word is read from B'.

The thresholds of the first folds are long, since they begin at the highest bits of A and end at the
lowest bit of e_t. So folds from t = h on hold no number ("block strip"): they fold at 2**t S**2,
which turns A into 2**(t + 1) - A and B into -B. What they leave of A is its distance from the
nearest multiple of 2**(h + 1), and B has changed its sign if bit h of A was 1; no A ends in h
zeros. From here on A is what they leave, and B too.

Which of these folds fire depends on A alone. A fold that fires complements the bits of A from t
down, so fold t fires if bits t and t + 1 of A differ, and after it an odd number of folds fire if
bits t and 0 differ. Hence B' is the sum of B (with a minus sign if A is odd) and of the numbers e_t
of the folds that fire (with a minus sign if bits t and 0 differ).

The upper block is solved first. Then A is known for every context, and the numbers b and e_t of the
lower block satisfy the same kind of equations as the numbers a before, with m more unknowns. The m
folds, which take three parameters each in any case, hold m numbers.

No value comes near a threshold. At every fold |B - e_t / 2| <= S / 4, so v is S**2 / 4 or more away
from the threshold; in the upper block v < S**2 / 4 and |B| <= S / 4. Shifts, strip and reader
follow for both blocks alike, in units of S.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numba import uint64
from numpy.typing import NDArray

from ...gadgets.blocks import Block, fold
from ...machine.kernels import njit
from ..retrieval.gf2 import ONE, ZERO
from ..retrieval.plan import Storage
from ..retrieval.problem import Problem
from ..retrieval.solve import Terms, solve
from .layout import FoldLayout

NEAR = 1e-6  # more than the error of any sum in doubles, in units of 2**(K + 1)


@dataclass(frozen=True, eq=False)
class BlockStorage(Storage):
    """Solved numbers of two blocks: `unit` is S, and `digits` those of A and B' after the folds.

    folded  the number e_t of each fold that has one, t = 0 first
    lift    added after the folds, so that A and B' are positive
    bare    folds above these, without numbers
    """

    folded: Sequence[int] = ()
    lift: int = 0
    bare: int = 0


def solved(
    problem: Problem, layout: FoldLayout, hashes: NDArray[np.uint64], load: int
) -> BlockStorage | None:
    """The numbers of the upper block, then those of the lower one; None if there are none."""
    plan, window = layout.plan, problem.task.window
    modulus = 1 << plan.columns + window
    upper, column = layout.upper_of(hashes), layout.column_of(hashes)
    words, lengths = problem.words(layout.marks_of(hashes)), problem.lengths
    first, most = max(load, layout.fewest), plan.unknowns

    def found(block: NDArray[np.bool_], terms: Terms) -> list[int] | None:
        of_block = column[block], terms, words[block], lengths[block]
        numbers = terms.folds + first, terms.folds + most
        # those of the folds, which most contexts read, come last
        order = np.append(terms.folds + layout.elimination, np.arange(terms.folds))
        return solve(numbers[0], plan.columns, *of_block, window, numbers[1], True, order)

    upper_terms, lower_terms = layout.terms(hashes[upper]), layout.terms(hashes[~upper])
    a = found(upper, upper_terms)
    if a is None:
        return None
    a = layout.centred(a, modulus)
    low, high = extremes(lower_terms, a, modulus)
    lift = max(0, math.ceil(NEAR - low))
    a[0] += lift * modulus
    folds = (modulus << math.ceil(math.log2(high + lift + NEAR))).bit_length() - 1
    held = folds if plan.held == plan.above else min(plan.held, folds)
    sums = upper_sums(lower_terms, a, folds)
    turned = sums.copy()
    if held < folds and not _nearest(sums, held, turned):
        return None
    above = np.ascontiguousarray(turned[:, : -(-held // 64)])
    _follow(*lower_terms.arrays[:2], sums, above, held, folds)
    lower_terms = replace(lower_terms, above=above, folds=held)
    b = found(~upper, lower_terms)
    if b is None:
        return None
    e = [number - modulus * (2 * number >= modulus) for number in b[:held]]
    return _placed(layout, window, a, b[held:], e, folds - held, upper_terms, lower_terms)


def _placed(
    layout: FoldLayout,
    window: int,
    a: list[int],
    b: list[int],
    e: list[int],
    bare: int,
    upper_terms: Terms,
    lower_terms: Terms,
) -> BlockStorage:
    """S, and what is added so that no sum is negative and those of numbers b are around 0."""
    size = layout.plan.columns + window  # K + 1
    modulus = 1 << size
    b = layout.centred(b, modulus)
    a += [0] * (len(b) - len(a))
    b += [0] * (len(a) - len(b))
    b[0] -= round(sum(extremes(upper_terms, b, modulus)) / 2) * modulus
    reach, low, high = _reflected(*lower_terms.arrays, floats([*e, *b], modulus))
    reach = max(reach, *map(abs, extremes(upper_terms, b, modulus)))
    least, most = extremes(upper_terms, a, modulus)
    lift = max(0, math.ceil(NEAR - min(least, low)))
    digits = size + math.ceil(math.log2(max(most, high) + lift + NEAR))
    room = max(4 * reach, 4 * (most + 1))  # for B, and for A below S / 4
    unit = modulus << math.ceil(math.log2(room + NEAR))
    numbers = [x * unit + y for x, y in zip(a, b, strict=True)]
    layout = layout.sized(len(numbers))
    hash_unit = Fraction(1 << layout.scale(numbers, numbers, modulus * unit))
    return BlockStorage(
        *(layout, numbers, digits, window, Fraction(unit), hash_unit, numbers[0]),
        tuple(e),
        lift * modulus,
        bare,
    )


def extremes(terms: Terms, numbers: Sequence[int], modulus: int) -> tuple[float, float]:
    """The smallest and the largest sum over all contexts, in units of the modulus."""
    return _extremes(terms.starts, terms.units, floats(numbers, modulus))


def floats(numbers: Sequence[int], modulus: int) -> NDArray[np.float64]:
    return np.array([float(Fraction(number, modulus)) for number in numbers])


@njit
def _sum(starts, units, values, i):
    total = 0.0
    for e in range(starts[i], starts[i + 1]):
        unit = units[e]
        if (unit if unit >= 0 else ~unit) < values.shape[0]:
            total += values[unit] if unit >= 0 else -values[~unit]
    return total


@njit
def _extremes(starts, units, values):
    low, high = np.inf, -np.inf
    for i in range(starts.shape[0] - 1):
        total = _sum(starts, units, values, i)
        low = min(low, total)
        high = max(high, total)
    return low, high


def upper_sums(terms: Terms, numbers: Sequence[int], bits: int) -> NDArray[np.uint64]:
    """[contexts, words] the sum of each context, which is in [0, 2**bits), lowest word first."""
    words = -(-bits // 64)
    mask = (1 << 64 * words) - 1
    limbs = b"".join((number & mask).to_bytes(8 * words, "little") for number in numbers)
    sums = np.zeros((len(terms.starts) - 1, words), np.uint64)
    _sums(terms.starts, terms.units, np.frombuffer(limbs, "<u8").reshape(-1, words), sums)
    return sums


@njit
def _sums(starts, units, numbers, sums):
    for i in range(sums.shape[0]):
        for e in range(starts[i], starts[i + 1]):
            unit = units[e]
            u = unit if unit >= 0 else ~unit
            if u >= numbers.shape[0]:
                continue
            # minus a number is its complement and 1
            flip = ZERO if unit >= 0 else ~ZERO
            carry = ZERO if unit >= 0 else ONE
            for q in range(sums.shape[1]):
                limb = numbers[u, q] ^ flip
                total = sums[i, q] + limb
                over = total < limb
                total += carry
                carry = ONE if over or total < carry else ZERO
                sums[i, q] = total


@njit
def _nearest(sums, held, turned):
    """Distances from the nearest multiples of 2**(held + 1); False if one is 0 or 2**held."""
    limb, mask = held >> 6, (ONE << uint64(held & 63)) - ONE
    for i in range(sums.shape[0]):
        odd = (sums[i, limb] >> uint64(held & 63)) & ONE
        rest, carry = ZERO, odd
        for q in range(sums.shape[1]):
            value = sums[i, q] if q < limb else sums[i, q] & mask if q == limb else ZERO
            rest |= value
            if odd:  # minus the number is its complement and 1
                value = ~value + carry
                carry = carry & (ONE if value == ZERO else ZERO)
            turned[i, q] = value if q < limb else value & mask if q == limb else ZERO
        if rest == ZERO:
            return False
    return True


@njit
def _follow(starts, units, sums, above, held, folds):
    """Number the numbers b after those of the folds, with their signs after all folds."""
    for i in range(above.shape[0]):
        negative = above[i, 0] & ONE
        if held < folds:
            negative ^= (sums[i, held >> 6] >> uint64(held & 63)) & ONE
        for e in range(starts[i], starts[i + 1]):
            unit = units[e] + held if units[e] >= 0 else units[e] - held
            units[e] = ~unit if negative else unit


@njit
def _reflected(starts, units, above, folds, values):
    """How far B - e_t / 2 is from 0 at any fold, and the extremes of B'."""
    reach, low, high = 0.0, np.inf, -np.inf
    for i in range(above.shape[0]):
        total = _sum(starts, units, values, i)
        if above[i, 0] & ONE:
            total = -total
        reach = max(reach, abs(total))
        higher = ZERO
        for t in range(folds - 1, -1, -1):
            bit = (above[i, t >> 6] >> uint64(t & 63)) & ONE
            reach = max(reach, abs(total - values[t] / 2))
            if bit != higher:
                total = values[t] - total
            higher = bit
        low = min(low, total)
        high = max(high, total)
    return reach, low, high


def part(storage: BlockStorage) -> Iterator[Block]:
    """The lower block's contexts lose A; lane q is 0 for them and closed for the others.

    At the end v is a multiple of S / 2 there, and for the others S / 4 or more away from multiples
    of S.
    """
    unit, held = storage.unit, len(storage.folded)
    yield Block("block shift", [({"v": 1, "q": 1}, 0)], [("v", 0, unit - 1)])
    for t in reversed(range(held, held + storage.bare)):
        yield fold("block strip", "v", (1 << t) * unit**2)
    for t, number in reversed(list(enumerate(storage.folded))):
        threshold = ((2 << t) - 1) * unit**2 / 2 + number * unit / 2
        constants = {"v": storage.lift * unit + unit / 2} if t == 0 else {}
        yield replace(fold("block fold", "v", threshold), constants=constants)
