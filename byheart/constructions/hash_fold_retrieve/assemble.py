"""Weights from a solved layout: every block of the network, in order.

The stream's main lane is v = H * 2**scale + P: the context's number H on top, the payload P (the
stored sum) below. Other lanes: J0, J1, ... row indices, L1, L2, ... copies of the tables,
p0, p1, ... gates of the shifts, M the fingerprint, O the output.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from ...exact.network import (
    Embedding,
    HardAttention,
    Input,
    Layer,
    Linear,
    Network,
    SparseAttention,
    Sum,
    UniformAttention,
    matrix,
    vector,
)
from ...gadgets.blocks import Block, feed_forward, fold, fold_and_count, read_bit, select
from ...gadgets.prefix_code import PrefixCode
from .hashing import Hash
from .layout import Fold, Layout, thresholds

HALF = Fraction(1, 2)


@dataclass(frozen=True)
class Storage:
    """Solved numbers, ready to be placed.

    numbers   one a unit of the layout; those in fold thresholds are centred around 0
    constant  added once, so that the stored sum W is positive for every context
    digits    W < 2**digits for every context
    scale     P stays below 2**(scale - 2) in absolute value
    """

    layout: Layout
    numbers: Sequence[int]
    constant: int
    digits: int
    scale: int
    window: int

    @property
    def positions(self) -> int:
        return self.layout.columns + self.window - 1


def assemble(
    spec: Input,
    every: bool,
    mixing: str,
    grain: int,
    hashed: Hash,
    storage: Storage,
    code: PrefixCode,
    unknown: int | None,
) -> Network:
    """The whole network: E_in, token folds, attention, folds, tables, shift, strip, read, E_out.

    every   whether it answers every token
    mixing  where columns meet: "uniform", "hard", "sparse" or "sum"
    grain   the hash was found for the input's coordinates times this power of two, which makes
            them whole numbers
    """
    before = list(_token_folds(hashed, storage))
    after = [
        *_mix_folds(hashed, storage),
        *_hash_folds(storage),
        *_shifts(storage),
        *_strip(storage),
        *_read(storage, code, unknown),
    ]
    names = ["v"]
    for block in [*before, *after]:
        names += [lane for lane in block.lanes() if lane not in names]
    output = "J0" if storage.layout.plan.narrow else "O"
    lanes = {name: i for i, name in enumerate(dict.fromkeys([*names, output]))}
    width = len(lanes)
    unembed = Linear(matrix(1, width, {(0, lanes[output]): 1}), vector({}, 1), "output")
    return Network(
        spec,
        (
            _embed(spec, grain, hashed, 1 << storage.scale, width),
            *(feed_forward(block, lanes) for block in before),
            *mixing_layers(mixing, spec, width, lanes[output]),
            *(feed_forward(block, lanes) for block in after),
            unembed,
        ),
        every,
    )


def _embed(spec: Input, grain: int, hashed: Hash, unit: int, width: int) -> Layer:
    """E_in: the projection of the token's coordinates, or the drawn number of its id."""
    offset = 0 if hashed.token_thresholds else hashed.offset
    if hashed.drawn is not None:
        numbers = {(0, x): (number - offset) * unit for x, number in hashed.drawn.items()}
        position = {i: w * unit for i, w in enumerate(hashed.weights)}
        return Embedding(
            matrix(width, max(hashed.drawn) + 1, numbers), vector(position, width), "embed"
        )
    weights = {(0, i): w * grain * unit for i, w in enumerate(hashed.weights)}
    bias = vector({0: (hashed.bias - offset) * unit}, width)
    return Linear(matrix(width, spec.coordinates, weights), bias, "embed")


def mixing_layers(kind: str, spec: Input, width: int, spare: int) -> Iterator[Layer]:
    """Where columns meet, on lane 0: v + 2 sum(v), or for "sum" the sum alone.

    sparse  the extra column 0 gathers 2 sum(v) of the others in a lane that is 0 everywhere, and
            every other column then reads it there: 2n connections instead of n^2 (Remark 4.5)
    """
    n = spec.length
    read, write = matrix(1, width, {(0, 0): 1}), matrix(width, 1, {(0, 0): 2 * n})
    nothing = matrix(1, width, {})
    if kind == "sum":
        yield Sum()
    elif kind == "hard":
        yield HardAttention(nothing, nothing, read, write)
    elif kind == "uniform":
        yield UniformAttention(read, write)
    else:
        gather = tuple((0, k) for k in range(1, n + 1))
        spread = tuple((k, 0) for k in range(1, n + 1))
        yield SparseAttention(read, matrix(width, 1, {(spare, 0): 2 * n}), gather, "gather")
        one, other = matrix(1, width, {(0, spare): 1}), matrix(width, 1, {(0, 0): 1})
        yield SparseAttention(one, other, spread, "attend")


