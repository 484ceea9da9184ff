"""Lemmas G.1 and C.2: directions along which points stay 2 apart."""

import math
from fractions import Fraction
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from byheart.errors import ByheartError
from byheart.gadgets.projection import project, shortest

coordinates = st.one_of(st.integers(-9, 9), st.integers(-(1 << 80), 1 << 80))


@st.composite
def clouds(draw):
    dimension = draw(st.integers(1, 4))
    point = st.tuples(*[coordinates] * dimension)
    points = draw(st.lists(point, min_size=1, max_size=8, unique=True))
    return np.array(points, dtype=object), draw(st.integers(-6, 0))


def exact(projection, points, exponent):
    """The projected points, from weights and bias."""
    unit = Fraction(2) ** exponent
    return [
        sum(w * int(x) * unit for w, x in zip(projection.weights, point, strict=True))
        + projection.bias
        for point in points
    ]


def nearest(points, exponent):
    squares = [
        sum((int(a) - int(b)) ** 2 for a, b in zip(p, q, strict=True))
        for i, p in enumerate(points)
        for q in points[:i]
    ]
    least = math.isqrt(min(squares) << 60) if squares else 1 << 30
    return min(Fraction(1), Fraction(least, 1 << 30) * Fraction(2) ** exponent)


def check(projection, points, exponent):
    values = exact(projection, points, exponent)
    ordered = sorted(values)
    assert ordered[0] >= 2
    assert all(b - a >= 2 for a, b in zip(ordered, ordered[1:], strict=False))
    assert projection.keys() == [math.floor(x) for x in values]
    assert projection.key_bits == max(projection.keys()).bit_length()
    assert projection.bias and all(projection.weights)
    return ordered[-1]


@settings(deadline=None)
@given(clouds(), st.integers(0, 3))
def test_lemma_c2(cloud, seed):
    points, exponent = cloud
    count, d = len(points), points.shape[1]
    delta = nearest(points, exponent)
    found = project(points, exponent, count, delta, Random(seed))
    top = check(found, points, exponent)
    lengths = [sum(int(x) ** 2 for x in p) for p in points]
    r = max(1, Fraction(math.isqrt(max(lengths)) + 1) * Fraction(2) ** exponent)
    assert top <= 20 * r * count**2 / delta * Fraction(math.sqrt(math.pi * d))  # R


@settings(deadline=None, max_examples=40)
@given(clouds(), st.integers(0, 3))
def test_short_projections(cloud, seed):
    points, exponent = cloud
    found = shortest(points, exponent, Random(seed), lambda x: max(x.weight_bits, x.key_bits + 2))
    check(found, points, exponent)
    written = [*found.weights, Fraction(found.bias)]
    whole = [abs(x.numerator).bit_length() for x in written if x.denominator == 1]
    digits = [x.denominator.bit_length() - 1 for x in written]
    assert found.weight_bits >= max(whole + digits)


def test_equal_points_are_refused():
    points = np.array([[1, 2], [1, 2]])
    with pytest.raises(ByheartError, match="64 tries"):
        project(points, 0, 2, Fraction(1), Random(0))


def test_one_try_is_usual():
    """D12: the bound N^2 is so loose that the first direction is almost always good."""
    random = np.random.default_rng(0)
    points = np.unique(random.integers(0, 200, (3000, 2)), axis=0)
    tries = [project(points, 0, len(points), Fraction(1), Random(i)).tries for i in range(20)]
    assert sum(t == 1 for t in tries) >= 15


def test_large_and_small_integers_agree():
    points = np.array([[3, -4], [7, 1], [0, 0]])
    one = project(points, -2, 3, Fraction(1, 4), Random(5))
    other = project(points.astype(object) << 80, -82, 3, Fraction(1, 4), Random(5))
    assert one.weights == other.weights and one.keys() == other.keys()
