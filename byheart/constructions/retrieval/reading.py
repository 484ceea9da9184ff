"""The smallest network of the form with readers: survey hashes, solve the best ones, shorten sums.

Deterministic: what is spent is counted in steps of the kernels, about one per nanosecond, never in
seconds.

Only the K + 1 lowest bits of a stored number matter, so multiples of 2**(K + 1) may be added to it.
They are chosen so that the sums of all contexts are short: every bit of their length is a strip.
"""

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy import uint64
from numpy.typing import NDArray

from ...machine.kernels import njit
from ...machine.watch import Watch
from . import readers as forms
from .gf2 import ONE
from .hashing import conflicts, fewest_folds
from .plan import DRAWN
from .problem import Inputs, Problem, Task
from .solve import Patience, System, Terms, expected_trials, solve
from .survey import Contexts, contexts_of, survey

MORE_FOLDS = (0, 1, 2, 3, 5, 8)  # token folds beyond the first guess, while contexts meet
MAX_EQUATIONS = 5000  # beyond it, tables take fewer bits, and nearly as few parameters
MAX_CONTEXTS = 4000  # for which dense parameters are minimised with readers too
PATIENCE = 40  # hashes whose contexts meet, or that have no solution, one after another
# positions are fuller than those of tables
PATIENT = Patience(returns=400, returns_of_words=400, kept=16, missing=12, cheap=12)
MANY = 30_000_000  # terms beyond which numbers are only centred
MARGIN = 1e-9  # of the bounds, for sums in doubles


@dataclass(frozen=True)
class Effort:
    plans: int  # whose hashes are surveyed
    draws: int  # hashes of each
    orders: int  # places of the column gates tried with each hash
    luck: float  # log2 of the right-hand sides that the solver may try
    solutions: int  # to choose the shortest sums from
    shorten: float  # steps of the search for short sums
    # bits that a hash may have less than usual; those where contexts meet are dropped
    shorter: int = 0
    readings: int = 1  # choices of the bits that data folds read, to take the best from


def effort_for(contexts: int, high: bool = False) -> Effort | None:
    """What is spent by default, or with a high effort: measured in benchmarks/effort.py.

    None: nothing. Of many contexts only few have equations, or the form does not apply; then a
    survey takes many times as long as tables, and saves a seventh of the parameters. A shorter hash
    saves three per fold, but contexts meet in most of its draws.
    """
    if contexts > MAX_EQUATIONS:
        return effort_for(MAX_EQUATIONS) if high else None
    if contexts <= 300:
        if high:
            return Effort(32, 20_000, 4, 16, 12, 1e7, 2, 100)
        return Effort(16, 400, 4, 12, 6, 1e7)
    if high:
        return Effort(16, 10_000, 8, 17, 3, 2e7, 3, 32)
    return Effort(6, 600, 8, 11, 4, 2e7)


@dataclass(frozen=True, eq=False)
class Found:
    solution: forms.Solution
    tries: int  # hashes that were looked at


def search(
    problem: Problem, objective: str, effort: Effort | None, seed: int, watch: Watch
) -> Found | None:
    contexts = contexts_of(problem)
    if contexts is None or effort is None or not applies(problem, objective):
        return None
    tries, best = 0, None
    for more in MORE_FOLDS:
        candidates, drawn = _surveyed(problem, contexts, objective, effort, more, seed)
        tries += drawn
        failed = solved = 0
        for expected, plan, draw in candidates:
            if failed == PATIENCE or solved == effort.solutions:
                break
            if best is not None and expected >= best[0]:
                break
            if conflicts(draw.hashed.contexts, problem.labels):
                failed += 1
                continue
            found = _solved(problem, plan, draw, effort, f"{seed}/{more}/{failed}")
            if found is None:
                failed += 1
                continue
            solved += 1
            price = forms.cost(found.layout.plan, problem.task, found.guard).of(objective)
            if best is None or price < best[0]:
                best = price, found
        if best is not None:
            return Found(best[1], tries)
        watch.note(f"contexts meet: {more + 1} more token folds")
    return None


def applies(problem: Inputs, objective: str) -> bool:
    """Fingerprints and many equations are left to the form with tables."""
    task = problem.task
    few = task.equations <= MAX_EQUATIONS
    few = few or (objective == "dense" and task.contexts <= MAX_CONTEXTS)
    return few and not task.marks


def first_plan(problem: Inputs, objective: str, effort: Effort | None) -> forms.ReaderPlan | None:
    """The plan that is surveyed first; None if there is none."""
    if effort is None or not applies(problem, objective):
        return None
    luck = luck_of(problem.task, effort)
    plans = forms.structures(problem.task, objective, luck, 0, first_token_folds(problem))
    return plans[0] if plans else None


