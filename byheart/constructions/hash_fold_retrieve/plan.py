"""Candidate plans in order of their cost, which is counted in closed form, stage by stage.

The counts are exact up to what only the data decides (`digits`, the length of the longest stored
sum, and stored numbers that happen to be 0); a test compares them with built networks.
"""

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import product

from ..retrieval.plan import Cost, Stage, cost_of, hash_bits, needed
from ..retrieval.problem import Task
from .layout import SHARES, FoldPlan

MAX_FOLDS = 58  # H and its sums stay in 64 bits
# two blocks save (2 sqrt(3) - sqrt(11)) sqrt(equations) parameters at most, and take 7 folds more
MANY = 20_000
# Lanes that gates read, and two blocks, save parameters for some more bits. That pays for words of
# one bit; for longer ones it is 1 to 3 % of the parameters for 2 to 9 % more bits.
PAYS = 1
HELD = 0.7  # of the folds between blocks, those that hold numbers: higher thresholds are longer
FEWEST_HELD = 64  # no sum of random numbers ends in 64 zeros
LONGER = 1  # bits of a sum in the lower block beyond those in the upper one
FEW_TOKENS = 16  # coefficients of a sum that is spread well after two folds
ROWS = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
QUICK = 200_000  # equations from which on a lane has one gate: those of two are slow to verify


@lru_cache(maxsize=64)
def candidates(
    task: Task, objective: str, spare: float, slack: int, extra_bits: int, held: float = HELD
) -> tuple[FoldPlan, ...]:
    """All plans of the family that store enough, cheapest first.

    Numbers beyond those that are needed do not count as far as they can be left out.

    held  the share of the folds between two blocks that hold numbers
    """
    plans: list[tuple[float, int, FoldPlan]] = []
    bits = hash_bits(task) + extra_bits
    # near the best balance of columns and numbers, 3 * columns = numbers = equations / columns
    best = math.sqrt(task.equations / 3)
    sizes = sorted({1, *(m << a for a in range(20) for m in (2, 3))})
    for columns in (size for size in sizes if best / 5 <= size <= 4 * best + 4):
        numbers = needed(task, columns, spare, slack)
        saving = objective == "nonzero" and task.window <= PAYS
        if saving and not task.marks and task.equations >= MANY:
            for plan in _parted(task, columns, spare, slack, bits, held):
                used = max(needed(plan.portion(task), columns, spare, slack), plan.fewest)
                price = cost(plan, task, min(plan.unknowns, used)).of(objective)
                plans.append((price, columns, plan))
        sized = list(_plain_plans(task, columns, numbers, bits))
        if objective == "dense":
            sized += [replace(plan, narrow=True) for plan in sized]
            sized += _narrow_plans(task, columns, numbers, bits)
        else:
            sized += _table_plans(task, columns, numbers, bits)
        if saving:
            sized += _reading_plans(task, columns, numbers, bits)
        for plan in sized:
            plans.append((cost(plan, task, plan.used(numbers)).of(objective), columns, plan))
    return tuple(plan for *_, plan in sorted(plans, key=lambda priced: priced[:2]))


def _plain_plans(task: Task, columns: int, numbers: int, bits: int) -> Iterator[FoldPlan]:
    """No tables: every number in a fold."""
    spelled = len(FoldPlan(columns).folds)
    data = max(numbers - 1, bits - spelled - task.marks, 0)
    if data + spelled + task.marks <= MAX_FOLDS:
        low = min(data, 3)
        yield FoldPlan(columns, top=data - low, low=low, marks=task.marks)


