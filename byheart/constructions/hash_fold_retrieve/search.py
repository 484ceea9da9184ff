"""Find a plan, a hash and stored numbers that work: a bounded, deterministic search.

Cheapest plans first. Each attempt hashes the contexts with the next seed and can fail in three
ways, each with its own remedy: contexts with different labels meet (more token folds, then mix
folds and a longer hash), a bit position is too full (more stored numbers), or a linear system has
no solution (more lanes). Nothing is trusted: the caller verifies the finished network.
"""

import math
import random
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ...errors import ByheartError
from .assemble import Storage
from .balance import balance
from .cost import Task
from .hashing import Hash, Sums, conflicts, fewest_folds, hash_contexts
from .layout import Layout, Plan, fold_bits
from .plan import candidates
from .plan import load as expected_load
from .solve import _coefficients, solve

# random contexts leave the fullest position at most so far above the mean, in units of plan.load
RANDOM = 1.0
SLACK = (4, 12, 1 << 30)  # unknowns beyond the fullest position; at last all of the plan's


@dataclass(frozen=True, eq=False)
class Problem:
    """Contexts and the words they must give.

    columns   [columns, coordinates] integers, the distinct input columns
    sums      from columns to contexts
    labels    [contexts] label numbers in the order of the code
    draw      whether tokens are ids whose numbers are drawn
    """

    task: Task
    columns: NDArray
    sums: Sums
    labels: NDArray
    draw: bool = False

    @property
    def mixed(self) -> bool:
        """Whether a token's number needs no folds: it is drawn, and no position is added."""
        return self.draw and self.columns.shape[1] == 1


@dataclass(frozen=True, eq=False)
class Found:
    plan: Plan
    hashed: Hash
    storage: Storage
    tries: int
    notes: tuple[str, ...]  # what had to be enlarged, in the order it happened


@dataclass
class _Needs:
    """What the failures so far have taught."""

    spare: float
    slack: int
    token_folds: int
    mix_folds: int = 0
    hash_bits: int = 0  # beyond what random contexts need
    loosened: int = 0  # how often token folds were added because of it
    # the fullest position at best since the last remedy, in units of plan.load
    crowded: float = math.inf


@dataclass(frozen=True)
class Effort:
    """How hard to look: a small problem is cheap to try again, a large one had better work at once.

    attempts   at most
    conflicts  in a row before the hash is enlarged
    failures   of another kind before the plan is
    plans      tried side by side
    balancing  orders of the folds to look at
    spare      first guess of the fullest position, in units of plan.load
    slack      first guess of the numbers beyond its equations
    """

    attempts: int
    conflicts: int
    failures: int
    plans: int
    balancing: int
    spare: float
    slack: int


def effort(contexts: int) -> Effort:
    if contexts <= 4000:
        patience = 16 if contexts <= 1000 else 8
        return Effort(600, patience, patience, 2, 24, 0.08, 2)
    if contexts <= 40_000:
        return Effort(150, 6, 3, 1, 150, 0.3, 5)
    return Effort(60, 6, 1, 1, 200, 0.45, 8)


def search(problem: Problem, objective: str, seed: int, report: Callable[[str], None]) -> Found:
    """The first success; ByheartError after a bounded number of attempts."""
    task = problem.task
    limits = effort(task.contexts)
    needs = _Needs(limits.spare, limits.slack, _first_token_folds(problem))
    misses = {"fit": 0, "conflict": 0, "load": 0, "rank": 0}
    patience = {
        "fit": 1,
        "conflict": limits.conflicts,
        "load": limits.failures,
        "rank": limits.failures,
    }
    notes: list[str] = []
    options: list[Plan] = []
    for attempt in range(limits.attempts):
        if not options:
            found = candidates(task, objective, needs.spare, needs.slack, needs.hash_bits)
            options = found[: limits.plans]
        if not options:
            raise ByheartError("no plan of this family is large enough for so many contexts")
        plan = options[attempt % len(options)]
        fewest = (
            0 if problem.draw else fewest_folds(problem.columns, problem.sums.total, plan.top_value)
        )
        folds = 0 if problem.mixed else fewest + needs.token_folds
        plan = replace(plan, token_folds=folds, mix_folds=needs.mix_folds)
        outcome = _attempt(problem, plan, random.Random(f"{seed}/{attempt}"), limits.balancing)
        if isinstance(outcome, tuple):
            return Found(plan, *outcome, attempt + 1, tuple(notes))
        misses[outcome.reason] += 1
        if outcome.reason != "conflict":
            misses["conflict"] = 0
        if outcome.reason == "load":
            mean, excess = expected_load(task, plan.columns)
            needs.crowded = min(needs.crowded, (outcome.load - mean) / excess)
        if misses[outcome.reason] >= patience[outcome.reason]:
            misses[outcome.reason] = 0
            options = []
            notes.append(_remedy(outcome.reason, needs))
            report(notes[-1])
    raise ByheartError(
        f"no hash separated all {task.contexts} contexts within {limits.attempts} attempts; "
        "try another --seed"
    )


def _first_token_folds(problem: Problem) -> int:
    """Enough to tell random contexts apart; with fingerprints, strangers must not meet them either.

    A few folds leave many tokens on one straight piece, where equal sums give equal H. Each fold
    makes half as many pieces again; with 300 pieces a token, only chance makes sums equal.
    """
    few = max(1, round(math.log2(problem.task.contexts + 1) / 2) - 2)
    if not problem.task.marks:
        return few
    return max(few, math.ceil(math.log(len(problem.columns)) / math.log(1.5)) + 14)


