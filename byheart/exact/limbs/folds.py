"""Runs of folds: which blocks one operation can do, and the numbers that it looks up.

A run folds one lane. What its folds write into other lanes follows from which of them fire, so most
of these lanes need not be computed: a fold that reads one looks up the number that it stands for.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..network import Dyadic
from .shortcuts import Fold, Table, rounded_up, times

MAX_STEPS = 256  # of a run
MAX_AMOUNT = 1 << 32  # that a fold adds to a counted lane
GROUP = 6  # bits that are looked up together
ROOM = 4  # bits of the first limb above all numbers that are looked up


@dataclass(frozen=True)
class Lanes:
    """What is known of a stack's lanes where a run begins."""

    written: set[int]  # something was written to them
    # lanes that may be closed for good, and a bound on all that is ever added to each
    gated: Mapping[int, int]
    gates: set[int]  # start at 0, are written to once, and read once, as the gate of a block


@dataclass(frozen=True)
class Step:
    block: Fold | Table
    threshold: int = 0  # of a fold: as if the blocks before it had added no constant to the lane
    least: int = 0  # of a fold: the excess that is enough for all that it does to other lanes


@dataclass
class Folds:
    """Folds of one lane, which may change other lanes that nothing was written to before."""

    lane: int
    steps: list[Step] = field(default_factory=list)
    constant: int = 0  # what the folds add to the lane, whether they fire or not
    # (lane, step): a gated lane, which the step closes for good
    closes: list[tuple[int, int]] = field(default_factory=list)
    # lane -> (step, s): a lane that becomes -2**s * excess and is then the gate of a block. A bound
    # is kept instead: the lane is closed, and it is at most minus the power of two whose exponent
    # is in its limb 0. kernels._unit gives up if that is not enough.
    takes: dict[int, tuple[int, int]] = field(default_factory=dict)
    # lane -> [(step, amount)]: a lane that holds a whole number
    counts: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    # lane -> tables, which add their numbers to it; their indices are counted lanes
    fills: dict[int, list[Table]] = field(default_factory=dict)
    live: set[int] = field(default_factory=set)  # those counted lanes that are read after the run

    @property
    def folds(self) -> list[Fold]:
        return [step.block for step in self.steps if isinstance(step.block, Fold)]

    @property
    def indices(self) -> list[int]:
        tables = [step.block for step in self.steps if isinstance(step.block, Table)]
        return list(dict.fromkeys(table.lane for table in tables))

    @property
    def blocks(self) -> int:
        return len(self.steps)

    def fold(self, fold: Fold, lanes: Lanes) -> bool:
        """Append a fold, unless the run cannot do it."""
        others, read = {lane for lane, _ in fold.others}, {lane for lane, _ in fold.reads}
        counted = {fold.counter[0]} if fold.counter else set[int]()
        closed = {lane for lane, _ in self.closes}
        if fold.lane != self.lane or (others | read | counted) & lanes.written:
            return False
        if others & (self.counts.keys() | self.fills.keys() | self.takes.keys()):
            return False
        if (read | counted) & (closed | self.takes.keys()):
            return False
        if counted & (self.fills.keys() | set(self.indices)):
            return False
        if not others <= lanes.gated.keys() | lanes.gates:
            return False
        least, number = 0, len(self.steps)
        if fold.counter:
            lane, amount, least = fold.counter
            if amount >= MAX_AMOUNT:
                return False
            self.counts.setdefault(lane, []).append((number, amount))
        for lane, power in fold.others:
            if lane in lanes.gated:  # 2**power * excess >= bound
                self.closes.append((lane, number))
                least = max(least, rounded_up(lanes.gated[lane], -power))
            else:
                self.takes[lane] = number, power
            least = max(least, 1)
        self.steps.append(Step(fold, fold.threshold - self.constant, least))
        self.constant += fold.constant
        return True

    def table(self, table: Table, lanes: Lanes) -> bool:
        """Append a table that a counted lane is the index of, unless the run cannot do it."""
        targets = table.columns.keys() - {self.lane}
        changed = {lane for lane, _ in self.closes} | self.takes.keys() | self.counts.keys()
        index = sum(amount for _, amount in self.counts.get(table.lane, ()))  # at most
        if table.lane not in self.counts or index >= table.size:
            return False
        if targets & (lanes.written | changed):
            return False
        for lane in targets:
            self.fills.setdefault(lane, []).append(table)
        self.steps.append(Step(table))
        return True


