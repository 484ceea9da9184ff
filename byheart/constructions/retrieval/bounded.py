"""The form for short parameters and for doubles: the hash is read digit by digit.

Each digit of the context's number H takes a few folds and has one use:

spare    none: H crowds around its mean, and after these first folds it no longer does
row      the row of a table
gate     switches off the lanes (copies of the tables) that depend on it
column   how far the stored sum is shifted: which of its bits are the context's own

Counts are exact up to what only the data decides; a test compares them with built networks.

Lanes: v the hash, J0, J1, ... row indices, g0, g1, ... gates, w and L1, L2, ... the stored numbers
(w is always on), p0, p1, ... gates of the shifts, w0, w1, ... the shifted sums, b1, b2, ... bits of
the label's number, O the output. Stored numbers are multiplied by `unit`, the hash by `hash_unit`,
powers of two that keep every parameter short.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...gadgets.blocks import Block, Unit, Write, fold, fold_and_count, select
from ...gadgets.prefix_code import PrefixCode
from .folds import TableLayout
from .network import decode
from .plan import Cost, Ints, Plan, Stage, Step, Storage, cost_of, read_bits
from .problem import Task
from .solve import Terms

HALF = Fraction(1, 2)
QUARTER = Fraction(1, 4)


class Digit(NamedTuple):
    role: str
    target: int  # row: the table; gate: its number
    base: int


@dataclass(frozen=True)
class DigitPlan(Plan):
    """A plan that reads H digit by digit, in any bases."""

    spare: int = 0  # folds before the digits
    # whether gates are 0 or 1, so that no sum mixes the hash with stored numbers; otherwise a
    # gate's lane holds 0 or something very negative, which is cheaper
    clean: bool = False

    @cached_property
    def parts(self) -> tuple[tuple[Digit, ...], tuple[Digit, ...]]:
        """Digits in order: a fixed head, and the rest, which may change places."""
        rows = [Digit("row", table, size) for table, size in enumerate(self.tables)]
        gates = [Digit("gate", i, 2) for i in range(self.gates)]
        column = [Digit("column", 0, self.columns)] if self.columns > 1 else []
        return (Digit("spare", 0, 2),) * self.spare, (*rows, *gates, *column)

    @property
    def constants(self) -> range:
        """Lanes with a constant beside number 0: all others."""
        return range(1, self.lanes)

    @property
    def unknowns(self) -> int:
        """Stored numbers: in every lane a constant and the rows of the tables except the first."""
        return self.lanes * (1 + sum(rows - 1 for rows in self.tables))

    @cached_property
    def top_value(self) -> int:
        """H < top_value: as many as the digits distinguish, times 2 for each spare fold."""
        return math.prod(digit.base for digit in self.parts[1]) << self.spare

    def folds(self, role: str) -> int:
        """How many folds decide something of that role."""
        return sum(len(fold_sizes(d.base)) for part in self.parts for d in part if d.role == role)

    def layout(self, order: Iterable[Digit]) -> "DigitLayout":
        return DigitLayout(self, *spell([*self.parts[0], *order]), self.unknowns)

    def separated(self, hashes: Ints) -> NDArray[np.uint64]:
        """The folds after the spare ones that fire."""
        layout = self.layout(self.parts[1])
        return layout.bits(hashes) & np.uint64((1 << len(layout.folds) - self.spare) - 1)


def fold_sizes(base: int) -> list[int]:
    """The base after each of its folds: half of it, rounded up, until 1.

    Folding [0, r) at c = ceil(r / 2) sends j >= c to 2c - 1 - j, which is at least 1 if r is odd.
    Let a fold that fires count r - c. If the later folds count every j < c as V(j), with
    V(0) = 0 and V one-to-one onto 0, ..., c - 1, then all of them together are one-to-one onto
    0, ..., r - 1: the j >= c give V(2c - 1 - j) + r - c, which fills c, ..., r - 1.
    """
    sizes = []
    while base > 1:
        base = (base + 1) // 2
        sizes.append(base)
    return sizes


def spell(digits: Sequence[Digit]) -> tuple[tuple[Step, ...], tuple[int, ...]]:
    """The folds of all digits, first fold first, which bring H to 0; H >= limit fires a fold."""
    folds, limits, rest = [], [], math.prod(digit.base for digit in digits)
    for role, target, left in digits:
        rest //= left
        for half in fold_sizes(left):
            folds.append(Step(role, target, 1 << target if role == "gate" else left - half))
            limits.append(half * rest)
            left = half
    return tuple(folds), tuple(limits)


@dataclass(frozen=True, eq=False)
class DigitLayout(TableLayout):
    """A plan whose digits have found their order; in every lane a constant, then rows of tables."""

    plan: DigitPlan
    folds: tuple[Step, ...]
    limits: tuple[int, ...]
    unknowns: int

    def bits(self, hashes: Ints) -> NDArray[np.uint64]:
        return read_bits(hashes, self.limits)[0]

    def column_of(self, hashes: Ints) -> Ints:
        """A fold that fires opens a clean shift, and closes one that is not clean."""
        digit = self.counted("column", self.bits(hashes))
        return digit if self.plan.clean else self.plan.columns - 1 - digit

    def marks_of(self, hashes: Ints) -> NDArray[np.uint64]:
        return np.zeros(len(hashes), np.uint64)

    def terms(self, hashes: Ints) -> Terms:
        return super().terms(self.bits(hashes))


def guard(plan: DigitPlan) -> int:
    """An estimate of the bits of a stored sum above its positions; half of its terms are large."""
    half = sum(0.75 ** mask.bit_count() for mask in plan.masks)
    return math.ceil(math.log2(1 + 0.5 * half * (1 + len(plan.tables))))


def cost(plan: DigitPlan, task: Task, digits: int | None = None, offset: bool = False) -> Cost:
    """Counts of the network; `digits` defaults to an estimate."""
    positions = plan.columns + task.window - 1
    digits = positions + guard(plan) if digits is None else digits
    rows, gates, columns = (plan.folds(role) for role in ("row", "gate", "column"))
    # hash, rows, lanes, gates, output, and with clean gates a lane for every gate and bit
    width = 1 + len(plan.tables) + plan.lanes + columns + 1 + max(0, task.label_digits - 1)
    width += plan.gates + columns if plan.clean else 0
    plain = plan.token_folds + plan.mix_folds + plan.spare
    strip = digits - positions + plan.columns
    others = plan.lanes - 1
    sums = len({mask & -mask for mask in plan.masks[1:]})
    # a clean gate counts (seven parameters); one that is not is a fold that also writes
    counting = rows + gates + columns if plan.clean else rows
    kinks, bits = len(task.code.kinks) - 1, task.label_digits
    stages: list[Stage] = [
        (3 * plain, plain, plain),
        (7 * counting, counting, 2 * counting),
        (7 * columns, 2 * columns, 2 * columns),
        *((2 * rows - 3 + plan.lanes * (rows - 1), 1, rows - 1) for rows in plan.tables),
        (plan.lanes + 1, 0, 0),  # the lanes' constants, and the quarter
        ((3 if plan.clean else 2) * others, sums, others),
        (3 * strip, strip, strip),
        (3 * kinks, int(kinks > 0), kinks),
        (9 * bits - 3, 2 * bits - 1, 3 * bits - 1),
    ]
    if not plan.clean:
        stages.append((3 * gates + others, gates, gates))
    return cost_of(task, stages, width, offset, plan.unknowns, plan.columns)


def blocks(storage: Storage, code: PrefixCode) -> Iterator[Block]:
    """Hash folds, tables, sums of lanes, shifts, read."""
    layout, plan, unit = storage.layout, storage.layout.plan, storage.unit
    closed, numbers = _reaches(storage), storage.numbers
    own = {_lane(mask): numbers[lane] * unit for lane, mask in enumerate(plan.masks)}
    yield from _hash_folds(storage, closed, own)
    for table in range(len(plan.tables)):
        cells = {_lane(m): layout.values(table, i, numbers) for i, m in enumerate(plan.masks)}
        block = select("select", f"J{table}", cells, {} if table else own, reset=False)
        scaled = [(name, i, Fraction(weight) * unit) for name, i, weight in block.writes]
        yield replace(block, writes=scaled)
    yield from _lane_sums(storage, closed)
    yield from _strip("w", storage, storage.digits, storage.positions)
    lane, shifts = _shifts(storage)
    yield from shifts
    yield from _strip(lane, storage, storage.positions, storage.positions - 1)
    yield from _read_label(lane, storage, code)


def _hash_folds(
    storage: Storage, closed: dict[int, Fraction], own: dict[str, Fraction]
) -> Iterator[Block]:
    """Fold H to 0: at t - 1/2, H >= t becomes 2t - 1 - H. H is never nearer than 1/2 to it.

    The first block also gives every sum of stored numbers a quarter, which keeps it off the
    thresholds: a fold reflects W + 1/4 so that the bits of 2W turn into their complements and the
    1/2 below them stays. (A constant of its own: with the number's bits it would be too long.) The
    last block adds the lanes' constants if no table does. A gate that is not clean is
    -weight * relu(H - threshold).
    """
    plan, folds, gap = storage.layout.plan, storage.layout.folds, storage.hash_unit / 2
    for place, (step, limit) in enumerate(zip(folds, storage.layout.limits, strict=True)):
        threshold = (limit - HALF) * storage.hash_unit
        if step.role == "spare":
            block = fold("mix", "v", threshold)
        elif step.role == "row":
            index = f"J{step.target}"
            block = fold_and_count("row index", "v", threshold, gap, index, step.weight)
        elif plan.clean:
            shift = step.role == "column"
            name, gate = ("column gate", f"p{place}") if shift else ("gate", f"g{step.target}")
            block = fold_and_count(name, "v", threshold, gap, gate, 1)
        elif step.role == "gate":
            masks = [m for m in plan.masks[1:] if m & -m == 1 << step.target]
            extra: list[Write] = [(f"L{m}", 0, -closed[m] / gap) for m in masks]
            block = fold("gate", "v", threshold, extra=extra)
        else:
            extra = [(f"p{place}", 0, -_reach(storage) / gap)]
            block = fold("column gate", "v", threshold, extra=extra)
        if place == 0:
            block = replace(block, constants={"w": QUARTER * storage.unit})
        elif place == len(folds) - 1 and not plan.tables:
            block = replace(block, constants=own)
        yield block


def _reach(storage: Storage) -> Fraction:
    """More than any sum of stored numbers after the first strip."""
    return storage.unit * (1 << storage.positions)


def _reaches(storage: Storage) -> dict[int, Fraction]:
    """A power of two that no value of a lane exceeds, its children's included."""
    layout, numbers = storage.layout, storage.numbers
    most: dict[int, int] = {}
    for lane, mask in enumerate(layout.plan.masks):
        most[mask] = numbers[lane]
        for table in range(len(layout.plan.tables)):
            most[mask] += max(numbers[unit] for unit in layout.cells(table, lane))
    # lowest gates first: a lane comes after its children
    for mask in sorted(layout.plan.masks[1:], key=lambda mask: mask & -mask):
        most[mask & (mask - 1)] += most[mask]
    return {mask: storage.unit * (1 << value.bit_length()) for mask, value in most.items()}


def _lane(mask: int) -> str:
    return f"L{mask}" if mask else "w"


def _lane_sums(storage: Storage, closed: dict[int, Fraction]) -> Iterator[Block]:
    """Add every lane that is on to the lane without its lowest gate, lowest gates first."""
    plan = storage.layout.plan
    for gate in range(plan.gates):
        masks = [m for m in plan.masks[1:] if m & -m == 1 << gate]
        closing = [{f"g{gate}": -closed[m]} if plan.clean else {} for m in masks]
        units: list[Unit] = [({_lane(m): 1, **c}, 0) for m, c in zip(masks, closing, strict=True)]
        if masks:
            writes = [(_lane(m & (m - 1)), i, 1) for i, m in enumerate(masks)]
            yield Block("add lanes", units, writes)


def _strip(lane: str, storage: Storage, digits: int, positions: int) -> Iterator[Block]:
    """Fold a lane below 2**digits at every power of two from there to 2**positions."""
    for t in reversed(range(positions, digits)):
        yield fold("strip", lane, (1 << t) * storage.unit)


def _shifts(storage: Storage) -> tuple[str, list[Block]]:
    """Multiply the sum by 2**shift, column fold by column fold; the lane where it ends up first.

    After each, bits at K and above are stripped again. Not clean: w + (2**s - 1) relu(w + p), with
    p = 0 or very negative. Clean, with p = 0 or 1 and reach >= w: either 2**s relu(w + reach p -
    reach), stripped, or relu(w - reach p) is 0 and the other is what it should be; no weight
    2**s - 1 makes the product longer than w.
    """
    found: list[Block] = []
    lane, reach = "w", _reach(storage)
    columns = [(i, f) for i, f in enumerate(storage.layout.folds) if f.role == "column"]
    for number, (place, step) in enumerate(columns):
        gate, factor = f"p{place}", 1 << step.weight
        stripped = storage.positions + step.weight, storage.positions
        if storage.layout.plan.clean:
            units: list[Unit] = [({lane: 1, gate: reach}, -reach), ({lane: 1, gate: -reach}, 0)]
            lane = f"w{number}"
            found.append(Block("shift", units[:1], [(lane, 0, factor)]))
            found += _strip(lane, storage, *stripped)
            found.append(Block("shift", units[1:], [(lane, 0, 1)]))
        else:
            found.append(Block("shift", [({lane: 1, gate: 1}, 0)], [(lane, 0, factor - 1)]))
            found += _strip(lane, storage, *stripped)
    return lane, found


def _read_label(lane: str, storage: Storage, code: PrefixCode) -> Iterator[Block]:
    """The label's number, from the top bits of the lane, which is below 2**(K - 1) now.

    Decode, then read binary digits from the highest down: add 2**digit to the output and take the
    threshold off the lane, if the lane is above it. relu(4x) - relu(4x - 1) is 1 if x > 0, for
    x = lane - threshold a multiple of 1/4. It is written to a lane of its own first, so that no
    product is longer than the lane.
    """
    top, four = storage.positions - 1, 4 / storage.unit
    yield from decode(lane, code, top, storage.unit)
    for digit in reversed(range((len(code.lengths) - 1).bit_length())):
        threshold = Fraction(2) ** (top - min(code.lengths) + digit)
        bit = f"b{digit}" if digit else "O"
        units: list[Unit] = [({lane: four}, -4 * threshold), ({lane: four}, -4 * threshold - 1)]
        yield Block("read", units, [(bit, 0, 1), (bit, 1, -1)])
        if digit:
            writes: list[Write] = [(lane, 0, -threshold * storage.unit), ("O", 0, 1 << digit)]
            yield Block("read", [({bit: 1}, 0)], writes)