def _remedy(failure: str, needs: _Needs) -> str:
    """Enlarge what the failure asks for, and say so."""
    if failure in ("fit", "conflict"):
        needs.token_folds += max(1, needs.token_folds // 8)
        needs.hash_bits += 1
        if failure == "conflict":
            needs.mix_folds += needs.token_folds > 12
        return (
            f"contexts meet: {needs.token_folds} token folds, {needs.mix_folds} mix folds, "
            f"{needs.hash_bits} more hash bits"
        )
    crowded, needs.crowded = needs.crowded, math.inf
    if failure == "load" and crowded > RANDOM and needs.loosened < 3:
        needs.loosened += 1
        needs.token_folds += max(1, needs.token_folds // 4)
        return f"contexts crowd: {needs.token_folds} token folds"
    if failure == "load":
        needs.spare = max(needs.spare + 0.03, crowded - 0.05)
        return f"a bit position is too full: {needs.spare:.2f} of the random excess spared"
    needs.hash_bits += needs.slack >= 8
    needs.slack += 2 if needs.slack < 8 else 6
    return f"the stored numbers are not independent: {needs.slack} more than equations"


@dataclass(frozen=True)
class _Failure:
    reason: str
    load: int = 0


def _attempt(
    problem: Problem, plan: Plan, rng: random.Random, balancing: int
) -> tuple[Hash, Storage] | _Failure:
    task = problem.task
    hashed = hash_contexts(
        problem.columns,
        problem.sums,
        plan.top_value,
        plan.token_folds,
        plan.mix_folds,
        rng,
        problem.draw,
    )
    if hashed is None:
        return _Failure("fit")
    if conflicts(hashed.contexts, problem.labels):
        return _Failure("conflict")
    bits = fold_bits(hashed.contexts, plan)
    lengths = np.array(task.code.lengths, dtype=np.int64)[problem.labels] + task.marks
    layout, load = balance(plan, bits, lengths, task.window, balancing, rng)
    if load > plan.unknowns:
        return _Failure("load", load)
    for slack in SLACK:
        fitted = replace(layout, unknowns=min(plan.unknowns, max(load + slack, _fewest(layout))))
        numbers = solve(
            fitted, bits, _words(task, fitted, bits, problem.labels), lengths, task.window
        )
        if numbers is not None:
            return hashed, _storage(fitted, bits, numbers, task.window)
        if fitted.unknowns == plan.unknowns:
            break
    return _Failure("rank", load)


def _fewest(layout: Layout) -> int:
    """Only cells of the last table can be left out."""
    return layout.table_start[-1] if layout.table_start else layout.unknowns


def _words(task: Task, layout: Layout, bits: NDArray, labels: NDArray) -> NDArray[np.uint64]:
    """Fingerprint and code word of each context, Gray coded.

    Bit i of the word is the xor of stored bits 0..i.
    """
    width = task.code.longest
    words = np.array(task.code.words(width), dtype=np.uint64)[labels]
    words |= layout.marks_of(bits) << np.uint64(width)
    return words ^ (words >> np.uint64(1))


@njit(cache=True, nogil=True)
def _extremes(bits, arrays, values, units, signs):
    """The smallest and the largest sum over all contexts."""
    low, high = np.inf, -np.inf
    for i in range(bits.shape[0]):
        used = _coefficients(bits[i], arrays, units, signs)
        total = 0.0
        for e in range(used):
            total += signs[e] * values[units[e]]
        low = min(low, total)
        high = max(high, total)
    return low, high


def _storage(layout: Layout, bits: NDArray, numbers: list[int], window: int) -> Storage:
    """Centre the numbers in thresholds, find the constant and the lengths.

    Numbers matter modulo 2**(K + 1) only, so those in thresholds may be negative; the constant
    grows until every sum is positive.
    """
    digits = layout.columns + window  # K + 1
    modulus = 1 << digits
    numbers = list(numbers)
    for unit in layout.stored.values():
        if numbers[unit] >= modulus // 2:
            numbers[unit] -= modulus
    values = np.array([float(x / modulus) for x in numbers])
    size = len(numbers) + 1
    low, high = _extremes(
        bits, layout.arrays, values, np.zeros(size, np.int64), np.zeros(size, np.int64)
    )
    lift = max(0, math.ceil(-low + 1e-6))
    longest = digits + math.ceil(math.log2(high + lift + 1e-6))
    constant = numbers[0] + lift * modulus
    return Storage(layout, numbers, constant, longest, _scale(layout, numbers, digits), window)


def _scale(layout: Layout, numbers: list[int], digits: int) -> int:
    """Room for the payload under the hash.

    |P - e/2| <= 2**(scale - 2) whatever folds fire, and lanes stay below 2**scale.
    """
    low = high = 0
    reach = 1
    tables = {place: r for r, place in enumerate(layout.table_place)}
    for place in reversed(range(len(layout.folds))):
        stored = layout.stored.get(place)
        number = numbers[stored] if stored is not None else 0
        reach = max(reach, abs(2 * low - number), abs(2 * high - number))
        low, high = min(low, number - high), max(high, number - low)
        if layout.plan.narrow and place in tables:
            table = tables[place]
            cells = [layout.cell(table, 0, row) for row in range(1, layout.plan.tables[table])]
            high += max((numbers[c] for c in cells if c is not None), default=0)
    sums = layout.plan.lanes * (len(layout.plan.tables) + 1) << digits
    return max((reach // 2).bit_length() + 2, sums.bit_length())
