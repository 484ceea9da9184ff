"""Find a plan, a hash and stored numbers that work: a bounded, deterministic search.

Cheapest plans first. Each attempt hashes the contexts with the next seed and can fail in several
ways, each with its own remedy: contexts with different labels meet (more token folds, then mix
folds and a longer hash), a bit position is too full (more stored numbers), a linear system has no
solution (more still), or something is too long for the limits. Nothing is trusted: the caller
verifies the finished network.
"""

import math
import random
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from numpy.typing import NDArray

from ...machine.watch import Watch
from .hashing import Hash, conflicts, fewest_folds, hash_contexts
from .plan import Layout, Plan, Storage, expected_load
from .problem import Inputs, Problem, Task
from .solve import System, Terms, solve

# random contexts leave the fullest position at most this far above the mean (see expected_load)
RANDOM = 1.0
LARGE, LOST = 40_000, 3  # contexts, and remedies without success, after which folds are not spared


@dataclass
class Needs:
    """The sizes that the failures so far ask for."""

    spare: float
    slack: int
    token_folds: int
    mix_folds: int = 0
    hash_bits: int = 0  # beyond what random contexts need
    guard: int = 0  # bits of a sum beyond what is expected
    most_folds: int = 1 << 30  # more folds of the tokens, or of their sum, are too long
    most_mix: int = 1 << 30
    loosened: int = 0  # how often token folds were added because contexts crowd
    # the fullest position at best since the last remedy, in units of expected_load
    crowded: float = math.inf

    def separate(self, failure: str) -> str:
        """More room, as the hash did not fit or contexts met, and a note that says so."""
        self.token_folds += max(1, self.token_folds // 8)
        self.hash_bits += 1
        self.mix_folds += failure == "conflict" and self.token_folds > 12
        return (
            f"contexts meet: {self.token_folds} token folds, {self.mix_folds} mix folds, "
            f"{self.hash_bits} more hash bits"
        )


class Limits(ABC):
    """The bounds of a network, and the plans that keep to them."""

    # whether the limits may leave no room for a remedy, which ends the search; without bounds,
    # contexts that crowd get more token folds before more numbers are stored
    bounded: bool = True
    lowest: bool = False  # whether stored numbers have a bit below all positions
    token_bits: float = math.inf  # of the thresholds of the token folds, at most
    balance: Callable[..., tuple[Layout, int]]  # finds the layout of a plan

    @abstractmethod
    def plans(self, task: Task, objective: str, needs: Needs) -> Sequence[Plan]:
        """The plans within the limits that store enough, cheapest first."""

    def holds_hash(self, hashed: Hash, grain: int) -> bool:
        """Whether E_in and the token folds stay within the limits."""
        return True

    def solved(
        self, problem: Problem, hashed: Hash, layout: Any, hashes: NDArray, load: int
    ) -> Storage | str:
        """The stored numbers as they are placed, or why there are none: "rank" or "digits"."""
        task, plan = problem.task, layout.plan
        words, lengths = problem.words(layout.marks_of(hashes)), problem.lengths
        column, terms = layout.column_of(hashes), layout.terms(hashes)
        first, most = max(load, layout.fewest), plan.unknowns
        equations = column, terms, words, lengths, task.window
        interval = task.code.interval
        system = System(plan.columns, *equations, self.lowest, layout.elimination, interval)
        numbers = solve(system, first, most)
        if numbers is None:
            return "rank"
        return self.store(problem, hashed, layout.sized(len(numbers)), terms, numbers) or "digits"

    @abstractmethod
    def store(
        self, problem: Problem, hashed: Hash, layout: Any, terms: Terms, numbers: list[int]
    ) -> Storage | None:
        """The solved numbers as they are placed; None if their sums are beyond the limits."""


@dataclass(frozen=True, eq=False)
class Found:
    plan: Any  # of the construction
    hashed: Hash
    storage: Storage
    tries: int
    notes: tuple[str, ...]  # what had to be enlarged, in the order it happened


@dataclass(frozen=True)
class Effort:
    """How hard to look: a small problem is cheap to try again, a large one should work at once."""

    attempts: int  # at most
    conflicts: int  # in a row before the hash is enlarged
    failures: int  # of another kind before the plan is
    plans: int  # tried side by side
    balancing: int  # orders of the parts to look at
    spare: float  # first guess of the fullest position, in units of expected_load
    slack: int  # first guess of the numbers beyond its equations

    def patience(self, reason: str) -> int:
        """Failures of a kind before something is enlarged."""
        if reason == "conflict":
            return self.conflicts
        return self.failures if reason in ("load", "rank") else 1


def effort_for(contexts: int) -> Effort:
    if contexts <= 4000:
        patience = 16 if contexts <= 1000 else 8
        return Effort(600, patience, patience, 2, 24, 0.08, 0)
    if contexts <= LARGE:
        return Effort(150, 6, 3, 1, 60, 0.29, 0)
    return Effort(60, 6, 1, 1, 60, 0.41, 0)


def first_needs(problem: Inputs) -> Needs:
    """What is needed as long as nothing has failed."""
    effort = effort_for(problem.task.contexts)
    return Needs(effort.spare, effort.slack, first_token_folds(problem))


def cheapest(problem: Inputs, limits: Limits, objective: str, needs: Needs) -> list[Plan]:
    """The cheapest plans, with their folds before those of the hash."""
    found = []
    tried = effort_for(problem.task.contexts).plans
    for plan in limits.plans(problem.task, objective, needs)[:tried]:
        fewest = 0
        if not problem.draw:
            fewest = fewest_folds(problem.columns, problem.sums.total, plan.top_value)
        folds = 0 if problem.mixed else min(fewest + needs.token_folds, needs.most_folds)
        mix_folds = min(needs.mix_folds, needs.most_mix)
        found.append(replace(plan, token_folds=folds, mix_folds=mix_folds))
    return found


def search(
    problem: Problem, limits: Limits, objective: str, seed: int, watch: Watch
) -> Found | None:
    """The first success, or None if nothing was found in a bounded number of attempts."""
    task, effort = problem.task, effort_for(problem.task.contexts)
    if limits.bounded:
        # the first token fold is at half of the widest coordinate's room or above
        highs, lows = problem.columns.max(axis=0), problem.columns.min(axis=0)
        room = max(int(high) - min(0, int(low)) for high, low in zip(highs, lows, strict=True))
        if room.bit_length() - 2 > limits.token_bits:
            return None
    needs = first_needs(problem)

    def plans() -> list[Plan]:
        return cheapest(problem, limits, objective, needs)

    failures: Counter[str] = Counter()
    notes: list[str] = []
    options = plans()
    outcome: tuple[Hash, Storage] | Failure = Failure("fit")
    met = 0  # attempts in which contexts met
    for attempt in range(effort.attempts + effort.conflicts if options else 0):
        lost = met == attempt == LOST * effort.conflicts and task.contexts > LARGE
        if lost or attempt == effort.attempts:  # contexts that differ little, as those of a log
            if limits.bounded or outcome != Failure("conflict"):
                break
            needs.token_folds = max(needs.token_folds, enough_folds(problem))
            notes.append(f"contexts meet: {needs.token_folds} token folds")
            options = plans()
        plan = options[attempt % len(options)]
        rng = random.Random(f"{seed}/{attempt}")
        outcome = _attempt(problem, limits, plan, rng, effort.balancing)
        if isinstance(outcome, tuple):
            return Found(plan, *outcome, attempt + 1, tuple(notes))
        met += outcome.reason == "conflict"
        failures[outcome.reason] += 1
        if outcome.reason != "conflict" and not limits.bounded:
            failures["conflict"] = 0
        if outcome.reason == "load":
            mean, excess = expected_load(task, plan.columns)
            needs.crowded = min(needs.crowded, (outcome.load - mean) / excess)
        if failures[outcome.reason] < effort.patience(outcome.reason):
            continue
        failures[outcome.reason] = 0
        notes.append(_remedy(outcome.reason, needs, plan, limits))
        watch.note(notes[-1])
        before, options = options, plans()
        stuck = options == before and outcome.reason in ("fit", "long", "conflict")
        if not options or (stuck and limits.bounded):
            break  # the limits leave no room for the remedy
    return None


def first_token_folds(problem: Inputs) -> int:
    """Enough to distinguish random contexts; with fingerprints, unknown ones from them too.

    A few folds leave many tokens on one straight piece, where equal sums give equal H. Each fold
    makes half as many pieces again; with 300 pieces per token, equal sums are a coincidence.
    """
    few = max(1, round(math.log2(problem.task.contexts + 1) / 2) - 2)
    return max(few, enough_folds(problem)) if problem.task.marks else few


def enough_folds(problem: Inputs) -> int:
    """So many that equal sums of different contexts are a coincidence."""
    return math.ceil(math.log(len(problem.columns)) / math.log(1.5)) + 14


def _remedy(failure: str, needs: Needs, plan: Plan, limits: Limits) -> str:
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
        return needs.separate(failure)
    crowded = needs.crowded
    if failure == "load" or not limits.bounded:
        needs.crowded = math.inf
    if failure == "load":
        if crowded > RANDOM and needs.loosened < 3 and not limits.bounded:
            needs.loosened += 1
            needs.token_folds += max(1, needs.token_folds // 4)
            return f"contexts crowd: {needs.token_folds} token folds"
        needs.spare = max(needs.spare + 0.03, crowded - 0.05)
        return f"a bit position is too full: {needs.spare:.2f} of the random excess spared"
    needs.hash_bits += needs.slack >= 8
    needs.slack += 2 if needs.slack < 8 else 6
    return f"the stored numbers are not independent: {needs.slack} more than equations"


def draw_hash(inputs: Inputs, plan: Plan, rng: random.Random) -> Hash | None:
    folds = plan.token_folds, plan.mix_folds
    return hash_contexts(inputs.columns, inputs.sums, plan.top_value, *folds, rng, inputs.draw)


@dataclass(frozen=True)
class Failure:
    reason: str  # "fit", "long", "conflict", "load", "rank" or "digits"
    load: int = 0


def _attempt(
    problem: Problem, limits: Limits, plan: Plan, rng: random.Random, balancing: int
) -> tuple[Hash, Storage] | Failure:
    hashed = draw_hash(problem, plan, rng)
    if hashed is None:
        return Failure("fit")
    if not limits.holds_hash(hashed, problem.grain):
        return Failure("long")
    if conflicts(plan.separated(hashed.contexts), problem.labels):
        return Failure("conflict")
    hashes = plan.read(hashed.contexts)
    words = problem.lengths, problem.task.window, problem.task.code.share
    balanced, load = limits.balance(plan, hashes, words, balancing, rng)
    if load > plan.unknowns:
        return Failure("load", load)
    storage = limits.solved(problem, hashed, balanced, hashes, load)
    return Failure(storage, load) if isinstance(storage, str) else (hashed, storage)
