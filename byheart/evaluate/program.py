"""Translate a stack of layers into the flat arrays that kernels.run interprets."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ..network import Dyadic, FeedForward, Linear, dyadic
from . import kernels
from .kernels import COUNT, FOLDS, GATE, GENERAL, LINEAR, POWERS, SHIFT, TABLE
from .shortcuts import (
    changes,
    counter,
    fold_of,
    gated_lanes,
    gated_shift,
    plain_fold,
    tabulated,
)
from .stack import Stack, fraction_bits

MASK = (1 << 64) - 1
MAX_DIGITS = 3  # a weight with at most so many signed binary digits is applied by shifts


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
        self._consts: dict[Fraction | int, int] = {}

    def tables(self, bounds: Sequence[int]) -> dict[int, NDArray[np.int64]]:
        """The tables by the name of their place in the header."""
        rows: dict[int, Sequence[tuple[int, ...]]] = {
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
        """The number of a weight, stored once.

        A row is (digits, start, stop, negative, exponent): signed digits, or limbs of the mantissa
        if digits is 0.
        """
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

        A row is (offset, low, high, negative): limbs low..high - 1 of the frame, two's complement,
        at limbs[offset + i].
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

    guess: take the shortcut of gated lanes, which gives up (kernels.run returns False) if a table
    is read between whole numbers.
    """
    # one limb more for what a shift leaves behind
    fraction = -(-fraction_bits(stack, -exponent) // 64) + 1
    inputs, outputs = stack.entry.weight.columns, stack.exit.weight.rows
    writer = _Writer(inputs, fraction)
    first_output = inputs + stack.width
    hidden = first_output + outputs
    base, odd = divmod(exponent + 64 * fraction, 64)  # where the inputs' unit is in the frame
    _linear(writer, stack.entry, 0, inputs, odd)
    for run in _runs(stack.blocks):
        if plain_fold(run[0]) is not None:
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
        lane = plain_fold(block)
        if run and (lane is None or lane != plain_fold(run[0])):
            yield run
            run = []
        run.append(block)
    if run:
        yield run


def _folds(writer: _Writer, run: Sequence[FeedForward]) -> None:
    """FOLDS (lane, first constant, -, -, count), or POWERS (..., lowest, highest bit, count).

    POWERS if the thresholds are descending powers of two without a gap.
    """
    thresholds = [-block.b1[0, 0] for block in run]
    first = writer.fresh(*(x for t in thresholds for x in (t, 2 * t)))
    lane = writer.lane + run[0].W1.entries[0].column
    kind, low, high = FOLDS, 0, 0
    top = dyadic(thresholds[0]).exponent
    if all(t == Fraction(2) ** (top - i) for i, t in enumerate(thresholds)):
        kind, high = POWERS, top + 64 * writer.zero
        low = high - len(run) + 1
    writer.ops.append((kind, 0, 0, 0, 0, 0, 0, lane, first, low, high, len(run)))


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

    TABLE (lane, size, first constant, lanes, first target), SHIFT (lane, gate, places),
    GATE (lane, constants), COUNT (lane, constants, counter), or GENERAL.
    """
    if (table := tabulated(layer)) is not None:
        lane, size = table
        rows = sorted(set(layer.W2.by_row) | set(layer.b2.by_row))
        first_target = len(writer.adds)
        writer.adds += [(writer.lane + row, 0) for row in rows]
        columns = [changes(layer, row, size) for row in rows]
        first = writer.fresh(*(column[j] for j in range(size) for column in columns))
        return TABLE, (writer.lane + lane, size, first, len(rows), first_target)
    if (shift := gated_shift(layer)) is not None:
        lane, gate, places = shift
        return SHIFT, (writer.lane + lane, writer.lane + gate, places, 0, 0)
    if (fold := fold_of(layer)) is None or layer.b2.entries:
        return GENERAL, (0, 0, 0, 0, 0)
    lane, threshold = fold
    if layer.W1.rows == 1:
        return GATE, (writer.lane + lane, writer.fresh(threshold, 2 * threshold), 0, 0, 0)
    if (count := counter(layer, lane, threshold)) is not None:
        target, gap, amount = count
        first = writer.fresh(threshold, 2 * threshold, threshold + gap, amount)
        return COUNT, (writer.lane + lane, first, writer.lane + target, 0, 0)
    return GENERAL, (0, 0, 0, 0, 0)


def _signed_digits(mantissa: int) -> list[tuple[int, int]]:
    """(place, sign) of the non-adjacent form, the sum of the fewest signed powers of two.

    Stops after MAX_DIGITS + 1 terms: such a mantissa is multiplied instead.
    """
    digits: list[tuple[int, int]] = []
    place = 0
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
