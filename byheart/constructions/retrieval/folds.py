"""Which fold of the hash does what, and which stored number stands where.

The network folds the context's number H in half until nothing is left. Each fold yields one bit of
H, and the bits are put to use:

data     its threshold also stores a number, added with a sign that the later folds decide
row      the bit goes into the row index of a table
gate     the bit switches off the lanes (copies of the tables) that depend on it; its threshold
         stores a number too. In a plan that reads lanes, tables come before the gates, and a gate
         that fires also adds the lane of its own
column   the bit decides how far the stored sum is shifted: which of its bits is the context's own
mark     the bit goes into the context's fingerprint
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from .plan import Layout, Plan, Program, Step, program, read_bits


@dataclass(frozen=True)
class FoldPlan(Plan):
    """A plan whose folds each yield one bit of H; columns and rows are 2**a or 3 * 2**a.

    top, low     data folds before the others, and among them
    """

    top: int = 0
    low: int = 0
    marks: int = 0  # bits of the fingerprint
    # one index lane for everything: more parameters, but a stream of three lanes
    narrow: bool = False
    # tables are read before the gates, and every gate reads its lane: one parameter, where a lane
    # that waits for its gate and is added at last takes three
    reads: bool = False

    @cached_property
    def masks(self) -> tuple[int, ...]:
        """The gates of every lane.

        If gates read lanes, first the lane of each gate. A lane of two gates is off if the earlier
        one fires and else joins that of the later one: one gate is of the first half, the other of
        the second, so that all join at once.
        """
        if not self.reads:
            return super().masks
        half = self.gates // 2
        pairs = [
            1 << early | 1 << half + (early + turn) % (self.gates - half)
            for turn in range(self.gates - half)
            for early in range(half)
        ]
        masks = [0, *(1 << gate for gate in range(self.gates)), *pairs][: self.lanes]
        assert len(masks) == self.lanes > self.gates, "gates and lanes do not match"
        return tuple(masks)

    @cached_property
    def conditions(self) -> tuple[tuple[int, int], ...]:
        if not self.reads:
            return super().conditions
        late = [1 << mask.bit_length() >> 1 for mask in self.masks]
        return tuple((mask ^ fires, fires) for mask, fires in zip(self.masks, late, strict=True))

    @property
    def added(self) -> tuple[int, int]:
        """Lanes that are added to another one, and the blocks that do it, by their lowest gates."""
        if self.reads:
            pairs = self.lanes - 1 - self.gates
            return pairs, int(pairs > 0)
        # masks come in the order of their sizes: one gate, then pairs by their lowest gate
        return self.lanes - 1, min(self.gates, self.lanes - 1)

    @cached_property
    def parts(self) -> tuple[tuple[Step, ...], tuple[Step, ...]]:
        """Folds in order: a fixed head, and the rest, which the balancing may permute."""
        head = [Step("data")] * self.top
        digits = [list(_digits(rows, "row", table)) for table, rows in enumerate(self.tables)]
        columns = list(_digits(self.columns, "column", 0))
        for spelled in [*digits, columns]:
            if spelled and spelled[0].ternary and not self.narrow:
                head += spelled[:2]
                del spelled[:2]
        rows = [fold for spelled in digits for fold in spelled]
        rest = [] if self.reads else rows
        if self.reads:  # one row before the data folds, unless ternary digits follow them
            early = int(len(head) == self.top)
            head = [*rows[:early], *head, *rows[early:]]
        rest += [Step("gate", weight=1 << i) for i in range(self.gates)]
        rest += [Step("mark", weight=1 << i) for i in range(self.marks)]
        rest += [*columns, *[Step("data")] * self.low]
        return ((*head, *rest), ()) if self.narrow else (tuple(head), tuple(rest))

    @property
    def folds(self) -> tuple[Step, ...]:
        return self.parts[0] + self.parts[1]

    @property
    def constants(self) -> tuple[int, ...]:
        """Lanes with a constant of their own: those of several gates, unless gates read lanes."""
        if self.reads:
            return ()
        return tuple(lane for lane, mask in enumerate(self.masks) if mask & (mask - 1))

    @property
    def unknowns(self) -> int:
        stored = self.top + self.low + self.gates
        cells = self.lanes * sum(rows - 1 for rows in self.tables)
        return 1 + stored + len(self.constants) + cells

    @property
    def fewest(self) -> int:
        """Numbers that cannot be left out: all but the last table's."""
        return self.unknowns - (self.lanes * (self.tables[-1] - 1) if self.tables else 0)

    def used(self, numbers: int) -> int:
        """How many of its numbers are in use if the given number is needed."""
        return min(self.unknowns, max(numbers, self.fewest))

    @property
    def top_value(self) -> int:
        """H < top_value: what all folds together bring to 0."""
        return thresholds(self.folds)[1]

    def layout(self, order: Iterable[Step]) -> "FoldLayout":
        folds = [*self.parts[0], *order]
        if self.reads:  # gates are numbered as they come
            gates = [t for t, fold in enumerate(folds) if fold.role == "gate"]
            for number, t in enumerate(gates):
                folds[t] = folds[t]._replace(weight=1 << number)
        return FoldLayout(self, tuple(folds), self.unknowns)

    def read(self, hashes: NDArray[np.int64]) -> NDArray[np.uint64]:
        return read_bits(hashes, thresholds(self.folds)[0])[0]