def luck_of(task: Task, effort: Effort) -> float:
    """log2 of the trials of the solver: where words are intervals it makes them one by one."""
    return DRAWN if task.code.interval else effort.luck


def first_token_folds(problem: Inputs) -> int:
    """Few: a conflict costs one more hash, a fold three parameters."""
    if problem.mixed:
        return 0
    few = max(0, int(0.56 * (math.log2(problem.task.contexts + 1) - 7)))
    if problem.draw:
        return few + 1
    top = 1 << max(4, math.ceil(2 * math.log2(problem.task.contexts + 1)))
    return few + fewest_folds(problem.columns, problem.sums.total, top)


def _surveyed(
    problem: Problem, contexts: Contexts, objective: str, effort: Effort, more: int, seed: int
) -> tuple[list[tuple[float, forms.ReaderPlan, forms.Draw]], int]:
    """Hashes of the cheapest plans, and what each of them costs, cheapest first."""
    task, folds = problem.task, first_token_folds(problem) + more
    extra = more // 2 - effort.shorter
    plans = forms.structures(task, objective, luck_of(task, effort), extra, folds)[: effort.plans]
    labels = problem.labels if effort.shorter else None
    words, luck = (problem.lengths, task.window, task.code.share), luck_of(task, effort)
    found = []
    for number, plan in enumerate(plans):
        start = random.Random(f"{seed}/{more}/{number}").getrandbits(63)
        tries = effort.draws, effort.orders
        for draw in survey(contexts, plan, *words, luck, *tries, start, labels):
            full = forms.planned(
                task, plan.cells, plan.gates, plan.folds, draw.unknowns, folds, plan.rows
            )
            if full is not None:
                found.append((forms.cost(full, task).of(objective), full, draw))
    return sorted(found, key=lambda candidate: candidate[0]), effort.draws * len(plans)


def _solved(
    problem: Problem, plan: forms.ReaderPlan, draw: forms.Draw, effort: Effort, seed: str
) -> forms.Solution | None:
    window, rng = problem.task.window, random.Random(seed)
    bare = forms.ReaderLayout(plan, draw.gates, ())
    pairs, column = forms.pairs_of(bare.folds), bare.shift(draw.fired, draw.cell)
    words = problem.words(np.zeros(len(column), np.uint64))

    def layouts() -> Iterator[tuple[forms.ReaderLayout, Terms]]:
        """Choices of the bits that data folds read, and the numbers that contexts then add up."""
        for _ in range(effort.readings):
            layout = replace(bare, reads=tuple(sorted(rng.sample(pairs, plan.reads))))
            yield layout, layout.terms(draw.fired)

    def system(terms: Terms, lowest: bool) -> System:
        lengths, interval = problem.lengths, problem.task.code.interval
        return System(plan.columns, column, terms, words, lengths, window, lowest, None, interval)

    if effort.readings == 1 or problem.task.code.interval:
        layout, terms = next(layouts())
    else:
        trials = ((expected_trials(system(x[1], False), plan.unknowns), x) for x in layouts())
        luck, (layout, terms) = min(trials, key=lambda pair: pair[0])
        if luck > effort.luck + 2:
            return None
    numbers = solve(system(terms, True), plan.unknowns, patience=PATIENT)
    if numbers is None:
        return None
    return store(layout, draw, terms, numbers, window, effort.shorten)


def store(
    layout: forms.ReaderLayout,
    draw: forms.Draw,
    terms: Terms,
    numbers: Sequence[int],
    window: int,
    steps: float,
) -> forms.Solution:
    """The numbers with the shortest sums that are found, and the scale of the hash above them."""
    plan, modulus = layout.plan, 1 << (layout.plan.columns + window)
    values = np.array([number / modulus for number in numbers])
    values[values >= 0.5] -= 1
    shift = layout.shift(draw.fired, np.zeros_like(draw.cell))
    sums = terms.sums(values)
    guard = -1
    while not _within(sums, *_bounds(plan, draw.cell, shift, guard)):
        guard += 1
    if len(terms.units) <= MANY:
        passes = max(5, int(steps / len(terms.units)))
        readers = _readers(terms.starts, terms.units, len(values))
        while guard > -1:
            shorter, low_high = values.copy(), _bounds(plan, draw.cell, shift, guard - 1)
            if not _shorten.compiled(*readers, sums.copy(), shorter, *low_high, passes):
                break
            guard, values = guard - 1, shorter
            sums = terms.sums(values)
    whole = [round(v - n / modulus) for v, n in zip(values.tolist(), numbers, strict=True)]
    placed = [n + w * modulus for n, w in zip(numbers, whole, strict=True)]
    reach = _reach(draw.fired, layout.program, values)
    scale = plan.columns + window + max(0, math.ceil(math.log2(reach * (1 + MARGIN))))
    return forms.Solution(layout, draw, placed, window, guard, scale)


