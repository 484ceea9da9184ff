"""Translate a stack of layers into the flat arrays that kernels.run interprets."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ..network import (
    Dyadic,
    FeedForward,
    Linear,
    Matrix,
    Network,
    UniformAttention,
    dyadic,
    matrix,
    vector,
)
from . import kernels
from .kernels import COUNT, FOLDS, GATE, GENERAL, LINEAR, POWERS, SHIFT, TABLE

MASK = (1 << 64) - 1
MAX_DIGITS = 3  # a weight with at most so many signed binary digits is applied by shifts
MIN_TABLE, MAX_TABLE = 3, 4096  # units of a block worth tabulating


@dataclass(frozen=True)
class Stack:
    """Token-wise layers, preceded by a linear map `entry` from the inputs to the lanes.

    The first stack starts with the embedding; one after an attention layer starts with h + (W_O / n) (W_V sum), and its inputs are the
    lanes of the column itself that can be nonzero, then the sums of these lanes. The last stack ends with the output layer.
    """

    entry: Linear
    blocks: tuple[FeedForward, ...]
    exit: Linear

    @property
    def width(self) -> int:
        return self.entry.weight.rows


def stacks(network: Network) -> list[Stack]:
    """The token-wise stacks between the attention layers, each with the lanes it hands on."""
    found = []
    entry = network.layers[0]
    start = 1
    lanes: set[int] = set()
    for cut in [*network.attentions, len(network.layers) - 1]:
        assert isinstance(entry, Linear)
        blocks = network.layers[start:cut]
        for layer in (entry, *blocks):
            lanes |= (
                {row for tensor in layer.tensors.values() for row in tensor.by_row}
                if (layer is entry)
                else {row for name in ("W2", "b2") for row in layer.tensors[name].by_row}
            )
        handed = sorted(lanes)
        last = network.layers[cut]
        if isinstance(last, UniformAttention):
            leave = Linear(_pick(handed, network.width), vector({}, len(handed)))
            found.append(Stack(entry, tuple(blocks), leave))  # type: ignore[arg-type]
            entry = _after_attention(last, handed, network)
            lanes = set()
        else:
            assert isinstance(last, Linear)
            found.append(Stack(entry, tuple(blocks), last))  # type: ignore[arg-type]
        start = cut + 1
    return found


def _pick(lanes: Sequence[int], width: int) -> Matrix:
    return matrix(len(lanes), width, {(i, lane): 1 for i, lane in enumerate(lanes)})


def _after_attention(attention: UniformAttention, lanes: Sequence[int], network: Network) -> Linear:
    """h + (W_O / n) W_V sum as one linear map of (own lanes, sums of lanes)."""
    place = {lane: i for i, lane in enumerate(lanes)}
    weights = {(lane, i): Fraction(1) for lane, i in place.items()}
    for row, head, weight in attention.divided(network.input.length).entries:
        for lane, value in attention.W_V.by_row.get(head, ()):
            if lane in place:
                where = row, len(lanes) + place[lane]
                weights[where] = weights.get(where, Fraction(0)) + weight.fraction * value.fraction
    return Linear(matrix(network.width, 2 * len(lanes), weights), vector({}, network.width))


@dataclass(frozen=True, eq=False)
class Program:
    """What kernels.run interprets, before the frame is chosen.

    base     the limb of an input's lowest limb
    whole    the limb that holds the units of a number
    header   values of the header of kernels.py; tables and limbs as they are laid out behind it
    """

    base: int
    whole: int
    slots: int
    outputs: int
    header: dict[int, int]
    tables: dict[int, NDArray[np.int64]]
    limbs: NDArray[np.uint64]

    def memory(self, frame: int) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """Fresh arrays M and I for one thread and a frame of so many limbs."""
        numbers = np.zeros(self.slots * frame + len(self.limbs), dtype=np.uint64)
        numbers[self.slots * frame :] = self.limbs
        header = {**self.header, kernels.FRAME: frame, kernels.LIMBS: self.slots * frame}
        place = kernels.STATE + 3 * self.slots
        for name, table in self.tables.items():
            header[name] = place
            place += table.size
        integers = np.zeros(place, dtype=np.int64)
        for name, value in header.items():
            integers[name] = value
        for name, table in self.tables.items():
            integers[header[name] : header[name] + table.size] = table.ravel()
        return numbers, integers


class _Writer:
    """Collects the arrays. Slots: inputs, lanes, outputs, hidden units, one spare."""

    def __init__(self, inputs: int, fraction_limbs: int):
        self.lane = inputs
        self.zero = fraction_limbs
        self.ops: list[tuple[int, ...]] = []
        self.units: list[tuple[int, ...]] = []
        self.terms: list[tuple[int, int]] = []
        self.writes: list[tuple[int, int, int]] = []
        self.adds: list[tuple[int, int]] = []
        self.weights: list[tuple[int, ...]] = []
        self.digits: list[tuple[int, int]] = []
        self.consts: list[tuple[int, ...]] = []
        self.limbs: list[int] = []
        self._weights: dict[Dyadic, int] = {}
        self._consts: dict[Fraction, int] = {}

    def tables(self, bounds: Sequence[int]) -> dict[int, NDArray[np.int64]]:
        """The tables by the name of their place in the header."""
        rows = {
            kernels.OPS: self.ops,
            kernels.UNITS: self.units,
            kernels.TERMS: self.terms,
            kernels.WRITES: self.writes,
            kernels.ADDS: self.adds,
            kernels.WEIGHTS: self.weights,
            kernels.DIGITS: self.digits,
            kernels.CONSTS: self.consts,
            kernels.BOUNDS: [(bound,) for bound in bounds],
        }
        return {
            name: np.array(table, dtype=np.int64).reshape(len(table), kernels.SIZES[name])
            for name, table in rows.items()
        }

    def weight(self, value: Dyadic) -> int:
        """(digits, start, stop, negative, exponent): signed digits, or limbs of the mantissa if digits is 0."""
        if value not in self._weights:
            digits = _signed_digits(value.mantissa)
            if len(digits) <= MAX_DIGITS:
                start = len(self.digits)
                self.digits += [(place + value.exponent, int(sign < 0)) for place, sign in digits]
                row = (len(digits), start, len(self.digits), 0, 0)
            else:
                start = len(self.limbs)
                self.limbs += _magnitude(abs(value.mantissa))
                row = (0, start, len(self.limbs), int(value.mantissa < 0), value.exponent)
            self._weights[value] = len(self.weights)
            self.weights.append(row)
        return self._weights[value]

    def const(self, value: Fraction | int) -> int:
        """The number of a constant, stored once."""
        if value not in self._consts:
            self._consts[value] = self.fresh(value)
        return self._consts[value]

    def fresh(self, *values: Fraction | int) -> int:
        """The number of the first of some constants, stored one after another.

        A row is (offset, low, high, negative): two's complement limbs low..high - 1 of the frame at limbs[offset + i].
        """
        first = len(self.consts)
        for value in values:
            scaled = Fraction(value) * (1 << (64 * self.zero))
            assert scaled.denominator == 1
            number = int(scaled)
            sign = MASK if number < 0 else 0
            words = [(number >> (64 * i)) & MASK for i in range(number.bit_length() // 64 + 1)]
            while words and words[-1] == sign:
                words.pop()
            low = next((i for i, word in enumerate(words) if word), len(words) if number else 0)
            self.consts.append((len(self.limbs) - low, low, len(words), int(number < 0)))
            self.limbs += words[low:]
        return first


def translate(stack: Stack, exponent: int, guess: bool = True) -> Program:
    """The program of a stack whose inputs have unit 2**exponent.

    guess: take the shortcut of gated lanes, which gives up (kernels.run returns False) if a table is read between whole numbers.
    """
    fraction = (
        -(-_fraction_bits(stack, -exponent) // 64) + 1
    )  # one limb for what a shift leaves behind
    inputs, outputs = stack.entry.weight.columns, stack.exit.weight.rows
    writer = _Writer(inputs, fraction)
    first_output = inputs + stack.width
    hidden = first_output + outputs
    base, odd = divmod(exponent + 64 * fraction, 64)  # where the inputs' unit is in the frame
    _linear(writer, stack.entry, 0, inputs, odd)
    for run in _runs(stack.blocks):
        if _plain_fold(run[0]):
            _folds(writer, run)
        else:
            _feed_forward(writer, run[0], hidden)
    _linear(writer, stack.exit, inputs, first_output, 0)
    spare = hidden + max((block.W1.rows for block in stack.blocks), default=0)
    gated = gated_lanes(stack) if guess else {}
    bounds = [gated.get(slot - inputs, -1) for slot in range(spare + 1)]
    header = {
        kernels.WHOLE: fraction,
        kernels.FIRST_OUTPUT: first_output,
        kernels.OUTPUTS: outputs,
        kernels.SPARE: spare,
        kernels.GUESS: int(guess),
        kernels.OPERATIONS: len(writer.ops),
    }
    tables = writer.tables([bits + 64 * fraction if bits >= 0 else -1 for bits in bounds])
    limbs = np.array(writer.limbs, dtype=np.uint64)
    return Program(base, fraction, spare + 1, outputs, header, tables, limbs)


def _runs(blocks: Sequence[FeedForward]) -> Iterator[list[FeedForward]]:
    """Consecutive plain folds of one lane together, everything else alone."""
    run: list[FeedForward] = []
    for block in blocks:
        if run and not (
            _plain_fold(block) is not None and _plain_fold(block) == _plain_fold(run[0])
        ):
            yield run
            run = []
        run.append(block)
    if run:
        yield run


def _plain_fold(block: FeedForward) -> tuple[int] | None:
    """(lane,) if the block is lane - 2 relu(lane - t) with t > 0 and nothing else."""
    fold = _fold_of(block)
    plain = fold and not block.b2.entries and len(block.W2.entries) == 1 and block.W1.rows == 1
    return (fold[0],) if fold and plain else None


def _fold_of(block: FeedForward) -> tuple[int, Fraction] | None:
    """(lane, t) if unit 0 is lane - t with t > 0 and its weight on the lane is -2, the only write to the lane."""
    lanes = block.W1.by_row.get(0, [])
    if len(lanes) != 1 or lanes[0][1] != Dyadic(1, 0) or block.b1[0, 0] >= 0:
        return None
    lane = lanes[0][0]
    if block.W2.by_row.get(lane) != [(0, Dyadic(-1, 1))] or lane in block.b2.by_row:
        return None
    return lane, -block.b1[0, 0]


def _folds(writer: _Writer, run: Sequence[FeedForward]) -> None:
    """FOLDS (lane, first constant, -, -, count), or POWERS (..., lowest, highest bit, count) for descending powers of two."""
    thresholds = [-block.b1[0, 0] for block in run]
    first = writer.fresh(*(x for t in thresholds for x in (t, 2 * t)))
    lane = writer.lane + run[0].W1.entries[0].column
    places = [_exponent(t) for t in thresholds]
    kind, low, high = FOLDS, 0, 0
    if None not in places and places == list(range(places[0], places[0] - len(places), -1)):  # type: ignore[operator]
        kind, low, high = POWERS, places[-1] + 64 * writer.zero, places[0] + 64 * writer.zero  # type: ignore[operator]
    writer.ops.append((kind, 0, 0, 0, 0, 0, 0, lane, first, low, high, len(run)))


def _exponent(value: Fraction) -> int | None:
    """t if the value is 2**t."""
    number = dyadic(value)
    return number.exponent if number.mantissa == 1 else None


def gated_lanes(stack: Stack) -> dict[int, int]:
    """Lanes that may be closed for good, with b such that their positive additions stay below 2**b.

    Such a lane starts at 0, is read by a single unit relu(lane), and grows only by tabulated blocks and by other such lanes' units. Once
    -2**b or less has been added to it, the unit gives 0 whatever else happens, so nothing more need be added.
    """
    entering = {row for m in (stack.entry.weight, stack.entry.bias) for row in m.by_row}
    leaving = {column for _, column, _ in stack.exit.weight.entries}
    reads: dict[int, int] = {}
    for block in stack.blocks:
        for _, column, _ in block.W1.entries:
            reads[column] = reads.get(column, 0) + 1
    growth: dict[int, Fraction] = {}
    refused = entering | leaving | {lane for lane, count in reads.items() if count != 1}
    for block in stack.blocks:
        table = _tabulated(block)
        for row, value in block.b2.by_row.items():
            growth[row] = growth.get(row, Fraction(0)) + max(Fraction(0), value[0][1].fraction)
        for row, writes in block.W2.by_row.items():
            if table is not None:
                # c_i relu(j - i) adds at most c_i (j - i) for c_i > 0: a bound that needs no table
                most = sum(max(Fraction(0), w.fraction) * table[1] for _, w in writes)
                growth[row] = growth.get(row, Fraction(0)) + most
                continue
            for unit, weight in writes:
                source = _relu_of_lane(block, unit)
                if weight.mantissa < 0:
                    continue
                if source is None or source in refused:
                    refused.add(row)
                else:
                    total = growth.get(source, Fraction(0)) * weight.fraction
                    growth[row] = growth.get(row, Fraction(0)) + total
        for unit in range(block.W1.rows):
            if _relu_of_lane(block, unit) is None:
                refused |= {lane for lane, _ in block.W1.by_row.get(unit, ())}
    return {
        lane: int(2 * total + 1).bit_length()
        for lane, total in growth.items()
        if lane not in refused and lane in reads
    }


def _relu_of_lane(block: FeedForward, unit: int) -> int | None:
    """The lane if the unit is relu(lane)."""
    terms = block.W1.by_row.get(unit, [])
    plain = len(terms) == 1 and terms[0][1] == Dyadic(1, 0) and unit not in block.b1.by_row
    return terms[0][0] if plain else None


def _linear(writer: _Writer, layer: Linear, source: int, target: int, odd: int) -> None:
    """target slots = weight * source slots + bias; the sources' unit is off by 2**odd."""
    first_write, first_add = len(writer.writes), len(writer.adds)
    for row, column, value in layer.weight.entries:
        shifted = Dyadic(value.mantissa, value.exponent + odd)
        writer.writes.append((target + row, source + column, writer.weight(shifted)))
    for row, _, value in layer.bias.entries:
        writer.adds.append((target + row, writer.const(value.fraction)))
    writer.ops.append(
        (LINEAR, 0, 0, first_write, len(writer.writes), first_add, len(writer.adds), 0, 0, 0, 0, 0)
    )


