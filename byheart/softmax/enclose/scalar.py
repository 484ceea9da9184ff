"""A decoder whose rows are constant is a scalar one, and this encloses its scalar.

Theorem 5 of madden2024 is proved for d = 1 and carried over to any d. If every row of the
embeddings and positions has equal entries, x_t = (z + u_t) 1_d for a token's z, and so

    head r        scores kappa_r x_t x_k, kappa_r = sum_j (sum_i key[j, i]) (sum_i query[j, i])
    sum of g      s = sum_r nu_r avg_r + d x_k (with skip),
                  nu_r = sum_v (sum_i out[i, v]) (sum_i value[v, i])
    token sum     s = d sum_t token_sum[t] z

where avg_r is the mean of the scalars x_t with the softmax of the scores as weights. A neuron whose
row of hidden.weight is w 1_d has the argument w s + b. The sums kappa and nu are exact rationals.

In double arithmetic s has a proved error. With u = 2^-53 and hats for computed numbers, of one
context of T tokens and one head:

1. x^ = z + u_t is wrong by u |x^|. The score c^ = kappa^ x^_t x^_k has five factors 1 +- u (kappa,
   both x, both products): wrong by 6u |c^|. The largest score is subtracted, which changes no
   weight and rounds by u |c^ - top|.
2. exponential.exp is wrong by a factor 1 +- ERROR. So a weight is wrong by a factor 1 +- lambda,
   lambda = 1.01 (7u max |c^| + u max |c^ - top| + ERROR), if that is below 0.01. This moves the
   mean by lambda / (1 - lambda) times the range of x at most: sum p_t t_t (x_t - mean), |t| <=
   lambda, is divided by 1 + sum p_t t_t. A weight below e^-700 is put to 0: TINY times the range.
3. The sums of weights and weighted x are wrong by factors 1 +- 1.01 (T + 1) u of the sums of
   absolute values, and the quotient is rounded: (2T + 4) u max |x^| covers these and the u |x^|
   of the x in the mean.
4. nu^ and its product are wrong by u each, as is each addition to the sum over heads and the last
   d x_k. The radius is a sum of fewer than 2^10 positive terms, and LARGER covers their rounding.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from flint import arb, ctx, fmpq
from numpy.typing import NDArray

from ...data.targets import Floats, Targets
from ...machine.kernels import njit
from ..decoder import ATTENTION, Shape
from .exponential import ERROR, LIMIT, exp

UNIT = 2.0**-53
TINY = 2.0**-1000  # far above what a number that is too small for a double loses
LARGER = 1.0 + 2.0**-40


class Head(NamedTuple):
    """kappa: factor of the scores; nu: factor of the average."""

    kappa: Fraction
    nu: Fraction


@dataclass(frozen=True, eq=False)
class Scalars:
    """A scalar decoder up to its neurons."""

    tokens: Floats  # z of each token
    positions: Floats  # u of each position, or the weight of each position in a token sum
    heads: tuple[Head, ...]  # with different kappa; none in a token sum
    skip: int  # factor of the last x; 0 without skip
    scale: int  # factor of a token sum; 0 with attention


def finite(tensor: NDArray) -> bool:
    """Whether these are finite doubles."""
    return tensor.dtype == np.float64 and bool(np.isfinite(tensor).all())


def constant(rows: NDArray) -> bool:
    """Whether these are finite doubles and each row has equal entries."""
    return finite(rows) and bool((rows == rows[:, :1]).all())


def reduce(shape: Shape, tensors: Mapping[str, NDArray]) -> Scalars | None:
    """The scalar decoder that this one is, up to its neurons; None if a row is not constant."""
    embedding = tensors["embedding.weight"]
    if shape.mixing != ATTENTION:
        weights = tensors["token_sum.weight"]
        if not constant(embedding) or not finite(weights):
            return None
        return Scalars(embedding[:, 0], weights, (), 0, shape.dimension)
    positions = tensors["positions.weight"]
    names = ("query", "key", "value", "out")
    matrices = [tensors[f"attention.{name}.weight"] for name in names]
    if not (constant(embedding) and constant(positions) and all(map(finite, matrices))):
        return None
    query, key, value, out = matrices
    kappas = _products(_sums(key), _sums(query), shape.heads)
    nus = _products(_sums(value), _sums(out.T), shape.heads)
    total: dict[Fraction, Fraction] = {}  # heads with the same scores have the same average
    for kappa, nu in zip(kappas, nus, strict=True):
        total[kappa] = total.get(kappa, Fraction(0)) + nu
    heads = tuple(Head(kappa, nu) for kappa, nu in total.items())
    skip = shape.dimension if shape.skip else 0
    return Scalars(embedding[:, 0], positions[:, 0], heads, skip, 0)


def _sums(matrix: Floats) -> list[Fraction]:
    """The exact sums of the rows."""
    fraction, exponent = np.frexp(matrix)
    lowest = int(exponent.min())
    mantissas = np.ldexp(fraction, 53).astype(np.int64).astype(object)
    totals = (mantissas << (exponent - lowest).astype(object)).sum(axis=1)
    unit = Fraction(2) ** (lowest - 53)
    return [int(total) * unit for total in totals]


def _products(left: list[Fraction], right: list[Fraction], heads: int) -> list[Fraction]:
    size = len(left) // heads
    terms = [a * b for a, b in zip(left, right, strict=True)]
    return [sum(terms[i * size : (i + 1) * size], Fraction(0)) for i in range(heads)]


def intervals(scalars: Scalars, targets: Targets) -> tuple[Floats, Floats]:
    """Midpoint and radius of s of each context in doubles; infinite where these do not suffice."""
    _check(scalars, targets)
    kappa = np.array([_rounded(head.kappa) for head in scalars.heads])
    nu = np.array([_rounded(head.nu) for head in scalars.heads])
    middle, radius = np.empty(len(targets)), np.empty(len(targets))
    numbers = targets.tokens, targets.starts, scalars.tokens, scalars.positions, kappa, nu
    _average(*numbers, float(scalars.skip), float(scalars.scale), middle, radius)
    return middle, radius


def _rounded(value: Fraction) -> float:
    """The nearest double; nan, which makes the radius infinite, if that is not within u of it."""
    return float(value) if value == 0 or 2**-900 < abs(value) < 2**900 else np.nan


@njit
def _average(tokens, starts, z, u, kappa, nu, skip, scale, middle, radius):
    """Midpoint and radius of s of each context; a token sum is wrong by (T + 2) u of its terms."""
    buffer = np.empty(len(u))
    for i in range(len(starts) - 1):
        size = starts[i + 1] - starts[i]
        x, here = buffer[:size], tokens[starts[i] : starts[i + 1]]
        total, absolute = 0.0, 0.0
        if scale > 0:
            for t in range(size):
                term = z[here[t]] * u[t]
                total += term
                absolute += abs(term)
            error = ((size + 4) * UNIT * absolute + (size + 1) * TINY) * scale
            total = total * scale
        else:
            largest, low, high = 0.0, np.inf, -np.inf
            for t in range(size):
                x[t] = z[here[t]] + u[t]
                largest, low, high = max(largest, abs(x[t])), min(low, x[t]), max(high, x[t])
            spread = (high - low) + 2 * UNIT * largest
            total, absolute = skip * x[-1], abs(skip * x[-1])
            error = 2 * UNIT * absolute
            for r in range(len(kappa)):
                mean, wrong = _mean(x, kappa[r], largest, spread)
                total += nu[r] * mean
                absolute += abs(nu[r] * mean)
                error += abs(nu[r]) * (1 + 2 * UNIT) * wrong + 3 * UNIT * abs(nu[r] * mean)
                error += TINY * (1 + abs(mean))
            error += (len(kappa) + 1) * UNIT * absolute
        middle[i], radius[i] = total, error * LARGER
        if not (abs(middle[i]) < np.inf and radius[i] < np.inf):
            middle[i], radius[i] = 0.0, np.inf


@njit
def _mean(x, kappa, largest, spread):
    """The mean of x under the softmax of kappa x_t x_k, and how far it can be wrong."""
    top, highest, lowest = -np.inf, 0.0, np.inf
    for value in x:
        score = kappa * value * x[-1]
        if not abs(score) < np.inf:
            return 0.0, np.inf
        top, highest = max(top, score), max(highest, abs(score))
        lowest = min(lowest, score)
    weights, weighted = 0.0, 0.0
    for value in x:
        shifted = kappa * value * x[-1] - top
        if shifted >= -LIMIT:
            weight = exp(shifted)
            weights += weight
            weighted += weight * value
    factor = 1.01 * (7 * UNIT * highest + UNIT * (top - lowest) + ERROR) + TINY
    if not factor < 0.01:
        return 0.0, np.inf
    error = factor / (1 - factor) * spread * LARGER + (2 * len(x) + 4) * UNIT * largest
    return weighted / weights, error + len(x) * TINY * (1 + spread)


def enclosures(scalars: Scalars, targets: Targets, bits: int) -> list[arb]:
    """A ball that holds s of each context, at a precision of `bits`."""
    _check(scalars, targets)
    lengths, positions = np.diff(targets.starts), len(scalars.positions)
    place = np.arange(len(targets.tokens)) - np.repeat(targets.starts[:-1], lengths)
    numbers = targets.tokens.astype(np.int64) * positions + place
    known, places = np.unique(numbers, return_inverse=True)
    z, u = scalars.tokens.tolist(), scalars.positions.tolist()
    spans = list(pairwise(targets.starts.tolist()))
    with ctx.workprec(bits):
        tokens = [(arb(z[i // positions]), arb(u[i % positions])) for i in known.tolist()]
        if scalars.scale:
            products = [token * weight for token, weight in tokens]
            terms = [products[i] for i in places.tolist()]
            return [scalars.scale * sum(terms[a:b], arb(0)) for a, b in spans]
        vectors = [token + position for token, position in tokens]
        last = places[targets.starts[1:] - 1]
        result = [scalars.skip * vectors[i] for i in last.tolist()]
        named = places * len(vectors) + np.repeat(last, lengths)
        pairs, inverse = np.unique(named, return_inverse=True)
        split = [part.tolist() for part in divmod(pairs, len(vectors))]
        for head in scalars.heads:
            kappa, nu = (arb(fmpq(*x.as_integer_ratio())) for x in head)
            scaled = [kappa * x for x in vectors]
            weights = [(vectors[i] * scaled[j]).exp() for i, j in zip(*split, strict=True)]
            weighted = [w * vectors[i] for w, i in zip(weights, split[0], strict=True)]
            for context, (a, b) in enumerate(spans):
                here = inverse[a:b].tolist()
                total = sum((weighted[i] for i in here), arb(0))
                result[context] += nu * (total / sum((weights[i] for i in here), arb(0)))
        return result


def _check(scalars: Scalars, targets: Targets) -> None:
    """Compiled loops do not check their indices."""
    lengths = np.diff(targets.starts)
    if not (1 <= lengths.min() and lengths.max() <= len(scalars.positions)):
        raise AssertionError("a context's length")
    if not (0 <= targets.tokens.min() and targets.tokens.max() < len(scalars.tokens)):
        raise AssertionError("a token")
