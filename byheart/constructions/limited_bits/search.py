"""Find a plan, a hash and stored numbers within the limits: a bounded, deterministic search.

Cheapest plans first. Each attempt hashes the contexts with the next seed and can fail in several
ways, each with its own remedy: contexts with different labels meet (more token folds, then mix
folds and a longer hash), a bit position is too full (more stored numbers), a linear system has no
solution (more still), or something is too long for the limits. Nothing is trusted: the caller
verifies the finished network.
"""

import math
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..hash_fold_retrieve.cost import Task
from ..hash_fold_retrieve.hashing import Hash, conflicts, fewest_folds, hash_contexts
from ..hash_fold_retrieve.plan import load as expected_load
from ..hash_fold_retrieve.search import Effort, Problem, effort
from .balance import balance
from .layout import Plan, separated
from .limits import Limits
from .plan import candidates
from .solve import solve
from .storage import Storage


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
    guard: int = 0  # bits of a sum beyond what is expected
    most_folds: int = 1 << 30  # more folds of the tokens, or of their sum, are too long
    most_mix: int = 1 << 30
    crowded: float = math.inf  # the fullest position at best since the last remedy


@dataclass(frozen=True)
class _Failure:
    reason: str  # "fit", "long", "conflict", "load", "rank" or "digits"
    load: int = 0


def search(
    problem: Problem,
    limits: Limits,
    grain: int,
    objective: str,
    seed: int,
    report: Callable[[str], None],
) -> Found | None:
    """The first success, or None if nothing was found within the limits."""
    if _extent(problem.columns).bit_length() - 2 > limits.token_bits:
        return None
    trouble = effort(problem.task.contexts)
    folds = max(1, round(math.log2(problem.task.contexts + 1) / 2) - 2)
    needs = _Needs(trouble.spare, trouble.slack, folds)
    misses: Counter[str] = Counter()
    notes: list[str] = []
    options = _options(problem, limits, objective, needs, trouble)
    for attempt in range(trouble.attempts if options else 0):
        plan = options[attempt % len(options)]
        rng = random.Random(f"{seed}/{attempt}")
        outcome = _attempt(problem, limits, grain, plan, rng, trouble.balancing)
        if isinstance(outcome, tuple):
            return Found(plan, *outcome, attempt + 1, tuple(notes))
        _learn(outcome, needs, problem.task, plan)
        misses[outcome.reason] += 1
        if misses[outcome.reason] < _patience(outcome.reason, trouble):
            continue
        misses[outcome.reason] = 0
        notes.append(_remedy(outcome.reason, needs, plan))
        report(notes[-1])
        before, options = options, _options(problem, limits, objective, needs, trouble)
        if not options or (options == before and outcome.reason in ("fit", "long", "conflict")):
            break  # the limits leave no room for the remedy
    return None


def _learn(outcome: _Failure, needs: _Needs, task: Task, plan: Plan) -> None:
    """How crowded the fullest position is, in units of plan.load."""
    if outcome.reason == "load":
        mean, excess = expected_load(task, plan.columns)
        needs.crowded = min(needs.crowded, (outcome.load - mean) / excess)


def _extent(columns: NDArray) -> int:
    """The room that the widest coordinate takes: the first token fold is at half of it or above."""
    highs, lows = columns.max(axis=0), columns.min(axis=0)
    return max(int(high) - min(0, int(low)) for high, low in zip(highs, lows, strict=True))


def _options(
    problem: Problem, limits: Limits, objective: str, needs: _Needs, trouble: Effort
) -> list[Plan]:
    """The cheapest plans, with their folds before the digits."""
    found = candidates(
        problem.task, limits, objective, needs.spare, needs.slack, needs.hash_bits, needs.guard
    )
    plans = []
    for plan in found[: trouble.plans]:
        fewest = fewest_folds(problem.columns, problem.sums.total, plan.top_value)
        folds = min(fewest + needs.token_folds, needs.most_folds)
        mix = min(needs.mix_folds, needs.most_mix)
        plans.append(replace(plan, token_folds=folds, mix_folds=mix))
    return plans


def _patience(reason: str, trouble: Effort) -> int:
    """Misses of a kind before something is enlarged."""
    if reason == "conflict":
        return trouble.conflicts
    return trouble.failures if reason in ("load", "rank") else 1


def _remedy(failure: str, needs: _Needs, plan: Plan) -> str:
    """Enlarge what the failure asks for, and say so."""
    if failure == "long":
        if plan.mix_folds:
            needs.most_mix = plan.mix_folds - 1
        else:
            needs.most_folds = max(0, plan.token_folds - 1)
        return f"the hash is too long: at most {needs.most_folds} token folds"
    if failure == "digits":
        needs.guard += 1
        return "the stored sums are too long: a bit less in each number"
    if failure in ("fit", "conflict"):
        needs.token_folds += max(1, needs.token_folds // 8)
        needs.hash_bits += 1
        if failure == "conflict":
            needs.mix_folds += needs.token_folds > 12
        return (
            f"contexts meet: {needs.token_folds} token folds, {needs.mix_folds} mix folds, "
            f"{needs.hash_bits} more hash bits"
        )
    if failure == "load":
        needs.spare = max(needs.spare + 0.03, needs.crowded - 0.05)
        needs.crowded = math.inf
        return f"a bit position is too full: {needs.spare:.2f} of the random excess spared"
    needs.hash_bits += needs.slack >= 8
    needs.slack += 2 if needs.slack < 8 else 6
    return f"the stored numbers are not independent: {needs.slack} more than equations"


def _attempt(
    problem: Problem, limits: Limits, grain: int, plan: Plan, rng: random.Random, balancing: int
) -> tuple[Hash, Storage] | _Failure:
    task = problem.task
    hashed = hash_contexts(
        problem.columns, problem.sums, plan.top_value, plan.token_folds, plan.mix_folds, rng
    )
    if hashed is None:
        return _Failure("fit")
    if not limits.holds_hash(hashed, grain):
        return _Failure("long")
    if conflicts(separated(hashed.contexts, plan), problem.labels):
        return _Failure("conflict")
    lengths = np.array(task.code.lengths, dtype=np.int64)[problem.labels]
    layout, load = balance(plan, hashed.contexts, lengths, task.window, balancing, rng)
    if load > plan.unknowns:
        return _Failure("load", load)
    reading = layout.read(hashed.contexts)
    numbers = solve(layout, reading, _words(problem), lengths, task.window)
    if numbers is None:
        return _Failure("rank", load)
    if not limits.holds(plan, task, numbers.digits):
        return _Failure("digits")
    scale = limits.scale(plan, task.window, numbers.digits)
    return hashed, Storage(layout, numbers, task.window, scale, limits.hash_scale(hashed, grain))


def _words(problem: Problem) -> NDArray[np.uint64]:
    """The code word of each context, Gray coded: bit i of the word is the xor of bits 0..i."""
    code = problem.task.code
    words = np.array(code.words(code.longest), dtype=np.uint64)[problem.labels]
    return words ^ (words >> np.uint64(1))
