"""Which fold does what, and which numbers a context adds up, in the form with readers.

data      the threshold stores a number; after the first ones a data fold may also read bits that
          creators kept: it then adds a number of its own for each bit that is 1
creator   the threshold stores a number, and the bit is kept in a lane
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

DATA, CREATOR, COLUMN = range(3)


@dataclass(frozen=True)
class ReaderPlan:
    """The free choices of the form.

    cells        of the zigzag
    gates        column folds; columns = cells * 2**gates
    lead         data folds before the first creator
    creators     bits that are kept
    data         data folds
    reads        numbers that data folds add for bits of creators
    token_folds  of each token
    """

    cells: int
    gates: int
    lead: int
    creators: int
    data: int
    reads: int
    token_folds: int = 0

    @property
    def columns(self) -> int:
        return self.cells << self.gates

    @property
    def folds(self) -> int:
        return self.data + self.creators + self.gates

    @property
    def unknowns(self) -> int:
        """Stored numbers: one that all read, one per threshold, and those of the reads."""
        return 1 + self.data + self.creators + self.reads

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
        plan, placed = self.plan, 0
        roles = []
        for place in range(plan.folds):
            if place in self.gates:
                roles.append(COLUMN)
                continue
            roles.append(CREATOR if plan.lead <= placed < plan.lead + plan.creators else DATA)
            placed += 1
        return roles

    @property
    def unknowns(self) -> int:
        return self.plan.unknowns

    @cached_property
    def stored(self) -> dict[int, int]:
        """Fold -> the number in its threshold; number 0 is read by all."""
        places = [t for t, role in enumerate(self.roles) if role != COLUMN]
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
        """For the kernels: what each fold stores, where its reads begin, their creators, units."""
        creators = [t for t, role in enumerate(self.roles) if role == CREATOR]
        first, lanes, units = [0], [], []
        for t in range(self.plan.folds):
            for creator, unit in self.read.get(t, ()):
                lanes.append(creators[creator])
                units.append(unit)
            first.append(len(lanes))
        stored = [self.stored.get(t, -1) for t in range(self.plan.folds)]
        return tuple(np.array(x, np.int64) for x in (stored, first, lanes, units))

    def terms(self, fired: NDArray[np.uint64]) -> Terms:
        """The numbers that a context reads; every later fold that fires flips the sign."""
        return gather(len(fired), _terms, fired, *self.arrays)


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
def _terms(fired, stored, first, lanes, numbers, starts, units, fill):
    """Count each context's terms (starts[i + 1]), or fill them in; ~u is minus the number u."""
    found = np.zeros(1 + stored.shape[0] + lanes.shape[0], np.int32)
    for i in range(fired.shape[0]):
        bits, count, negative = fired[i], 1, False  # number 0 is read by all
        for t in range(stored.shape[0] - 1, -1, -1):
            if not (bits >> uint64(t)) & ONE:
                continue
            if stored[t] >= 0:
                found[count] = ~stored[t] if negative else stored[t]
                count += 1
                for e in range(first[t], first[t + 1]):
                    if (bits >> uint64(lanes[e])) & ONE:
                        found[count] = ~numbers[e] if negative else numbers[e]
                        count += 1
            negative = not negative
        if fill:
            units[starts[i] : starts[i + 1]] = found[:count]
        else:
            starts[i + 1] = count