def _feed_forward(writer: _Writer, layer: FeedForward, hidden: int) -> None:
    one = Dyadic(1, 0)
    written = {row for row, _, _ in (*layer.W2.entries, *layer.b2.entries)}
    first_unit, first_write, first_add = len(writer.units), len(writer.writes), len(writer.adds)
    for row in range(layer.W1.rows):
        terms, bias = layer.W1.by_row.get(row, []), layer.b1[row, 0]
        start = len(writer.terms)
        writer.terms += [(writer.lane + lane, writer.weight(value)) for lane, value in terms]
        plain = len(terms) == 1 and terms[0][1] == one
        alias = plain and not bias and terms[0][0] not in written
        guard = writer.const(-bias) if plain and bias < 0 else -1
        if not bias and [value for _, value in terms] == [one, one]:
            guard = -2
        slot = writer.lane + terms[0][0] if alias else hidden + row
        constant = writer.const(bias) if bias else -1
        writer.units.append((start, len(writer.terms), constant, slot, int(alias), guard))
    for row, column, value in layer.W2.entries:
        writer.writes.append((writer.lane + row, first_unit + column, writer.weight(value)))
    for row, _, value in layer.b2.entries:
        writer.adds.append((writer.lane + row, writer.const(value.fraction)))
    common = (
        first_unit,
        len(writer.units),
        first_write,
        len(writer.writes),
        first_add,
        len(writer.adds),
    )
    kind, extra = _shortcut(writer, layer)
    writer.ops.append((kind, *common, *extra))


