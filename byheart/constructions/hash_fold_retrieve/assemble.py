"""Weights from a solved layout: every block after the hash, in order.

The stream's main lane is v = H * 2**scale + P: the context's number H on top, the payload P (the
stored sum) below. Other lanes: J0, J1, ... row indices, L1, L2, ... copies of the tables,
p0, p1, ... gates of the shifts, q that of the blocks, M the fingerprint, O the output.
"""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from ...gadgets.blocks import Block, fold, fold_and_count, read_digits, select
from ...gadgets.prefix_code import PrefixCode
from ..retrieval.assemble import decode
from ..retrieval.plan import Storage
from .layout import thresholds
from .two_blocks import BlockStorage, part

HALF = Fraction(1, 2)


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
    gap = storage.unit / (4 if isinstance(storage, BlockStorage) else 2)
    *others, last = _until_read(storage, code, unknown, bits, output)
    if labels > 2:
        centre = (labels + 1) // 2 * one
        last = replace(last, constants={**last.constants, "v": last.constants.get("v", 0) - centre})
    yield from (*others, last)
    yield from read_digits("read", "v", labels, one, output, centred=labels > 2, gap=gap)


def _until_read(
    storage: Storage, code: PrefixCode, unknown: int | None, bits: int, output: str
) -> Iterator[Block]:
    """All blocks that leave the label's number in v, in units of its last digit."""
    yield from _hash_folds(storage)
    if not storage.layout.plan.reads:
        yield from _lane_sums(storage)
    if isinstance(storage, BlockStorage):
        yield from part(storage)
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
    # two blocks get their half when they have been parted
    constant = storage.constant + (0 if plan.upper else HALF)
    longest = storage.digits + plan.columns + storage.unit.numerator.bit_length() - 1
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
        elif step.role == "block":
            closed = -(1 << max(0, longest - scale + 2))
            block = fold("block gate", "v", threshold, extra=[("q", 0, closed)])
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
            values = {}
            for lane, mask in enumerate(plan.masks):
                cells = [layout.cell(table, lane, row) for row in range(1, plan.tables[table])]
                values[_lane(mask)] = [0, *(0 if c is None else numbers[c] for c in cells)]
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
