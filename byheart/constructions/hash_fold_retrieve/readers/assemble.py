"""Weights of the form with readers: every block after the hash, in order.

The stream's main lane is v = (H + offset) u + P with u = 3 * 2**scale: the context's number on top,
the payload P below. Other lanes: g0, g1, ... the bits of creators, J0, J1 row indices, L1, L2, ...
what data folds add of the tables, p0, p1, ... gates of the shifts, O the output.
"""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from ....gadgets.blocks import Block, fold, fold_and_count, read_digits, select
from ....gadgets.prefix_code import PrefixCode
from .layout import COLUMN, CREATOR, ROW
from .plan import strips_of
from .store import Solution

HALF = Fraction(1, 2)


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
    for place, (role, limit) in enumerate(zip(layout.roles, layout.limits, strict=True)):
        number = numbers[layout.stored[place]] if place in layout.stored else 0
        threshold = (limit + solution.draw.offset - HALF) * unit + Fraction(number, 2)
        if role == ROW:
            table, weight = layout.rows[place]
            yield fold_and_count("row index", "v", threshold, gap, f"J{table}", weight)
        elif role == CREATOR:
            yield fold_and_count("keep bit", "v", threshold, gap, f"g{creator}", 1)
            creator += 1
        elif role == COLUMN:
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
            yield from _tables(solution)


def _tables(solution: Solution) -> Iterator[Block]:
    """Add the chosen row of each table to the main lane and to those that data folds add."""
    layout, numbers = solution.layout, solution.numbers
    for table, rows in enumerate(layout.plan.rows):
        values = {}
        for lane in range(layout.plan.lanes):
            cells = [layout.cell(lane, table, row) for row in range(1, rows)]
            held = [numbers[cell] if cell < len(numbers) else 0 for cell in cells]
            values[f"L{lane}" if lane else "v"] = [0, *held]
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
    (_, slope), *kinks = code.kinks
    one = 1 << bits - (slope.bit_length() - 1)  # the room of one label after the decoder
    centre = (len(code.lengths) + 1) // 2 * one
    for j in range(strips):
        constant = 1 << digits - 1 - j
        if j == strips - 1:
            constant = (1 << bits) - centre
        start = 1 << digits if plan.gates and j == 0 else 0
        yield Block("strip", [({"v": 1}, -start)], [("v", 0, -2)], {"v": constant - start})
    if kinks:
        units = [({"v": 1}, centre - x * (1 << bits)) for x, _ in kinks]
        writes = [("v", i, change // slope) for i, (_, change) in enumerate(kinks)]
        yield Block("decode", units, writes)
    yield from read_digits("read", "v", len(code.lengths), one, "O", centred=True)
