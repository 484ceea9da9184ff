"""Which fold of the hash does what, and which stored number stands where.

The network folds the context's number H in half until nothing is left. Each fold yields one bit of
H, and the bits are put to use:

data     its threshold also stores a number, added with a sign that the later folds decide
row      the bit goes into the row index of a table
gate     the bit switches off the lanes (copies of the tables) that depend on it; its threshold
         stores a number too
column   the bit decides how far the stored sum is shifted: which of its bits is the context's own
mark     the bit goes into the context's fingerprint
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numba import uint64
from numpy.typing import NDArray

from ...machine.kernels import njit
from ..retrieval import plan as base
from ..retrieval.solve import Terms, gather

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
    """

    top: int = 0
    low: int = 0
    marks: int = 0
    narrow: bool = False

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
        rest = [fold for spelled in digits for fold in spelled]
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

        With one gate, the gate's fold stores it; lane 0 has the global one.
        """
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

    @property
    def top_value(self) -> int:
        """H < top_value: what all folds together bring to 0."""
        return thresholds(self.folds)[1]

    def layout(self, order: Iterable[Fold]) -> "FoldLayout":
        return FoldLayout(self, (*self.parts[0], *order), self.unknowns)

    def read(self, hashes: NDArray[np.int64]) -> NDArray[np.uint64]:
        """Bit t of the result: whether fold t, counted from the last, fires."""
        limits, _ = thresholds(self.folds)
        bits = np.zeros(len(hashes), dtype=np.uint64)
        _fold_bits(hashes, np.array(limits[::-1], dtype=np.int64), bits)
        return bits


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

        At the end, or with one index lane as soon as the table's row is known.
        """
        if not self.plan.narrow:
            return [0] * len(self.plan.tables)
        backwards = self.folds[::-1]
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
            ints(self.plan.masks),
            ints(self.lane_constant.get(lane, -1) for lane in range(self.plan.lanes)),
            self.unknowns,
        )

    def cell(self, table: int, lane: int, row: int) -> int | None:
        """The number in a table's row 1, 2, ... (row 0 is always 0), or None if it is left out."""
        unit = self.table_start[table] + lane * (self.plan.tables[table] - 1) + row - 1
        return unit if unit < self.unknowns else None

    def scale(self, low: Sequence[int], high: Sequence[int], modulus: int) -> int:
        """Room for the payload P under the hash, which is multiplied by 2**scale.

        |P - e/2| <= 2**(scale - 2) whatever folds fire, and lanes stay below 2**scale. Each stored
        number is between its `low` and its `high`, those in lanes below the modulus.
        """
        least = most = 0
        reach = 1
        tables = {place: r for r, place in enumerate(self.table_place)}
        for place in reversed(range(len(self.folds))):
            stored = self.stored.get(place)
            first, last = (low[stored], high[stored]) if stored is not None else (0, 0)
            reach = max(reach, abs(2 * least - last), abs(2 * most - first))
            least, most = min(least, first - most), max(most, last - least)
            if self.plan.narrow and place in tables:
                table = tables[place]
                cells = [self.cell(table, 0, row) for row in range(1, self.plan.tables[table])]
                most += max((high[c] for c in cells if c is not None), default=0)
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
    masks,
    lane_constant,
    drop,
    starts,
    units,
    fill,
):
    """Count each context's terms (starts[i + 1]), or fill them in; ~u is minus the number u."""
    tables = table_rows.shape[0]
    found = np.zeros(1 + roles.shape[0] + masks.shape[0] * (tables + 1), np.int32)
    for i in range(hashes.shape[0]):
        bits = hashes[i]
        count = 1  # the global constant, number 0
        negative = False
        gates = 0
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
            if fired:
                if stored[t] >= 0:
                    found[count] = ~stored[t] if negative else stored[t]
                    count += 1
                negative = not negative
        for lane in range(masks.shape[0]):
            if gates & masks[lane] != masks[lane]:
                continue
            for r in range(tables):
                if rows[r] > 0:
                    unit = table_start[r] + lane * (table_rows[r] - 1) + rows[r] - 1
                    if unit < drop:
                        found[count] = ~unit if table_negative[r] else unit
                        count += 1
            if lane_constant[lane] >= 0:
                found[count] = lane_constant[lane]
                count += 1
        if fill:
            units[starts[i] : starts[i + 1]] = found[:count]
        else:
            starts[i + 1] = count
