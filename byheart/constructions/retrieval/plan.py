"""Plan, layout and solved numbers as the constructions share them, and the counts of a network.

A column with n equations is solvable with high probability as soon as there are a few more unknowns
than equations, so a plan needs about as many stored numbers as the fullest bit position has
equations: the mean load plus a few standard deviations (fewer after balancing).
"""

import math
import random
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .problem import Task
from .solve import Terms

REACH = 26  # equations beyond the numbers that a position may have
SPARSE = 8  # dependent equations where there are as many as numbers, measured for 150 to 500
RETRIED = 2  # free unknowns that may be missing: other ones are tried a few times
# nonzero parameters, and dense ones per lane
MIXING = {"uniform": (2, 2), "hard": (2, 4), "sparse": (4, 4), "sum": (0, 0)}


@dataclass(frozen=True)
class Plan(ABC):
    """The free choices of a construction.

    columns      bit positions of a stored number where a context's word may begin
    tables       rows of each table
    lanes        copies of the tables; lane 0 is always on, the others depend on one or two gates
    gates        gate bits
    token_folds, mix_folds   folds of each token, and of the sum
    """

    columns: int
    tables: tuple[int, ...] = ()
    lanes: int = 1
    gates: int = 0
    token_folds: int = 1
    mix_folds: int = 0

    @cached_property
    def masks(self) -> tuple[int, ...]:
        """The gates of every lane: lane l is on if all its gates are.

        Closed under removing the lowest gate, so lanes can be added up.
        """
        gates = range(self.gates)
        sets = (c for size in range(self.gates + 1) for c in combinations(gates, size))
        masks = [sum(1 << i for i in chosen) for chosen in islice(sets, self.lanes)]
        assert len(masks) == self.lanes, "too few gates for the lanes"
        return tuple(masks)

    @property
    @abstractmethod
    def parts(self) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """The folds or digits of the hash: a fixed head, and the rest, which may change places."""

    @property
    @abstractmethod
    def unknowns(self) -> int:
        """Stored numbers."""

    @property
    @abstractmethod
    def top_value(self) -> int:
        """H < top_value: what all folds together bring to 0."""

    @abstractmethod
    def layout(self, order: Iterable[Any]) -> "Layout":
        """The layout with the parts after the head in this order."""

    def read(self, hashes: NDArray[np.int64]) -> NDArray:
        """The hashes in the form in which layouts of the plan read them."""
        return hashes

    def separated(self, hashes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Numbers that are equal where the network cannot distinguish the hashes."""
        return hashes


class Layout(ABC):
    """A plan whose parts have found their order."""

    plan: Any
    unknowns: int  # numbers that are in use

    @abstractmethod
    def column_of(self, hashes: NDArray) -> NDArray[np.int64]:
        """Where the word of each context begins, counted from the top."""

    @abstractmethod
    def terms(self, hashes: NDArray) -> Terms:
        """The stored numbers that each context adds up."""

    def marks_of(self, hashes: NDArray) -> NDArray[np.uint64]:
        """The fingerprint of each context."""
        return np.zeros(len(hashes), np.uint64)

    @property
    def fewest(self) -> int:
        """Numbers without which the layout cannot do; the others may be left out."""
        return self.unknowns

    def sized(self, unknowns: int) -> "Layout":
        """The layout with that many numbers."""
        return self

    @property
    def elimination(self) -> NDArray[np.int64] | None:
        """All numbers in an order in which they are eliminated fast; None: in their own."""
        return None


@dataclass(frozen=True, eq=False)
class Storage:
    """Solved numbers, ready to be placed.

    numbers    one per unit of the layout
    digits     the stored sum is below 2**digits for every context
    window     bits of the longest word
    unit       stored numbers are multiplied by it, a power of two
    hash_unit  the hash is multiplied by it, a power of two
    constant   added once, so that the stored sum is positive for every context
    """

    layout: Any
    numbers: Sequence[int]
    digits: int
    window: int
    unit: Fraction
    hash_unit: Fraction
    constant: int = 0

    @property
    def positions(self) -> int:
        return self.layout.plan.columns + self.window - 1


@dataclass(frozen=True)
class Cost:
    nonzero: int
    dense: int
    bits: float

    def of(self, objective: str) -> float:
        return {"nonzero": self.nonzero, "dense": self.dense, "bits": self.bits}[objective]


Stage = tuple[int, int, int]  # nonzero parameters, blocks, hidden units


def cost_of(
    task: Task, stages: Iterable[Stage], width: int, offset: bool, numbers: int, columns: int
) -> Cost:
    """Counts of a network from those of its stages.

    Bits are an estimate: a stored number has one per column and a few more (of the positions at the
    ends, where words of several bits are few, it has hardly any), another parameter has six.
    """
    counts, blocks, hidden = zip(*stages, strict=True)
    mixing, lanes = MIXING[task.mixing]
    nonzero = sum(counts) + task.embed + offset + mixing + 1
    dense = sum(blocks) * width + sum(hidden) * (2 * width + 1)
    dense += lanes * width + width * (task.inputs + 1) + width + 1
    length = columns + 2 + 0.6 * math.log2(task.window)
    return Cost(nonzero, dense, numbers * length + 6 * (nonzero - numbers))


def hash_bits(task: Task) -> int:
    """Bits of H for which contexts with different labels are expected to meet about once.

    Of n contexts, n^2 / 2 pairs meet with probability 2**-bits each; with two labels half of the
    meetings do no harm. With words of w bits, contexts of neighbouring columns share equations, and
    those that differ in the column alone meet too: w times as many. Fingerprint bits come on top.
    """
    contexts = math.log2(max(2, task.contexts))
    pairs = 2 * contexts - 1.3 + (2 + math.log2(task.window) if task.window > 1 else 0)
    unknown = contexts + task.marks + 2 if task.marks else 0
    sums = math.log2(task.total) + 3  # a token's own number has at least three bits
    return math.ceil(max(pairs + task.marks, unknown, sums))


def expected_load(task: Task, columns: int) -> tuple[float, float]:
    """The mean number of equations per bit position, and how far above it the fullest one lies.

    With words of several bits, fewer reach the positions at both ends: the mean is that of the
    others, where words of all columns meet. At random, loads are nearly Poisson; the largest of n
    Gaussian variables is about sqrt(2 log n) standard deviations above their mean.
    """
    positions = columns + task.window - 1
    mean = min(task.equations / columns, task.contexts)  # a word has one bit at a position
    return mean, math.sqrt(2 * mean * math.log(positions + 1))


def needed(task: Task, columns: int, spare: float, slack: int) -> int:
    """Stored numbers for the fullest position, and some for a full rank.

    Balancing brings `spare` well below 1.
    """
    mean, excess = expected_load(task, columns)
    return math.ceil(mean + spare * excess) + slack


def loads(shift: NDArray, lengths: NDArray, columns: int, window: int) -> NDArray[np.int64]:
    """Equations per bit position, highest position first."""
    table = np.bincount(shift * window + lengths - 1, minlength=columns * window)
    return equations(table.reshape(columns, window))


def equations(table: NDArray) -> NDArray[np.int64]:
    """Equations per bit position, highest first, from the contexts by column and word length.

    table  [columns, window, ...] for as many layouts as the last axes count
    """
    columns, window = table.shape[:2]
    counts = np.zeros((columns + window - 1, *table.shape[2:]), np.int64)
    held = table[:, ::-1].cumsum(axis=1)[:, ::-1]  # words at least that long
    for digit in range(window):
        counts[digit : digit + columns] += held[:, digit]
    return counts


def required(counts: NDArray[np.int64]) -> int:
    """Stored numbers with which the positions are expected to be solvable (see solve.py).

    Among n equations in U unknowns about d are dependent: n - U if that is large and positive, 0 if
    it is large and negative, and in between (rows are sparse) what is measured. They need as many
    free unknowns at the position below, or nearly so. Neither they nor the equations that a run of
    positions has beyond its unknowns must be more than REACH.
    """
    least = math.ceil((counts.sum() - REACH) / len(counts))  # all positions are a run, too
    numbers = max(int(counts.max()) - REACH, least, 1)
    while True:
        sparse = min(SPARSE, numbers / 16, 4000 / numbers)
        excess = counts - numbers
        dependent = (excess + np.sqrt(excess * excess + 4 * sparse**2)) / 2
        free = dependent - excess
        short = dependent[:-1] - free[1:]
        sums = np.append(0, np.cumsum(excess[::-1]))  # from the lowest position up
        run = (sums - np.minimum.accumulate(sums)).max()
        if max(dependent.max(), run) <= REACH and (not len(short) or short.max() <= RETRIED):
            return numbers
        numbers += 1


def best_of(
    plan: Plan, hashes: NDArray, lengths: NDArray, window: int, tries: int, rng: random.Random
) -> tuple[Layout, int]:
    """The best layout of some random orders, and the numbers that it needs."""
    order = list(plan.parts[1])
    best, least = plan.layout(order), 1 << 62
    for _ in range(tries if plan.columns > 1 else 1):
        layout = plan.layout(order)
        counts = loads(layout.column_of(hashes), lengths, plan.columns, window)
        load = max(required(counts), int(counts[-1]) + SPARSE)
        if load < least:
            best, least = layout, load
        rng.shuffle(order)
    return best, least
