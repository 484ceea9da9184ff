"""Which fold does what, and which numbers a context adds up, in the form with readers.

data      the threshold stores a number; after the first ones a data fold may also read bits that
          creators kept: it then adds a number of its own for each bit that is 1
creator   the threshold stores a number, and the bit is kept in a lane
row       the bit goes into the row index of a table, from which the main lane and one lane for each
          later data fold are filled; a data fold then adds its lane
column    the bit opens or closes a shift

The last digit of the hash, below all folds, is the cell: the zigzag shifts by it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numba import uint64
from numpy.typing import NDArray

from ....machine.kernels import njit
from ...retrieval.gf2 import ONE
from ...retrieval.solve import Terms, gather

DATA, CREATOR, COLUMN, ROW = range(4)


@dataclass(frozen=True)
class ReaderPlan:
    """The free choices of the form.

    cells        of the zigzag
    gates        column folds; columns = cells * 2**gates
    lead         data folds before the first creator or row
    creators     bits that are kept
    data         data folds
    reads        numbers that data folds add for bits of creators
    token_folds  of each token
    rows         of each table, powers of two
    dropped      numbers of the last lane of the tables that are left out: the last rows of the last
                 table first
    """

    cells: int
    gates: int
    lead: int
    creators: int
    data: int
    reads: int
    token_folds: int = 0
    rows: tuple[int, ...] = ()
    dropped: int = 0

    @property
    def columns(self) -> int:
        return self.cells << self.gates

    @property
    def row_bits(self) -> int:
        return sum(rows.bit_length() - 1 for rows in self.rows)

    @property
    def lanes(self) -> int:
        """That a table fills: the main one, and one for each data fold after the tables."""
        return 1 + self.data - self.lead if self.rows else 0

    @property
    def table_numbers(self) -> int:
        """Row 0 of a table is always 0."""
        return self.lanes * sum(rows - 1 for rows in self.rows) - self.dropped

    @property
    def folds(self) -> int:
        return self.data + self.creators + self.gates + self.row_bits

    @property
    def unknowns(self) -> int:
        """Stored numbers: one that all read, one per threshold, of the reads and of the tables."""
        return 1 + self.data + self.creators + self.reads + self.table_numbers

    @property
    def most_reads(self) -> int:
        return self.creators * (self.data - self.lead)

    @property
    def top_value(self) -> int:
        """0 <= H < top_value, after the offset of the hash is taken off."""
        return self.cells << self.folds


@dataclass(frozen=True, eq=False)
class ReaderLayout:
    """A plan whose folds have found their places; folds count from the first.

    gates  the folds that are column gates; gate j counts for cells * 2**j columns
    reads  (fold, creator) pairs
    """

    plan: ReaderPlan
    gates: tuple[int, ...]
    reads: tuple[tuple[int, int], ...]

    @cached_property
    def roles(self) -> list[int]:
        plan = self.plan
        order = [DATA] * plan.lead + [ROW] * plan.row_bits + [CREATOR] * plan.creators
        order += [DATA] * (plan.data - plan.lead)
        return [COLUMN if place in self.gates else order.pop(0) for place in range(plan.folds)]

    @cached_property
    def rows(self) -> dict[int, tuple[int, int]]:
        """Fold -> (table, what its bit counts for in the row index)."""
        places = iter([t for t, role in enumerate(self.roles) if role == ROW])
        found = {}
        for table, rows in enumerate(self.plan.rows):
            for i in reversed(range(rows.bit_length() - 1)):
                found[next(places)] = table, 1 << i
        return found

    @property
    def select_place(self) -> int:
        """The fold after which tables are read; -1 if there are none."""
        return max(self.rows, default=-1)

    @cached_property
    def lanes(self) -> dict[int, int]:
        """Fold -> the lane of the tables that it adds; lane 0 is the main one."""
        if not self.plan.rows:
            return {}
        later = [t for t, role in enumerate(self.roles) if role == DATA and t > self.select_place]
        return {t: 1 + i for i, t in enumerate(later)}

    def cell(self, lane: int, table: int, row: int) -> int:
        """The number of a table's row 1, 2, ... in a lane; from `unknowns` on it is left out."""
        before = sum(rows - 1 for rows in self.plan.rows[:table])
        start = self.plan.unknowns - self.plan.table_numbers
        return start + lane * sum(rows - 1 for rows in self.plan.rows) + before + row - 1

    @property
    def unknowns(self) -> int:
        return self.plan.unknowns

    @cached_property
    def stored(self) -> dict[int, int]:
        """Fold -> the number in its threshold; number 0 is read by all."""
        places = [t for t, role in enumerate(self.roles) if role in (DATA, CREATOR)]
        return {t: 1 + i for i, t in enumerate(places)}

    @cached_property
    def read(self) -> dict[int, list[tuple[int, int]]]:
        """Fold -> (creator, number) of what it reads."""
        found: dict[int, list[tuple[int, int]]] = {}
        for i, (fold, creator) in enumerate(self.reads):
            found.setdefault(fold, []).append((creator, 1 + len(self.stored) + i))
        return found

    @property
    def limits(self) -> list[int]:
        """H >= limit fires a fold."""
        folds, cells = self.plan.folds, self.plan.cells
        return [cells << (folds - 1 - t) for t in range(folds)]

    def column_of(self, fired: NDArray[np.uint64], cell: NDArray[np.int64]) -> NDArray[np.int64]:
        """How far the sum of each context is shifted: by its cell, and by gates that stay open."""
        return cell + _columns(fired, np.array(self.gates, np.int64), self.plan.cells)

    @cached_property
    def arrays(self) -> tuple[NDArray[np.int64], ...]:
        """For the kernels: what each fold stores, where its reads begin, their creators, units;
        the table and weight of its row bit, its lane; where the cells of a table begin, cells of a
        lane, and the end of the numbers.
        """
        creators = [t for t, role in enumerate(self.roles) if role == CREATOR]
        first, lanes, units = [0], [], []
        for t in range(self.plan.folds):
            for creator, unit in self.read.get(t, ()):
                lanes.append(creators[creator])
                units.append(unit)
            first.append(len(lanes))
        folds = range(self.plan.folds)
        stored = [self.stored.get(t, -1) for t in folds]
        table, weight = zip(*(self.rows.get(t, (-1, 0)) for t in folds), strict=True)
        begins = [self.cell(0, table, 1) for table in range(len(self.plan.rows))]
        cells = [sum(rows - 1 for rows in self.plan.rows), self.plan.unknowns]
        lane = [self.lanes.get(t, -1) for t in folds]
        told = (stored, first, lanes, units, table, weight, lane, begins, cells)
        return tuple(np.array(x, np.int64) for x in told)

    def terms(self, fired: NDArray[np.uint64]) -> Terms:
        """The numbers that a context reads; every later fold that fires flips the sign."""
        return gather(self.plan.unknowns, _terms, (fired,), *self.arrays)