@lru_cache
def folds_of(size: int) -> int:
    """How many folds spell a number below 2**a or 3 * 2**a (`_digits`)."""
    return len(list(_digits(size, "", 0)))


def _digits(size: int, role: str, target: int) -> Iterator[Step]:
    """Folds that spell a number below 2**a or 3 * 2**a: a leading ternary digit takes two folds.

    Folding [0, 3m) at 2m and then at m gives (0, 0), (0, 1) or (1, 1): as a sum, the digit.
    """
    twos = (size & -size).bit_length() - 1
    assert size >> twos in (1, 3), f"{size} is neither 2**a nor 3 * 2**a"
    if size >> twos == 3:
        yield Step(role, target, 1 << twos, ternary=True)
        yield Step(role, target, 1 << twos)
    for i in reversed(range(twos)):
        yield Step(role, target, 1 << i)


def thresholds(folds: Sequence[Step]) -> tuple[list[int], int]:
    """Thresholds, first fold first, and the size of the range that they fold down to {0}."""
    found, size = [], 1
    for fold in reversed(folds):
        found.append(size)
        if fold.ternary:
            assert size % 2 == 0
            size = size * 3 // 2
        else:
            size *= 2
    return found[::-1], size


class TableLayout(Layout):
    """Numbers in thresholds of folds, constants of lanes, tables of all lanes, in this order."""

    @property
    def stored(self) -> Mapping[int, int]:
        """Fold (from the last) -> the number its threshold stores."""
        return {}

    @property
    def table_place(self) -> Sequence[int]:
        """The fold (from the last) right after which a table is read; -1: after all of them."""
        return [-1] * len(self.plan.tables)

    @cached_property
    def lane_constant(self) -> dict[int, int]:
        """Lane -> the number of its constant."""
        return {lane: 1 + len(self.stored) + i for i, lane in enumerate(self.plan.constants)}

    @cached_property
    def table_start(self) -> list[int]:
        """The first number of each table."""
        start = 1 + len(self.stored) + len(self.lane_constant)
        sizes = [self.plan.lanes * (rows - 1) for rows in self.plan.tables]
        return [start + sum(sizes[:r]) for r in range(len(sizes))]

    @cached_property
    def program(self) -> Program:
        plan, folds = self.plan, self.folds[::-1]
        gates = {f.weight: 1 << t for t, f in enumerate(folds) if f.role == "gate"}
        strides = [x - 1 for x in plan.tables]
        tables = list(zip(self.table_place, self.table_start, strides, strict=True))
        lanes = [
            (sum(gates[w] for w in gates if w & idle), gates.get(fires, 0))
            for idle, fires in plan.conditions
        ]
        rows, end, constants = self.row_steps, self.unknowns, self.lane_constant
        return program(
            len(folds), rows, tables, lanes, end, stored=self.stored, constants=constants
        )

    def cells(self, table: int, lane: int) -> range:
        rows = self.plan.tables[table] - 1
        start = self.table_start[table] + lane * rows
        return range(start, start + rows)


