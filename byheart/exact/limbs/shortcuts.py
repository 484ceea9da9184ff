"""Blocks that the kernels can do without computing every unit, recognised by their weights.

Numbers are integers in units of the frame's lowest bit: see `scaled`.
"""

from collections import Counter, defaultdict
from dataclasses import dataclass

from ..network import Dyadic, FeedForward, Matrix, dyadic
from .stack import Stack

ONE = Dyadic(1, 0)
ZERO = Dyadic(0, 0)
MIN_TABLE, MAX_TABLE = 3, 4096  # units of a block worth tabulating


def scaled(value: Dyadic, point: int) -> int:
    """value * 2**point, which must be whole."""
    if value.exponent + point < 0 and value.mantissa:
        raise AssertionError(f"{value} * 2**{point} is not whole")
    return value.mantissa << max(0, value.exponent + point)


def rounded_up(number: int, places: int) -> int:
    """number * 2**places, rounded up."""
    return number << places if places >= 0 else -(-number >> -places)


def multiple(weight: Dyadic, number: int) -> Dyadic:
    product = dyadic(weight.mantissa * number)
    return Dyadic(product.mantissa, product.exponent + weight.exponent)


def bias(vector: Matrix, row: int) -> Dyadic:
    return vector.by_row[row][0][1] if row in vector.by_row else ZERO


@dataclass(frozen=True)
class Fold:
    """lane -= slope * excess, where excess = relu(lane - threshold)."""

    lane: int
    threshold: int
    slope: int
    counter: tuple[int, int, int] | None  # (lane, amount, gap): lane += amount if excess >= gap
    others: tuple[tuple[int, int], ...]  # (lane, s): lane -= 2**s * excess


def fold_of(block: FeedForward, point: int) -> Fold | None:
    """The fold that the block is, with 2 <= slope < 32 and a positive threshold.

    A second unit x - gap, x = excess, makes a counter: one other lane receives
    w relu(x) - w relu(x - gap). That is amount = w gap, a whole number, as soon as x >= gap.
    """
    lanes = block.W1.by_row.get(0, [])
    if len(lanes) != 1 or lanes[0][1] != ONE or block.b2.entries or block.W1.rows > 2:
        return None
    lane, threshold = lanes[0][0], -scaled(bias(block.b1, 0), point)
    terms = block.W2.by_row.get(lane, [])
    if len(terms) != 1 or terms[0][0] != 0 or not 0 <= terms[0][1].exponent < 5:
        return None
    slope = -scaled(terms[0][1], 0)
    if threshold <= 0 or not 2 <= slope < 32:
        return None
    rest = {row: terms for row, terms in block.W2.by_row.items() if row != lane}
    if block.W1.rows == 1:
        if any(terms[0][1].mantissa != -1 for terms in rest.values()):
            return None
        others = tuple((row, terms[0][1].exponent) for row, terms in rest.items())
        return Fold(lane, threshold, slope, None, others)
    if block.W1.by_row.get(1) != [(lane, ONE)] or len(rest) != 1:
        return None
    ((target, terms),) = rest.items()
    gap = -scaled(bias(block.b1, 1), point) - threshold
    if gap <= 0 or not _opposite(terms):
        return None
    amount = multiple(terms[0][1], gap)
    if amount.mantissa < 0 or amount.exponent < point:
        return None
    return Fold(lane, threshold, slope, (target, scaled(amount, -point), gap), ())


def _opposite(terms: list[tuple[int, Dyadic]]) -> bool:
    """Whether a lane receives w unit 0 - w unit 1."""
    if [column for column, _ in terms] != [0, 1]:
        return False
    (_, plus), (_, minus) = terms
    return plus == Dyadic(-minus.mantissa, minus.exponent)


def step_of(block: FeedForward, point: int) -> tuple[int, int, int, dict[int, int]] | None:
    """(lane, low, high, amounts) if the block adds nothing up to low, and amounts from high on.

    Such a block has two units 2**k lane - a and 2**k lane - b with 0 < a < b, and takes the second
    off the first wherever it adds it: b - a in all, if both are positive.
    """
    if block.W1.rows != 2 or block.b2.entries or block.W1.by_row.get(0) != block.W1.by_row.get(1):
        return None
    terms = block.W1.by_row.get(0, [])
    if len(terms) != 1 or terms[0][1].mantissa != 1 or not 0 <= terms[0][1].exponent < 64:
        return None
    lane, k = terms[0][0], terms[0][1].exponent
    low, high = (-scaled(bias(block.b1, row), point) for row in (0, 1))
    if not 0 < low < high or low % (1 << k) or high % (1 << k):
        return None
    if not all(_opposite(terms) for terms in block.W2.by_row.values()):
        return None
    amounts = {
        row: scaled(multiple(terms[0][1], high - low), 0) for row, terms in block.W2.by_row.items()
    }
    return lane, low >> k, high >> k, amounts