def pairs_of(roles: Sequence[int]) -> list[tuple[int, int]]:
    """All (fold, creator) pairs of data folds and the creators before them."""
    found, creators = [], 0
    for fold, role in enumerate(roles):
        if role == CREATOR:
            creators += 1
        elif role == DATA:
            found += [(fold, creator) for creator in range(creators)]
    return found


@njit
def unfold(hashes, cells, folds, fired, cell):
    """Bit t of fired: whether fold t fires; cell: what is left after all folds."""
    for i in range(hashes.shape[0]):
        value, bits = hashes[i], uint64(0)
        for t in range(folds):
            limit = cells << (folds - 1 - t)
            if value >= limit:
                value = 2 * limit - 1 - value
                bits |= ONE << uint64(t)
        fired[i] = bits
        cell[i] = value


@njit
def _columns(fired, gates, cells):
    columns = np.zeros(fired.shape[0], np.int64)
    for i in range(fired.shape[0]):
        for j in range(gates.shape[0]):
            if not (fired[i] >> uint64(gates[j])) & ONE:
                columns[i] += cells << j
    return columns


@njit
def rows_of(bits, table, weight, rows):
    """Fill in the row index of each table."""
    rows[:] = 0
    for t in range(table.shape[0]):
        if table[t] >= 0 and (bits >> uint64(t)) & ONE:
            rows[table[t]] += weight[t]


@njit
def _terms(
    fired, stored, first, lanes, numbers, table, weight, lane, begins, cells, starts, units, fill
):
    """Count each context's terms (starts[i + 1]), or fill them in; ~u is minus the number u."""
    tables, place = begins.shape[0], -1
    for t in range(table.shape[0]):
        if table[t] >= 0:
            place = t
    rows = np.zeros(tables, np.int64)
    found = np.zeros(1 + (1 + tables) * (1 + stored.shape[0]) + lanes.shape[0], np.int32)
    for i in range(fired.shape[0]):
        bits, count, negative = fired[i], 1, False  # number 0 is read by all
        rows_of(bits, table, weight, rows)
        for t in range(stored.shape[0] - 1, -1, -1):
            if t == place:
                for r in range(tables):
                    unit = begins[r] + rows[r] - 1
                    if rows[r] and unit < cells[1]:
                        found[count] = ~unit if negative else unit
                        count += 1
            if not (bits >> uint64(t)) & ONE:
                continue
            if stored[t] >= 0:
                found[count] = ~stored[t] if negative else stored[t]
                count += 1
                for e in range(first[t], first[t + 1]):
                    if (bits >> uint64(lanes[e])) & ONE:
                        found[count] = ~numbers[e] if negative else numbers[e]
                        count += 1
                if lane[t] >= 0:
                    for r in range(tables):
                        unit = begins[r] + lane[t] * cells[0] + rows[r] - 1
                        if rows[r] and unit < cells[1]:
                            found[count] = ~unit if negative else unit
                            count += 1
            negative = not negative
        if fill:
            units[starts[i] : starts[i + 1]] = found[:count]
        else:
            starts[i + 1] = count
