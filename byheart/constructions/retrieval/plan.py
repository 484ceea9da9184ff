"""Plan, layout and solved numbers as the constructions share them, and the counts of a network.

A column with n equations is solvable with high probability as soon as there are a few more unknowns
than equations, so a plan needs about as many stored numbers as the fullest bit position has
equations: the mean load plus a few standard deviations (fewer after balancing).
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, combinations, islice
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy import uint64
from numpy.typing import NDArray

from ...machine.kernels import njit
from .gf2 import ONE, ZERO
from .problem import Task
from .solve import Terms, gather

Ints = NDArray[np.int64]

REACH = 26  # equations beyond the numbers that a position may have
DRAWN = 10  # the same where words are intervals: free unknowns are drawn, not solved for
SPARSE = 8  # dependent equations where there are as many as numbers, measured for 150 to 500
RETRIED = 2  # free unknowns that may be missing: other ones are tried a few times
# nonzero parameters, and dense ones per lane
MIXING = {"uniform": (2, 2), "hard": (2, 4), "sparse": (4, 4), "sum": (0, 0)}


@dataclass(frozen=True)
class Plan(ABC):
    columns: int  # bit positions of a stored number where a context's word may begin
    tables: tuple[int, ...] = ()  # rows of each table
    # copies of the tables; lane 0 is always on, the others depend on one or two gates
    lanes: int = 1
    gates: int = 0  # gate bits
    token_folds: int = 1  # of each token
    mix_folds: int = 0  # of the sum

    @cached_property
    def masks(self) -> tuple[int, ...]:
        """The gates of every lane, which is on if all are; closed under removing the lowest."""
        gates = range(self.gates)
        sets = (c for size in range(self.gates + 1) for c in combinations(gates, size))
        masks = [sum(1 << i for i in chosen) for chosen in islice(sets, self.lanes)]
        assert len(masks) == self.lanes, "too few gates for the lanes"
        return tuple(masks)

    @cached_property
    def conditions(self) -> tuple[tuple[int, int], ...]:
        """For every lane: the gates that must not fire, and the one that must, as it adds it."""
        return tuple((mask, 0) for mask in self.masks)

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

    def separated(self, hashes: NDArray[np.int64]) -> NDArray:
        """Numbers that are equal where the network cannot distinguish the hashes."""
        return hashes


class Step(NamedTuple):
    """A fold of H, and what its bit is for."""

    role: str
    target: int = 0  # row: the table
    weight: int = 1  # what the bit counts for
    ternary: bool = False  # at two thirds of the range instead of half


class Program(NamedTuple):
    """A layout as the kernels read it; folds count from the last, sets of folds are bits.

    table, weight         [folds] the table whose row index grows, or -1, and by how much
    first, kept, numbers  [folds + 1], [reads] where the reads of a fold begin; each adds a number
                          if the fold that is kept has fired
    place, begin, stride  [tables] the last fold before a table is read; the number in row 1 of lane
                          0, and how far the next lane is
    idle, fires           [lanes] folds that must not fire, and the one that must, as it adds it
    """

    table: Ints
    weight: Ints
    stored: Ints  # [folds] the number in the threshold, or -1
    first: Ints
    kept: Ints
    numbers: Ints
    place: Ints
    begin: Ints
    stride: Ints
    idle: NDArray[np.uint64]
    fires: NDArray[np.uint64]
    constant: Ints  # [lanes] the number of its constant, or -1
    end: int  # numbers from here on are left out


class Layout(ABC):
    """A plan whose folds have found their order."""

    plan: Any
    folds: Any  # steps, first fold first
    unknowns: int  # numbers that are in use

    @property
    @abstractmethod
    def program(self) -> Program:
        """What a context reads."""

    @cached_property
    def row_steps(self) -> dict[int, tuple[int, int]]:
        """Fold (from the last) -> table, and what its bit counts for in the row index."""
        backwards = enumerate(self.folds[::-1])
        return {t: (f.target, f.weight) for t, f in backwards if f.role == "row"}

    def values(self, table: int, lane: int, numbers: Sequence[int]) -> list[int]:
        """What a lane holds in each row of a table: 0 in row 0, and where numbers are left out."""
        return [0, *(numbers[u] if u < len(numbers) else 0 for u in self.cells(table, lane))]

    @abstractmethod
    def cells(self, table: int, lane: int) -> range:
        """The numbers in rows 1, 2, ... of a table; from `unknowns` on they are left out."""

    def column_of(self, hashes: NDArray) -> Ints:
        """Where the word of each context begins, counted from the top: folds that do not fire."""
        return self.plan.columns - 1 - self.counted("column", hashes)

    def marks_of(self, hashes: NDArray) -> NDArray[np.uint64]:
        """The fingerprint of each context."""
        return self.counted("mark", hashes).astype(np.uint64)

    def counted(self, role: str, hashes: NDArray, target: int = 0) -> Ints:
        """The sum of the weights of the folds that fire."""
        backwards = enumerate(self.folds[::-1])
        uses = [(t, f.weight) for t, f in backwards if (f.role, f.target) == (role, target)]
        return count(hashes, uses)

    def terms(self, hashes: NDArray) -> Terms:
        """The stored numbers that each context adds up."""
        return gather(self.plan.unknowns, gather_terms, hashes, self.program)

    @property
    def fewest(self) -> int:
        """Numbers without which the layout cannot do; the others may be left out."""
        return self.unknowns

    def sized(self, unknowns: int) -> "Layout":
        return self

    @property
    def elimination(self) -> Ints | None:
        """All numbers in an order in which they are eliminated fast; None: in their own."""
        return None


def ints(values: Iterable[int]) -> Ints:
    return np.array(list(values), np.int64)


def program(
    folds: int,
    rows: Mapping[int, tuple[int, int]],
    tables: Sequence[tuple[int, int, int]],
    conditions: Sequence[tuple[int, int]],
    end: int,
    stored: Mapping[int, int] = MappingProxyType({}),
    reads: Mapping[int, Sequence[tuple[int, int]]] = MappingProxyType({}),
    constants: Mapping[int, int] = MappingProxyType({}),
) -> Program:
    """Rows are (table, weight), reads (kept, number), tables (place, begin, stride)."""
    read = [reads.get(t, ()) for t in range(folds)]
    place, begin, stride = np.array(tables, np.int64).reshape(-1, 3).T.copy()
    idle, fires = np.array(conditions, np.uint64).reshape(-1, 2).T.copy()
    return Program(
        table=ints(rows.get(t, (-1, 0))[0] for t in range(folds)),
        weight=ints(rows.get(t, (-1, 0))[1] for t in range(folds)),
        stored=ints(stored.get(t, -1) for t in range(folds)),
        first=ints(accumulate(map(len, read), initial=0)),
        kept=ints(kept for pairs in read for kept, _ in pairs),
        numbers=ints(number for pairs in read for _, number in pairs),
        place=place,
        begin=begin,
        stride=stride,
        idle=idle,
        fires=fires,
        constant=ints(constants.get(lane, -1) for lane in range(len(conditions))),
        end=end,
    )


def read_bits(hashes: Ints, limits: Sequence[int]) -> tuple[NDArray[np.uint64], Ints]:
    """Bit t: whether fold t, counted from the last, fires; and what is left after all folds."""
    bits, rest = np.zeros(len(hashes), np.uint64), np.zeros(len(hashes), np.int64)
    unfold(hashes, ints(limits[::-1]), bits, rest)
    return bits, rest


def count(bits: NDArray[np.uint64], uses: Sequence[tuple[int, int]]) -> Ints:
    """The sum of the weights of folds that fire; uses are pairs of fold and weight."""
    total = np.zeros(len(bits), np.int64)
    for fold, weight in uses:
        total += weight * (bits >> uint64(fold) & ONE).astype(np.int64)
    return total


@njit
def unfold(hashes, limits, bits, rest):
    """A fold at its limit maps H >= limit to 2 limit - 1 - H; limits count from the last."""
    for i in range(hashes.shape[0]):
        value, fired = hashes[i], ZERO
        for t in range(limits.shape[0] - 1, -1, -1):
            if value >= limits[t]:
                value = 2 * limits[t] - 1 - value
                fired |= ONE << uint64(t)
        bits[i], rest[i] = fired, value


@njit
def gather_terms(hashes, program, starts, units, fill):
    """Count each context's terms (starts[i + 1]), or fill them in; ~u is minus the number u."""
    folds, tables, lanes = len(program.stored), len(program.place), len(program.idle)
    terms = np.zeros(1 + folds + len(program.kept) + lanes * (tables + 1), np.int32)
    rows, flipped = np.zeros(tables, np.int64), np.zeros(tables, np.bool_)
    for i in range(hashes.shape[0]):
        bits, size, negative = hashes[i], 1, False
        minus = ZERO  # folds that add with a minus sign
        rows[:] = 0
        for t in range(folds):
            for r in range(tables):
                if program.place[r] == t:
                    flipped[r] = negative
            if not (bits >> uint64(t)) & ONE:
                continue
            if program.table[t] >= 0:
                rows[program.table[t]] += program.weight[t]
            if program.stored[t] >= 0:
                terms[size] = ~program.stored[t] if negative else program.stored[t]
                size += 1
            for e in range(program.first[t], program.first[t + 1]):
                if (bits >> uint64(program.kept[e])) & ONE:
                    terms[size] = ~program.numbers[e] if negative else program.numbers[e]
                    size += 1
            if negative:
                minus |= ONE << uint64(t)
            negative = not negative
        for lane in range(lanes):
            fires = program.fires[lane]
            if bits & (program.idle[lane] | fires) != fires:
                continue
            for r in range(tables):
                unit = program.begin[r] + lane * program.stride[r] + rows[r] - 1
                if rows[r] and unit < program.end:
                    less = minus & fires != ZERO if fires else flipped[r]
                    terms[size] = ~unit if less else unit
                    size += 1
            if program.constant[lane] >= 0:
                terms[size] = program.constant[lane]
                size += 1
        if fill:
            units[starts[i] : starts[i + 1]] = terms[:size]
        else:
            starts[i + 1] = size


