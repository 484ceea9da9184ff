"""The form with tables: candidate plans in order of their cost, and the weights of a solved layout.

The counts are exact up to what only the data decides (`digits`, the length of the longest stored
sum, and stored numbers that happen to be 0); a test compares them with built networks.

The stream's main lane is v = H * 2**scale + P: the context's number H on top, the payload P (the
stored sum) below. Other lanes: J0, J1, ... row indices, L1, L2, ... copies of the tables,
p0, p1, ... gates of the shifts, M the fingerprint, O the output.
"""

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from itertools import product

from ...gadgets.blocks import Block, fold, fold_and_count, read_digits, select
from ...gadgets.prefix_code import PrefixCode
from .folds import FoldPlan, folds_of, thresholds
from .network import decode
from .plan import Cost, Stage, Storage, cost_of, hash_bits, needed
from .problem import Task

MAX_FOLDS = 58  # H and its sums stay in 64 bits
# Gates that read lanes save parameters for some more bits. That pays for words of one bit.
PAYS = 1
FEW_TOKENS = 16  # coefficients of a sum that is spread well after two folds
ROWS = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
QUICK = 200_000  # equations from which on a lane has one gate: those of two are slow to verify
HALF = Fraction(1, 2)


@lru_cache(maxsize=64)
def candidates(
    task: Task, objective: str, spare: float, slack: int, extra_bits: int
) -> tuple[FoldPlan, ...]:
    """All plans of the family that store enough, cheapest first."""
    plans: list[tuple[float, int, FoldPlan]] = []
    bits = hash_bits(task) + extra_bits
    # near the best balance of columns and numbers, 3 * columns = numbers = equations / columns
    best = math.sqrt(task.equations / 3)
    sizes = sorted({1, *(m << a for a in range(20) for m in (2, 3))})
    for columns in (size for size in sizes if best / 5 <= size <= 4 * best + 4):
        numbers = needed(task, columns, spare, slack)
        sized, spelled = [], folds_of(columns)
        data = max(numbers - 1, bits - spelled - task.marks, 0)
        if data + spelled + task.marks <= MAX_FOLDS:  # no tables: every number in a fold
            low = min(data, 3)
            sized.append(FoldPlan(columns, top=data - low, low=low, marks=task.marks))
        if objective == "dense":
            sized += [replace(plan, narrow=True) for plan in sized]
            sized += _narrow_plans(task, columns, numbers, bits)
        else:
            sized += _table_plans(task, columns, numbers, bits)
        if objective == "nonzero" and (task.window <= PAYS or task.code.interval):
            sized += _reading_plans(task, columns, numbers, bits)
        for plan in sized:
            plans.append((cost(plan, task, plan.used(numbers)).of(objective), columns, plan))
    return tuple(plan for *_, plan in sorted(plans, key=lambda priced: priced[:2]))


