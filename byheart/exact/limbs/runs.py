"""Runs of blocks that one operation of fused.py can do, found by their weights."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..network import FeedForward
from .folds import MAX_STEPS, Folds, Lanes
from .shortcuts import Fold, Table, fold_of, gate_of, table_of
from .stack import Stack

MIN_POWERS = 3  # folds at powers of two that are worth an operation of their own


@dataclass
class Powers:
    """Folds of lane + before at bit places highest, ..., lowest; `after` is added in the end."""

    lane: int
    lowest: int
    highest: int
    before: int
    after: int

    @property
    def blocks(self) -> int:
        return self.highest - self.lowest + 1


Run = Folds | Powers


class Finder:
    """Cuts the blocks of a stack into runs and single blocks."""

    def __init__(self, stack: Stack, gated: Mapping[int, int], guess: bool, point: int):
        self.blocks, self.point = stack.blocks, point
        self.found = [fold_of(block, point) for block in stack.blocks]
        written = {row for m in (stack.entry.weight, stack.entry.bias) for row in m.by_row}
        reads = Counter(e.column for block in stack.blocks for e in block.W1.entries)
        reads.update(2 * [e.column for e in stack.exit.weight.entries])
        matrices = [m for block in stack.blocks for m in (block.W2, block.b2)]
        writes = Counter(e.row for m in matrices for e in m.entries)
        moved = map(gate_of, stack.blocks if guess else ())
        gates = {x for x in moved if x is not None and reads[x] == writes[x] == 1}
        self.lanes = Lanes(written, gated, gates)
        self.last_read = {e.column: i for i, x in enumerate(self.blocks) for e in x.W1.entries}
        self.last_read |= {e.column: len(self.blocks) for e in stack.exit.weight.entries}

    def runs(self) -> Iterator[tuple[Run | None, Sequence[FeedForward]]]:
        start = 0
        while start < len(self.blocks):
            run = powers(self.found[start:]) or self.folds(start)
            stop = start + (run.blocks if run else 1)
            for block in self.blocks[start:stop]:
                self.lanes.written.update(block.W2.by_row, block.b2.by_row)
            yield run, self.blocks[start:stop]
            start = stop

    def folds(self, start: int) -> Folds | None:
        """As many folds as one operation can do, and tables between them whose lanes end in it."""
        stop = min(start + MAX_STEPS, len(self.blocks))
        while run := self._folds(start, stop):
            stop = start + run.blocks
            late = {lane for lane in run.fills if self.last_read.get(lane, -1) >= stop}
            if not late:
                run.live = {x for x in run.counts if self.last_read.get(x, -1) >= stop}
                return run
            tables = ((i, x.block) for i, x in enumerate(run.steps) if isinstance(x.block, Table))
            stop = start + min(i for i, table in tables if late & table.columns.keys())
        return None

    def _folds(self, start: int, stop: int) -> Folds | None:
        first = self.found[start]
        if first is None:
            return None
        run = Folds(first.lane)
        for place in range(start, stop):
            fold = self.found[place]
            if fold is None:
                if not self._may_fill(place, run):
                    break
                table = table_of(self.blocks[place], self.point)
                if table is None or not run.table(table, self.lanes):
                    break
            elif run.steps and powers(self.found[place:]) or not run.fold(fold, self.lanes):
                break
        return run if run.steps else None

    def _may_fill(self, place: int, run: Folds) -> bool:
        """Whether folds are the last to read what the block writes: cheaper than its table."""
        block = self.blocks[place]
        for lane in (block.W2.by_row.keys() | block.b2.by_row.keys()) - {run.lane}:
            last = self.last_read.get(lane, place)
            if last == len(self.blocks) or self.found[last] is None:
                return False
        return True


def powers(folds: Sequence[Fold | None]) -> Powers | None:
    """Plain folds of x + before at descending powers of two without a gap.

    A fold at t that adds a constant k to x folds y = x + before at t + before, and then y is
    x + before - k: the next fold has its threshold at t + before - k, and so on. The second of
    these thresholds shall be half the first, which says what `before` is.
    """
    first, second = folds[0], folds[1] if len(folds) > 1 else None
    if first is None or second is None or not first.plain:
        return None
    half = first.threshold + first.constant - second.threshold
    before, threshold, after = 2 * half - first.threshold, 2 * half, first.threshold - 2 * half
    if half <= 0 or half & (half - 1):
        return None
    blocks = 0
    for fold in folds:
        if fold is None or not fold.plain or fold.lane != first.lane:
            break
        if threshold == 0 or fold.threshold - after != threshold:
            break
        after += fold.constant
        blocks, threshold = blocks + 1, threshold // 2
    highest = half.bit_length()
    run = Powers(first.lane, highest - blocks + 1, highest, before, after)
    return run if run.blocks >= MIN_POWERS else None