def _shortcut(writer: _Writer, layer: FeedForward) -> tuple[int, tuple[int, ...]]:
    """The kind of operation and its arguments.

    TABLE (lane, size, first constant, lanes, first target), SHIFT (lane, gate, places), GATE (lane, constants),
    COUNT (lane, constants, counter), or GENERAL.
    """
    if (table := _tabulated(layer)) is not None:
        lane, size = table
        rows = sorted(set(layer.W2.by_row) | set(layer.b2.by_row))
        first_target = len(writer.adds)
        writer.adds += [(writer.lane + row, 0) for row in rows]
        changes = [_changes(layer, row, size) for row in rows]
        first = writer.fresh(*(change[j] for j in range(size) for change in changes))
        return TABLE, (writer.lane + lane, size, first, len(rows), first_target)
    if (shift := _gated_shift(layer)) is not None:
        lane, gate, places = shift
        return SHIFT, (writer.lane + lane, writer.lane + gate, places, 0, 0)
    if (fold := _fold_of(layer)) is None or layer.b2.entries:
        return GENERAL, (0, 0, 0, 0, 0)
    lane, threshold = fold
    if layer.W1.rows == 1:
        return GATE, (writer.lane + lane, writer.fresh(threshold, 2 * threshold), 0, 0, 0)
    if (count := _counter(layer, lane, threshold)) is not None:
        target, gap, amount = count
        first = writer.fresh(threshold, 2 * threshold, threshold + gap, amount)
        return COUNT, (writer.lane + lane, first, writer.lane + target, 0, 0)
    return GENERAL, (0, 0, 0, 0, 0)