def gated_shift(block: FeedForward) -> tuple[int, int, int] | None:
    """(lane, gate, s) if the block is lane + (2**s - 1) relu(lane + gate)."""
    terms = block.W1.by_row.get(0, [])
    if block.W1.rows != 1 or [value for _, value in terms] != [ONE] * 2 or block.b1.entries:
        return None
    if len(block.W2.entries) != 1 or block.b2.entries:
        return None
    lane, _, weight = block.W2.entries[0]
    factor = scaled(weight, 0) + 1 if weight.exponent >= 0 else 0
    others = [column for column, _ in terms if column != lane]
    if len(others) != 1 or factor < 2 or factor & (factor - 1):
        return None
    return lane, others[0], factor.bit_length() - 1


@dataclass(frozen=True)
class Table:
    """A block that adds columns[l][j] to lane l if the lane it reads is j = 0, ..., size - 1."""

    lane: int
    size: int
    columns: dict[int, list[int]]


def table_of(block: FeedForward, point: int) -> Table | None:
    """The table that the block is."""
    if (read := tabulated(block)) is None:
        return None
    lane, size = read
    rows = sorted(set(block.W2.by_row) | set(block.b2.by_row))
    return Table(lane, size, {row: _column(block, row, size, point) for row in rows})


def tabulated(block: FeedForward) -> tuple[int, int] | None:
    """(lane, size) if all units read one lane: the block can be tabulated at 0, ..., size - 1."""
    if not MIN_TABLE <= block.W1.rows <= MAX_TABLE or len(block.W1.by_row) != block.W1.rows:
        return None
    terms = [term for row in block.W1.by_row.values() for term in row]
    whole = all(value.exponent >= 0 for _, _, value in block.b1.entries)
    if len(terms) != block.W1.rows or {term for term in terms} != {(terms[0][0], ONE)} or not whole:
        return None
    return terms[0][0], block.W1.rows + 1


def _column(block: FeedForward, row: int, size: int, point: int) -> list[int]:
    """The numbers that a tabulated block adds to a lane.

    A unit relu(j + b) grows by 1 from j to j + 1 if j >= -b, and else stays: so the slope of the
    lane's broken line changes at j = -b by the unit's weight.
    """
    value = scaled(bias(block.b2, row), point)
    bends: defaultdict[int, int] = defaultdict(int)
    for unit, weight in block.W2.by_row.get(row, []):
        factor, start = scaled(weight, point), scaled(bias(block.b1, unit), 0)
        value += factor * max(0, start)
        bends[max(0, -start)] += factor
    values, slope = [value], 0
    for j in range(size - 1):
        slope += bends.get(j, 0)
        values.append(values[-1] + slope)
    return values


def gated_lanes(stack: Stack, point: int) -> dict[int, int]:
    """Lanes that may be closed for good, and a bound on all that is ever added to each.

    Such a lane starts at 0, is read by a single unit relu(lane), and grows only by constants, by
    tabulated blocks (read at 0, ..., size - 1) and by other such lanes' units. Once as much as the
    bound has been taken off it, the unit gives 0 whatever else happens, so nothing more need be
    added.
    """
    reads = Counter(e.column for block in stack.blocks for e in block.W1.entries)
    refused = {row for m in (stack.entry.weight, stack.entry.bias) for row in m.by_row}
    refused |= {e.column for e in stack.exit.weight.entries}
    refused |= {lane for lane, count in reads.items() if count != 1}
    growth: defaultdict[int, int] = defaultdict(int)
    for block in stack.blocks:
        if (table := table_of(block, point)) is not None:
            for row, column in table.columns.items():
                growth[row] += max(0, *column)
        else:
            for row, _, value in block.b2.entries:
                growth[row] += max(0, scaled(value, point))
            for row, unit, weight in block.W2.entries:
                lane = relu_of_lane(block, unit)
                if weight.mantissa < 0:
                    continue
                if lane is None or lane in refused:  # nobody knows how much this adds
                    refused.add(row)
                else:
                    most = weight.mantissa * growth.get(lane, 0)
                    growth[row] += rounded_up(most, weight.exponent)
        for unit, terms in block.W1.by_row.items():
            if relu_of_lane(block, unit) is None:
                refused |= {lane for lane, _ in terms}
    return {lane: growth[lane] for lane in growth if lane in reads and lane not in refused}


def relu_of_lane(block: FeedForward, unit: int) -> int | None:
    """The lane if the unit is relu(lane)."""
    terms = block.W1.by_row.get(unit, [])
    plain = len(terms) == 1 and terms[0][1] == ONE and unit not in block.b1.by_row
    return terms[0][0] if plain else None