def _bounds(
    plan: forms.ReaderPlan, cell: NDArray, shift: NDArray, guard: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Where the sum P of each context must lie, in units of 2**(K + 1).

    With E = columns - 1 + guard, Y = (-2)**cell P is the zigzag's value: |Y| < 2**E, or with column
    gates, where `lift` is added and the result shifted, 0 < Y + lift < 2**(E + 1 - shift).
    """
    edge = plan.columns - 1 + guard
    sign = np.where(cell % 2, -1.0, 1.0)
    if plan.gates:
        lift = 2.0 ** forms.lift_of(plan, guard)
        least, most = -lift, np.exp2(np.minimum(edge + 1 - shift, 900)) - lift
    else:
        least, most = -(2.0**edge), np.full(len(cell), 2.0**edge)
    scale = sign * np.exp2(-cell) * (1 - MARGIN)
    return np.minimum(least * scale, most * scale), np.maximum(least * scale, most * scale)


@njit
def _within(sums, low, high):
    return np.all((low < sums) & (sums < high))


@njit
def _readers(starts, units, unknowns):
    """The contexts that read each number: ~i if they subtract it."""
    first = np.zeros(unknowns + 1, np.int64)
    for e in range(units.shape[0]):
        first[(units[e] if units[e] >= 0 else ~units[e]) + 1] += 1
    first = np.cumsum(first)
    place, contexts = first.copy(), np.zeros(units.shape[0], np.int32)
    for i in range(starts.shape[0] - 1):
        for e in range(starts[i], starts[i + 1]):
            u = units[e] if units[e] >= 0 else ~units[e]
            contexts[place[u]] = i if units[e] >= 0 else ~i
            place[u] += 1
    return first, contexts


@njit
def _shorten(first, contexts, sums, values, low, high, passes):
    """Add whole numbers to values until all sums are within their bounds; False if that fails.

    Greedy: a change is made if it lessens the weighted violations. Where none does, the weights of
    the violated bounds grow (the breakout method).
    """
    weights = np.ones(sums.shape[0])
    for _ in range(passes):
        changed = False
        for u in range(values.shape[0]):
            gain_up = gain_down = 0.0
            for e in range(first[u], first[u + 1]):
                i, sign = contexts[e], 1.0
                if i < 0:
                    i, sign = ~i, -1.0
                x, a, b = sums[i], low[i], high[i]
                now = max(0.0, x - b, a - x)
                up, down = x + sign, x - sign
                gain_up += weights[i] * (max(0.0, up - b, a - up) - now)
                gain_down += weights[i] * (max(0.0, down - b, a - down) - now)
            if min(gain_up, gain_down) > -1e-9:
                continue
            step = 1.0 if gain_up <= gain_down else -1.0
            values[u] += step
            for e in range(first[u], first[u + 1]):
                i = contexts[e]
                if i >= 0:
                    sums[i] += step
                else:
                    sums[~i] -= step
            changed = True
        if not changed:
            if _within(sums, low, high):
                return True
            weights += (sums <= low) | (high <= sums)
    return _within(sums, low, high)


@njit
def _reach(fired, program, values):
    """The largest distance of a payload from what a fold stores, halved, and of the final sums."""
    folds, tables, reach = len(program.stored), len(program.place), 0.0
    rows, lanes = np.zeros(tables, np.int64), np.zeros(len(program.fires))
    for i in range(fired.shape[0]):
        rows[:] = 0
        for t in range(folds):
            if program.table[t] >= 0 and (fired[i] >> uint64(t)) & ONE:
                rows[program.table[t]] += program.weight[t]
        for lane in range(len(lanes)):
            lanes[lane] = 0.0
            for r in range(tables):
                unit = program.begin[r] + lane * program.stride[r] + rows[r] - 1
                if rows[r] and unit < program.end:
                    lanes[lane] += values[unit]
        payload = 0.0
        for t in range(folds - 1, -1, -1):
            number = values[program.stored[t]] if program.stored[t] >= 0 else 0.0
            for e in range(program.first[t], program.first[t + 1]):
                if (fired[i] >> uint64(program.kept[e])) & ONE:
                    number += values[program.numbers[e]]
            for lane in range(len(lanes)):
                if program.fires[lane] == ONE << uint64(t):
                    number += lanes[lane]
            reach = max(reach, abs(payload - number / 2))
            if (fired[i] >> uint64(t)) & ONE:
                payload = number - payload
            if tables and program.place[0] == t:
                payload += lanes[0]
        reach = max(reach, abs(payload + values[0]))
    return reach
