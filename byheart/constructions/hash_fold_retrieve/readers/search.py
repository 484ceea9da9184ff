"""Find the smallest network of the form with readers: survey hashes, then solve the best ones.

Deterministic: what is spent is counted in steps of the kernels, about one per nanosecond, never in
seconds.
"""

import math
import random
from dataclasses import dataclass, replace

import numpy as np

from ...base import Report
from ...retrieval.hashing import conflicts, fewest_folds
from ...retrieval.problem import Inputs, Problem
from ...retrieval.solve import Terms
from .layout import ReaderLayout, ReaderPlan, pairs_of
from .plan import cost, planned, structures
from .solve import equations, expected, solve
from .store import Solution, store
from .survey import Contexts, Draw, contexts_of, survey

MORE_FOLDS = (0, 1, 2, 3, 5, 8)  # token folds beyond the first guess, while contexts meet
MOST_EQUATIONS = 200_000  # beyond it, tables are as small and quicker to find
MOST_OF_WORDS = 40_000  # if labels have several bits: beyond it, tables take fewer bits, see docs
PATIENCE = 40  # hashes whose contexts meet, or that have no solution, one after another
UNSOLVED = 6  # those without a solution, from FEW contexts on: each takes as long as a solution
FEW = 4000


@dataclass(frozen=True)
class Effort:
    """How hard to look.

    plans      whose hashes are surveyed
    draws      hashes of each
    orders     places of the column gates tried with each hash
    luck       log2 of the right-hand sides that the solver may try
    solutions  to choose the shortest sums from
    shorten    steps of the search for short sums
    shorter    bits that a hash may have less than usual; those where contexts meet are dropped
    readings   choices of the bits that data folds read, to take the best from
    memory     positions that the solver may go back
    """

    plans: int
    draws: int
    orders: int
    luck: float
    solutions: int
    shorten: float
    shorter: int = 0
    readings: int = 1
    memory: int = 8


def effort_for(contexts: int, high: bool = False) -> Effort:
    """What is spent by default, or with a high effort: measured in benchmarks/effort.py.

    A shorter hash saves three parameters per fold, but contexts meet in most of its draws. With
    more luck and memory fewer numbers are enough.
    """
    if contexts <= 300:
        if high:
            return Effort(32, 20_000, 4, 16, 12, 1e7, 2, 100, 64)
        return Effort(16, 400, 4, 12, 6, 1e7)
    if contexts <= 4000:
        if high:
            return Effort(16, 10_000, 8, 17, 3, 2e7, 3, 32, 64)
        return Effort(6, 600, 8, 11, 4, 2e7)
    if contexts <= 40_000:
        if high:
            return Effort(6, 400, 80, 16, 1, 2e8, 3, 4, 64)
        return Effort(4, 40, 40, 11, 1, 2e8)
    if high:
        return Effort(5, 60, 240, 17, 1, 2e9, 3, 1, 200)
    return Effort(3, 8, 120, 11, 1, 1e9)


@dataclass(frozen=True, eq=False)
class Candidate:
    """A hash, and the plan with as many numbers as it needs."""

    nonzero: float
    plan: ReaderPlan
    draw: Draw


@dataclass(frozen=True, eq=False)
class Found:
    solution: Solution
    tries: int  # hashes that were looked at


def search(
    problem: Problem, objective: str, effort: Effort, seed: int, report: Report
) -> Found | None:
    """The smallest network that the search finds, or None."""
    contexts = contexts_of(problem)
    if contexts is None or not applies(problem):
        return None
    tries, best = 0, None
    for more in MORE_FOLDS:
        candidates, drawn = _surveyed(problem, contexts, objective, effort, more, seed)
        tries += drawn
        failed = unsolved = solved = 0
        most = PATIENCE if len(contexts) <= FEW else UNSOLVED
        for candidate in candidates:
            if failed == PATIENCE or unsolved == most or solved == effort.solutions:
                break
            if best is not None and candidate.nonzero >= best[0]:
                break
            if conflicts(candidate.draw.hashed.contexts, problem.labels):
                failed += 1
                continue
            found = _solved(problem, candidate, effort, f"{seed}/{more}/{failed}")
            if found is None:
                failed += 1
                unsolved += 1
                continue
            solved += 1
            price = cost(found.layout.plan, problem.task, found.guard).of(objective)
            if best is None or price < best[0]:
                best = price, found
        if best is not None:
            return Found(best[1], tries)
        if unsolved == UNSOLVED and len(contexts) > FEW and more:
            return None  # more token folds have not helped
        report(f"contexts meet: {more + 1} more token folds")
    return None


