"""Weights from a solved layout: every block of the network, in order.

Lanes: v the hash, J0, J1, ... row indices, g0, g1, ... gates, w and L1, L2, ... the stored numbers
(w is always on), p0, p1, ... gates of the shifts, w0, w1, ... the shifted sums, b1, b2, ... bits of
the label's number, O the output. Stored numbers are multiplied by `unit`, the hash by `hash_unit`,
powers of two that keep every parameter short.
"""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from ...exact.network import Input, Linear, Network, UniformAttention, matrix, vector
from ...gadgets.blocks import Block, Unit, feed_forward, fold, fold_and_count, select
from ...gadgets.prefix_code import PrefixCode
from ..hash_fold_retrieve.hashing import Hash
from .layout import Fold, Layout
from .read import read
from .storage import Storage

HALF = Fraction(1, 2)
QUARTER = Fraction(1, 4)


def assemble(spec: Input, grain: int, hashed: Hash, storage: Storage, code: PrefixCode) -> Network:
    """The whole network: E_in, token folds, attention, folds, tables, shifts, read, E_out.

    grain: the hash was found for the input's coordinates times this power of two.
    """
    unit = storage.hash_unit
    before = list(_token_folds(hashed, unit))
    shifted, lane = _shifts(storage)
    after = [
        *(fold("mix", "v", threshold * unit, 3) for threshold in hashed.mix_thresholds),
        *_hash_folds(storage),
        *_tables(storage),
        *_lane_sums(storage),
        *_strip("w", storage, storage.numbers.digits, storage.positions),
        *shifted,
        *_strip(lane, storage, storage.positions, storage.positions - 1),
        *read(lane, storage, code),
    ]
    names = ["v", *(name for block in [*before, *after] for name in block.lanes()), "O"]
    lanes = {name: i for i, name in enumerate(dict.fromkeys(names))}
    width = len(lanes)
    attention = UniformAttention(
        matrix(1, width, {(0, 0): 1}), matrix(width, 1, {(0, 0): 2 * spec.length})
    )
    return Network(
        spec,
        (
            _embed(spec, grain, hashed, unit, width),
            *(feed_forward(block, lanes) for block in before),
            attention,
            *(feed_forward(block, lanes) for block in after),
            Linear(matrix(1, width, {(0, lanes["O"]): 1}), vector({}, 1), "output"),
        ),
    )


def _embed(spec: Input, grain: int, hashed: Hash, unit: Fraction, width: int) -> Linear:
    offset = 0 if hashed.token_thresholds else hashed.offset
    weights = {(0, i): w * grain * unit for i, w in enumerate(hashed.weights)}
    bias = vector({0: (hashed.bias - offset) * unit}, width)
    return Linear(matrix(width, spec.coordinates, weights), bias, "embed")


def _token_folds(hashed: Hash, unit: Fraction) -> Iterator[Block]:
    """phi: slope 3 folds of the projected token; the last one also subtracts the offset."""
    for i, threshold in enumerate(hashed.token_thresholds, 1):
        block = fold("token hash", "v", threshold * unit, 3)
        last = i == len(hashed.token_thresholds) and hashed.offset
        yield replace(block, constants={"v": -hashed.offset * unit}) if last else block


def _hash_folds(storage: Storage) -> Iterator[Block]:
    """Fold H to 0: at t - 1/2, H >= t becomes 2t - 1 - H. H is never nearer than 1/2 to it.

    The first block also gives every sum of stored numbers a quarter, which keeps it off the
    thresholds: a fold reflects W + 1/4 so that the bits of 2W turn into their complements and the
    1/2 below them stays. (A constant of its own: with the number's bits it would be too long.) The
    last block adds the lanes' constants if no table does.
    """
    folds = storage.layout.folds
    for place, step in enumerate(folds):
        threshold = (step.limit - HALF) * storage.hash_unit
        block = _hash_fold(storage, step, place, threshold)
        if place == 0:
            block = replace(block, constants={"w": QUARTER * storage.unit})
        elif place == len(folds) - 1 and not storage.layout.plan.tables:
            block = replace(block, constants=_constants(storage))
        yield block