def _pairs(columns: int) -> Iterator[tuple[tuple[int, int], int, bool]]:
    """Rows of two tables, the folds that spell them and the column, and whether one is ternary."""
    for first in ROWS:
        for second in (first, 2 * first if first & (first - 1) == 0 else first * 4 // 3):
            ternary = columns % 3 == 0 or first % 3 == 0 or second % 3 == 0
            yield (first, second), folds_of(first) + folds_of(second) + folds_of(columns), ternary


def _table_plans(task: Task, columns: int, numbers: int, bits: int) -> Iterator[FoldPlan]:
    """Two tables in every lane.

    A few data folds take the ends of H, which are less random than its middle: sums crowd around
    their mean, and only after some folds is a third of the range as likely as another, as a ternary
    digit needs.
    """
    for tables, spelled, ternary in _pairs(columns):
        fewest = 4 if ternary else 1 if task.contexts <= 4000 else 3
        cells = tables[0] + tables[1] - 2 + 1
        for gates in range(1, 17):
            used = spelled + gates + task.marks
            data = max(fewest, bits - used)
            lanes = math.ceil((numbers - 1 - data - gates + (gates + 1)) / cells)
            most = 1 + gates + gates * (gates - 1) // 2
            if gates + 1 <= lanes <= most and used + data <= MAX_FOLDS:
                low = min(data // 2, data - 4) if ternary else data // 2
                plan = FoldPlan(columns, tables, lanes, gates, marks=task.marks)
                yield replace(plan, top=data - low, low=low)


def _reading_plans(task: Task, columns: int, numbers: int, bits: int) -> Iterator[FoldPlan]:
    """Two tables, and gates that read their lanes: one for every lane, or as few as H needs.

    More gates make longer hashes, but shorter sums than lanes of two gates. There is some room for
    further numbers, which do not count as long as they are left out. The middle of H's range is as
    good a threshold as any, but then sums crowd at its end: the second fold fires for most contexts
    and only stores a number. Thirds take more folds before them, as in _table_plans, and so do sums
    of many tokens.
    """
    for tables, spelled, ternary in _pairs(columns):
        top = 4 if ternary or task.total > FEW_TOKENS else 1
        cells, used = tables[0] + tables[1] - 2, spelled + top + task.marks
        wanted = numbers + numbers // 100 - 1 - top
        enough = max(2, math.ceil((wanted - cells) / (cells + 1)))
        few = max(2, min(enough, bits - used))
        for gates in sorted({few, max(few, min(enough, MAX_FOLDS - used))}, reverse=True):
            low = max(0, bits - used - gates)
            lanes = max(1 + gates, math.ceil((wanted - gates - low) / cells))
            half = gates // 2
            most = 1 + gates + (half * (gates - half) if task.equations < QUICK else 0)
            if used + gates + low <= MAX_FOLDS and lanes <= most:
                plan = FoldPlan(columns, tables, lanes, gates, top=top, low=low, marks=task.marks)
                yield replace(plan, reads=True)


def _narrow_plans(task: Task, columns: int, numbers: int, bits: int) -> Iterator[FoldPlan]:
    """One lane, four or five tables read one after another."""
    sizes = [s for a in range(2, 13) for s in (1 << a, 3 << (a - 1))]
    pairs = [(s, t) for s in sizes for t in (s, s * 4 // 3 if s % 3 == 0 else s * 3 // 2)]
    for count, (size, second) in product((4, 5), pairs):
        for split in range(count + 1):
            rows = (second,) * split + (size,) * (count - split)
            if not numbers * 0.9 <= sum(rows) <= numbers * 2:
                continue
            used = sum(map(folds_of, rows)) + folds_of(columns) + task.marks
            data = max(10, bits - used)
            if 1 + data + sum(rows) - count >= numbers and used + data <= MAX_FOLDS:
                plan = FoldPlan(columns, rows, marks=task.marks, narrow=True)
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
) -> Cost:
    """Counts of the network; by default of all numbers, and with an estimate of the digits."""
    positions = plan.columns + task.window - 1
    if digits is None:
        digits = positions + guard(plan, task.contexts)
    numbers = plan.unknowns if unknowns is None else unknowns
    rows, columns = sum(map(folds_of, plan.tables)), folds_of(plan.columns)
    if plan.narrow:
        width = 2 + (plan.columns > 1) + (plan.marks > 0)
    else:
        width = 1 + len(plan.tables) + plan.lanes - 1 + columns + (plan.marks > 0) + 1
    gated = 0 if plan.narrow else columns
    counting = rows + plan.marks + columns - gated
    plain = plan.top + plan.low + plan.gates + gated
    strip = digits - task.window
    added, sums = plan.added
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
    stages: list[Stage] = [
        (3 * plan.token_folds, plan.token_folds, plan.token_folds),
        (3 * plan.mix_folds, plan.mix_folds, plan.mix_folds),
        (3 * plain + gated + plan.lanes - 1, plain, plain),
        (7 * counting, counting, 2 * counting),
        (1, 0, 0),  # the constant
        *_tables(plan, plan.unknowns - numbers),
        (2 * added, sums, added),
        shifts,
        (3 * strip, strip, strip),
        *reader,
    ]
    whole = cost_of(task, stages, width, offset, numbers, plan.columns)
    return replace(whole, bits=whole.bits + 8.0 * (plan.top + plan.low))


def _tables(plan: FoldPlan, dropped: int) -> list[Stage]:
    """The tables and the lanes' constants. Where numbers are dropped, differences vanish."""
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


def blocks(storage: Storage, code: PrefixCode, unknown: int | None) -> Iterator[Block]:
    """Hash folds, tables, shift, strip, read.

    Stripping folds away every bit at position K and above, K = columns + window - 1: at each power
    of two, v < 2**(t + 1) becomes at most 2**t. Folding at 2**t reflects the lower bits if bit t is
    set. After the last fold, bit i of v is W_i xor W_K (of the shifted W): the stored sum's own
    bits, relative to the one above the window.

    More than two labels are read around 0: thresholds far from it are numbers as long as v itself.
    """
    output, labels = "J0" if storage.layout.plan.narrow else "O", len(code.lengths)
    bits = storage.positions - (storage.layout.plan.marks if unknown is not None else 0)
    one = storage.unit * (1 << (bits - min(code.lengths)))
    *others, last = _until_read(storage, code, unknown, bits, output)
    rise = int(code.rise * (1 << bits)) * storage.unit
    if labels > 2:
        centre = (labels + 1) // 2 * one - rise
        last = replace(last, constants={**last.constants, "v": last.constants.get("v", 0) - centre})
    else:
        one -= rise
    yield from (*others, last)
    yield from read_digits("read", "v", labels, one, output, centred=labels > 2)


def _until_read(
    storage: Storage, code: PrefixCode, unknown: int | None, bits: int, output: str
) -> Iterator[Block]:
    """All blocks that leave the label's number in v, in units of its last digit."""
    yield from _hash_folds(storage)
    if not storage.layout.plan.reads:
        yield from _lane_sums(storage)
    yield from _shifts(storage)
    shifted = storage.digits + storage.layout.plan.columns - 1
    for t in reversed(range(storage.positions, shifted)):
        yield fold("strip", "v", storage.unit * (1 << t))
    if unknown is not None:
        yield from _compare(storage, bits, unknown, output)
    yield from decode("v", code, bits, storage.unit)


def _lane(mask: int) -> str:
    return f"L{mask}" if mask else "v"


def _hash_folds(storage: Storage) -> Iterator[Block]:
    """Fold H to 0; each fold does its job, and a table is read as soon as the layout says.

    A fold at (t - 1/2) 2**scale + e / 2 maps H >= t to 2t - 1 - H, and P to e - P: the number e
    enters with a minus sign for every later fold that fires. The half keeps v off the threshold:
    |v - threshold| >= 2**(scale - 2), since |P - e/2| <= 2**(scale - 2). A gate that reads a lane
    with weight -1/2 has the lane added to e.
    """
    layout, plan, numbers = storage.layout, storage.layout.plan, storage.numbers
    scale = storage.hash_unit.numerator.bit_length() - 1
    gap = 1 << (scale - 2)
    limits, _ = thresholds(layout.folds)
    with_table = bool(plan.tables) and not plan.narrow and not plan.reads
    constant = storage.constant + HALF
    longest = storage.digits + plan.columns
    for place, step, limit in zip(reversed(range(len(limits))), layout.folds, limits, strict=True):
        stored = layout.stored.get(place)
        number = numbers[stored] if stored is not None else 0
        threshold = Fraction(((2 * limit - 1) << scale) + number, 2)
        if step.role == "data":
            block = fold("store", "v", threshold)
        elif step.role == "gate":
            # the lanes that this gate is the first to close; -4 relu(v - threshold) outweighs any
            idle = zip(plan.masks, plan.conditions, strict=True)
            closes = [m for m, (closing, _) in idle if closing & -closing == step.weight]
            block = fold("gate", "v", threshold, extra=[(f"L{m}", 0, -4) for m in closes])
            if plan.reads:
                read = {"v": Fraction(1), f"L{step.weight}": -HALF}
                block = replace(block, units=[(read, -threshold)])
        elif step.role == "mark":
            block = fold_and_count("mark", "v", threshold, gap, "M", step.weight)
        elif step.role == "row":
            index = "J0" if plan.narrow else f"J{step.target}"
            block = fold_and_count("row index", "v", threshold, gap, index, step.weight)
        elif plan.narrow:
            block = fold_and_count("column index", "v", threshold, gap, "J0", step.weight)
        else:
            closed = -(1 << max(0, longest - scale + 2))
            block = fold("column gate", "v", threshold, extra=[(f"p{place}", 0, closed)])
        if place == 0 and not with_table:
            block = replace(block, constants={"v": constant})
        if step.role == "gate" and plan.reads and step.weight == 1 << plan.gates // 2:
            yield from _lane_sums(storage)
        yield block
        for table in (r for r, p in enumerate(layout.table_place) if p == place):
            lanes = enumerate(plan.masks)
            values = {_lane(mask): layout.values(table, lane, numbers) for lane, mask in lanes}
            constants: dict = {}
            if with_table and table == 0:  # the lanes' own constants, and the global one
                owned = layout.lane_constant.items()
                constants = {_lane(plan.masks[lane]): numbers[unit] for lane, unit in owned}
                constants["v"] = constant
            index = "J0" if plan.narrow else f"J{table}"
            yield select("select", index, values, constants, reset=plan.narrow)


def _lane_sums(storage: Storage) -> Iterator[Block]:
    """Add every lane that is on to the lane without its lowest gate, lowest gates first.

    A lane that is on holds a number >= 0, one that is off a negative number: relu keeps the first
    and drops the second. If gates read lanes, those of two gates join that of the later one, before
    the first of the later ones comes.
    """
    plan = storage.layout.plan
    closed = [mask for mask, (idle, _) in zip(plan.masks, plan.conditions, strict=True) if idle]
    groups = [[m for m in closed if m & -m == 1 << gate] for gate in range(plan.gates)]
    for lanes in [closed] if plan.reads else groups:
        if lanes:
            units = [({_lane(m): 1}, 0) for m in lanes]
            yield Block(
                "add lanes", units, [(_lane(m & (m - 1)), i, 1) for i, m in enumerate(lanes)]
            )


def _shifts(storage: Storage) -> Iterator[Block]:
    """v <- v * 2**s for every column fold that did not fire.

    v + (2**s - 1) relu(v + p), with p = 0 or very negative. With one index lane (narrow), J0 holds
    the sum of the weights that fired, and they are taken off one by one: the gate p becomes -closed
    if J0 >= weight, and J0 loses the weight.
    """
    plan, folds = storage.layout.plan, storage.layout.folds
    closed = 1 << (storage.digits + plan.columns)
    for i, step in enumerate(folds):
        if step.role != "column":
            continue
        w, factor = step.weight, (1 << step.weight) - 1
        if not plan.narrow:
            gate = f"p{len(folds) - 1 - i}"
            yield Block("shift", [({"v": 1, gate: 1}, 0)], [("v", 0, factor)])
            continue
        yield Block(
            "column gate",
            [({"J0": 1}, 1 - w), ({"J0": 1}, -w)],
            [("J0", 0, -w), ("J0", 1, w), ("p", 0, -closed), ("p", 1, closed)],
        )
        units = [({"v": 1, "p": 1}, 0), ({"p": -1}, 0)]
        yield Block("shift", units, [("v", 0, factor), ("p", 1, 1)])


def _compare(storage: Storage, bits: int, unknown: int, output: str) -> Iterator[Block]:
    """Answer `unknown` unless the fingerprint M, computed from H, is the stored one.

    The stored one is the leading bits of v. The first block subtracts M from it: they are equal if
    then 0 < v < 2**bits. The second computes u = 1 - [v > 0] + [v > 2**bits], which is 1 for an
    unknown context; it takes u * far off v, so that no digit is read, and adds u * unknown to the
    output.
    """
    yield Block("compare", [({"M": 1}, 0)], [("v", 0, -(1 << bits))])
    far = 1 << (storage.positions + 2)
    edges = (0, 1, 2 << bits, (2 << bits) + 1)
    signs = (-1, 1, 1, -1)
    writes = [("v", i, -far * sign) for i, sign in enumerate(signs)]
    writes += [(output, i, unknown * sign) for i, sign in enumerate(signs)]
    units = [({"v": 2}, -edge) for edge in edges]
    yield Block("compare", units, writes, {"v": -far, output: unknown})
