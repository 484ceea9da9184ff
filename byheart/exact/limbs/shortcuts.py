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
    value = dyadic(weight.mantissa * number)
    return Dyadic(value.mantissa, value.exponent + weight.exponent) if number else ZERO


def bias(vector: Matrix, row: int) -> Dyadic:
    return vector.by_row[row][0][1] if row in vector.by_row else ZERO


def times(weight: Dyadic, number: int) -> int:
    """weight * number, which must be whole."""
    return scaled(multiple(weight, number), 0)


@dataclass(frozen=True)
class Fold:
    """lane += constant - slope * excess.

    excess   relu(lane - threshold - sum of weight * other lane), (other lane, weight) in `reads`
    counter  (lane, amount, gap): an excess of at least `gap` adds the whole number `amount`
    others   (lane, s): 2**s * excess is subtracted
    """

    lane: int
    threshold: int
    slope: int
    constant: int
    reads: tuple[tuple[int, Dyadic], ...]
    counter: tuple[int, int, int] | None
    others: tuple[tuple[int, int], ...]

    @property
    def plain(self) -> bool:
        """Whether only one lane takes part, and is reflected."""
        return self.slope == 2 and not (self.reads or self.counter or self.others)


def fold_of(block: FeedForward, point: int) -> Fold | None:
    """The fold that the block is, with 1 <= slope < 32.

    The lane that is folded has weight 1 in the unit, and is the only such lane that the unit is
    subtracted from. A second unit, x - gap where the first is x, makes a counter: one other lane
    receives w relu(x) - w relu(x - gap). That is amount = w gap as soon as x >= gap.
    """
    terms, writes = block.W1.by_row.get(0, []), block.W2.by_row
    if block.W1.rows > 2:
        return None
    slopes = {x: _slope(writes.get(x, [])) for x, weight in terms if weight == ONE}
    folded = [(x, slope) for x, slope in slopes.items() if slope]
    if len(folded) != 1 or any(row != folded[0][0] for row in block.b2.by_row):
        return None
    ((lane, slope),) = folded
    threshold = -scaled(bias(block.b1, 0), point)
    reads = tuple((x, Dyadic(-w.mantissa, w.exponent)) for x, w in terms if x != lane)
    rest = {row: terms for row, terms in writes.items() if row != lane}
    counter, others = None, tuple[tuple[int, int], ...]()
    if block.W1.rows == 1:
        if any(terms[0][1].mantissa != -1 for terms in rest.values()):
            return None
        others = tuple((row, terms[0][1].exponent) for row, terms in rest.items())
    else:
        gap = -scaled(bias(block.b1, 1), point) - threshold
        if block.W1.by_row.get(1) != terms or len(rest) != 1 or gap <= 0:
            return None
        ((target, pair),) = rest.items()
        amount = multiple(pair[0][1], gap)
        if not _opposite(pair) or amount.mantissa < 0 or amount.exponent < point:
            return None
        counter = target, scaled(amount, -point), gap
    constant = scaled(bias(block.b2, lane), point)
    return Fold(lane, threshold, slope, constant, reads, counter, others)


def _slope(terms: list[tuple[int, Dyadic]]) -> int:
    """How often unit 0 is subtracted from a lane that no other unit is added to, or 0."""
    if len(terms) != 1 or terms[0][0] != 0 or not 0 <= terms[0][1].exponent < 5:
        return 0
    slope = -scaled(terms[0][1], 0)
    return slope if 1 <= slope < 32 else 0


def _opposite(terms: list[tuple[int, Dyadic]]) -> bool:
    """Whether a lane receives w unit 0 - w unit 1."""
    if [column for column, _ in terms] != [0, 1]:
        return False
    (_, plus), (_, minus) = terms
    return plus == Dyadic(-minus.mantissa, minus.exponent)


def gate_of(block: FeedForward) -> int | None:
    """The gate if the block is lane + weight relu(lane + gate)."""
    terms = block.W1.by_row.get(0, [])
    if block.W1.rows != 1 or [value for _, value in terms] != [ONE] * 2 or block.b1.entries:
        return None
    if len(block.W2.entries) != 1 or block.b2.entries:
        return None
    others = {column for column, _ in terms} - {block.W2.entries[0].row}
    return others.pop() if len(others) == 1 else None


@dataclass(frozen=True)
class Table:
    """A block that adds columns[l][j] to lane l if the lane it reads is j = 0, ..., size - 1."""

    lane: int
    size: int
    columns: dict[int, list[int]]


def table_of(block: FeedForward, point: int) -> Table | None:
    if (read := tabulated(block)) is None:
        return None
    lane, size = read
    rows = sorted(set(block.W2.by_row) | set(block.b2.by_row))
    return Table(lane, size, {row: _column(block, row, size, point) for row in rows})


def tabulated(block: FeedForward) -> tuple[int, int] | None:
    """(lane, size) if all units read one lane and bend at one of 0, ..., size - 1, or below."""
    if not MIN_TABLE <= block.W1.rows <= MAX_TABLE or len(block.W1.by_row) != block.W1.rows:
        return None
    terms = [term for row in block.W1.by_row.values() for term in row]
    if len(terms) != block.W1.rows or set(terms) != {(terms[0][0], ONE)}:
        return None
    size = block.W1.rows + 1
    if any(b.exponent < 0 or scaled(b, 0) <= -size for _, _, b in block.b1.entries):
        return None
    return terms[0][0], size


def _column(block: FeedForward, row: int, size: int, point: int) -> list[int]:
    """The numbers of a tabulated block: a unit's weight changes the lane's slope at j = -b."""
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
    terms = block.W1.by_row.get(unit, [])
    plain = len(terms) == 1 and terms[0][1] == ONE and unit not in block.b1.by_row
    return terms[0][0] if plain else None
