"""Theorem 5's linear system psi(x w^T + eta) V = Y in balls, solved and rounded.

A ball matrix that can be solved holds no singular matrix: that it is solved proves Theorem 3 for
these points x and slopes w. Its entries fall off so fast that 14 to 25 bits per context are lost.
"""

import math
import random
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

from flint import arb, arb_mat, ctx

from ...data.targets import Targets
from ...exact.network import Dyadic, dyadic
from ...gadgets.logits import Logits
from ...theory.madden2024.balls import FUNCTIONS, attended, ball, clusters

GRID = 48  # binary digits after the point of V (D6)
DIGITS = 24  # of w
GROWTH = 1.25
# below the radius of convergence at 1, the distance to the poles: sqrt(1 + pi^2) for logistic,
# sqrt(1 + pi^2 / 4), sqrt(2); erf and GELU have none
RADIUS = {"logistic": 3.25, "tanh": 1.75, "arctan": 1.375, "erf": 6.0, "gelu": 6.0}


class Scalars(NamedTuple):
    """z, u, and the factors of scores, of attention and of the last token (with skip)."""

    z: Sequence[Fraction]
    u: Sequence[Fraction]
    kappa: Fraction
    nu: Fraction
    skip: int


class Solution(NamedTuple):
    """w, and the rows of V^T that are not zero, by token; bits: the precision of the balls."""

    w: list[Fraction]
    output: dict[int, list[Dyadic]]
    bits: int

    @property
    def magnitude(self) -> int:
        """The decimal exponent of the largest entry."""
        entries = (entry for row in self.output.values() for entry in row)
        return math.floor(max(x.digits + x.exponent for x in entries) * math.log10(2))


def solve(
    scalars: Scalars,
    activation: str,
    eta: int,
    targets: Targets,
    logits: Logits,
    draw: random.Random,
) -> Solution | None:
    """Slopes and V; None if contexts or neurons are so close that the system is all but singular.

    The precision grows until the balls of V are smaller than the grid that V is rounded to.
    """
    n = len(targets)
    bits, most = 16 * n + 128, 64 * n + 1024
    with ctx.workprec(bits):
        x = points(scalars, targets)
        if len(clusters(x)) < n:
            return None
        # distinct slopes of DIGITS bits and a sign, within the radius
        radius = RADIUS[activation] / max(float(point.upper()) for point in x)
        exponent = DIGITS - math.frexp(radius)[1]
        most_slope = int(math.ldexp(radius, exponent))
        drawn = draw.sample(range(-most_slope, most_slope), n)
        w = [Fraction(k) / Fraction(2) ** exponent for k in drawn]
    while bits < most:
        with ctx.workprec(bits):
            found = _output(points(scalars, targets), w, activation, eta, logits)
        if found is not None:
            return Solution(w, found, bits)
        bits = int(bits * GROWTH)
    return None


def points(scalars: Scalars, targets: Targets) -> list[arb]:
    """The number of each context: nu f, and the last token's x with the skip connection."""
    kappa, nu = ball(scalars.kappa), ball(scalars.nu)
    tokens, result = targets.tokens.tolist(), []
    for first, end in pairwise(targets.starts.tolist()):
        x = [ball(scalars.z[g] + u) for g, u in zip(tokens[first:end], scalars.u, strict=False)]
        result.append(nu * attended(x, kappa) + scalars.skip * x[-1])
    return result


def _output(
    x: Sequence[arb], w: Sequence[Fraction], activation: str, eta: int, logits: Logits
) -> dict[int, list[Dyadic]] | None:
    """V by token, rounded; None if the precision does not suffice."""
    psi, slopes = FUNCTIONS[activation], [ball(slope) for slope in w]
    active = arb_mat([[psi(point * slope + eta) for slope in slopes] for point in x])
    tokens = sorted(set(logits.token.tolist()))  # the logits of all others are 0 everywhere
    place = {token: j for j, token in enumerate(tokens)}
    right = arb_mat(len(x), len(tokens))
    for row, token, value in zip(
        logits.row.tolist(), logits.token.tolist(), logits.value.tolist(), strict=True
    ):
        right[row, place[token]] = arb(value)
    try:
        found = active.solve(right)
    except ZeroDivisionError:
        return None
    entries = [found[k, j] for j in range(len(tokens)) for k in range(len(w))]
    if not all(entry.rad() < arb((1, -GRID - 1)) for entry in entries):
        return None
    rounded = [_rounded(entry.mid()) for entry in entries]
    return {token: rounded[j * len(w) : (j + 1) * len(w)] for token, j in place.items()}


def _rounded(number: arb) -> Dyadic:
    """The nearest multiple of 2^-GRID, exactly."""
    mantissa, exponent = (int(part) for part in number.man_exp())
    shift = exponent + GRID
    whole = mantissa << shift if shift >= 0 else (mantissa + (1 << -shift - 1)) >> -shift
    return dyadic(Fraction(whole, 1 << GRID))