def _gated_shift(layer: FeedForward) -> tuple[int, int, int] | None:
    """(lane, gate, s) if the block is lane + (2**s - 1) relu(lane + gate)."""
    terms = layer.W1.by_row.get(0, [])
    if (
        layer.W1.rows != 1
        or [value for _, value in terms] != [Dyadic(1, 0)] * 2
        or layer.b1.entries
    ):
        return None
    if len(layer.W2.entries) != 1 or layer.b2.entries:
        return None
    lane, _, weight = layer.W2.entries[0]
    factor = int(weight.fraction) + 1 if weight.exponent >= 0 else 0
    others = [column for column, _ in terms if column != lane]
    if len(others) != 1 or factor < 2 or factor & (factor - 1):
        return None
    return lane, others[0], factor.bit_length() - 1


def _counter(
    layer: FeedForward, lane: int, threshold: Fraction
) -> tuple[int, Fraction, Fraction] | None:
    """(counter, gap, amount) for a fold that adds w relu(x) - w relu(x - gap) to one other lane: w gap as soon as x >= gap."""
    if (
        layer.W1.rows != 2
        or layer.W1.by_row.get(1) != [(lane, Dyadic(1, 0))]
        or len(layer.W2.by_row) != 2
    ):
        return None
    gap = -layer.b1[1, 0] - threshold
    (target,) = set(layer.W2.by_row) - {lane}
    weights = layer.W2.by_row[target]
    if gap <= 0 or len(weights) != 2 or weights[0][1].fraction != -weights[1][1].fraction:
        return None
    return target, gap, weights[0][1].fraction * gap