@dataclass(frozen=True, eq=False)
class Storage:
    """Solved numbers, ready to be placed."""

    layout: Any
    numbers: Sequence[int]  # one per unit of the layout
    digits: int  # the stored sum is below 2**digits for every context
    window: int  # bits of the longest word
    unit: Fraction  # stored numbers are multiplied by it, a power of two
    hash_unit: Fraction  # the hash is multiplied by it, a power of two
    constant: int = 0  # added once, so that the stored sum is positive for every context

    @property
    def positions(self) -> int:
        return self.layout.plan.columns + self.window - 1


@dataclass(frozen=True)
class Cost:
    nonzero: int
    dense: int
    bits: float
    width: int  # lanes
    depth: int  # blocks and attention layers, of which sparse attention has two

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
    bits = numbers * length + 6 * (nonzero - numbers)
    return Cost(nonzero, dense, bits, width, sum(blocks) + (2 if task.mixing == "sparse" else 1))


def hash_bits(task: Task) -> int:
    """Bits of H for which contexts with different labels are expected to meet about once.

    Of n contexts, n^2 / 2 pairs meet with probability 2**-bits each; with two labels half of the
    meetings do no harm, and more if one of them is rare. With words of w bits, contexts of
    neighbouring columns share equations, and those that differ in the column alone meet too: w
    times as many. Fingerprint bits come on top.
    """
    contexts = math.log2(max(2, task.contexts))
    shared = 2 + math.log2(task.window) if task.window > 1 else 0
    pairs = 2 * contexts - 1.3 + math.log2(2 * task.differ) + shared
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
    """Stored numbers for the fullest position and a full rank; balancing lowers `spare`."""
    mean, excess = expected_load(task, columns)
    return math.ceil(mean + spare * excess) + slack


