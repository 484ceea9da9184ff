"""The form with readers: folds that read kept bits store the numbers; many numbers add tables.

data      the threshold stores a number; after the first ones a data fold may also read bits that
          creators kept: it then adds a number of its own for each bit that is 1
keep      the threshold stores a number, and the bit is kept in a lane: the fold is a creator
row       the bit goes into the row index of a table, from which the main lane and one lane for each
          later data fold are filled; a data fold then adds its lane
column    the bit opens or closes a shift

The last digit of the hash, below all folds, is the cell: the zigzag shifts by it. A number costs
one parameter more than the fold that adds it, where a table needs rows, lanes and gates. Folds are
bits of the hash, which limits them: many numbers are better kept in tables.

The stream's main lane is v = (H + offset) u + P with u = 3 * 2**scale: the context's number on top,
the payload P below. Other lanes: g0, g1, ... the bits of creators, J0, J1 row indices, L1, L2, ...
what data folds add of the tables, p0, p1, ... gates of the shifts, O the output.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import product

import numpy as np
from numpy.typing import NDArray

from ...data.arrays import Ints
from ...gadgets.blocks import Block, fold, fold_and_count, read_digits, select
from ...gadgets.prefix_code import PrefixCode
from .hashing import Hash
from .network import decode
from .plan import Cost, Layout, Program, Stage, Step, cost_of, expected_load, hash_bits, program
from .problem import Task

MOST_FOLDS = 54  # H, its offset and its sums stay in 64 bits
CELLS = (2, 3, 4, 5, 6, 7, 8, 9)
MOST_GATES = 9
TABLES = ((), (8, 8), (8, 16), (16, 16), (16, 32), (32, 32), (16, 64), (32, 64))
SPARE = 0.6  # of the fullest position of the best hashes, in units of expected_load
FEWEST_IN_TABLES = 250  # numbers from which on tables are considered
HALF = Fraction(1, 2)


@dataclass(frozen=True)
class ReaderPlan:
    cells: int  # of the zigzag
    gates: int  # column folds; columns = cells * 2**gates
    lead: int  # data folds before the first creator or row
    creators: int  # bits that are kept
    data: int  # data folds
    reads: int  # numbers that data folds add for bits of creators
    token_folds: int = 0  # of each token
    rows: tuple[int, ...] = ()  # of each table, powers of two
    # numbers of the last lane of the tables that are left out: the last rows of the last table
    # first
    dropped: int = 0

    @cached_property
    def columns(self) -> int:
        return self.cells << self.gates

    @cached_property
    def row_bits(self) -> int:
        return sum([rows.bit_length() - 1 for rows in self.rows]) if self.rows else 0

    @cached_property
    def lanes(self) -> int:
        """That a table fills: the main one, and one for each data fold after the tables."""
        return 1 + self.data - self.lead if self.rows else 0

    @cached_property
    def table_numbers(self) -> int:
        """Row 0 of a table is always 0."""
        return self.lanes * (sum(self.rows) - len(self.rows)) - self.dropped

    @cached_property
    def folds(self) -> int:
        return self.data + self.creators + self.gates + self.row_bits

    @property
    def unknowns(self) -> int:
        """Stored numbers: one that all read, one per threshold, of the reads and of the tables."""
        return 1 + self.data + self.creators + self.reads + self.table_numbers

    @property
    def top_value(self) -> int:
        """0 <= H < top_value, after the offset of the hash is taken off."""
        return self.cells << self.folds

    @property
    def limits(self) -> list[int]:
        """H >= limit fires a fold, first fold first."""
        return [self.cells << t for t in reversed(range(self.folds))]


@dataclass(frozen=True, eq=False)
class ReaderLayout(Layout):
    """A plan whose folds have found their places; folds count from the first."""

    plan: ReaderPlan
    # the folds that are column gates; gate j counts for cells * 2**j columns
    gates: tuple[int, ...]
    reads: tuple[tuple[int, int], ...]  # (fold, creator) pairs

    @cached_property
    def folds(self) -> tuple[Step, ...]:  # type: ignore[override]
        plan, order = self.plan, [Step("data")] * self.plan.lead
        for table, rows in enumerate(plan.rows):
            order += [Step("row", table, 1 << i) for i in reversed(range(rows.bit_length() - 1))]
        order += [Step("keep")] * plan.creators + [Step("data")] * (plan.data - plan.lead)
        for place, gate in sorted((place, gate) for gate, place in enumerate(self.gates)):
            order.insert(place, Step("column", weight=plan.cells << gate))
        return tuple(order)

    @property
    def select_place(self) -> int:
        """The fold after which tables are read; -1 if there are none."""
        return max((t for t, fold in enumerate(self.folds) if fold.role == "row"), default=-1)

    @cached_property
    def lanes(self) -> dict[int, int]:
        """Fold -> the lane of the tables that it adds; lane 0 is the main one."""
        if not self.plan.rows:
            return {}
        data = [t for t, fold in enumerate(self.folds) if fold.role == "data"]
        return {t: 1 + i for i, t in enumerate([t for t in data if t > self.select_place])}

    def cells(self, table: int, lane: int) -> range:
        sizes = [rows - 1 for rows in self.plan.rows]
        start = self.plan.unknowns - self.plan.table_numbers + lane * sum(sizes)
        return range(start + sum(sizes[:table]), start + sum(sizes[: table + 1]))

    @property
    def unknowns(self) -> int:  # type: ignore[override]
        return self.plan.unknowns

    @cached_property
    def stored(self) -> dict[int, int]:
        """Fold -> the number in its threshold; number 0 is read by all."""
        places = [t for t, fold in enumerate(self.folds) if fold.role in ("data", "keep")]
        return {t: 1 + i for i, t in enumerate(places)}

    @cached_property
    def read(self) -> dict[int, list[tuple[int, int]]]:
        """Fold -> (creator, number) of what it reads."""
        found: dict[int, list[tuple[int, int]]] = {}
        for i, (place, creator) in enumerate(self.reads):
            found.setdefault(place, []).append((creator, 1 + len(self.stored) + i))
        return found

    def shift(self, fired: NDArray[np.uint64], cell: Ints) -> Ints:
        """How far the sum of each context is shifted: by its cell, and by gates that stay open."""
        return cell + self.plan.columns - self.plan.cells - self.counted("column", fired)

    @cached_property
    def program(self) -> Program:
        plan, last = self.plan, self.plan.folds - 1
        creators = [last - t for t, fold in enumerate(self.folds) if fold.role == "keep"]
        place, stride = last - self.select_place, sum(plan.rows) - len(plan.rows)
        fires = {lane: 1 << last - t for t, lane in self.lanes.items()}
        return program(
            plan.folds,
            self.row_steps,
            [(place, self.cells(table, 0).start, stride) for table in range(len(plan.rows))],
            [(0, fires.get(lane, 0)) for lane in range(plan.lanes)],
            plan.unknowns,
            stored={last - t: number for t, number in self.stored.items()},
            reads={last - t: [(creators[c], u) for c, u in self.read[t]] for t in self.read},
        )


def pairs_of(folds: Sequence[Step]) -> list[tuple[int, int]]:
    """All (fold, creator) pairs of data folds and the creators before them."""
    pairs, creators = [], 0
    for place, step in enumerate(folds):
        if step.role == "keep":
            creators += 1
        elif step.role == "data":
            pairs += [(place, creator) for creator in range(creators)]
    return pairs


@dataclass(frozen=True, eq=False)
class Draw:
    unknowns: int  # stored numbers that it needs
    gates: tuple[int, ...]  # folds that are column gates
    offset: int  # where the range of H begins that the folds bring to a cell
    hashed: Hash
    fired: NDArray[np.uint64]  # [contexts] bit t: fold t, counted from the last, fires
    cell: NDArray[np.int64]  # [contexts] what is left then


@dataclass(frozen=True, eq=False)
class Solution:
    layout: ReaderLayout
    draw: Draw
    numbers: Sequence[int]  # one per unit of the layout
    window: int  # bits of the longest word
    guard: int  # sums of numbers are below 2**guard in units of 2**(K + 1)
    scale: int  # the hash is multiplied by 3 * 2**scale

    @property
    def positions(self) -> int:
        return self.layout.plan.columns + self.window - 1

    @property
    def digits(self) -> int:
        """After zigzag and shifts |v| < 2**digits; with column gates 0 < v < 2**(digits + 1)."""
        return self.layout.plan.columns + self.guard + self.positions

    @property
    def lift(self) -> int:
        """Added after the zigzag, so that gates shift positive numbers."""
        plan = self.layout.plan
        return 1 << lift_of(plan, self.guard) + self.positions + 1 if plan.gates else 0


def lift_of(plan: ReaderPlan, guard: int) -> int:
    """log2, in units of 2**(K + 1): the middle of the room of sums with the largest shift."""
    return plan.cells - 1 + guard


def strips_of(plan: ReaderPlan, guard: int) -> int:
    """Folds of the strip; the sums of stored numbers are below 2**guard in units of 2**(K + 1)."""
    return plan.columns + 1 + guard


def cost(plan: ReaderPlan, task: Task, guard: int = 0) -> Cost:
    """Counts of the network, exact but for stored numbers that happen to be 0."""
    strips, gates = strips_of(plan, guard), plan.gates
    (_, slope), *kinks = task.code.kinks
    labels = len(task.code.lengths)
    # a kink of the decoder at the threshold of the first digit needs no bias
    level = sum(x * slope + task.code.rise == (labels + 1) // 2 for x, _ in kinks)
    digits = task.label_digits
    # two parameters per row, but for a bias that is 0, and one per number; where the last rows of a
    # lane are left out, two second differences stay at the edge
    tables: list[Stage] = []
    dropped = plan.dropped
    for rows in reversed(plan.rows):
        here = min(dropped, rows - 1)
        dropped -= here
        saved = here if here == rows - 1 else max(0, here - 2)
        tables.append((2 * rows - 3 + plan.lanes * (rows - 1) - saved, 1, rows - 1))
    stages: list[Stage] = [
        (3 * plan.token_folds, plan.token_folds, plan.token_folds),
        (3 * plan.data + plan.reads, plan.data, plan.data),
        (7 * plan.creators, plan.creators, 2 * plan.creators),
        (7 * plan.row_bits, plan.row_bits, 2 * plan.row_bits),
        *tables,
        (max(0, plan.lanes - 1), 0, 0),  # data folds that add their lane
        (7 * gates, 2 * gates, 2 * gates),
        (3 * (plan.cells - 1) + 1, 1, plan.cells - 1),
        (3 * strips + (gates > 0), strips, strips),
        (3 * len(kinks) - level, int(bool(kinks)), len(kinks)),
        (7 * digits - 2, digits, 2 * digits),
    ]
    width = 2 + plan.creators + gates + len(plan.rows) + max(0, plan.lanes - 1)
    whole = cost_of(task, stages, width, False, plan.unknowns, plan.columns)
    return replace(whole, bits=whole.bits + (plan.data + plan.creators) * (8 + plan.folds / 2))


def expected_cost(plan: ReaderPlan, task: Task) -> Cost:
    """Counts before anything is solved: sums grow with the square root of their terms."""
    terms = 1 + (plan.data + plan.creators) / 2 + plan.reads / 4 + len(plan.rows) * plan.lanes / 2
    return cost(plan, task, max(0, round(math.log2(terms) / 2 - 0.7)))


def planned(
    task: Task,
    cells: int,
    gates: int,
    chain: int,
    unknowns: int,
    token_folds: int,
    rows: tuple[int, ...] = (),
) -> ReaderPlan | None:
    """The cheapest plan of so many folds (column gates and row bits included) and numbers."""
    folds, lane = chain - gates, sum(rows) - len(rows)  # numbers that a lane has of the tables
    for size in rows:
        folds -= size.bit_length() - 1
    lead = 0
    if rows or unknowns > 1 + folds:
        # the second fold fires for most contexts: a creator there would keep nothing
        lead = 2 if task.contexts <= 4000 else 4
    for creators in range(folds - lead + 1):
        later = folds - creators - lead  # data folds, which may read; each has a lane of the tables
        surplus = 1 + folds + (1 + later) * lane - unknowns
        if -surplus <= creators * later:
            reads, dropped = max(0, -surplus), max(0, min(surplus, lane - 1))
            data = lead + later
            return ReaderPlan(cells, gates, lead, creators, data, reads, token_folds, rows, dropped)
    return None


def structures(
    task: Task, objective: str, luck: float, extra_bits: int, token_folds: int
) -> list[ReaderPlan]:
    """One plan for each choice of cells, gates and folds, cheapest first."""
    found = []
    bits = hash_bits(task) + extra_bits
    best = math.sqrt(task.equations / 3)
    # folds of slope -2 keep numbers modulo 3: a digit that is a multiple of it would stay linear
    for cells in (c for c in CELLS if c % 3 or not token_folds):
        for gates in range(MOST_GATES + 1):
            columns = cells << gates
            if not best / 5 <= columns <= 3 * best + 3:
                continue
            mean, excess = expected_load(task, columns)
            least = (task.equations - luck) / (columns + task.window - 1)
            unknowns = math.ceil(max(least, mean + SPARE * excess - luck))
            fewest = max(3 + 2 * gates if gates else 1, math.ceil(bits - math.log2(cells)))
            tables = TABLES if unknowns >= FEWEST_IN_TABLES else ((),)
            for chain, rows in product(range(fewest, MOST_FOLDS + 1), tables):
                plan = planned(task, cells, gates, chain, unknowns, token_folds, rows)
                # some room, in case that the hashes need more
                if plan is not None and (not rows or plan.dropped >= unknowns // 50):
                    found.append(plan)
    return sorted(found, key=lambda plan: (cost(plan, task).of(objective), plan.columns))


def blocks(solution: Solution, code: PrefixCode) -> Iterator[Block]:
    """Folds of the hash, zigzag, shifts, strip, decoder, digits."""
    yield from _folds(solution)
    yield _zigzag(solution)
    for j in range(solution.layout.plan.gates):
        factor = (1 << (solution.layout.plan.cells << j)) - 1
        yield Block("shift", [({"v": 1, f"p{j}": 1}, 0)], [("v", 0, factor)])
    yield from _strip(solution, code)


def _folds(solution: Solution) -> Iterator[Block]:
    """Fold H to its cell.

    A fold at (limit - 1/2) u + n / 2 maps H >= limit to 2 limit - 1 - H and P to n - P, where n is
    the number e in its threshold plus the numbers that it reads: with -c/2 as its weight of the
    lane g of a creator, the unit is relu(v - c g / 2 - ...), so n = e + c g; with -1/2 as its
    weight of a lane of the tables, that lane is added. |P - n / 2| is at most
    2**scale = u / 3 (store._reach), so a fold that fires has its unit above u / 2 - u / 3, which is
    2**(scale - 1), and one that does not has it below 0: that is the gap of the creators' steps.
    """
    layout, numbers = solution.layout, solution.numbers
    unit, gap = 3 << solution.scale, Fraction(1 << solution.scale, 2)
    creator = 0
    for place, (step, limit) in enumerate(zip(layout.folds, layout.plan.limits, strict=True)):
        number = numbers[layout.stored[place]] if place in layout.stored else 0
        threshold = (limit + solution.draw.offset - HALF) * unit + Fraction(number, 2)
        if step.role == "row":
            index = f"J{step.target}"
            yield fold_and_count("row index", "v", threshold, gap, index, step.weight)
        elif step.role == "keep":
            yield fold_and_count("keep bit", "v", threshold, gap, f"g{creator}", 1)
            creator += 1
        elif step.role == "column":
            gate = layout.gates.index(place)
            closed = -Fraction(1 << (solution.digits + 1)) / gap
            yield fold("column gate", "v", threshold, extra=[(f"p{gate}", 0, closed)])
        else:
            block = fold("store", "v", threshold)
            (weights, bias) = block.units[0]
            read = {f"g{j}": Fraction(-numbers[u], 2) for j, u in layout.read.get(place, ())}
            if place in layout.lanes:
                read[f"L{layout.lanes[place]}"] = -HALF
            yield replace(block, units=[({**weights, **read}, bias)])
        if place == layout.select_place:
            # the chosen row of each table, to the main lane and to those that data folds add
            lanes = {f"L{lane}" if lane else "v": lane for lane in range(layout.plan.lanes)}
            for table in range(len(layout.plan.rows)):
                values = {name: layout.values(table, x, numbers) for name, x in lanes.items()}
                yield select("select", f"J{table}", values, {}, reset=False)


def _zigzag(solution: Solution) -> Block:
    """v <- (-2)**cell (P + n + 1/2) + lift, where n is the number that all contexts read.

    A broken line: on cell h it has slope (-2)**h and the value above at v = (h + offset) u + P. Its
    kink between cells h and h + 1 is where y = (-2)**h (v - (h + offset) u + n + 1/2) meets its
    successor: at v = (h + offset) u + 2 u / 3 - n - 1/2. |P + n| < u / 3 keeps sums off it.
    """
    plan, unit = solution.layout.plan, 3 << solution.scale
    offset, shared = solution.draw.offset, solution.numbers[0] + HALF
    kinks = [(h + offset) * unit + 2 * unit // 3 - shared for h in range(plan.cells - 1)]
    units = [({"v": 1}, -kink) for kink in kinks]
    writes = [("v", h, (-2) ** (h + 1) - (-2) ** h) for h in range(plan.cells - 1)]
    return Block("zigzag", units, writes, {"v": shared - offset * unit + solution.lift})


def _strip(solution: Solution, code: PrefixCode) -> Iterator[Block]:
    """v <- c - |v| for c = 2**(digits - 1), and so on down to 2**(K - 1); then decode and read.

    For |v| < 2c let w = v + 2c. Then c - |v| + c is w if w < 2c, and 4c - w otherwise: the fold of
    w at its highest bit 2c. So bit i of what is left is the exclusive or of bits i and K of W, the
    stored sum shifted, as with folds at powers of two; a sign of W changes all its bits and no
    exclusive or. With column gates v is positive: the first fold takes 2**digits off. The last one
    moves v so that the first digit of the label is its sign.
    """
    plan = solution.layout.plan
    strips = strips_of(plan, solution.guard)
    bits, digits = solution.positions, solution.digits
    one = 1 << bits - min(code.lengths)  # the room of one label after the decoder
    centre = (len(code.lengths) + 1) // 2 * one - int(code.rise * (1 << bits))
    for j in range(strips):
        constant = 1 << digits - 1 - j
        if j == strips - 1:
            constant = (1 << bits) - centre
        start = 1 << digits if plan.gates and j == 0 else 0
        yield Block("strip", [({"v": 1}, -start)], [("v", 0, -2)], {"v": constant - start})
    yield from decode("v", code, bits, Fraction(1), centre)
    yield from read_digits("read", "v", len(code.lengths), one, "O", centred=True)
