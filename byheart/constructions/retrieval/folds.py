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

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np
from numba import uint64
from numpy.typing import NDArray

from ...machine.kernels import njit
from . import plan as base
from .solve import Terms, gather

ROLES = ("constant", "data", "row", "gate", "column", "mark")
ROW, GATE = ROLES.index("row"), ROLES.index("gate")
ONE = np.uint64(1)


@dataclass(frozen=True)
class Fold:
    role: str
    target: int = 0  # row: the table
    weight: int = 1  # what the bit counts for
    ternary: bool = False  # at two thirds of the range instead of half


@dataclass(frozen=True)
class FoldPlan(base.Plan):
    """A plan whose folds each yield one bit of H; columns and rows are 2**a or 3 * 2**a.

    top, low     data folds before the others, and among them
    marks        bits of the fingerprint
    narrow       one index lane for everything: more parameters, but a stream of three lanes
    reads        tables are read before the gates, and every gate reads its lane: one parameter,
                 where a lane that waits for its gate and is added at last takes three
    """

    top: int = 0
    low: int = 0
    marks: int = 0
    narrow: bool = False
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
        """For every lane: the gates that must not fire, and the one that must, as it adds it."""
        if not self.reads:
            return tuple((mask, 0) for mask in self.masks)
        late = [1 << mask.bit_length() >> 1 for mask in self.masks]
        return tuple((mask ^ fires, fires) for mask, fires in zip(self.masks, late, strict=True))

    @property
    def added(self) -> tuple[int, int]:
        """Lanes that are added to another one, and the blocks that do it.

        A block adds those with the same lowest gate; if gates read lanes, those of two gates.
        """
        if self.reads:
            pairs = self.lanes - 1 - self.gates
            return pairs, int(pairs > 0)
        # masks come in the order of their sizes: one gate, then pairs by their lowest gate
        return self.lanes - 1, min(self.gates, self.lanes - 1)

    @cached_property
    def parts(self) -> tuple[tuple[Fold, ...], tuple[Fold, ...]]:
        """Folds in order: a fixed head, and the rest, which the balancing may permute."""
        head = [Fold("data")] * self.top
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
        rest += [Fold("gate", weight=1 << i) for i in range(self.gates)]
        rest += [Fold("mark", weight=1 << i) for i in range(self.marks)]
        rest += [*columns, *[Fold("data")] * self.low]
        return ((*head, *rest), ()) if self.narrow else (tuple(head), tuple(rest))

    @property
    def folds(self) -> tuple[Fold, ...]:
        return self.parts[0] + self.parts[1]

    @property
    def constants(self) -> tuple[int, ...]:
        """Lanes with a constant of their own.

        With one gate, the gate's fold stores it; lane 0 has the global one. Gates that read lanes
        have none: it would make the sums longer.
        """
        if self.reads:
            return ()
        return tuple(lane for lane, mask in enumerate(self.masks) if mask & (mask - 1))

    @property
    def unknowns(self) -> int:
        """Stored numbers."""
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

    def layout(self, order: Iterable[Fold]) -> "FoldLayout":
        folds = [*self.parts[0], *order]
        if self.reads:  # gates are numbered as they come
            gates = [t for t, fold in enumerate(folds) if fold.role == "gate"]
            for number, t in enumerate(gates):
                folds[t] = replace(folds[t], weight=1 << number)
        return FoldLayout(self, tuple(folds), self.unknowns)

    def read(self, hashes: NDArray[np.int64]) -> NDArray[np.uint64]:
        """Bit t of the result: whether fold t, counted from the last, fires."""
        limits, _ = thresholds(self.folds)
        bits = np.zeros(len(hashes), dtype=np.uint64)
        _fold_bits(hashes, np.array(limits[::-1], dtype=np.int64), bits)
        return bits


@lru_cache
def folds_of(size: int) -> int:
    """How many folds spell a number below 2**a or 3 * 2**a (`_digits`)."""
    return len(list(_digits(size, "", 0)))


