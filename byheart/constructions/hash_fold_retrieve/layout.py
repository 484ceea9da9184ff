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

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, islice

import numpy as np
from numba import njit, uint64
from numpy.typing import NDArray

ROLES = ("constant", "data", "row", "gate", "column", "mark")


@dataclass(frozen=True)
class Fold:
    role: str
    target: int = 0  # row: the table
    weight: int = 1  # what the bit counts for
    ternary: bool = False  # at two thirds of the range instead of half


@dataclass(frozen=True)
class Plan:
    """The free choices of the construction.

    columns      2**a or 3 * 2**a; each stored number holds about one bit a column
    tables       rows of each table, 2**a or 3 * 2**a
    lanes        copies of the tables; lane 0 is always on, the others depend on one or two gates
    gates        gate bits
    top, low     data folds before the others, and among them
    marks        bits of the fingerprint
    token_folds, mix_folds   folds of each token, and of the sum
    narrow       one index lane for everything: more parameters, but a stream of three lanes
    """

    columns: int
    tables: tuple[int, ...] = ()
    lanes: int = 1
    gates: int = 0
    top: int = 0
    low: int = 0
    marks: int = 0
    token_folds: int = 1
    mix_folds: int = 0
    narrow: bool = False

    @cached_property
    def folds(self) -> tuple[tuple[Fold, ...], tuple[Fold, ...]]:
        """Folds in order: a fixed head, and the rest, which the balancing may permute."""
        head = [Fold("data")] * self.top
        rest: list[Fold] = []
        digits = [list(_digits(rows, "row", table)) for table, rows in enumerate(self.tables)]
        columns = list(_digits(self.columns, "column", 0))
        for spelled in [*digits, columns]:
            if spelled and spelled[0].ternary and not self.narrow:
                head += spelled[:2]
                del spelled[:2]
        for spelled in digits:
            rest += spelled
        marks = [Fold("mark", weight=1 << i) for i in range(self.marks)]
        gates = [Fold("gate", weight=1 << i) for i in range(self.gates)]
        low = [Fold("data")] * self.low
        return tuple(head), tuple(rest + gates + marks + columns + low)

    @cached_property
    def masks(self) -> tuple[int, ...]:
        return lane_masks(self.lanes, self.gates)

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
    def top_value(self) -> int:
        """H < top_value: what all folds together bring to 0."""
        return thresholds(self.folds[0] + self.folds[1])[1]


def lane_masks(lanes: int, gates: int) -> tuple[int, ...]:
    """The gates of every lane: lane l is on if all its gates are.

    Closed under removing the lowest gate, so lanes can be added up.
    """
    sets = (c for size in range(gates + 1) for c in combinations(range(gates), size))
    masks = [sum(1 << i for i in chosen) for chosen in islice(sets, lanes)]
    assert len(masks) == lanes, "too few gates for so many lanes"
    return tuple(masks)


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
class Layout:
    """A plan whose folds have found their order.

    Arrays count folds from the last one: fold 0 is the last.
    """

    plan: Plan
    folds: tuple[Fold, ...]
    unknowns: int  # numbers that are in use: the last cells of the last table may be left out

    @property
    def columns(self) -> int:
        return self.plan.columns

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

    @cached_property
    def arrays(self) -> tuple:
        """What solve._coefficients reads."""
        backwards = self.folds[::-1]

        def ints(values) -> NDArray[np.int64]:
            return np.array(list(values), dtype=np.int64)

        return (
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

    def column_of(self, bits: NDArray[np.uint64]) -> NDArray[np.int64]:
        """The column of each context; folds that do not fire count."""
        column = np.zeros(len(bits), dtype=np.int64)
        for t, fold in enumerate(self.folds[::-1]):
            if fold.role == "column":
                column += np.where((bits >> np.uint64(t)) & np.uint64(1), 0, fold.weight)
        return column

    def marks_of(self, bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """The fingerprint of each context; folds that fire count."""
        marks = np.zeros(len(bits), dtype=np.uint64)
        for t, fold in enumerate(self.folds[::-1]):
            if fold.role == "mark":
                marks += ((bits >> np.uint64(t)) & np.uint64(1)) * np.uint64(fold.weight)
        return marks


@njit(cache=True, nogil=True)
def _fold_bits(hashes, limits, out):
    for i in range(hashes.shape[0]):
        value = hashes[i]
        bits = uint64(0)
        for t in range(limits.shape[0] - 1, -1, -1):
            if value >= limits[t]:
                value = 2 * limits[t] - 1 - value
                bits |= uint64(1) << uint64(t)
        out[i] = bits


def fold_bits(hashes: NDArray[np.int64], plan: Plan) -> NDArray[np.uint64]:
    """Bit t of the result: whether fold t, counted from the last, fires."""
    limits, _ = thresholds(plan.folds[0] + plan.folds[1])
    bits = np.zeros(len(hashes), dtype=np.uint64)
    _fold_bits(hashes, np.array(limits[::-1], dtype=np.int64), bits)
    return bits
