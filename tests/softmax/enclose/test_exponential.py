"""The exponential function in doubles: its tables exactly, its error against balls."""

import math

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given
from hypothesis import strategies as st

from byheart.softmax.enclose import exponential
from byheart.softmax.enclose.exponential import ERROR, LIMIT, SMALLEST, above
from byheart.softmax.enclose.thermometer import exponentials

exp = exponential.exp


def error(x: float) -> float:
    """The relative error of exp, in units of 2^-53."""
    with ctx.workprec(128):
        true = arb(x).exp()
        return float(abs(arb(exp(x)) / true - 1).upper()) * 2**53


def test_roots_are_rounded_to_nearest():
    for j, root in enumerate(exponential._ROOTS.tolist()):
        mantissa = int(root * 2**52)
        assert mantissa == root * 2**52
        assert (2 * mantissa - 1) ** 64 < 2 ** (j + 64 * 53) < (2 * mantissa + 1) ** 64


def test_powers_are_exact():
    powers = exponential._POWERS
    assert powers[-exponential._LOWEST] == 1 and (powers[1:] == 2 * powers[:-1]).all()


def test_the_two_parts_of_the_logarithm():
    high, low = exponential._HIGH, exponential._LOW
    assert (high * 2**42).is_integer() and high * 2**42 < 2**36  # 36 bits
    with ctx.workprec(256):
        rest = arb(2).log() / 64 - arb(high)
        assert float(rest) == low and abs(low) < 2**-45
        assert abs(rest - arb(low)) < 2**-53 * abs(low)


def test_the_step_times_the_high_part_is_exact():
    k = np.arange(-(2**16), 2**16 + 1)
    mantissa = int(exponential._HIGH * 2**42)
    assert np.array_equal(k * exponential._HIGH * 2**42, (k * mantissa).astype(object))


@given(st.floats(-LIMIT, LIMIT))
def test_error_anywhere(x):
    assert error(x) <= 2.1


def test_error_on_many_points():
    random = np.random.default_rng(0)
    near = np.arange(-300, 301)[:, None] * math.log(2) / 128 + random.uniform(-1e-9, 1e-9, (601, 5))
    points = [random.uniform(-LIMIT, LIMIT, 20_000), random.normal(0, 1, 5_000), near.ravel()]
    worst = max(map(error, np.concatenate(points).tolist()))
    assert 1 < worst <= 2.1 < ERROR * 2**53  # as the docstring says; the claim has room


def test_ends_of_the_range():
    for x in (LIMIT, -LIMIT, 0.0, 5e-324, -5e-324):
        assert error(x) <= 2.1
    assert exp(0.0) == 1.0


@pytest.mark.parametrize(
    "x, bound",
    [
        (np.nan, np.inf),
        (np.inf, np.inf),
        (700.0000001, np.inf),
        (-np.inf, SMALLEST),
        (-701, SMALLEST),
    ],
)
def test_bound_where_exp_is_not_defined(x, bound):
    assert above(x) == bound


def test_bound_is_above_and_near():
    with ctx.workprec(128):
        assert arb(SMALLEST) > arb(-LIMIT).exp()
        for x in np.random.default_rng(1).uniform(-LIMIT, LIMIT, 3_000).tolist():
            assert arb(x).exp() < arb(above(x)) < arb(x).exp() * (1 + 4 * arb(ERROR))


def test_arrays():
    x = np.array([-np.inf, -1.0, 0.0, 2.0, np.nan])
    assert exponentials(x).tolist() == [above(v) for v in x.tolist()]