def applies(problem: Inputs) -> bool:
    """Fingerprints and very many equations are left to the form with tables."""
    task = problem.task
    most = MOST_EQUATIONS if task.code.longest == 1 else MOST_OF_WORDS
    return not task.marks and task.equations <= most


def first_plan(problem: Inputs, objective: str, effort: Effort) -> ReaderPlan | None:
    """The plan that is surveyed first; None if there is none."""
    if not applies(problem):
        return None
    plans = structures(problem.task, objective, effort.luck, 0, first_token_folds(problem))
    return plans[0] if plans else None


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
) -> tuple[list[Candidate], int]:
    """Hashes of the cheapest plans, and what each of them costs, cheapest first."""
    task, folds = problem.task, first_token_folds(problem) + more
    extra = more // 2 - effort.shorter
    plans = structures(task, objective, effort.luck, extra, folds)[: effort.plans]
    labels = problem.labels if effort.shorter else None
    found = []
    for number, plan in enumerate(plans):
        start = random.Random(f"{seed}/{more}/{number}").getrandbits(63)
        draws = survey(
            contexts, plan, problem.lengths, task.window, effort.luck, effort.draws, effort.orders,
            start, labels,
        )  # fmt: skip
        for draw in draws:
            full = planned(
                task, plan.cells, plan.gates, plan.folds, draw.unknowns, folds, plan.rows
            )
            if full is not None:
                found.append(Candidate(cost(full, task).of(objective), full, draw))
    return sorted(found, key=lambda c: c.nonzero), effort.draws * len(plans)


def _solved(problem: Problem, candidate: Candidate, effort: Effort, seed: str) -> Solution | None:
    plan, draw, window = candidate.plan, candidate.draw, problem.task.window
    rng = random.Random(seed)
    bare = ReaderLayout(plan, draw.gates, ())
    pairs, column = pairs_of(bare.roles), bare.column_of(draw.fired, draw.cell)
    words = problem.words(np.zeros(len(column), np.uint64))
    best: tuple[float, ReaderLayout, Terms] | None = None
    for _ in range(effort.readings):
        layout = replace(bare, reads=tuple(sorted(rng.sample(pairs, plan.reads))))
        terms, luck = layout.terms(draw.fired), math.log2(draw.trials)
        if effort.readings > 1:
            begins, contexts, _ = equations(column, problem.lengths, words, plan.columns, window)
            luck = expected(terms, begins, contexts, plan.unknowns)
        if best is None or luck < best[0]:
            best = luck, layout, terms
    assert best is not None
    luck, layout, terms = best
    if luck > effort.luck + 2:
        return None
    most = _most(problem, plan, max(draw.trials, 2**luck), terms)
    args = plan.unknowns, plan.columns, column, terms, words, problem.lengths, window
    numbers = solve(*args, rng.getrandbits(63), most, effort.memory)
    if numbers is None:
        return None
    return store(layout, draw, terms, numbers, window, effort.shorten)


def _most(problem: Problem, plan: ReaderPlan, trials: float, terms: Terms) -> float:
    """Several times the steps that are expected: reducing the systems, and trials of a position."""
    reducing = plan.columns * plan.unknowns**3 / 200 + 20 * len(terms.units)
    trial = len(terms.units) / plan.columns + 20 * plan.unknowns + 200
    patience = 40 if problem.task.contexts <= FEW else 10
    return 10 * reducing + patience * (trials + 20) * trial
