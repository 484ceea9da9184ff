"""Results from rows: the smallest size that memorises, the spread over seeds, what is censored.

A size that was not reached was not reached in T steps. No number of steps shows that it cannot be:
such a point is censored, and stays apart from the others.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from statistics import median

from ...claims.result import picked
from ..problem import Facts
from ..trial import Row, Trial
from .sweep import RowsByKey, Sweep


@dataclass(frozen=True)
class Spread:
    """Statistics over seeds; None without a number: training diverged, or the entropy is 0."""

    median: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Result:
    trial: Trial = field(repr=False)
    reached: bool
    gap: float | None  # summed loss minus entropy, as a share of the entropy
    loss: float | None  # mean loss minus mean entropy, in nats (squared loss: the excess of that)
    accuracy: float  # the share of correct predictions
    steps: int  # of all attempts together
    # memorised: the code length of the data under the uniform distribution over the outputs, minus
    # that under the model (morris2025)
    bits: float | None = None


@dataclass(frozen=True)
class Smallest:
    """The smallest model that memorises a dataset, `best`: a size that any seed reached counts."""

    rows: tuple[Row, ...]  # all that were trained on it, in any order

    @cached_property
    def by_seed(self) -> dict[int, Row | None]:
        """The smallest that memorises, for each seed; None if the seed is censored."""
        smallest: dict[int, Row | None] = {}
        for row in sorted(self.rows, key=lambda row: row["parameters"]):
            if smallest.get(seed := row["trial"]["seed"]) is None:
                smallest[seed] = row if row["reached"] else None
        return smallest

    @property
    def reached(self) -> list[Row]:
        """The smallest models, one for each seed that is not censored."""
        return [row for row in self.by_seed.values() if row is not None]

    @property
    def censored(self) -> int:
        """How many seeds reached the criterion with no size."""
        return len(self.by_seed) - len(self.reached)

    @property
    def best(self) -> Row | None:
        """The smallest that some seed memorises with; None if no seed does."""
        return min(self.reached, key=lambda row: row["parameters"], default=None)

    @property
    def largest(self) -> Row:
        return max(self.rows, key=lambda row: row["parameters"])


def smallest(rows: Iterable[Row], dataset: Callable[[Row], int]) -> dict[int, Smallest]:
    """The smallest model that memorises each dataset, by the number that `dataset` gives it."""
    groups: dict[int, list[Row]] = {}
    for row in rows:
        groups.setdefault(dataset(row), []).append(row)
    return {number: Smallest(tuple(groups[number])) for number in sorted(groups)}


@dataclass(frozen=True)
class Point:
    """A value of the searched axis with the seeds that were trained there, one or more."""

    value: int
    parameters: int
    results: tuple[Result, ...]
    information: float = 0.0  # of the data in bits: predictions x log2(outputs)

    @property
    def reached(self) -> int:
        """How many seeds memorise."""
        return sum(result.reached for result in self.results)

    @property
    def steps(self) -> int:
        """The most steps that a seed was given."""
        return max(result.steps for result in self.results)

    def spread(self, measure: str) -> Spread:
        """Of "gap", "loss", "accuracy" or "bits"; what diverged counts as infinitely far off."""
        measures = [getattr(result, measure) for result in self.results]
        numbers = [math.inf if x is None else x for x in measures]
        ends = median(numbers), min(numbers), max(numbers)
        return Spread(*(x if math.isfinite(x) else None for x in ends))

    def json(self) -> dict:
        sizes = {**picked(self, "value parameters"), "seeds": len(self.results)}
        spreads = {name: asdict(self.spread(name)) for name in ("gap", "loss", "accuracy")}
        return {**sizes, "reached": self.reached, **spreads, "steps": self.steps}


@dataclass(frozen=True)
class SeedResult:
    """The result of one seed over the searched axis."""

    seed: int
    smallest: int | None  # the smallest value that memorises; None: censored, none so far
    largest: int  # the largest value that was trained
    steps: int  # the most that one value was given


@dataclass(frozen=True)
class Cell:
    """A combination of the other axes, and the points trained there."""

    at: Mapping[str, int]  # the values of the other axes by name
    axis: str  # the name of the searched axis
    facts: Facts | None  # of its data; None if nothing was trained
    points: tuple[Point, ...]  # increasing values; of a bisection, those that were tried

    @property
    def smallest(self) -> Point | None:
        """The smallest that some seed memorises; None if none does so far."""
        return next((point for point in self.points if point.reached), None)

    @property
    def below(self) -> Point | None:
        """The largest that was tried in vain below it: the evidence that it is the smallest."""
        limit = math.inf if self.smallest is None else self.smallest.value
        return next((point for point in reversed(self.points) if point.value < limit), None)

    @property
    def censored(self) -> bool:
        """Whether something was trained and nothing reached the criterion."""
        return bool(self.points) and self.smallest is None

    @property
    def by_seed(self) -> dict[int, SeedResult]:
        """The result of each seed that was trained here, by its number."""
        tried: dict[int, list[tuple[int, Result]]] = {}
        for point in self.points:
            for result in point.results:
                tried.setdefault(result.trial.seed, []).append((point.value, result))
        outcomes = {}
        for seed, results in sorted(tried.items()):
            smallest = next((value for value, one in results if one.reached), None)
            steps = max(result.steps for _, result in results)
            outcomes[seed] = SeedResult(seed, smallest, results[-1][0], steps)
        return outcomes

    def json(self) -> dict:
        facts = {} if self.facts is None else self.facts._asdict()
        found = picked(self, "points smallest below by_seed censored")
        return {"at": dict(self.at), **facts, **found, "by_seed": [*found["by_seed"].values()]}


def cells(sweep: Sweep, rows: RowsByKey) -> list[Cell]:
    """A cell for every combination of the other axes, in the order of the sweep."""
    name, values = sweep.searched
    measured = []
    for place in sweep.places:
        points: list[Point] = []
        facts: Facts | None = None
        for value in values:
            trials = [sweep.trial(place, value, seed) for seed in range(sweep.seeds)]
            there = [(trial, rows[trial.key]) for trial in trials if trial.key in rows]
            if there:
                results = tuple(result(*one) for one in there)
                row = there[0][1]
                information = row["predictions"] * math.log2(row["outputs"])
                points.append(Point(value, row["parameters"], results, information))
                facts = Facts(*(row[fact] for fact in Facts._fields))
        measured.append(Cell(sweep.at(place), name, facts, tuple(points)))
    return measured


def result(trial: Trial, row: Row) -> Result:
    entropy = row["entropy"]
    excess = None if row["loss"] is None else row["loss"] - entropy
    gap = None if excess is None or not entropy else excess / entropy
    loss = None if excess is None else excess / row["predictions"]
    steps = sum(attempt["steps"] for attempt in row["attempts"])
    return Result(trial, row["reached"], gap, loss, row["accuracy"], steps, memorised(row))


def memorised(row: Row) -> float | None:
    """Bits that a training memorised; None if it diverged."""
    if row["loss"] is None:
        return None
    return row["predictions"] * math.log2(row["outputs"]) - row["loss"] / math.log(2)
