"""Weighted sums in double arithmetic, proved to be exact.

Let g be the largest power of two that divides all terms of a sum (products of weights and values, a
bias, the value of a skip connection). If their absolute values add up to at most 2**53 g, then
every term and every partial sum, in any order, is g times a whole number of at most 53 bits: a
double. So no operation rounds, and the result is exact whatever the order of summation
(checker/FORMAT.md, "float64").

The proof looks at whole lanes first: a power of two that divides every value (the grid) and the
largest magnitude. Only where these do not suffice, every item is looked at.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import ByheartError
from ..network import Dyadic

Floats = NDArray[np.float64]
DIGITS = 53
RANGE = 1000  # exponents stay away from the ends of the range of doubles
UNSIZED = f"neither 0 nor from 2^-{RANGE} to 2^{RANGE} in absolute value"
NOWHERE = 1 << 20  # the grid of a lane that is 0


class Lane(NamedTuple):
    """One number per item, all of them multiples of 2**grid and at most `most`."""

    values: Floats
    grid: int
    most: float


Stream = dict[int, Lane]  # lanes that are zero everywhere may be missing


@dataclass(frozen=True)
class Place:
    """Where a sum stands, for the error message."""

    layer: int
    tensor: str
    row: int
    first: int | None = None  # the batch's number of the first sequence; None: items are columns

    def refuse(self, item: int) -> ByheartError:
        whose = "a column" if self.first is None else f"sequence {self.first + item + 1}"
        return ByheartError(
            f"Layer {self.layer}, {self.tensor}, row {self.row}: for {whose} the sum needs more "
            f"than {DIGITS} bits, so double arithmetic may round it."
        )


def double(value: Dyadic) -> float:
    top = value.digits + value.exponent
    if value.digits > DIGITS or (value.mantissa and not -1074 <= value.exponent <= top <= 1024):
        raise ByheartError(f"A weight of {value.digits} binary digits is not a double.")
    return math.ldexp(value.mantissa, value.exponent)


def observed(values: Floats) -> Lane:
    """A lane with the coarsest grid that holds its values."""
    return Lane(values, int(_lowest(values).min(initial=NOWHERE)), largest(values))


def sized(values: Floats) -> NDArray[np.bool_]:
    size = np.abs(values)
    low, high = math.ldexp(1, -RANGE), math.ldexp(1, RANGE)
    return (size == 0) | ((low <= size) & (size <= high))


def largest(values: Floats) -> float:
    return float(np.abs(values).max(initial=0))


def _lowest(values: Floats) -> NDArray[np.int64]:
    """The exponent of each value's lowest binary digit; NOWHERE for 0."""
    fraction, exponent = np.frexp(values)
    mantissa = np.ldexp(fraction, DIGITS).astype(np.int64)
    _, place = np.frexp((mantissa & -mantissa).astype(np.float64))
    return np.where(mantissa == 0, NOWHERE, place - 1 + exponent - DIGITS)


Term = tuple[float, int, Lane]  # weight, the exponent of its lowest digit, and the lane


def weighted(
    terms: Sequence[tuple[int, Dyadic]],
    constant: Dyadic | None,
    source: Stream,
    skip: Lane | None,
    size: int,
    place: Place,
) -> Lane:
    """The weighted sum of lanes, a constant and the lane that is skipped to."""
    present: list[Term] = [
        (double(weight), weight.exponent, source[lane]) for lane, weight in terms if lane in source
    ]
    if skip is not None:
        present.append((1.0, 0, skip))
    if constant is None:
        return added(present, 0.0, NOWHERE, size, place)
    return added(present, double(constant), constant.exponent, size, place)


def added(terms: list[Term], constant: float, lowest: int, size: int, place: Place) -> Lane:
    """constant + the sum of weight * lane, proved to be exact."""
    grid = min([lowest, *(exponent + lane.grid for _, exponent, lane in terms)])
    bound = abs(constant) + sum(abs(weight) * lane.most for weight, _, lane in terms)
    values = np.full(size, constant)
    with np.errstate(over="ignore", invalid="ignore"):
        for weight, _, lane in terms:
            values += lane.values if weight == 1 else weight * lane.values
    in_range = grid >= -RANGE and bound < math.ldexp(1, RANGE)
    short = in_range and bound < math.ldexp(1, min(grid + DIGITS, RANGE))
    if bound == 0 or short:
        return Lane(values, grid, largest(values))
    _check_items(terms, constant, lowest, size, place)
    return observed(values)


def _check_items(terms: list[Term], constant: float, lowest: int, size: int, place: Place) -> None:
    """The condition for every item on its own; at the limit itself exact arithmetic decides."""
    grid = np.full(size, lowest, np.int64)
    reach = np.full(size, abs(constant))
    for weight, exponent, lane in terms:
        own = _lowest(lane.values)
        grid = np.minimum(grid, np.where(own == NOWHERE, NOWHERE, own + exponent))
        with np.errstate(over="ignore"):
            reach += abs(weight) * np.abs(lane.values)
    limit = np.ldexp(1.0, np.minimum(grid + DIGITS, RANGE))
    nonzero = grid != NOWHERE
    wrong = nonzero & ((reach > limit) | (grid < -RANGE))
    for item in np.flatnonzero(nonzero & ~wrong & (reach == limit)).tolist():
        exact = Fraction(abs(constant))
        for weight, _, lane in terms:
            exact += abs(Fraction(weight) * Fraction(float(lane.values[item])))
        wrong[item] = exact > Fraction(float(limit[item]))
    if wrong.any():
        raise place.refuse(int(np.argmax(wrong)))