def _token_folds(hashed: Hash, storage: Storage) -> Iterator[Block]:
    """phi: slope 3 folds of the projected token; the last one also subtracts the offset."""
    unit = 1 << storage.scale
    for i, threshold in enumerate(hashed.token_thresholds, 1):
        block = fold("token hash", "v", threshold * unit, 3)
        last = i == len(hashed.token_thresholds) and hashed.offset
        yield replace(block, constants={"v": -hashed.offset * unit}) if last else block


def _mix_folds(hashed: Hash, storage: Storage) -> Iterator[Block]:
    for threshold in hashed.mix_thresholds:
        yield fold("mix", "v", threshold << storage.scale, 3)


def _hash_folds(storage: Storage) -> Iterator[Block]:
    """Fold H to 0; each fold does its job, and a table is read as soon as the layout says.

    A fold at (t - 1/2) 2**scale + e / 2 maps H >= t to 2t - 1 - H, and P to e - P: the number e
    enters with a minus sign for every later fold that fires. The half keeps v off the threshold:
    |v - threshold| >= 2**(scale - 2), since |P - e/2| <= 2**(scale - 2).
    """
    layout, scale = storage.layout, storage.scale
    limits, _ = thresholds(layout.folds)
    last_first = zip(reversed(range(len(limits))), layout.folds, limits, strict=True)
    with_table = bool(layout.plan.tables) and not layout.plan.narrow
    for place, step, limit in last_first:
        stored = layout.stored.get(place)
        number = storage.numbers[stored] if stored is not None else 0
        threshold = Fraction(((2 * limit - 1) << scale) + number, 2)
        block = _one_fold(storage, step, place, threshold)
        if place == 0 and not with_table:
            block = replace(block, constants={"v": storage.constant + HALF})
        yield block
        for table in (r for r, p in enumerate(layout.table_place) if p == place):
            yield _table(storage, table, with_constants=with_table and table == 0)
    yield from _lane_sums(storage)


def _one_fold(storage: Storage, step: Fold, place: int, threshold: Fraction) -> Block:
    plan = storage.layout.plan
    gap = 1 << (storage.scale - 2)
    if step.role == "data":
        return fold("store", "v", threshold)
    if step.role == "gate":
        # the lanes whose lowest gate this is; -4 relu(v - threshold) outweighs any lane
        lanes = [m for m in plan.masks[1:] if m & -m == step.weight]
        return fold("gate", "v", threshold, extra=[(f"L{m}", 0, -4) for m in lanes])
    if step.role == "mark":
        return fold_and_count("mark", "v", threshold, gap, "M", step.weight)
    if step.role == "row":
        index = "J0" if plan.narrow else f"J{step.target}"
        return fold_and_count("row index", "v", threshold, gap, index, step.weight)
    if plan.narrow:
        return fold_and_count("column index", "v", threshold, gap, "J0", step.weight)
    closed = -(1 << max(0, storage.digits + plan.columns - storage.scale + 2))
    return fold("column gate", "v", threshold, extra=[(f"p{place}", 0, closed)])


def _table(storage: Storage, table: int, with_constants: bool) -> Block:
    """One table in all lanes; the first also adds the global constant and the lanes' own."""
    layout = storage.layout
    values = {}
    for lane, mask in enumerate(layout.plan.masks):
        cells = [layout.cell(table, lane, row) for row in range(1, layout.plan.tables[table])]
        values[_lane(mask)] = [0, *(0 if c is None else storage.numbers[c] for c in cells)]
    constants: dict = {}
    if with_constants:
        constants = {
            _lane(layout.plan.masks[lane]): storage.numbers[unit]
            for lane, unit in layout.lane_constant.items()
        }
        constants["v"] = storage.constant + HALF
    narrow = layout.plan.narrow
    return select("select", "J0" if narrow else f"J{table}", values, constants, reset=narrow)


def _lane(mask: int) -> str:
    return f"L{mask}" if mask else "v"