def _digits(size: int, role: str, target: int) -> Iterator[Fold]:
    """Folds that spell a number below 2**a or 3 * 2**a: a leading ternary digit takes two folds.

    Folding [0, 3m) at 2m and then at m gives (0, 0), (0, 1) or (1, 1): as a sum, the digit.
    """
    twos = (size & -size).bit_length() - 1
    assert size >> twos in (1, 3), f"{size} is neither 2**a nor 3 * 2**a"
    if size >> twos == 3:
        yield Fold(role, target, 1 << twos, ternary=True)
        yield Fold(role, target, 1 << twos)
    for i in reversed(range(twos)):
        yield Fold(role, target, 1 << i)


def thresholds(folds: Sequence[Fold]) -> tuple[list[int], int]:
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


@dataclass(frozen=True, eq=False)
class FoldLayout(base.Layout):
    """A plan whose folds have found their order.

    Arrays count folds from the last one: fold 0 is the last.
    """

    plan: FoldPlan
    folds: tuple[Fold, ...]
    unknowns: int  # numbers that are in use: the last cells of the last table may be left out

    @cached_property
    def stored(self) -> dict[int, int]:
        """Fold (from the last) -> the number its threshold stores."""
        backwards = self.folds[::-1]
        places = [t for t, fold in enumerate(backwards) if fold.role in ("data", "gate")]
        return {t: 1 + i for i, t in enumerate(places)}

    @cached_property
    def lane_constant(self) -> dict[int, int]:
        return {lane: 1 + len(self.stored) + i for i, lane in enumerate(self.plan.constants)}

    @cached_property
    def table_start(self) -> list[int]:
        start = 1 + len(self.stored) + len(self.lane_constant)
        sizes = [self.plan.lanes * (rows - 1) for rows in self.plan.tables]
        return [start + sum(sizes[:r]) for r in range(len(sizes))]

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

    def terms(self, hashes: NDArray[np.uint64]) -> Terms:
        """The numbers that a context reads; every later fold that fires flips the sign."""
        backwards = self.folds[::-1]

        def ints(values: Iterable[int]) -> NDArray[np.int64]:
            return np.array(list(values), dtype=np.int64)

        return gather(
            self.plan.unknowns,
            _terms,
            (hashes,),
            ints(ROLES.index(f.role) for f in backwards),
            ints(f.target for f in backwards),
            ints(f.weight for f in backwards),
            ints(self.stored.get(t, -1) for t in range(len(backwards))),
            ints(self.table_place),
            ints(self.plan.tables),
            ints(self.table_start),
            ints(idle for idle, _ in self.plan.conditions),
            ints(fires for _, fires in self.plan.conditions),
            ints(self.lane_constant.get(lane, -1) for lane in range(self.plan.lanes)),
            self.unknowns,
        )

    def cell(self, table: int, lane: int, row: int) -> int | None:
        """The number in a table's row 1, 2, ... (row 0 is always 0), or None if it is left out."""
        unit = self.table_start[table] + lane * (self.plan.tables[table] - 1) + row - 1
        return unit if unit < self.unknowns else None

    @cached_property
    def signed(self) -> list[int]:
        """Numbers that may be negative: those of thresholds, and of lanes that no gate closes."""
        units = list(self.stored.values())
        for lane, (idle, _) in enumerate(self.plan.conditions):
            if self.plan.reads and not idle:
                units += [cell for table in self.cells(lane) for cell in table]
        return units

    def cells(self, lane: int) -> list[list[int]]:
        """The numbers that a lane has of each table."""
        rows = self.plan.tables
        found = [[self.cell(r, lane, row) for row in range(1, rows[r])] for r in range(len(rows))]
        return [[cell for cell in table if cell is not None] for table in found]

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

        def bounds(cells: Sequence[int]) -> tuple[int, int]:
            return min([0, *(low[c] for c in cells)]), max([0, *(high[c] for c in cells)])

        added: dict[int, tuple[int, int]] = {}  # the bounds of what each gate adds of its lanes
        if self.plan.reads:
            for lane, (_, fires) in enumerate(self.plan.conditions):
                for cells in self.cells(lane):
                    (a, b), (first, last) = added.get(fires, (0, 0)), bounds(cells)
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
                    first, last = bounds(self.cells(0)[table])
                    least, most = least + first, most + last
        sums = self.plan.lanes * (len(self.plan.tables) + 1) * modulus
        return max((reach // 2).bit_length() + 2, sums.bit_length())

    def column_of(self, hashes: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Folds that do not fire count."""
        return self.plan.columns - 1 - self._counted("column", hashes)

    def marks_of(self, hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Folds that fire count."""
        return self._counted("mark", hashes).astype(np.uint64)

    def _counted(self, role: str, hashes: NDArray[np.uint64]) -> NDArray[np.int64]:
        """The sum of the weights of the folds that fire."""
        uses = [(t, f.weight) for t, f in enumerate(self.folds[::-1]) if f.role == role]
        out = np.zeros(len(hashes), dtype=np.int64)
        _count(hashes, np.array(uses, dtype=np.int64).reshape(-1, 2), out)
        return out


@njit
def _fold_bits(hashes, limits, out):
    for i in range(hashes.shape[0]):
        value = hashes[i]
        bits = uint64(0)
        for t in range(limits.shape[0] - 1, -1, -1):
            if value >= limits[t]:
                value = 2 * limits[t] - 1 - value
                bits |= uint64(1) << uint64(t)
        out[i] = bits


@njit
def _count(bits, uses, out):
    for i in range(bits.shape[0]):
        for j in range(uses.shape[0]):
            if (bits[i] >> uint64(uses[j, 0])) & ONE:
                out[i] += uses[j, 1]


@njit
def _terms(
    hashes,
    roles,
    targets,
    weights,
    stored,
    table_place,
    table_rows,
    table_start,
    idle,
    fires,
    lane_constant,
    drop,
    starts,
    units,
    fill,
):
    """Count each context's terms (starts[i + 1]), or fill them in; ~u is minus the number u."""
    tables = table_rows.shape[0]
    found = np.zeros(1 + roles.shape[0] + idle.shape[0] * (tables + 1), np.int32)
    for i in range(hashes.shape[0]):
        bits = hashes[i]
        count = 1  # the global constant, number 0
        negative = False
        gates = minus = 0  # those that do not fire, and those that do and add with a minus sign
        rows = np.zeros(tables, np.int64)
        table_negative = np.zeros(tables, np.bool_)
        for t in range(roles.shape[0]):
            for r in range(tables):
                if table_place[r] == t:
                    table_negative[r] = negative
            fired = (bits >> uint64(t)) & ONE
            if roles[t] == ROW:
                if fired:
                    rows[targets[t]] += weights[t]
            elif roles[t] == GATE:
                if not fired:
                    gates |= weights[t]
                elif negative:
                    minus |= weights[t]
            if fired:
                if stored[t] >= 0:
                    found[count] = ~stored[t] if negative else stored[t]
                    count += 1
                negative = not negative
        for lane in range(idle.shape[0]):
            if gates & (idle[lane] | fires[lane]) != idle[lane]:
                continue
            for r in range(tables):
                if rows[r] > 0:
                    unit = table_start[r] + lane * (table_rows[r] - 1) + rows[r] - 1
                    if unit < drop:
                        less = minus & fires[lane] != 0 if fires[lane] else table_negative[r]
                        found[count] = ~unit if less else unit
                        count += 1
            if lane_constant[lane] >= 0:
                found[count] = lane_constant[lane]
                count += 1
        if fill:
            units[starts[i] : starts[i + 1]] = found[:count]
        else:
            starts[i + 1] = count