def _tabulated(block: FeedForward) -> tuple[int, int] | None:
    """(lane, size) if all units read one lane, so that the block can be tabulated at 0, ..., size - 1."""
    if not MIN_TABLE <= block.W1.rows <= MAX_TABLE or len(block.W1.by_row) != block.W1.rows:
        return None
    terms = [term for row in block.W1.by_row.values() for term in row]
    whole = all(value.exponent >= 0 for _, _, value in block.b1.entries)
    if (
        len(terms) != block.W1.rows
        or {term for term in terms} != {(terms[0][0], Dyadic(1, 0))}
        or not whole
    ):
        return None
    return terms[0][0], block.W1.rows + 1


def _changes(layer: FeedForward, row: int, size: int) -> list[Fraction]:
    """What the block adds to a lane when the lane that all units read is 0, ..., size - 1 (biases are whole)."""
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


def _signed_digits(mantissa: int) -> list[tuple[int, int]]:
    """The non-adjacent form: mantissa = sum of sign * 2**place with the fewest terms; stops after MAX_DIGITS + 1."""
    digits, place = [], 0
    while mantissa and len(digits) <= MAX_DIGITS:
        zeros = (mantissa & -mantissa).bit_length() - 1
        mantissa >>= zeros
        place += zeros
        sign = 2 - (mantissa % 4)
        digits.append((place, sign))
        mantissa -= sign
    return digits


def _magnitude(value: int) -> list[int]:
    return [(value >> (64 * i)) & MASK for i in range((value.bit_length() + 63) // 64)]


def _fraction_bits(stack: Stack, start: int) -> int:
    """Bits after the point that any number in the stack can need, from the exponents alone."""
    most = max(0, start)
    inputs = {i: start for i in range(stack.entry.weight.columns)}

    def combine(weight: Matrix, bias: Matrix, source: Mapping[int, int]) -> dict[int, int]:
        bits: dict[int, int] = {}
        for row, column, value in weight.entries:
            if column in source:
                bits[row] = max(bits.get(row, 0), source[column] - value.exponent)
        for row, _, value in bias.entries:
            bits[row] = max(bits.get(row, 0), -value.exponent)
        return bits

    lanes = combine(stack.entry.weight, stack.entry.bias, inputs)
    most = max([most, *lanes.values()])
    for block in stack.blocks:
        hidden = combine(block.W1, block.b1, lanes)
        change = combine(block.W2, block.b2, hidden)
        lanes = lanes | {r: max(b, lanes.get(r, 0)) for r, b in change.items()}
        most = max([most, *hidden.values(), *lanes.values()])
    return max([most, *combine(stack.exit.weight, stack.exit.bias, lanes).values()])
