"""Weights from a solved layout: every block after the hash, in order.

Lanes: v the hash, J0, J1, ... row indices, g0, g1, ... gates, w and L1, L2, ... the stored numbers
(w is always on), p0, p1, ... gates of the shifts, w0, w1, ... the shifted sums, b1, b2, ... bits of
the label's number, O the output. Stored numbers are multiplied by `unit`, the hash by `hash_unit`,
powers of two that keep every parameter short.
"""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from ...gadgets.blocks import Block, Unit, Write, fold, fold_and_count, select
from ...gadgets.prefix_code import PrefixCode
from ..retrieval.assemble import decode
from ..retrieval.plan import Storage

HALF = Fraction(1, 2)
QUARTER = Fraction(1, 4)


def blocks(storage: Storage, code: PrefixCode) -> Iterator[Block]:
    """Hash folds, tables, sums of lanes, shifts, read."""
    layout, plan, unit = storage.layout, storage.layout.plan, storage.unit
    closed = _reaches(storage)
    own = {
        _lane(mask): storage.numbers[layout.constant(lane)] * unit
        for lane, mask in enumerate(plan.masks)
    }
    yield from _hash_folds(storage, closed, own)
    for table, rows in enumerate(plan.tables):
        cells = {
            _lane(mask): [
                0,
                *(storage.numbers[layout.cell(table, lane, row)] for row in range(1, rows)),
            ]
            for lane, mask in enumerate(plan.masks)
        }
        block = select("select", f"J{table}", cells, {} if table else own, reset=False)
        scaled = [(name, i, Fraction(weight) * unit) for name, i, weight in block.writes]
        yield replace(block, writes=scaled)
    yield from _lane_sums(storage, closed)
    yield from _strip("w", storage, storage.digits, storage.positions)
    lane, shifts = _shifts(storage)
    yield from shifts
    yield from _strip(lane, storage, storage.positions, storage.positions - 1)
    yield from _read(lane, storage, code)


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
    for place, step in enumerate(folds):
        threshold = (step.limit - HALF) * storage.hash_unit
        if step.role == "spare":
            block = fold("mix", "v", threshold)
        elif step.role == "row":
            index = f"J{step.target}"
            block = fold_and_count("row index", "v", threshold, gap, index, step.weight)
        elif plan.clean:
            name, gate = (
                ("gate", f"g{step.target}") if step.role == "gate" else ("column gate", f"p{place}")
            )
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
        most[mask] = numbers[layout.constant(lane)]
        for table, rows in enumerate(layout.plan.tables):
            most[mask] += max(numbers[layout.cell(table, lane, row)] for row in range(1, rows))
    for mask in _children(storage):
        most[mask & (mask - 1)] += most[mask]
    return {mask: storage.unit * (1 << value.bit_length()) for mask, value in most.items()}


def _children(storage: Storage) -> list[int]:
    """Lanes that depend on gates, lowest gates first: a lane comes after its children."""
    return sorted(storage.layout.plan.masks[1:], key=lambda mask: mask & -mask)


def _lane(mask: int) -> str:
    return f"L{mask}" if mask else "w"


def _lane_sums(storage: Storage, closed: dict[int, Fraction]) -> Iterator[Block]:
    """Add every lane that is on to the lane without its lowest gate, lowest gates first.

    A lane that is on holds a number >= 0; of one that is off, its gate takes at least as much.
    """
    children = _children(storage)
    for gate in sorted({mask & -mask for mask in children}):
        masks = [mask for mask in children if mask & -mask == gate]
        name, clean = f"g{gate.bit_length() - 1}", storage.layout.plan.clean
        units: list[Unit] = [
            ({_lane(m): 1, **({name: -closed[m]} if clean else {})}, 0) for m in masks
        ]
        yield Block("add lanes", units, [(_lane(m & (m - 1)), i, 1) for i, m in enumerate(masks)])


def _strip(lane: str, storage: Storage, digits: int, positions: int) -> Iterator[Block]:
    """Fold a lane below 2**digits at every power of two from there to 2**positions.

    Folding at 2**t reflects the lower bits if bit t is set, and keeps which neighbours differ.
    """
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


def _read(lane: str, storage: Storage, code: PrefixCode) -> Iterator[Block]:
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
