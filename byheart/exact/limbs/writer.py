"""The flat arrays of a program: collected operation by operation, laid out for kernels.run."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..network import Dyadic
from . import arithmetic
from .kernels import OPERATION

MAX_DIGITS = 3  # a weight with at most 3 signed binary digits is applied by shifts


@dataclass(frozen=True, eq=False)
class Program:
    """The input of kernels.run, before the frame is chosen."""

    base: int  # the limb of an input's lowest limb
    whole: int  # the limb that holds the units of a number
    slots: int
    outputs: int
    header: dict[int, int]  # see arithmetic.py; tables and limbs follow it in I and M
    tables: dict[int, NDArray[np.int64]]
    limbs: NDArray[np.uint64]

    def memory(self, frame: int) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """Fresh arrays M and I for one thread and `frame` limbs per slot."""
        numbers = np.zeros(self.slots * frame + len(self.limbs), dtype=np.uint64)
        numbers[self.slots * frame :] = self.limbs
        header = {**self.header, arithmetic.FRAME: frame, arithmetic.LIMBS: self.slots * frame}
        place = arithmetic.STATE + 3 * self.slots
        for name, table in self.tables.items():
            header[name] = place
            place += table.size
        integers = np.zeros(place, dtype=np.int64)
        for name, value in header.items():
            integers[name] = value
        for name, table in self.tables.items():
            integers[header[name] : header[name] + table.size] = table
        return numbers, integers


class Writer:
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
        self.extras: list[int] = []
        self.limbs = bytearray()
        self._weights: dict[Dyadic, int] = {}
        self._consts: dict[int, int] = {}

    @property
    def point(self) -> int:
        return 64 * self.zero

    def program(
        self, base: int, first_output: int, outputs: int, guess: bool, bounds: Sequence[int]
    ) -> Program:
        """The program of all that was collected; `bounds` has an entry for each slot."""
        header = {
            arithmetic.WHOLE: self.zero,
            arithmetic.FIRST_OUTPUT: first_output,
            arithmetic.OUTPUTS: outputs,
            arithmetic.SPARE: len(bounds) - 1,
            arithmetic.GUESS: int(guess),
            arithmetic.OPERATIONS: len(self.ops),
        }
        rows: dict[int, Sequence[tuple[int, ...]]] = {
            arithmetic.OPS: self.ops,
            arithmetic.UNITS: self.units,
            arithmetic.TERMS: self.terms,
            arithmetic.WRITES: self.writes,
            arithmetic.ADDS: self.adds,
            arithmetic.WEIGHTS: self.weights,
            arithmetic.DIGITS: self.digits,
            arithmetic.CONSTS: self.consts,
            arithmetic.BOUNDS: [(bound,) for bound in bounds],
            arithmetic.EXTRAS: [(number,) for number in self.extras],
        }
        tables = {
            name: np.array([x for row in table for x in row], dtype=np.int64)
            for name, table in rows.items()
        }
        limbs = np.frombuffer(bytes(self.limbs), dtype="<u8").astype(np.uint64)
        return Program(base, self.zero, len(bounds), outputs, header, tables, limbs)

    def weight(self, value: Dyadic) -> int:
        """The number of a weight: (digits or limbs, start, stop, negative, exponent), once."""
        if value not in self._weights:
            digits = _signed_digits(value.mantissa)
            if len(digits) <= MAX_DIGITS:
                start = len(self.digits)
                self.digits += [(place + value.exponent, int(sign < 0)) for place, sign in digits]
                row = (len(digits), start, len(self.digits), 0, 0)
            else:
                mantissa = abs(value.mantissa)
                size = -(-mantissa.bit_length() // 64)
                start = self.store([mantissa], size)
                row = (0, start, start + size, int(value.mantissa < 0), value.exponent)
            self._weights[value] = len(self.weights)
            self.weights.append(row)
        return self._weights[value]

    def const(self, value: int) -> int:
        """The number of a constant, in units of the frame's lowest bit, stored once."""
        if value not in self._consts:
            self._consts[value] = self.fresh([value])
        return self._consts[value]

    def fresh(self, values: Iterable[int]) -> int:
        """The number of the first of some constants, stored as (offset, low, high, negative)."""
        first = len(self.consts)
        for value in values:
            low = ((value & -value).bit_length() - 1) // 64 if value else 0
            high = max(low, -(-(~value if value < 0 else value).bit_length() // 64))
            place = self.store([value >> (64 * low)], high - low)
            self.consts.append((place - low, low, high, int(value < 0)))
        return first

    def store(self, values: Sequence[int], size: int) -> int:
        """The place of the first of some numbers, `size` limbs each, two's complement."""
        place = len(self.limbs) // 8
        mask = (1 << (64 * size)) - 1
        for value in values:
            self.limbs += (value & mask).to_bytes(8 * size, "little")
        return place

    def extra(self, numbers: Iterable[int]) -> int:
        place = len(self.extras)
        self.extras += numbers
        return place

    def op(self, *numbers: int) -> None:
        self.ops.append((*numbers, *[0] * (OPERATION - len(numbers))))


def _signed_digits(mantissa: int) -> list[tuple[int, int]]:
    """(place, sign) of the non-adjacent form, cut off after MAX_DIGITS + 1 terms."""
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