def _hash_fold(storage: Storage, step: Fold, place: int, threshold: Fraction) -> Block:
    """One fold and what it decides; a gate that is not clean is -weight * relu(H - threshold)."""
    gap = storage.hash_unit / 2
    clean = storage.layout.plan.clean
    if step.role == "spare":
        return fold("mix", "v", threshold)
    if step.role == "row":
        return fold_and_count("row index", "v", threshold, gap, f"J{step.target}", step.weight)
    if step.role == "gate":
        if clean:
            return fold_and_count("gate", "v", threshold, gap, f"g{step.target}", 1)
        closed = _reaches(storage)
        masks = [m for m in storage.layout.plan.masks[1:] if m & -m == 1 << step.target]
        return fold("gate", "v", threshold, extra=[(f"L{m}", 0, -closed[m] / gap) for m in masks])
    if clean:
        return fold_and_count("column gate", "v", threshold, gap, f"p{place}", 1)
    return fold("column gate", "v", threshold, extra=[(f"p{place}", 0, -_reach(storage) / gap)])


def _reach(storage: Storage) -> Fraction:
    """More than any sum of stored numbers after the first strip."""
    return storage.unit * (1 << storage.positions)


def _reaches(storage: Storage) -> dict[int, Fraction]:
    """A power of two that no value of a lane exceeds, its children's included."""
    layout, values = storage.layout, storage.numbers.values
    most: dict[int, int] = {}
    for lane, mask in enumerate(layout.plan.masks):
        most[mask] = values[layout.constant(lane)]
        for table, rows in enumerate(layout.plan.tables):
            most[mask] += max(values[layout.cell(table, lane, row)] for row in range(1, rows))
    for mask in _children(layout):
        most[mask & (mask - 1)] += most[mask]
    return {mask: storage.unit * (1 << value.bit_length()) for mask, value in most.items()}


def _children(layout: Layout) -> list[int]:
    """Lanes that depend on gates, lowest gates first: a lane comes after its children."""
    return sorted(layout.plan.masks[1:], key=lambda mask: mask & -mask)


def _lane(mask: int) -> str:
    return f"L{mask}" if mask else "w"


def _constants(storage: Storage) -> dict[str, Fraction]:
    """Every lane's own number."""
    layout, values = storage.layout, storage.numbers.values
    return {
        _lane(mask): values[layout.constant(lane)] * storage.unit
        for lane, mask in enumerate(layout.plan.masks)
    }


def _tables(storage: Storage) -> Iterator[Block]:
    """Every table in all lanes; the first block also adds the lanes' constants."""
    layout, values = storage.layout, storage.numbers.values
    for table, rows in enumerate(layout.plan.tables):
        cells = {
            _lane(mask): [0, *(values[layout.cell(table, lane, row)] for row in range(1, rows))]
            for lane, mask in enumerate(layout.plan.masks)
        }
        constants = {} if table else _constants(storage)
        block = select("select", f"J{table}", cells, constants, reset=False)
        scaled = [(name, i, Fraction(weight) * storage.unit) for name, i, weight in block.writes]
        yield replace(block, writes=scaled)


def _lane_sums(storage: Storage) -> Iterator[Block]:
    """Add every lane that is on to the lane without its lowest gate, lowest gates first.

    A lane that is on holds a number >= 0; of one that is off, its gate takes at least as much.
    """
    closed = _reaches(storage)
    children = _children(storage.layout)
    clean = storage.layout.plan.clean
    for gate in sorted({mask & -mask for mask in children}):
        masks = [mask for mask in children if mask & -mask == gate]
        name = f"g{gate.bit_length() - 1}"
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


def _shifts(storage: Storage) -> tuple[list[Block], str]:
    """Multiply the sum by 2**shift, column fold by column fold, and the lane where it ends up.

    After each, bits at K and above are stripped again. Not clean: w + (2**s - 1) relu(w + p), with
    p = 0 or very negative. Clean, with p = 0 or 1 and reach >= w: either 2**s relu(w + reach p -
    reach), stripped, or relu(w - reach p) is 0 and the other is what it should be; no weight
    2**s - 1 makes the product longer than w.
    """
    blocks: list[Block] = []
    lane, reach = "w", _reach(storage)
    columns = [(i, f) for i, f in enumerate(storage.layout.folds) if f.role == "column"]
    for number, (place, step) in enumerate(columns):
        gate, factor = f"p{place}", 1 << step.weight
        stripped = storage.positions + step.weight, storage.positions
        if storage.layout.plan.clean:
            units: list[Unit] = [({lane: 1, gate: reach}, -reach), ({lane: 1, gate: -reach}, 0)]
            lane = f"w{number}"
            blocks.append(Block("shift", units[:1], [(lane, 0, factor)]))
            blocks += _strip(lane, storage, *stripped)
            blocks.append(Block("shift", units[1:], [(lane, 0, 1)]))
        else:
            blocks.append(Block("shift", [({lane: 1, gate: 1}, 0)], [(lane, 0, factor - 1)]))
            blocks += _strip(lane, storage, *stripped)
    return blocks, lane