@dataclass(frozen=True, eq=False)
class FoldLayout(TableLayout):
    """A plan whose folds have found their order. Arrays count folds from the last one."""

    plan: FoldPlan
    folds: tuple[Step, ...]
    unknowns: int  # numbers that are in use: the last cells of the last table may be left out

    @cached_property
    def stored(self) -> dict[int, int]:
        """Fold (from the last) -> the number its threshold stores."""
        places = [t for t, fold in enumerate(self.folds[::-1]) if fold.role in ("data", "gate")]
        return {t: 1 + i for i, t in enumerate(places)}

    @cached_property
    def table_place(self) -> list[int]:
        """The fold (from the last) right after which a table is read.

        At the end; if gates read lanes, as soon as the rows are known; with one index lane as soon
        as the table's own row is.
        """
        backwards = self.folds[::-1]
        if not self.plan.narrow:
            rows = [t for t, fold in enumerate(backwards) if fold.role == "row"]
            return [min(rows) if self.plan.reads else 0] * len(self.plan.tables)
        return [
            min(t for t, fold in enumerate(backwards) if (fold.role, fold.target) == ("row", r))
            for r in range(len(self.plan.tables))
        ]

    @property
    def fewest(self) -> int:
        return self.plan.fewest

    def sized(self, unknowns: int) -> "FoldLayout":
        return replace(self, unknowns=unknowns)

    @property
    def elimination(self) -> NDArray[np.int64]:
        """Table by table, the largest first, row by row; what every context may read comes last.

        A context reads one row of each table. So the equations that have a number of the first row
        in common are few, and after its elimination no other equation has changed; what is left,
        once the largest table is eliminated, is a system in the numbers of the others.
        """
        cells = [np.arange(0)]
        for table in sorted(range(len(self.plan.tables)), key=lambda r: -self.plan.tables[r]):
            start, rows = self.table_start[table], self.plan.tables[table] - 1
            numbers = start + np.arange(self.plan.lanes * rows)
            cells.append(numbers.reshape(self.plan.lanes, rows).T.ravel())
        return np.concatenate(
            [*cells, np.arange(min(self.table_start, default=self.plan.unknowns))]
        )

    @cached_property
    def signed(self) -> list[int]:
        """Numbers that may be negative: those of thresholds, and of lanes that no gate closes."""
        units = list(self.stored.values())
        for lane, (idle, _) in enumerate(self.plan.conditions):
            if self.plan.reads and not idle:
                units += [u for r in range(len(self.plan.tables)) for u in self.cells(r, lane)]
        return units

    def centred(self, numbers: Sequence[int], modulus: int) -> list[int]:
        """The numbers, which matter modulo the modulus only, with those around 0 that may be."""
        centred = list(numbers)
        for unit in self.signed:
            if unit < len(centred) and centred[unit] >= modulus // 2:
                centred[unit] -= modulus
        return centred

    def scale(self, low: Sequence[int], high: Sequence[int], modulus: int) -> int:
        """Room for the payload P under the hash, which is multiplied by 2**scale.

        |P - n/2| <= 2**(scale - 2) whatever folds fire, where n is what a fold adds: the number e
        of its threshold, and lanes. Lanes stay below 2**scale. Each stored number is between its
        `low` and its `high`, those in lanes are at most the modulus.
        """

        def bounds(table: int, lane: int) -> tuple[int, int]:
            cells = [cell for cell in self.cells(table, lane) if cell < self.unknowns]
            return min([0, *(low[c] for c in cells)]), max([0, *(high[c] for c in cells)])

        added: dict[int, tuple[int, int]] = {}  # the bounds of what each gate adds of its lanes
        if self.plan.reads:
            for lane, (_, fires) in enumerate(self.plan.conditions):
                for table in range(len(self.plan.tables)):
                    (a, b), (first, last) = added.get(fires, (0, 0)), bounds(table, lane)
                    added[fires] = a + first, b + last
        least = most = 0
        reach = 1
        for place, fold in zip(reversed(range(len(self.folds))), self.folds, strict=True):
            stored = self.stored.get(place)
            first, last = (low[stored], high[stored]) if stored is not None else (0, 0)
            if fold.role == "gate" and fold.weight in added:
                first, last = first + added[fold.weight][0], last + added[fold.weight][1]
            reach = max(reach, abs(2 * least - last), abs(2 * most - first))
            least, most = min(least, first - most), max(most, last - least)
            if place in self.table_place and (self.plan.narrow or self.plan.reads):
                for table in (r for r, p in enumerate(self.table_place) if p == place):
                    first, last = bounds(table, 0)
                    least, most = least + first, most + last
        sums = self.plan.lanes * (len(self.plan.tables) + 1) * modulus
        return max((reach // 2).bit_length() + 2, sums.bit_length())
