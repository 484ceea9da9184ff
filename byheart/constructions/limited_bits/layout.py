"""Which fold of the hash decides what, and which stored number stands where.

The context's number H is read digit by digit: each digit takes a few folds and has one use.

spare    none: H crowds around its mean, and after these first folds it no longer does
row      the row of a table
gate     switches off the lanes (copies of the tables) that depend on it
column   how far the stored sum is shifted: which of its bits are the context's own
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...machine.kernels import njit
from ..retrieval import plan as base
from ..retrieval.solve import Terms, gather

Ints = NDArray[np.int64]


class Digit(NamedTuple):
    role: str
    target: int  # row: the table; gate: its number
    base: int


class DigitFold(NamedTuple):
    role: str
    target: int
    weight: int  # what the digit grows by if the fold fires
    limit: int  # fires for values >= limit


@dataclass(frozen=True)
class DigitPlan(base.Plan):
    """A plan that reads H digit by digit, in any bases.

    spare    folds before the digits
    clean    whether gates are 0 or 1, so that no sum mixes the hash with stored numbers;
             otherwise a gate's lane holds 0 or something very negative, which is cheaper
    """

    spare: int = 0
    clean: bool = False

    @cached_property
    def parts(self) -> tuple[tuple[Digit, ...], tuple[Digit, ...]]:
        """Digits in order: a fixed head, and the rest, which may change places."""
        rows = [Digit("row", table, size) for table, size in enumerate(self.tables)]
        gates = [Digit("gate", i, 2) for i in range(self.gates)]
        column = [Digit("column", 0, self.columns)] if self.columns > 1 else []
        return (Digit("spare", 0, 2),) * self.spare, (*rows, *gates, *column)

    @property
    def unknowns(self) -> int:
        """Stored numbers: in every lane a constant and the rows of the tables except the first."""
        return self.lanes * (1 + sum(rows - 1 for rows in self.tables))

    @cached_property
    def top_value(self) -> int:
        """H < top_value: as many as the digits distinguish, times 2 for each spare fold."""
        return math.prod(digit.base for digit in self.parts[1]) << self.spare

    def folds(self, role: str) -> int:
        """How many folds decide something of that role."""
        return sum(len(fold_sizes(d.base)) for part in self.parts for d in part if d.role == role)

    def layout(self, order: Iterable[Digit]) -> "DigitLayout":
        return DigitLayout(self, (*self.parts[0], *order))

    def separated(self, hashes: Ints) -> Ints:
        """H after the spare folds: equal where all digits that are used are equal."""
        out = np.zeros(len(hashes), np.int64)
        _separated(hashes, self.top_value, self.spare, out)
        return out


def fold_sizes(base: int) -> list[int]:
    """The base after each of its folds: half of it, rounded up, until 1.

    Folding [0, r) at c = ceil(r / 2) sends j >= c to 2c - 1 - j, which is at least 1 if r is odd.
    Let a fold that fires count r - c. If the later folds count every j < c as V(j), with
    V(0) = 0 and V one-to-one onto 0, ..., c - 1, then all of them together are one-to-one onto
    0, ..., r - 1: the j >= c give V(2c - 1 - j) + r - c, which fills c, ..., r - 1.
    """
    sizes = []
    while base > 1:
        base = (base + 1) // 2
        sizes.append(base)
    return sizes


def spell(digits: Sequence[Digit]) -> list[DigitFold]:
    """The folds of all digits, first fold first; together they bring H to 0."""
    folds, rest = [], math.prod(digit.base for digit in digits)
    for role, target, left in digits:
        rest //= left
        for half in fold_sizes(left):
            folds.append(DigitFold(role, target, left - half, half * rest))
            left = half
    return folds


@dataclass(frozen=True, eq=False)
class DigitLayout(base.Layout):
    """A plan whose digits have found their order."""

    plan: DigitPlan
    digits: tuple[Digit, ...]

    @property
    def unknowns(self) -> int:  # type: ignore[override]
        return self.plan.unknowns

    @cached_property
    def folds(self) -> list[DigitFold]:
        return spell(self.digits)

    def constant(self, lane: int) -> int:
        """Which stored number is the lane's constant."""
        return lane

    def cell(self, table: int, lane: int, row: int) -> int:
        """Which stored number is in a table's row 1, 2, ...; row 0 is always 0."""
        return self.starts[table] + lane * (self.plan.tables[table] - 1) + row - 1

    @cached_property
    def starts(self) -> list[int]:
        lanes, tables = self.plan.lanes, self.plan.tables
        return [lanes * (1 + sum(rows - 1 for rows in tables[:r])) for r in range(len(tables))]

    def read(self, hashes: Ints) -> "Reading":
        """Every context's rows, closed gates and shift."""
        tables = len(self.plan.tables)
        places = {"column": tables, "gate": tables + 1, "spare": tables + 2}
        uses = [
            (
                fold.limit,
                places.get(fold.role, fold.target),
                1 << fold.target if fold.role == "gate" else fold.weight,
            )
            for fold in self.folds
        ]
        out = np.zeros((len(hashes), tables + 3), np.int64)
        _read(hashes, np.array(uses, np.int64).reshape(-1, 3), out)
        digit = out[:, tables]
        # a fold that fires opens a clean shift, and closes one that is not clean
        shift = digit if self.plan.clean else self.plan.columns - 1 - digit
        return Reading(out[:, :tables], out[:, tables + 1], shift)

    def column_of(self, hashes: Ints) -> Ints:
        return self.read(hashes).shift

    def terms(self, hashes: Ints) -> Terms:
        """In every lane that is on its constant, and a row of each table."""
        reading, plan = self.read(hashes), self.plan
        return gather(
            self.plan.unknowns,
            _terms,
            (reading.rows, reading.closed),
            np.array(plan.masks, np.int64),
            np.array(plan.tables, np.int64),
            np.array(self.starts, np.int64),
        )


@dataclass(frozen=True, eq=False)
class Reading:
    rows: Ints  # [contexts, tables]
    closed: Ints  # [contexts] gates that fired, one bit each: lanes that need one are off
    shift: Ints  # [contexts]


@njit
def _read(hashes, uses, out):
    """uses: limit, slot and weight of every fold; a fold that fires adds its weight."""
    for i in range(hashes.shape[0]):
        value = hashes[i]
        for t in range(uses.shape[0]):
            limit = uses[t, 0]
            if value >= limit:
                value = 2 * limit - 1 - value
                out[i, uses[t, 1]] += uses[t, 2]


@njit
def _separated(hashes, top, spare, out):
    for i in range(hashes.shape[0]):
        value, limit = hashes[i], top
        for _ in range(spare):
            limit //= 2
            if value >= limit:
                value = 2 * limit - 1 - value
        out[i] = value


@njit
def _terms(rows, closed, masks, tables, table_start, starts, units, fill):
    """Count each context's terms (starts[i + 1]), or fill them in."""
    for i in range(closed.shape[0]):
        count = 0
        for lane in range(masks.shape[0]):
            if closed[i] & masks[lane]:
                continue
            if fill:
                units[starts[i] + count] = lane
            count += 1
            for r in range(tables.shape[0]):
                if rows[i, r] > 0:
                    if fill:
                        cell = lane * (tables[r] - 1) + rows[i, r] - 1
                        units[starts[i] + count] = table_start[r] + cell
                    count += 1
        if not fill:
            starts[i + 1] = count