def loads(shift: NDArray, lengths: NDArray, columns: int, window: int) -> NDArray[np.int64]:
    """Equations per bit position, highest position first."""
    table = np.bincount(shift * window + lengths - 1, minlength=columns * window)
    return equations(table.reshape(columns, window))


def equations(table: NDArray, share: float = 0.0) -> NDArray:
    """Equations per bit position, highest first, from the contexts by column and word length.

    table  [columns, window, ...] for as many layouts as the last axes count
    share  of the contexts whose words are intervals, those with an equation; then the table has one
           length more, the first one, for these contexts
    """
    intervals, table = (table[:, 0], table[:, 1:]) if share else (0, table)
    columns, window = table.shape[:2]
    shape = columns + window - 1, *table.shape[2:]
    counts = np.zeros(shape, np.float64 if share else np.int64)
    if share:
        counts[:columns] = share * intervals
    held = table[:, ::-1].cumsum(axis=1)[:, ::-1]  # words at least that long
    for digit in range(window):
        counts[digit : digit + columns] += held[:, digit]
    return counts


def required(counts: NDArray, reach: int = REACH) -> int:
    """Stored numbers with which the positions are expected to be solvable (see solve.py).

    Among n equations in U unknowns about d are dependent: n - U if that is large and positive, 0 if
    it is large and negative, and in between (rows are sparse) what is measured. They need as many
    free unknowns at the position below, or nearly so. Neither they nor the equations that a run of
    positions has beyond its unknowns must be more than `reach`.
    """
    least = math.ceil((counts.sum() - reach) / len(counts))  # all positions are a run, too
    numbers = max(int(counts.max()) - reach, least, 1)
    while True:
        sparse = min(SPARSE, numbers / 16, 4000 / numbers)
        excess = counts - numbers
        dependent = (excess + np.sqrt(excess * excess + 4 * sparse**2)) / 2
        free = dependent - excess
        short = dependent[:-1] - free[1:]
        sums = np.append(0, np.cumsum(excess[::-1]))  # from the lowest position up
        run = (sums - np.minimum.accumulate(sums)).max()
        if max(dependent.max(), run) <= reach and (not len(short) or short.max() <= RETRIED):
            return numbers
        numbers += 1
