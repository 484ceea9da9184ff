"""The decoder of the proof of Theorem 5: constant rows, drawn numbers, a solved output matrix.

The linear system psi(x w^T + eta) V = Y is solved in balls, and V is rounded. A ball matrix that
can be solved holds no singular matrix: that it is solved proves Theorem 3 for these points x and
slopes w. Its entries fall off so fast that 14 to 25 bits per context are lost.
"""

import math
import random
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from flint import arb, arb_mat, ctx

from ...data.targets import Targets
from ...errors import ByheartError
from ...exact.network import Dyadic, dyadic
from ...gadgets.logits import Logits, wanted
from ...machine.watch import Watch
from ...softmax.decoder import Decoder, Shape, Tensor
from ...theory.madden2024.balls import FUNCTIONS, attended, ball, clusters
from ..base import Built, within

DIGITS = 24  # binary, of z, u and w
DRAWS = 8
ETA = 1
GRID = 48  # binary digits after the point of V (D6)
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


def build(shape: Shape, targets: Targets, gap: float, seed: int, watch: Watch) -> Built:
    """The decoder of the first draw for which the system is solved.

    z and u are distinct, from 1/4 to 1. The constant matrices hold powers of two such that kappa
    and nu, by which they multiply scores and attention, are at least 1 and below 2.
    """
    logits, d = wanted(targets, gap), shape.dimension
    scores, attention = d * d * shape.key_dimension, d * d * shape.heads * shape.value_dimension
    (query, key), (value, out) = _halves(scores), _halves(attention)
    scales = {"query": query, "key": key, "value": value, "out": out}
    for tries in range(1, DRAWS + 1):
        draw = random.Random(f"{seed}, {tries}")
        scalars = Scalars(
            _positive(shape.vocabulary, draw),
            _positive(shape.length, draw),
            kappa=scores * query * key,
            nu=attention * value * out,
            skip=d if shape.skip else 0,
        )
        solution = solve(scalars, shape.activation, targets, logits, draw)
        if solution is not None:
            decoder = _decoder(shape, scales, scalars, solution)
            notes = (
                f"the longest weight has {decoder.counts()[1]['largest']:,} bits",
                f"the output matrix was solved with {solution.bits:,} bits; "
                f"its largest entry is about 10^{solution.magnitude}",
            )
            return within(gap, decoder, targets, tries, notes)
        watch.note(f"draw {tries} of {DRAWS} brings two contexts or two neurons too close together")
    raise ByheartError(f"{DRAWS} draws failed; try another `seed`.")


def _positive(count: int, draw: random.Random) -> list[Fraction]:
    numbers = draw.sample(range(1 << (DIGITS - 2), 1 << DIGITS), count)
    return [Fraction(number, 1 << DIGITS) for number in numbers]


def _halves(total: int) -> tuple[Fraction, Fraction]:
    """Two powers of two, almost equal, whose product with the total is at least 1 and below 2."""
    bits = total.bit_length() - 1
    return Fraction(1, 1 << bits // 2), Fraction(1, 1 << bits - bits // 2)


def _decoder(
    shape: Shape, scales: dict[str, Fraction], scalars: Scalars, solution: Solution
) -> Decoder:
    rows = {"embedding": scalars.z, "positions": scalars.u, "hidden": solution.w}
    constants = {f"attention.{name}.weight": scale for name, scale in scales.items()}
    constants |= {"hidden.bias": Fraction(ETA), "output.weight": Fraction(0)}
    tensors = {
        name: np.broadcast_to(_column([dyadic(value)]), shape.tensors[name]).copy()
        for name, value in constants.items()
    }
    for token, row in solution.output.items():
        tensors["output.weight"][token] = _column(row)
    for name, numbers in rows.items():
        column = _column([dyadic(x) for x in numbers])[:, None]
        tensors[f"{name}.weight"] = np.repeat(column, shape.dimension, axis=1)
    return Decoder(shape, {name: tensors[name] for name in shape.tensors})


def _column(numbers: Sequence[Dyadic]) -> Tensor:
    """A vector of these; numpy would take a list of pairs for a matrix."""
    tensor = np.empty(len(numbers), object)
    for i, number in enumerate(numbers):
        tensor[i] = number
    return tensor


def solve(
    scalars: Scalars, activation: str, targets: Targets, logits: Logits, draw: random.Random
) -> Solution | None:
    """Slopes and V; None if contexts or neurons are so close that the system is near singular."""
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
            found = _output(points(scalars, targets), w, activation, logits)
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
    x: Sequence[arb], w: Sequence[Fraction], activation: str, logits: Logits
) -> dict[int, list[Dyadic]] | None:
    """V by token, rounded; None if the precision does not suffice."""
    psi, slopes = FUNCTIONS[activation], [ball(slope) for slope in w]
    active = arb_mat([[psi(point * slope + ETA) for slope in slopes] for point in x])
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