def _table_plans(task: Task, columns: int, numbers: int, bits: int) -> Iterator[FoldPlan]:
    """Two tables in every lane.

    A few data folds take the ends of H, which are less random than its middle: sums crowd around
    their mean, and only after some folds is a third of the range as likely as another, as a ternary
    digit needs.
    """
    for first in ROWS:
        for second in (first, 2 * first if first & (first - 1) == 0 else first * 4 // 3):
            for gates in range(1, 17):
                plan = FoldPlan(columns, (first, second), gates + 1, gates, marks=task.marks)
                used = len(plan.folds)
                ternary = any(size % 3 == 0 for size in (columns, first, second))
                fewest = 4 if ternary else 1 if task.contexts <= 4000 else 3
                data = max(fewest, bits - used)
                cells = first + second - 2 + 1
                lanes = math.ceil((numbers - 1 - data - gates + (gates + 1)) / cells)
                most = 1 + gates + gates * (gates - 1) // 2
                if gates + 1 <= lanes <= most and used + data <= MAX_FOLDS:
                    low = min(data // 2, data - 4) if ternary else data // 2
                    yield replace(plan, lanes=lanes, top=data - low, low=low)


def _reading_plans(task: Task, columns: int, numbers: int, bits: int) -> Iterator[FoldPlan]:
    """Two tables, and gates that read their lanes: one for every lane, or as few as H needs.

    More gates make longer hashes, but shorter sums than lanes of two gates. There is some room for
    further numbers, which do not count as long as they are left out. The middle of H's range is as
    good a threshold as any, but then sums crowd at its end: the second fold fires for most contexts
    and only stores a number. Thirds take more folds before them, as in _table_plans, and so do sums
    of many tokens.
    """
    for first in ROWS:
        for second in (first, 2 * first if first & (first - 1) == 0 else first * 4 // 3):
            ternary = any(size % 3 == 0 for size in (columns, first, second))
            top, cells = 4 if ternary or task.total > FEW_TOKENS else 1, first + second - 2
            plan = FoldPlan(columns, (first, second), top=top, marks=task.marks)
            plan, used = replace(plan, reads=True), len(plan.folds)
            wanted = numbers + numbers // 100 - 1 - top
            enough = max(2, math.ceil((wanted - cells) / (cells + 1)))
            few = max(2, min(enough, bits - used))
            for gates in sorted({few, max(few, min(enough, MAX_FOLDS - used))}, reverse=True):
                low = max(0, bits - used - gates)
                lanes = max(1 + gates, math.ceil((wanted - gates - low) / cells))
                half = gates // 2
                most = 1 + gates + (half * (gates - half) if task.equations < QUICK else 0)
                if used + gates + low <= MAX_FOLDS and lanes <= most:
                    yield replace(plan, lanes=lanes, gates=gates, low=low)


def _parted(
    task: Task, columns: int, spare: float, slack: int, bits: int, share_held: float
) -> Iterator[FoldPlan]:
    """Two blocks (two_blocks.py).

    The block bit is a bit of H, and follows some data folds, since its share must be what it should
    be. Of 2 U + m numbers, m in the folds between the blocks, the upper block has U.
    """

    def holding(above: int) -> int:
        held = round(share_held * above)
        return held if held >= FEWEST_HELD else above

    above = columns + task.window + guard(FoldPlan(columns, (16, 16), 20, 19), task.contexts)
    blocks = FoldPlan(columns, upper=SHARES // 2, above=above, held=holding(above))
    if blocks.portion(task).equations == 0:
        return
    numbers = needed(blocks.portion(task), columns, spare, slack)
    kinds = _table_plans, _reading_plans
    for plan in (p for kind in kinds for p in kind(task, columns, numbers, bits - 1)):
        above = columns + task.window + guard(plan, task.contexts)
        held = holding(above)
        share = SHARES * numbers // (2 * numbers + held)
        data = plan.top + plan.low
        top = max(plan.top, min(data, 4))
        plan = replace(plan, top=top, low=data - top, upper=share, above=above, held=held)
        if len(plan.folds) <= MAX_FOLDS:
            yield plan


def _narrow_plans(task: Task, columns: int, numbers: int, bits: int) -> Iterator[FoldPlan]:
    """One lane, four or five tables read one after another.

    Exclusive rows need more tables to be independent.
    """
    sizes = [s for a in range(2, 13) for s in (1 << a, 3 << (a - 1))]
    pairs = [(s, t) for s in sizes for t in (s, s * 4 // 3 if s % 3 == 0 else s * 3 // 2)]
    for count, (size, second) in product((4, 5), pairs):
        for split in range(count + 1):
            rows = (second,) * split + (size,) * (count - split)
            if not numbers * 0.9 <= sum(rows) <= numbers * 2:
                continue
            plan = FoldPlan(columns, rows, marks=task.marks, narrow=True)
            used = len(plan.folds)
            data = max(10, bits - used)
            if 1 + data + sum(rows) - count >= numbers and used + data <= MAX_FOLDS:
                yield replace(plan, top=2, low=data - 2)


def guard(plan: FoldPlan, contexts: int) -> int:
    """An estimate of the bits of a stored sum above K, by how many numbers a typical sum has.

    If gates read lanes, numbers are spread around 0, but for those of lanes of two gates. In units
    of 2**(K + 1) they have the variance 1/12, and two that are not negative a mean square of 7/6.
    """
    stored = plan.top + plan.low + plan.gates
    if plan.reads:
        terms = 1 + len(plan.tables) + (stored + len(plan.tables) * plan.gates) / 2
        variance = terms / 12 + (plan.lanes - 1 - plan.gates) / 4 * 7 / 6
        widest = 2 * math.sqrt(2 * math.log(contexts + 1) * variance)
        return 1 + math.ceil(math.log2(widest))
    typical = 1 + 0.4 * plan.lanes * len(plan.tables) + 0.6 * math.sqrt(stored)
    return max(2, math.ceil(math.log2(typical)))


def cost(
    plan: FoldPlan,
    task: Task,
    unknowns: int | None = None,
    digits: int | None = None,
    offset: bool = False,
    above: int | None = None,
) -> Cost:
    """Counts of the network.

    unknowns  defaults to all numbers of the plan
    digits    defaults to an estimate
    offset    whether the sums of tokens are moved towards 0 (Hash.offset)
    above     folds between two blocks; defaults to the plan's estimate
    """
    positions = plan.columns + task.window - 1
    above = plan.above if above is None else above
    if digits is None:
        digits = positions + guard(plan, task.contexts) + (LONGER if plan.upper else 0)
    numbers = plan.unknowns if unknowns is None else unknowns
    count = {role: sum(f.role == role for f in plan.folds) for role in ("row", "column", "mark")}
    if plan.narrow:
        width = 2 + (plan.columns > 1) + (plan.marks > 0)
    else:
        width = 1 + len(plan.tables) + plan.lanes - 1 + count["column"] + (plan.marks > 0) + 1
        width += plan.upper > 0
    counting = count["row"] + count["mark"] + (count["column"] if plan.narrow else 0)
    plain = len(plan.folds) - counting
    gated = count["column"] if not plan.narrow else 0
    strip = digits - task.window
    added = sum(idle > 0 for idle, _ in plan.conditions)
    sums = int(added > 0) if plan.reads else len({mask & -mask for mask in plan.masks[1:]})
    shifts: Stage = (3 * gated, gated, gated)
    if plan.narrow:
        weights = [f.weight for f in plan.folds if f.role == "column"]
        shifts = sum(13 - (w == 1) for w in weights), 2 * len(weights), 4 * len(weights)
    kinks = len(task.code.kinks) - 1
    reader: list[Stage] = [(3 * kinks, int(kinks > 0), kinks)]
    if bits := task.label_digits:
        # a constant moves the middle to 0, which saves one; fingerprints have that constant already
        saved = bits > 1 and task.marks > 0 and not kinks
        reader.append((7 * bits - 1 - saved, bits, 2 * bits))
    if task.marks:
        reader.append((19, 2, 5))
    # the block gate's lane, the shift, the folds and what they lift
    parted: Stage = (1 + 3 + 3 * above + 1, 1 + above, 1 + above) if plan.upper else (0, 0, 0)
    stages: list[Stage] = [
        (3 * plan.token_folds, plan.token_folds, plan.token_folds),
        (3 * plan.mix_folds, plan.mix_folds, plan.mix_folds),
        (3 * plain + gated + plan.lanes - 1, plain, plain),
        (7 * counting, counting, 2 * counting),
        (1, 0, 0),  # the constant
        *_tables(plan, plan.unknowns - numbers),
        (2 * added, sums, added),
        parted,
        shifts,
        (3 * strip, strip, strip),
        *reader,
    ]
    whole = cost_of(task, stages, width, offset, numbers, plan.columns)
    more = 8.0 * (plan.top + plan.low)
    if plan.upper:  # numbers of twice the length, and thresholds that begin above them
        held = min(plan.held, above)
        more += numbers * (positions + 8) + held * (positions + held / 2)
    return Cost(whole.nonzero, whole.dense, whole.bits + more)


def _tables(plan: FoldPlan, dropped: int) -> list[Stage]:
    """The tables and the lanes' constants.

    When the last `dropped` numbers of the last table are 0, second differences vanish; two stay at
    the edge of each lane.
    """
    stages: list[Stage] = []
    for table, rows in enumerate(plan.tables, 1):
        cells, saved = plan.lanes * (rows - 1), 0
        if table == len(plan.tables):
            lanes, rest = divmod(dropped, rows - 1)
            saved = lanes * (rows - 1) + max(0, rest - 2)
        stages.append((2 * (rows - 1) - 1 + cells - saved + plan.narrow, 1, rows - 1))
    if stages:
        stages.append((len(plan.constants), 0, 0))
    return stages