@dataclass(frozen=True)
class Registers:
    """Small numbers that follow from which steps fire, and what the steps look up with them.

    Register 0 is always 0. The others hold the bits of a few folds each, or the index of a table.

    updates  step by step, (register, amount): added if the step fires
    lookups  step by step, register -> numbers: those chosen by all registers add up to twice the
             threshold of a fold, or to what a table adds to the lane
    """

    count: int
    updates: list[list[tuple[int, int]]]
    lookups: list[dict[int, list[int]]]


def registers(run: Folds, point: int) -> Registers:
    """The registers of a run. Bits that folds read are grouped in the order of the steps."""
    read = {lane for fold in run.folds for lane, _ in fold.reads}
    bits = sorted((step, lane, more) for lane in read for step, more in run.counts.get(lane, ()))
    groups = -(-len(bits) // GROUP)
    updates: list[list[tuple[int, int]]] = [[] for _ in run.steps]
    kept: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    for i, (step, lane, amount) in enumerate(bits):
        register = 1 + i * groups // len(bits)
        updates[step].append((register, 1 << len(kept[register])))
        kept[register].append((lane, amount << point))
    index = {lane: 1 + groups + i for i, lane in enumerate(run.indices)}
    for lane, register in index.items():
        for step, amount in run.counts[lane]:
            updates[step].append((register, amount))

    def lookups(step: Step) -> dict[int, list[int]]:
        block = step.block
        if isinstance(block, Table):
            return {index[block.lane]: block.columns.get(run.lane, [0] * block.size)}
        weights = {lane: Dyadic(w.mantissa, w.exponent + 1) for lane, w in block.reads}
        found: dict[int, list[int]] = {}
        for register, held in kept.items():
            numbers = [times(weights[lane], x) if lane in weights else 0 for lane, x in held]
            if any(numbers):
                found[register] = _subset_sums(numbers)
        for lane in weights.keys() & run.fills.keys():
            for table in run.fills[lane]:
                column = [times(weights[lane], x) for x in table.columns[lane]]
                before = found.get(index[table.lane], [0] * table.size)
                found[index[table.lane]] = [a + b for a, b in zip(before, column, strict=False)]
        if not found:
            return {0: [2 * step.threshold]}
        first = min(found, key=lambda register: len(found[register]))
        found[first] = [2 * step.threshold + x for x in found[first]]
        return found

    return Registers(1 + groups + len(index), updates, [lookups(step) for step in run.steps])


def _subset_sums(numbers: Sequence[int]) -> list[int]:
    """For i = 0, 1, 2, ...: the sum of the numbers whose bit is set in i."""
    sums = [0]
    for number in numbers:
        sums += [x + number for x in sums]
    return sums


def window(run: Folds, found: Registers, lowest: int) -> tuple[int, int]:
    """(low, size): the bits from `low` on, in `size` limbs, that hold all numbers of the run."""
    numbers = [x for step in found.lookups for column in step.values() for x in column]
    numbers.append(run.constant)
    low = min([lowest, *((x & -x).bit_length() - 2 for x in numbers if x)])
    sums = [sum(max(map(abs, column)) for column in step.values()) for step in found.lookups]
    sums += [run.constant, *(step.least for step in run.steps)]
    slope = max((fold.slope for fold in run.folds), default=0)
    room = ROOM + (1 + slope.bit_length() if slope > 2 else 0)
    top = max(lowest + 64, room + max(x.bit_length() for x in sums))
    size = -(-(top - low) // 64)
    return max(0, top - 64 * size), size
