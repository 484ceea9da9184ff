"""A line on which points stay apart: kajitsuka2025, Lemmas G.1 and C.2.

Points are rows of integers times 2**exponent, one dimension per column.
"""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from random import Random

import numpy as np
from numpy.typing import NDArray

from ..errors import ByheartError
from ..exact.network import dyadic

TRIES = 64
FEW = (3, 6, 9, 12) * 4  # digits of the directions of each length, in the search for a short one
PATIENCE = 3


@dataclass(frozen=True, eq=False)
class Projection:
    """x -> weights . x + bias: at least 2 for every point, at least 2 apart for any two."""

    weights: tuple[Fraction, ...]
    bias: int
    values: NDArray  # weights . point * 2**-exponent, integers; exponent <= 0
    exponent: int
    tries: int

    def keys(self) -> list[int]:
        return [(x >> -self.exponent) + self.bias for x in self.values.tolist()]

    @property
    def key_bits(self) -> int:
        return ((int(self.values.max()) >> -self.exponent) + self.bias).bit_length()

    @property
    def weight_bits(self) -> int:
        return max(dyadic(x).fixed_bits for x in (*self.weights, Fraction(self.bias)))


def project(
    points: NDArray, exponent: int, count: int, separation: Fraction, random: Random
) -> Projection:
    """Lemma C.2 for at most `count` points in dimension d that are `separation` = delta apart.

    For a random unit vector v and u = x - x', P(|v . u| < t |u|) <= t sqrt(2 d / pi). Lemma G.1 has
    t = sqrt(8 / (pi d)) / count^2: the probability that one of count^2 / 2 pairs fails is at most
    2 / pi < 1.
    The direction is s v, s = count^2 sqrt(pi d) / delta, so that s |v . u| >= sqrt(8) |u| / delta.
    Rounding each coordinate to a multiple of 2^-q away from 0 (so that none vanishes) changes the
    product by at most sqrt(d) 2^-q |u|; with sqrt(d) 2^-q delta <= sqrt(8) - 2 it stays >= 2, as
    |u| >= delta. Each direction is checked on all points; the first good one is taken. For |x| <= r
    |s v . x| is at most s r and rounding adds at most r / delta, so that values from 2 on are below
    2 (s r + r / delta) + 4 <= R = 20 s r.
    """
    dimension = points.shape[1]
    length = count**2 * Fraction(math.sqrt(math.pi * dimension)) / separation
    finest = math.sqrt(dimension) * float(separation) / (math.sqrt(8) - 2)
    grain = max(0, math.ceil(math.log2(finest))) if finest else 0
    for tries in range(1, TRIES + 1):
        direction = _direction(random, dimension, length, grain)
        projection = _checked(points, exponent, direction, grain, tries)
        if projection:
            return projection
    raise ByheartError(
        f"No direction that separates was found in {TRIES} tries. Try another `seed`."
    )


def shortest(
    points: NDArray, exponent: int, random: Random, cost: Callable[[Projection], int]
) -> Projection:
    """A projection of small cost: bits of its weights or of its keys.

    Directions are tried from the shortest that leaves room for all points, each twice as long as
    the one before: longer ones make longer keys, but fewer digits after the point. The search ends
    when PATIENCE lengths in a row were no better.
    """
    size = _bits(points) + exponent  # coordinates are below 2^size
    start = (len(points) - 1).bit_length() - 1 - size - points.shape[1].bit_length()
    best, tries, end = None, 0, None
    for power in itertools.count(start):
        for digits in FEW:
            grain, tries = max(0, digits - power), tries + 1
            direction = _direction(random, points.shape[1], Fraction(2) ** power, grain)
            projection = _checked(points, exponent, direction, grain, tries)
            if projection and (best is None or cost(projection) < cost(best)):
                best, end = projection, power + PATIENCE
        if best and power == end:
            return best
    raise AssertionError


def _direction(random: Random, dimension: int, length: Fraction, grain: int) -> list[int]:
    """A random direction of this length, in units of 2**-grain, rounded away from 0."""
    gauss = [random.gauss(0, 1) for _ in range(dimension)]
    norm = math.sqrt(math.fsum(x * x for x in gauss))
    exact = [Fraction(x / norm) * length * 2**grain for x in gauss]
    return [math.ceil(x) if x > 0 else math.floor(x) for x in exact]


def _checked(
    points: NDArray, exponent: int, direction: list[int], grain: int, tries: int
) -> Projection | None:
    """The projection along this direction, or None if two points come closer than 2."""
    exponent -= grain
    longest = max(abs(x) for x in direction).bit_length() + _bits(points)
    fits = longest + len(direction).bit_length() < 62
    dtype = np.int64 if fits else object  # Python's integers where sums of products do not fit
    values = points.astype(dtype) @ np.array(direction, dtype=object).astype(dtype)
    ordered = np.sort(values)
    if len(ordered) > 1 and int(np.diff(ordered).min()) < 2 << -exponent:
        return None
    bias = 2 - (int(ordered[0]) >> -exponent) or 1  # never 0: sizes do not depend on the data
    weights = tuple(Fraction(x, 1 << grain) for x in direction)
    return Projection(weights, bias, values, exponent, tries)


def _bits(points: NDArray) -> int:
    return max(abs(int(points.min())), abs(int(points.max()))).bit_length()
