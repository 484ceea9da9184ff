"""Runs of blocks that one operation of fused.py can do, found by their weights."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ..network import FeedForward
from .fused import SHORT
from .levels import Levels, levels
from .shortcuts import Fold, Table, fold_of, gated_shift, relu_of_lane, rounded_up, table_of
from .stack import Stack

MIN_POWERS = 3  # folds at powers of two that are worth an operation of their own
CLOSE = 12  # bits of a threshold's leading part with which many values are too close to it
MAX_WINDOW = 1 << 20  # limbs of the tables of one gather


@dataclass
class Folds:
    """Folds of one lane, in units of 2**unit: thresholds and least excesses have SHORT bits.

    With slope 2 the thresholds have rests: see fused.fold_run. A fold may change other lanes that
    nothing was written to before:
    closes   (lane, fold): a gated lane, which an excess of at least `least` closes for good
    counts   lane -> [(fold, amount)]: an excess of at least `least` adds the amount
    takes    lane -> (fold, s): a lane that becomes -2**s * excess and is then the gate of a shift.
             An upper bound is kept instead of this number: the lane is closed, and its limb 0 is
             a lower bound of the excess. fused.shifts gives up if that is not enough.
    """

    lane: int
    unit: int
    slope: int
    thresholds: list[int] = field(default_factory=list)  # whole, in units of the frame's lowest bit
    least: list[int] = field(default_factory=list)
    closes: list[tuple[int, int]] = field(default_factory=list)
    counts: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    takes: dict[int, tuple[int, int]] = field(default_factory=dict)
    roles: dict[int, str] = field(default_factory=dict)  # which of these a lane is in

    @property
    def blocks(self) -> int:
        return len(self.thresholds)

    def append(self, fold: Fold, least: int, roles: Mapping[int, str]) -> None:
        number = len(self.thresholds)
        self.thresholds.append(fold.threshold)
        self.least.append(least)
        self.roles |= roles
        for lane, power in fold.others:
            if roles[lane] == "close":
                self.closes.append((lane, number))
            else:
                self.takes[lane] = number, power
        if fold.counter:
            lane, amount, _ = fold.counter
            self.counts.setdefault(lane, []).append((number, amount))


@dataclass
class Powers:
    """Folds of one lane at 2**highest, ..., 2**lowest, bit places in the frame."""

    lane: int
    lowest: int
    highest: int

    @property
    def blocks(self) -> int:
        return self.highest - self.lowest + 1


@dataclass
class Shifts:
    """Blocks lane + (2**s - 1) relu(lane + gate), as (gate, s)."""

    lane: int
    gates: list[tuple[int, int]]

    @property
    def blocks(self) -> int:
        return len(self.gates)


@dataclass
class Gather:
    """Tables, then blocks that add relu(lane) of gated lanes to other lanes and to the target.

    way  lane -> the lane that it is added to; the target's own way is itself and comes first, and
         a lane comes after the one it is added to
    """

    target: int
    tables: list[Table]
    way: dict[int, int]
    blocks: int

    @property
    def window(self) -> tuple[int, int]:
        """(low, size): limbs low..low + size - 1 hold the tables' numbers and their sum.

        One more limb than the sum needs is left for the target.
        """
        values = [x for table in self.tables for column in table.columns.values() for x in column]
        zeros = min(((x & -x).bit_length() - 1 for x in values if x), default=0)
        entries = sum(len(table.columns) for table in self.tables)
        bits = max((x.bit_length() for x in values), default=0) + entries.bit_length() + 1
        return zeros // 64, -(-bits // 64) + 1 - zeros // 64


Run = Folds | Powers | Levels | Shifts | Gather


class Finder:
    """Cuts the blocks of a stack into runs and single blocks."""

    def __init__(self, stack: Stack, gated: Mapping[int, int], guess: bool, point: int):
        self.blocks, self.gated, self.point = stack.blocks, gated, point
        self.written = {row for m in (stack.entry.weight, stack.entry.bias) for row in m.by_row}
        # Lanes that start at 0, are written to once, and read once, as the gate of a shift.
        reads = Counter(e.column for block in stack.blocks for e in block.W1.entries)
        reads.update(2 * [e.column for e in stack.exit.weight.entries])
        matrices = [m for block in stack.blocks for m in (block.W2, block.b2)]
        writes = Counter(e.row for m in matrices for e in m.entries)
        moved = [gated_shift(block) for block in stack.blocks] if guess else []
        self.gates = {x[1] for x in moved if x and reads[x[1]] == writes[x[1]] == 1}

    def runs(self) -> Iterator[tuple[Run | None, Sequence[FeedForward]]]:
        start = 0
        while start < len(self.blocks):
            rest = self.blocks[start:]
            run = (
                powers(rest, self.point)
                or levels(fold_of(block, self.point) for block in rest)
                or self.folds(rest)
                or shifts(rest)
                or gather(rest, self.gated, self.point)
            )
            stop = start + (run.blocks if run else 1)
            for block in self.blocks[start:stop]:
                self.written |= set(block.W2.by_row) | set(block.b2.by_row)
            yield run, self.blocks[start:stop]
            start = stop

    def folds(self, blocks: Sequence[FeedForward]) -> Folds | None:
        """As many folds as one operation can do."""
        run: Folds | None = None
        for place, block in enumerate(blocks):
            fold = fold_of(block, self.point)
            if fold is None or run and powers(blocks[place:], self.point):
                break
            if run is None:
                unit = max(0, fold.threshold.bit_length() + 1 - SHORT)
                run = Folds(fold.lane, unit, fold.slope)
            if not self._take(run, fold):
                break
        return run if run and run.thresholds else None

    def _take(self, run: Folds, fold: Fold) -> bool:
        """Append a fold to the run if it can be done there."""
        roles = {lane: "close" if lane in self.gated else "take" for lane, _ in fold.others}
        if fold.counter:
            roles[fold.counter[0]] = "count"
        for lane, role in roles.items():
            if lane in self.written or run.roles.get(lane, role) != role:
                return False
            if role == "take" and lane not in self.gates:
                return False
        needed = [0]  # the excess, in units of 2**unit, that is enough for all that the fold does
        if fold.counter:
            needed.append(rounded_up(fold.counter[2], -run.unit))
        for lane, power in fold.others:  # to close a lane: 2**power * excess >= bound
            closes = lane in self.gated
            needed.append(rounded_up(self.gated[lane], -run.unit - power) if closes else 1)
        least = max(needed)
        leading = fold.threshold >> run.unit
        if run.thresholds and leading >> CLOSE == 0:
            return False
        long = max(leading, least) >> SHORT
        rest = fold.threshold & ((1 << run.unit) - 1)
        if (fold.lane, fold.slope) != (run.lane, run.slope) or long or rest and run.slope != 2:
            return False
        run.append(fold, least, roles)
        return True


def powers(blocks: Sequence[FeedForward], point: int) -> Powers | None:
    """Plain folds at descending powers of two without a gap."""
    first = last = None
    for block in blocks:
        fold = fold_of(block, point)
        if fold is None or fold.slope != 2 or fold.counter or fold.others:
            break
        if fold.threshold & (fold.threshold - 1):
            break
        if last and (fold.lane != last.lane or 2 * fold.threshold != last.threshold):
            break
        first, last = first or fold, fold
    if first is None or last is None:
        return None
    run = Powers(first.lane, last.threshold.bit_length() - 1, first.threshold.bit_length() - 1)
    return run if run.blocks >= MIN_POWERS else None


def shifts(blocks: Sequence[FeedForward]) -> Shifts | None:
    """Gated shifts of one lane."""
    run: Shifts | None = None
    for block in blocks:
        shift = gated_shift(block)
        if shift is None or run and shift[0] != run.lane:
            break
        run = run or Shifts(shift[0], [])
        run.gates.append(shift[1:])
    return run


def gather(blocks: Sequence[FeedForward], gated: Mapping[int, int], point: int) -> Gather | None:
    """Tables that add nothing negative to gated lanes, and the blocks that add these up."""
    tables: list[Table] = []
    for block in blocks:
        if (table := table_of(block, point)) is None:
            break
        tables.append(table)
    passes = []
    for block in blocks[len(tables) :]:
        if (moves := _moves(block, gated)) is None:
            break
        passes.append(moves)
    lanes = {lane for table in tables for lane in table.columns}
    targets = (lanes | {d for moves in passes for d in moves.values()}) - set(gated)
    if len(targets) != 1 or not tables or not passes:
        return None
    (target,) = targets
    way = {target: target}
    for moves in reversed(passes):  # a lane is added before its goal moves on
        if not set(moves.values()) <= set(way):
            return None
        way |= moves
    if not lanes <= set(way) or any(table.lane in way for table in tables):
        return None
    columns = [c for table in tables for lane, c in table.columns.items() if lane != target]
    if any(value < 0 for column in columns for value in column):
        return None
    run = Gather(target, tables, way, len(tables) + len(passes))
    numbers = sum(table.size * len(table.columns) for table in tables)
    return run if numbers * run.window[1] <= MAX_WINDOW else None


def _moves(block: FeedForward, gated: Mapping[int, int]) -> dict[int, int] | None:
    """lane -> other lane, if all that the block does is to add relu(lane) of gated lanes."""
    if block.b1.entries or block.b2.entries or len(block.W2.entries) != block.W1.rows:
        return None
    moves: dict[int, int] = {}
    for row, unit, weight in block.W2.entries:
        lane = relu_of_lane(block, unit)
        if lane is None or lane not in gated or lane in moves or weight != (1, 0):
            return None
        moves[lane] = row
    return moves if len(moves) == block.W1.rows else None
