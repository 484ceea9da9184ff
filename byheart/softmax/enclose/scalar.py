"""A decoder whose rows are constant is a scalar one, and this encloses its scalar.

Theorem 5 of madden2024 is proved for d = 1 and carried over to any d. If every row of the
embeddings and positions has equal entries, x_t = (z + u_t) 1_d for a token's z, and so

    head r        scores kappa_r x_t x_k, kappa_r = sum_j (sum_i key[j, i]) (sum_i query[j, i])
    sum of g      s = sum_r nu_r avg_r + d x_k (with skip),
                  nu_r = sum_v (sum_i out[i, v]) (sum_i value[v, i])
    token sum     s = d sum_t token_sum[t] z

where avg_r is the mean of the scalars x_t with the softmax of the scores as weights. A neuron whose
row of hidden.weight is w 1_d has the argument w s + b. The sums kappa and nu are exact rationals.
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
from ..decoder import ATTENTION, Shape
from .doubles import average


class Head(NamedTuple):
    """kappa: factor of the scores; nu: factor of the average."""

    kappa: Fraction
    nu: Fraction


@dataclass(frozen=True, eq=False)
class Scalars:
    """A scalar decoder up to its neurons.

    tokens     z of each token
    positions  u of each position, or the weight of each position in a token sum
    heads      with different kappa; none in a token sum
    skip       factor of the last x; 0 without skip
    scale      factor of a token sum; 0 with attention
    """

    tokens: Floats
    positions: Floats
    heads: tuple[Head, ...]
    skip: int
    scale: int


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
    query, key, value, out = (tensors[f"attention.{name}.weight"] for name in names)
    if not constant(embedding) or not constant(positions):
        return None
    if not all(finite(matrix) for matrix in (query, key, value, out)):
        return None
    kappas = _products(_sums(key), _sums(query), shape.heads)
    nus = _products(_sums(value), _sums(out.T), shape.heads)
    skip = shape.dimension if shape.skip else 0
    return Scalars(embedding[:, 0], positions[:, 0], _merged(kappas, nus), skip, 0)


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


def _merged(kappas: list[Fraction], nus: list[Fraction]) -> tuple[Head, ...]:
    """Heads with the same scores have the same average: their factors add up."""
    total: dict[Fraction, Fraction] = {}
    for kappa, nu in zip(kappas, nus, strict=True):
        total[kappa] = total.get(kappa, Fraction(0)) + nu
    return tuple(Head(kappa, nu) for kappa, nu in total.items())


def intervals(scalars: Scalars, targets: Targets) -> tuple[Floats, Floats]:
    """Midpoint and radius of an interval that holds s of each context, in double arithmetic.

    The radius is infinite where doubles do not suffice.
    """
    _check(scalars, targets)
    kappa = np.array([_rounded(head.kappa) for head in scalars.heads])
    nu = np.array([_rounded(head.nu) for head in scalars.heads])
    middle, radius = np.empty(len(targets)), np.empty(len(targets))
    average(
        targets.tokens, targets.starts, scalars.tokens, scalars.positions, kappa, nu,
        float(scalars.skip), float(scalars.scale), middle, radius,
    )  # fmt: skip
    return middle, radius


def _rounded(value: Fraction) -> float:
    """The nearest double; nan, which makes the radius infinite, if that is not within u of it."""
    return float(value) if value == 0 or 2**-900 < abs(value) < 2**900 else np.nan


def enclosures(scalars: Scalars, targets: Targets, bits: int) -> list[arb]:
    """A ball that holds s of each context, computed with so many bits."""
    _check(scalars, targets)
    with ctx.workprec(bits):
        if scalars.scale:
            return _token_sums(scalars, targets)
        places, vectors, here, last = _vectors(scalars, targets)
        result = [scalars.skip * vectors[i] for i in last]
        pairs, inverse = np.unique(places * len(vectors) + here, return_inverse=True)
        for head in scalars.heads:
            terms = _terms(head, vectors, pairs)
            means = _means(terms, inverse.tolist(), targets.starts.tolist())
            nu = arb(fmpq(*head.nu.as_integer_ratio()))
            result = [total + nu * mean for total, mean in zip(result, means, strict=True)]
        return result


def _check(scalars: Scalars, targets: Targets) -> None:
    """Compiled loops do not check their indices."""
    lengths = np.diff(targets.starts)
    assert 1 <= lengths.min() and lengths.max() <= len(scalars.positions), "a context's length"
    assert 0 <= targets.tokens.min() and targets.tokens.max() < len(scalars.tokens), "a token"


def _numbers(targets: Targets, positions: int) -> NDArray[np.int64]:
    """A number for each token and its place in its context."""
    lengths = np.diff(targets.starts)
    place = np.arange(len(targets.tokens)) - np.repeat(targets.starts[:-1], lengths)
    return targets.tokens.astype(np.int64) * positions + place


def _token_sums(scalars: Scalars, targets: Targets) -> list[arb]:
    positions = len(scalars.positions)
    known, inverse = np.unique(_numbers(targets, positions), return_inverse=True)
    z, u = scalars.tokens.tolist(), scalars.positions.tolist()
    products = [arb(z[i // positions]) * arb(u[i % positions]) for i in known.tolist()]
    terms, starts = [products[i] for i in inverse.tolist()], targets.starts.tolist()
    return [scalars.scale * sum(terms[a:b], arb(0)) for a, b in pairwise(starts)]


def _vectors(scalars: Scalars, targets: Targets) -> tuple[NDArray, list[arb], NDArray, list[int]]:
    """Which x each token has, the different x, which the last of its context has; of contexts."""
    positions = len(scalars.positions)
    known, places = np.unique(_numbers(targets, positions), return_inverse=True)
    z, u = scalars.tokens.tolist(), scalars.positions.tolist()
    vectors = [arb(z[i // positions]) + arb(u[i % positions]) for i in known.tolist()]
    last = places[targets.starts[1:] - 1]
    return places, vectors, np.repeat(last, np.diff(targets.starts)), last.tolist()


def _terms(head: Head, vectors: list[arb], pairs: NDArray) -> list[tuple[arb, arb]]:
    """The weight of each pair of an x and a last x, and the weight times x."""
    kappa = arb(fmpq(*head.kappa.as_integer_ratio()))
    scaled = [kappa * x for x in vectors]
    result = []
    for place, last in zip(*(part.tolist() for part in divmod(pairs, len(vectors))), strict=True):
        weight = (vectors[place] * scaled[last]).exp()
        result.append((weight, weight * vectors[place]))
    return result


def _means(terms: list[tuple[arb, arb]], places: list[int], starts: list[int]) -> list[arb]:
    result = []
    for a, b in pairwise(starts):
        weights, weighted = zip(*[terms[i] for i in places[a:b]], strict=True)
        result.append(sum(weighted, arb(0)) / sum(weights, arb(0)))
    return result
