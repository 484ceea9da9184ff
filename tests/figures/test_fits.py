"""Least squares against a second implementation, and by its own laws."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from byheart.errors import ByheartError
from byheart.figures.fits import curve, least_squares, polynomial, power_law

NUMBERS = st.floats(-100, 100).map(lambda x: round(x, 3))
SEEDS = st.integers(0, 2**32 - 1)


def scattered(seed, count):
    """Different places, and heights that no polynomial goes through."""
    random = np.random.default_rng(seed)
    x = np.sort(random.choice(np.arange(1, 200), count, replace=False)) * 10.0
    return x, random.normal(0, 50, count) + x


@given(SEEDS, st.integers(1, 3), st.integers(6, 30))
def test_coefficients_and_errors_are_those_of_numpy(seed, degree, count):
    x, y = scattered(seed, count)
    fit = polynomial("ours", x, y, degree)
    expected, covariance = np.polyfit(x, y, degree, cov=True)
    assert np.allclose(fit.coefficients, expected[::-1], rtol=1e-6, atol=1e-9)
    assert np.allclose(fit.errors, np.sqrt(np.diag(covariance))[::-1], rtol=1e-5)


@given(SEEDS, st.integers(1, 3))
def test_the_residual_is_that_of_the_points(seed, degree):
    x, y = scattered(seed, 12)
    fit = polynomial("ours", x, y, degree)
    off = y - curve(fit, x)
    assert fit.residual == pytest.approx(np.sqrt((off**2).mean()))
    worse = y - curve(fit, x) * 1.01
    assert (worse**2).sum() > (off**2).sum()


@given(st.lists(NUMBERS, min_size=2, max_size=4))
def test_a_polynomial_is_found_again(coefficients):
    x = np.linspace(-2, 2, 9)
    y = sum(c * x**k for k, c in enumerate(coefficients))
    fit = polynomial("exact", x, y, len(coefficients) - 1)
    assert np.allclose(fit.coefficients, coefficients, atol=1e-9)
    assert fit.residual < 1e-9


def test_a_line_worked_by_hand():
    """Through (0, 0), (1, 1), (2, 1): the line 1/6 + x/2, with RSS = 1/6 and one degree free."""
    fit = polynomial("three", [0, 1, 2], [0, 1, 1], 1, "H")
    assert fit.name == "three, linear" and fit.terms == ("1", "H") and fit.points == 3
    assert fit.coefficients == pytest.approx((1 / 6, 1 / 2))
    assert fit.residual == pytest.approx((1 / 18) ** 0.5)
    assert fit.errors == pytest.approx(((1 / 6 * 5 / 6) ** 0.5, (1 / 6 / 2) ** 0.5))


def test_as_many_points_as_terms_have_no_error():
    fit = polynomial("two", [1, 3], [2, 8], 1)
    assert fit.errors is None and fit.json()["errors"] is None
    assert fit.coefficients == pytest.approx((-1, 3))


def test_the_names_of_powers():
    assert polynomial("x", range(5), range(5), 3).terms == ("1", "n", "n^2", "n^3")


@pytest.mark.parametrize("x", [[1], [2, 2, 2]])
def test_too_few_points_are_refused(x):
    with pytest.raises(ByheartError, match="do not determine 2 coefficients"):
        polynomial("few", x, np.ones(len(x)), 1)


def test_a_column_of_zeros_is_refused():
    with pytest.raises(ByheartError, match="do not determine"):
        least_squares("zero", {"x": [0, 0, 0], "1": [1, 1, 1]}, [1, 2, 3])


def test_a_cubic_law():
    cubes = np.array([4, 7, 10, 13]) ** 3
    cubic = least_squares("slopes", {"d^3": cubes}, 2e-5 * cubes)
    assert cubic.terms == ("d^3",) and cubic.coefficients == pytest.approx((2e-5,))


@given(st.integers(30, 300), st.floats(0.1, 5), st.floats(-3, 3))
def test_a_power_is_recovered(hundredths, b, a):
    x = np.array([1, 2, 3, 5, 8, 12, 20])
    found = power_law("ours", x, a + b * x ** (hundredths / 100), "d")
    assert found.exponent == hundredths / 100 and found.error < 1e-6
    assert found.fit.coefficients == pytest.approx((a, b), abs=1e-6)
    assert found.fit.terms == ("1", f"d^{hundredths / 100:.2f}")


def test_the_error_of_a_power_is_its_scatter():
    """Over many samples with noise, powers scatter as much as their standard errors say."""
    random, x = np.random.default_rng(0), np.arange(1, 16)
    found = [power_law("", x, x**1.5 + random.normal(0, 0.5, 15), "d") for _ in range(200)]
    scatter = np.std([one.exponent for one in found])
    assert np.mean([one.error for one in found]) == pytest.approx(scatter, rel=0.15)
    assert np.mean([one.exponent for one in found]) == pytest.approx(1.5, abs=0.01)


def test_no_power_without_enough_points_or_at_the_ends():
    assert power_law("", [1, 2, 3], [1, 2, 4], "d") is None
    assert power_law("", [1, 2, 3, 4, 5], [1, 1, 1, 1, 500], "d") is None
