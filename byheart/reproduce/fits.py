"""Least squares: the laws that the papers fit, with standard errors."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import ByheartError

Floats = NDArray[np.float64]
ORDERS = {1: "linear", 2: "quadratic", 3: "cubic"}


@dataclass(frozen=True)
class Fit:
    """y = the sum of coefficients times columns, by least squares.

    name          what was fitted to what: "ours, linear"
    terms         the columns, as a reader would write them: "n", "H d_h^2", "1"
    coefficients  one for each term
    errors        their standard errors, None if there are no more points than terms
    residual      the root of the mean squared residual
    points        how many
    """

    name: str
    terms: tuple[str, ...]
    coefficients: tuple[float, ...]
    errors: tuple[float, ...] | None
    residual: float
    points: int

    def at(self, *columns: ArrayLike) -> Floats:
        """The fitted value where the terms take these values."""
        parts = [c * np.asarray(x, float) for c, x in zip(self.coefficients, columns, strict=True)]
        return np.asarray(sum(parts), float)

    def json(self) -> dict:
        return {
            "name": self.name,
            "terms": list(self.terms),
            "coefficients": list(self.coefficients),
            "errors": None if self.errors is None else list(self.errors),
            "residual": self.residual,
            "points": self.points,
        }


def least_squares(name: str, columns: Mapping[str, ArrayLike], y: ArrayLike) -> Fit:
    """The fit of y by columns of numbers.

    Columns are scaled to length 1 first, so that n and n^3 are resolved alike. With s^2 = RSS /
    (points - terms), the covariance of the coefficients is s^2 (X^T X)^-1.
    """
    terms, target = tuple(columns), np.asarray(y, float)
    matrix = np.stack(
        [np.broadcast_to(np.asarray(x, float), target.shape) for x in columns.values()]
    )
    lengths = np.linalg.norm(matrix, axis=1)
    scaled = (matrix / np.where(lengths, lengths, 1)[:, None]).T
    found, _, rank, _ = np.linalg.lstsq(scaled, target, rcond=None)
    if rank < len(terms):  # fewer points than terms, a column of zeros, or columns that depend
        raise ByheartError(f"{name}: {target.size} points do not fix {len(terms)} coefficients.")
    squares = float(((scaled @ found - target) ** 2).sum())
    return Fit(
        name,
        terms,
        tuple((found / lengths).tolist()),
        _errors(scaled, lengths, squares),
        (squares / target.size) ** 0.5,
        target.size,
    )


def _errors(scaled: Floats, lengths: Floats, squares: float) -> tuple[float, ...] | None:
    """Standard errors of the coefficients; R^-1 of X = Q R gives the diagonal of (X^T X)^-1."""
    free = len(scaled) - scaled.shape[1]
    if free < 1:
        return None
    inverse = np.linalg.inv(np.linalg.qr(scaled)[1])
    return tuple((np.linalg.norm(inverse, axis=1) * (squares / free) ** 0.5 / lengths).tolist())


def polynomial(name: str, x: ArrayLike, y: ArrayLike, degree: int, letter: str = "n") -> Fit:
    """A polynomial of this degree; the constant term comes first."""
    powers = np.asarray(x, float)
    columns: dict[str, ArrayLike] = {
        power(letter, k): powers**k if k else np.ones_like(powers) for k in range(degree + 1)
    }
    return least_squares(f"{name}, {ORDERS.get(degree, f'degree {degree}')}", columns, y)


def curve(fit: Fit, x: ArrayLike) -> Floats:
    """The values of a polynomial fit."""
    powers = np.asarray(x, float)
    return fit.at(*(powers**k for k in range(len(fit.terms))))


def power(letter: str, k: int) -> str:
    """letter^k as a reader would write it."""
    return ("1", letter)[k] if k < 2 else f"{letter}^{k}"


def cubic_law(name: str, dimensions: Sequence[float], y: ArrayLike) -> Fit:
    """y = c d^3."""
    return least_squares(name, {"d^3": np.asarray(dimensions, float) ** 3}, y)
