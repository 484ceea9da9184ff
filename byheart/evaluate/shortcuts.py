"""Blocks that the kernels can do without computing every unit, recognised by their weights."""

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from fractions import Fraction

from ..network import Dyadic, FeedForward, Matrix
from .stack import Stack

ONE = Dyadic(1, 0)
MIN_TABLE, MAX_TABLE = 3, 4096  # units of a block worth tabulating


def plain_fold(block: FeedForward) -> int | None:
    """The lane if the block is lane - 2 relu(lane - t) with t > 0 and nothing else."""
    fold = fold_of(block)
    plain = fold and not block.b2.entries and len(block.W2.entries) == 1 and block.W1.rows == 1
    return fold[0] if fold and plain else None


def fold_of(block: FeedForward) -> tuple[int, Fraction] | None:
    """(lane, t) if unit 0 is lane - t, t > 0, and lane -= 2 unit is the only write to the lane."""
    lanes = block.W1.by_row.get(0, [])
    if len(lanes) != 1 or lanes[0][1] != ONE or block.b1[0, 0] >= 0:
        return None
    lane = lanes[0][0]
    if block.W2.by_row.get(lane) != [(0, Dyadic(-1, 1))] or lane in block.b2.by_row:
        return None
    return lane, -block.b1[0, 0]


def gated_shift(layer: FeedForward) -> tuple[int, int, int] | None:
    """(lane, gate, s) if the block is lane + (2**s - 1) relu(lane + gate)."""
    terms = layer.W1.by_row.get(0, [])
    if layer.W1.rows != 1 or [value for _, value in terms] != [ONE] * 2 or layer.b1.entries:
        return None
    if len(layer.W2.entries) != 1 or layer.b2.entries:
        return None
    lane, _, weight = layer.W2.entries[0]
    factor = int(weight.fraction) + 1 if weight.exponent >= 0 else 0
    others = [column for column, _ in terms if column != lane]
    if len(others) != 1 or factor < 2 or factor & (factor - 1):
        return None
    return lane, others[0], factor.bit_length() - 1


def counter(
    layer: FeedForward, lane: int, threshold: Fraction
) -> tuple[int, Fraction, Fraction] | None:
    """(counter, gap, amount) for a fold that adds w relu(x) - w relu(x - gap) to one other lane.

    That is amount = w gap as soon as x >= gap.
    """
    if layer.W1.rows != 2 or layer.W1.by_row.get(1) != [(lane, ONE)] or len(layer.W2.by_row) != 2:
        return None
    gap = -layer.b1[1, 0] - threshold
    (target,) = set(layer.W2.by_row) - {lane}
    weights = layer.W2.by_row[target]
    if gap <= 0 or len(weights) != 2 or weights[0][1].fraction != -weights[1][1].fraction:
        return None
    return target, gap, weights[0][1].fraction * gap


def tabulated(block: FeedForward) -> tuple[int, int] | None:
    """(lane, size) if all units read one lane: the block can be tabulated at 0, ..., size - 1."""
    if not MIN_TABLE <= block.W1.rows <= MAX_TABLE or len(block.W1.by_row) != block.W1.rows:
        return None
    terms = [term for row in block.W1.by_row.values() for term in row]
    whole = all(value.exponent >= 0 for _, _, value in block.b1.entries)
    if len(terms) != block.W1.rows or {term for term in terms} != {(terms[0][0], ONE)} or not whole:
        return None
    return terms[0][0], block.W1.rows + 1


def changes(layer: FeedForward, row: int, size: int) -> list[Fraction]:
    """What a tabulated block adds to a lane when the lane it reads is 0, ..., size - 1."""
    terms = layer.W2.by_row.get(row, [])
    constant = layer.b2.by_row.get(row, [(0, Dyadic(0, 0))])[0][1]
    least = min(x.exponent for x in [constant, *(weight for _, weight in terms)])
    unit = Fraction(2) ** least
    weights = [
        (weight.mantissa << (weight.exponent - least), _whole(layer.b1, column))
        for column, weight in terms
    ]
    start = constant.mantissa << (constant.exponent - least)
    return [unit * (start + sum(w * max(0, j + bias) for w, bias in weights)) for j in range(size)]


def _whole(bias: Matrix, row: int) -> int:
    value = bias.by_row.get(row, [(0, Dyadic(0, 0))])[0][1]
    return value.mantissa << value.exponent


def gated_lanes(stack: Stack) -> dict[int, int]:
    """Lanes that may be closed for good, with b such that their positive additions stay below 2**b.

    Such a lane starts at 0, is read by a single unit relu(lane), and grows only by constants, by
    tabulated blocks (read at 0, ..., size - 1) and by other such lanes' units. Once -2**b or less
    has been added to it, the unit gives 0 whatever else happens, so nothing more need be added.
    """
    reads = Counter(e.column for block in stack.blocks for e in block.W1.entries)
    refused = {row for m in (stack.entry.weight, stack.entry.bias) for row in m.by_row}
    refused |= {e.column for e in stack.exit.weight.entries}
    refused |= {lane for lane, count in reads.items() if count != 1}
    growth: defaultdict[int, Fraction] = defaultdict(Fraction)
    for block in stack.blocks:
        for row, _, value in block.b2.entries:
            growth[row] += max(Fraction(0), value.fraction)
        for row, unit, weight in block.W2.entries:
            if weight.mantissa < 0:
                continue
            most = _most(block, unit, growth, refused)
            if most is None:
                refused.add(row)
            else:
                growth[row] += weight.fraction * most
        for unit, terms in block.W1.by_row.items():
            if _relu_of_lane(block, unit) is None:
                refused |= {lane for lane, _ in terms}
    lanes = (lane for lane in growth if lane in reads and lane not in refused)
    return {lane: int(2 * growth[lane] + 1).bit_length() for lane in lanes}


def _most(
    block: FeedForward, unit: int, growth: Mapping[int, Fraction], refused: Collection[int]
) -> Fraction | None:
    """The largest value of a unit of a table or that reads a gated lane; None if unknown."""
    if (table := tabulated(block)) is not None:
        return max(Fraction(0), table[1] - 1 + block.b1[unit, 0])
    lane = _relu_of_lane(block, unit)
    return None if lane is None or lane in refused else growth.get(lane, Fraction(0))


def _relu_of_lane(block: FeedForward, unit: int) -> int | None:
    """The lane if the unit is relu(lane)."""
    terms = block.W1.by_row.get(unit, [])
    plain = len(terms) == 1 and terms[0][1] == ONE and unit not in block.b1.by_row
    return terms[0][0] if plain else None
