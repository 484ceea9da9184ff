"""The activations in doubles, with proved bounds of their errors: no library's is trusted.

Around each multiple of 1/64 an activation is its Taylor polynomial of degree 9, whose coefficients
ball arithmetic gives. With |t| <= 1/128 the distance from that point:

truncation  Every activation is analytic within 1/2 of any real point, and at most 16 there (gelu at
            |x| <= 10; the others are at most 3). By Cauchy the terms left out add up to at most
            16 / 64^10 * 64 / 63 < 2e-17.
rounding    t is exact (Sterbenz). A coefficient is off by a relative u = 2^-53, and Horner's rule
            by at most 19 u / (1 - 19 u) of the sum S of the terms' magnitudes: 21 u S in all.
far out     logistic beyond 40, tanh beyond 20, erf beyond 6.5 are a sign or a step up to 1e-17, and
            so is gelu beyond 9 max(0, x): the difference is at most the normal density.
            arctan x = sign(x) pi / 2 - arctan(1 / x): four roundings of at most 2 u more.
"""

import math
from functools import cache
from typing import NamedTuple

import numpy as np
from flint import arb, arb_series, ctx
from numpy.typing import NDArray

from ...machine.kernels import njit
from ..arb import gelu

Table = NDArray[np.float64]
U = 2.0**-53
TERMS, PER_UNIT, BITS = 10, 64, 160
LOGISTIC, TANH, ERF, ARCTAN, GELU = range(5)


class Activation(NamedTuple):
    """An activation's table."""

    kind: int  # decides its values beyond `end`
    rows: Table  # Taylor coefficients around the multiples of 1/64 from -end to end
    end: float
    error: float  # of a value, whatever the argument
    slope: float  # it is Lipschitz with this
    span: float  # no two values are further apart


SHAPES = {
    "logistic": (LOGISTIC, 40.0, 0.25, 1.0),
    "tanh": (TANH, 20.0, 1.0, 2.0),
    "erf": (ERF, 6.5, 1.1284, 2.0),  # 2 / sqrt(pi) = 1.12837...
    "arctan": (ARCTAN, 2.0, 1.0, 3.1416),
    "gelu": (GELU, 9.0, 1.13, math.inf),  # its slope is at most 1.1290, at sqrt(2)
}


def series(name: str, x: arb_series) -> arb_series:
    """The activation of a power series."""
    if name == "logistic":
        return (1 + (-x).exp()).inv()
    if name == "tanh":
        return 2 * series("logistic", 2 * x) - 1
    if name == "gelu":
        return gelu(x)
    return x.erf() if name == "erf" else x.atan()


@cache
def activation(name: str) -> Activation:
    """The table of that activation; it takes a tenth of a second."""
    kind, end, slope, span = SHAPES[name]
    steps = int(end * PER_UNIT)
    table, cap = [], ctx.cap
    try:
        ctx.cap = TERMS
        with ctx.workprec(BITS):
            for k in range(-steps, steps + 1):
                coefficients = series(name, arb_series([arb(k) / PER_UNIT, 1])).coeffs()
                table.append([float(x) for x in coefficients] + [0.0] * (TERMS - len(coefficients)))
    finally:
        ctx.cap = cap
    rows = np.array(table)
    magnitude = (np.abs(rows) @ (0.5 / PER_UNIT) ** np.arange(TERMS)).max()
    return Activation(kind, rows, end, U * (22 * float(magnitude) + 8) + 4e-17, slope, span)


@njit
def _inside(rows, end, x):
    """The polynomial nearest to x, at x, by Horner's rule; |x| <= end."""
    place = np.rint(x * 64)
    row, t = rows[int(place + end * 64)], x - place / 64
    result = row[len(row) - 1]
    for j in range(len(row) - 2, -1, -1):
        result = result * t + row[j]
    return result


@njit
def activated(kind, rows, end, error, slope, span, x, radius):
    """Activations of the balls x +- radius, which beyond `end` are almost linear or constant."""
    for i in range(x.size):
        a, r = x.flat[i], radius.flat[i]
        if not (abs(a) < 1e300 and r < 1e300):
            x.flat[i], radius.flat[i] = 0.0, math.inf
            continue
        steep = slope
        nearest = abs(a) - r  # to 0, of the ball's points
        if kind == 3 and nearest > 1:
            steep = 1.01 / (1 + nearest * nearest)
        elif kind != 3 and nearest >= end:
            steep = 1.0 if kind == 4 and a > 0 else 0.0
        if abs(a) < end:
            x.flat[i] = _inside(rows, end, a)
        elif kind == 3:
            x.flat[i] = math.copysign(math.pi / 2, a) - _inside(rows, end, 1 / a)
        elif kind == 4:
            x.flat[i] = max(0.0, a)
        else:
            x.flat[i] = 1.0 if a > 0 else (0.0 if kind == 0 else -1.0)
        radius.flat[i] = min(steep * r, span) + error
