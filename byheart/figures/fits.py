"""Least squares: the laws that the papers fit, with standard errors."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import ByheartError

Floats = NDArray[np.float64]
ORDERS = {1: "linear", 2: "quadratic", 3: "cubic"}
EXPONENTS = [k / 100 for k in range(5, 401)]  # that a power law may have


@dataclass(frozen=True)
class Fit:
    """y = the sum of coefficients times columns, by least squares."""

    name: str  # the data and the law: "ours, linear"
    terms: tuple[str, ...]  # the columns, as a reader would write them: "n", "H d_h^2", "1"
    coefficients: tuple[float, ...]  # one per term
    # their standard errors, None unless there are more points than terms
    errors: tuple[float, ...] | None
    residual: float  # the root mean squared residual
    points: int  # the number of points

    def at(self, *columns: ArrayLike) -> Floats:
        parts = [c * np.asarray(x, float) for c, x in zip(self.coefficients, columns, strict=True)]
        return np.asarray(sum(parts), float)

    def json(self) -> dict:
        return {k: list(x) if isinstance(x, tuple) else x for k, x in vars(self).items()}


def least_squares(name: str, columns: Mapping[str, ArrayLike], y: ArrayLike) -> Fit:
    """The fit of y by columns of numbers.

    Columns are scaled to length 1 first, so that n and n^3 are equally well resolved. With s^2 =
    RSS / (points - terms), the covariance of the coefficients is s^2 (X^T X)^-1, whose diagonal
    comes from R^-1 of X = Q R.
    """
    terms, target = tuple(columns), np.asarray(y, float)
    rows = np.stack([np.broadcast_to(np.asarray(x, float), target.shape) for x in columns.values()])
    lengths = np.linalg.norm(rows, axis=1)
    scaled = (rows / np.where(lengths, lengths, 1)[:, None]).T
    solution, _, rank, _ = np.linalg.lstsq(scaled, target, rcond=None)
    if rank < len(terms):  # too few points, a column of zeros, or dependent columns
        few = f"{target.size} points do not determine {len(terms)} coefficients"
        raise ByheartError(f"{name}: {few}.")
    squares = float(((scaled @ solution - target) ** 2).sum())
    errors = None
    if (free := target.size - len(terms)) > 0:
        inverse = np.linalg.inv(np.linalg.qr(scaled)[1])
        scale = (squares / free) ** 0.5
        errors = tuple((np.linalg.norm(inverse, axis=1) * scale / lengths).tolist())
    coefficients, residual = (solution / lengths).tolist(), (squares / target.size) ** 0.5
    return Fit(name, terms, tuple(coefficients), errors, residual, target.size)


def polynomial(name: str, x: ArrayLike, y: ArrayLike, degree: int, letter: str = "n") -> Fit:
    powers = np.asarray(x, float)
    columns: dict[str, ArrayLike] = {power(letter, k): powers**k for k in range(degree + 1)}
    return least_squares(f"{name}, {ORDERS.get(degree, f'degree {degree}')}", columns, y)


def affine(name: str, term: str, x: ArrayLike, y: ArrayLike) -> Fit:
    """a + b x, where `term` is how a reader would write x."""
    return least_squares(name, {"1": 1, term: x}, y)


def curve(fit: Fit, x: ArrayLike) -> Floats:
    powers = np.asarray(x, float)
    return fit.at(*(powers**k for k in range(len(fit.terms))))


def power(letter: str, k: int) -> str:
    """letter^k as a reader would write it."""
    return ("1", letter)[k] if k < 2 else f"{letter}^{k}"


class Power(NamedTuple):
    """a + b x^p: the fit, whose last term has the exponent p, and the standard error of p."""

    fit: Fit
    exponent: float
    error: float


def power_law(name: str, x: ArrayLike, y: ArrayLike, letter: str) -> Power | None:
    """The best of a + b x^p over p; None unless it lies within EXPONENTS and has an error."""
    xs = np.asarray(x, float)
    if xs.size < 4:
        return None
    best = min(EXPONENTS, key=lambda p: affine("", "", xs**p, y).residual)
    if best in (EXPONENTS[0], EXPONENTS[-1]):
        return None
    fit = affine(f"{name}, power", f"{letter}^{best:.2f}", xs**best, y)
    columns = {"1": 1, "b": xs**best, "p": fit.coefficients[1] * xs**best * np.log(xs)}
    errors = least_squares(name, columns, y).errors
    return None if errors is None else Power(fit, best, errors[2])