def _lane_sums(storage: Storage) -> Iterator[Block]:
    """Add every lane that is on to the lane without its lowest gate, lowest gates first.

    A lane that is on holds a number >= 0, one that is off a negative number: relu keeps the first
    and drops the second.
    """
    masks = storage.layout.plan.masks[1:]
    for gate in range(storage.layout.plan.gates):
        lanes = [m for m in masks if m & -m == 1 << gate]
        if lanes:
            yield Block(
                "add lanes",
                [({_lane(m): 1}, 0) for m in lanes],
                [(_lane(m & (m - 1)), i, 1) for i, m in enumerate(lanes)],
            )


def _shifts(storage: Storage) -> Iterator[Block]:
    """v <- v * 2**s for every column fold that did not fire.

    v + (2**s - 1) relu(v + p), with p = 0 or very negative.
    """
    layout = storage.layout
    if layout.plan.narrow:
        yield from _narrow_shifts(storage)
        return
    for i, step in enumerate(layout.folds):
        if step.role == "column":
            gate = f"p{len(layout.folds) - 1 - i}"
            yield Block("shift", [({"v": 1, gate: 1}, 0)], [("v", 0, (1 << step.weight) - 1)])


def _narrow_shifts(storage: Storage) -> Iterator[Block]:
    """The same with one index lane.

    J0 holds the sum of the weights that fired; take them off one by one.
    """
    closed = 1 << (storage.digits + storage.layout.plan.columns)
    for step in (f for f in storage.layout.folds if f.role == "column"):
        # the gate p becomes -closed if J0 >= weight, and J0 loses the weight
        w = step.weight
        yield Block(
            "column gate",
            [({"J0": 1}, 1 - w), ({"J0": 1}, -w)],
            [("J0", 0, -w), ("J0", 1, w), ("p", 0, -closed), ("p", 1, closed)],
        )
        yield Block(
            "shift", [({"v": 1, "p": 1}, 0), ({"p": -1}, 0)], [("v", 0, (1 << w) - 1), ("p", 1, 1)]
        )


def _strip(storage: Storage) -> Iterator[Block]:
    """Fold away every bit at position K and above, K = columns + window - 1.

    At each power of two, v < 2**(t + 1) becomes at most 2**t. Folding at 2**t reflects the lower
    bits if bit t is set. After the last fold, bit i of v is W_i xor W_K (of the shifted W): the
    stored sum's own bits, relative to the one above the window.
    """
    shifted = storage.digits + storage.layout.columns - 1
    for t in reversed(range(storage.positions, shifted)):
        yield fold("strip", "v", 1 << t)


def _read(storage: Storage, code: PrefixCode, unknown: int | None) -> Iterator[Block]:
    """The label's number from the top bits of v < 2**K.

    Check the fingerprint, decode, read binary digits.
    """
    output = "J0" if storage.layout.plan.narrow else "O"
    bits = storage.positions
    if unknown is not None:
        marks = storage.layout.plan.marks
        bits -= marks
        yield from _compare(storage, bits, unknown, output)
    kinks = code.kinks
    first = kinks[0][1].bit_length() - 1  # shortest word
    if len(kinks) > 1:
        units = [({"v": 1}, -int(x * (1 << bits))) for x, _ in kinks[1:]]
        writes = [("v", i, change >> first) for i, (_, change) in enumerate(kinks[1:])]
        yield Block("decode", units, writes)
    digits = (len(code.lengths) - 1).bit_length()
    for i in reversed(range(digits)):
        yield read_bit("read", "v", 1 << (bits - first + i), output, 1 << i, subtract=i > 0)


def _compare(storage: Storage, bits: int, unknown: int, output: str) -> Iterator[Block]:
    """Answer `unknown` unless the fingerprint M, computed from H, is the stored one.

    The stored one is the leading bits of v. The first block subtracts M from it: they are equal if
    then 0 < v < 2**bits. The second computes u = 1 - [v > 0] + [v > 2**bits], which is 1 for a
    stranger; it takes u * far off v, so that no digit is read, and adds u * unknown to the output.
    """
    yield Block("compare", [({"M": 1}, 0)], [("v", 0, -(1 << bits))])
    far = 1 << (storage.positions + 2)
    edges = (0, 1, 2 << bits, (2 << bits) + 1)
    signs = (-1, 1, 1, -1)
    writes = [("v", i, -far * sign) for i, sign in enumerate(signs)]
    writes += [(output, i, unknown * sign) for i, sign in enumerate(signs)]
    yield Block(
        "compare",
        [({"v": 2}, -edge) for edge in edges],
        writes,
        {"v": -far, output: unknown},
    )
