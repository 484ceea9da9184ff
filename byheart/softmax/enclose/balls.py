"""Bounds for a decoder with weights in doubles: midpoints and radii, by matrix products.

Before the neurons ball arithmetic of more digits is cheap, and used. After them a logit is an inner
product; computed in any order, with or without fused operations, that of k terms is off by at most
k u / (1 - k u) of the sum of their magnitudes (u = 2^-53). A second product, of magnitudes and
radii, bounds both that and what the radii add. BLAS multiplies so; a scheme like Strassen's would
not. k is below 2^21, so a radius that is itself computed in doubles is correct up to a
factor 1 + 2^-30; underflow adds no more than 1e-280, as no weight that is not 0 is below 2^-600.

The divergence of a context (two lemmas). T is the support of its target p, L the logits.

KL(p || softmax L) = KL(p || softmax of L on T) + log(1 + R), with R the ratio of the sums of exp L
off T and on T.
Let the logits of T be within e of L. The first term is then at most (sqrt(K) + e / sqrt(2))^2, with
K its value at L. For f(s) the term at L + s h, |h| <= e: f' = <q - p, h> <= e |q - p|_1, at most
e sqrt(2 f) by Pinsker's inequality, so sqrt(f) grows by at most e / sqrt(2). The same holds for the
whole divergence, if all logits are within e, and so sqrt(f) falls by at most e / sqrt(2), too.
"""

import math
from typing import NamedTuple

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

from ...data.targets import Targets
from ...machine.kernels import njit
from ..arb import Mixer, contexts_of, divergence, followers
from ..decoder import Decoder
from . import taylor
from .exponential import LIMIT, above

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]
U = 2.0**-53
UP = 1 + 2.0**-30
TINY = 1e-280
SMALLEST, LARGEST = 2.0**-600, 2.0**200
HUGE = 1e300  # nothing is known about a logit of this size
BITS = 128


class Balls(NamedTuple):
    """Enclosures: no number is further from its middle than its radius."""

    middle: Matrix
    radius: Matrix


class Bounds(NamedTuple):
    """Bounds of the divergences of contexts, and the likeliest tokens."""

    above: Vector  # above, below: rigorous
    about: Vector  # the divergence of the middles; it only tells where a better bound helps
    below: Vector
    likeliest: NDArray[np.int64]


def applies(decoder: Decoder) -> bool:
    """Whether the weights are doubles of a size for which the bounds hold."""
    if decoder.number != "float64":
        return False
    sizes = [np.abs(tensor[tensor != 0]) for tensor in decoder.tensors.values()]
    return all(((SMALLEST < size) & (size < LARGEST)).all() for size in sizes)


class Reader:
    """A decoder, ready to bound the divergences of contexts."""

    def __init__(self, decoder: Decoder) -> None:
        with ctx.workprec(BITS):
            self.mixer = Mixer(decoder)
        self.shape, self.output = decoder.shape, decoder["output"].T
        if self.shape.neurons:
            self.hidden, self.bias = decoder["hidden"].T, decoder["hidden.bias"]
            self.activation = taylor.activation(decoder.shape.activation)

    def __call__(self, targets: Targets) -> Bounds:
        """Bounds of the divergences of these contexts."""
        logits = self.logits(targets)
        with np.errstate(all="ignore"):  # what overflows gives no bound
            return bounds(logits, targets)

    def logits(self, targets: Targets) -> Balls:
        with ctx.workprec(BITS):
            entries = self.mixer(contexts_of(targets)).entries()
            points = [float(x) for x in entries]
            errors = [float((x - y).abs_upper()) for x, y in zip(entries, points, strict=True)]
        size = len(targets), self.shape.dimension
        active = Balls(np.reshape(points, size), np.reshape(errors, size) * UP + TINY)
        with np.errstate(all="ignore"):
            if self.shape.neurons:
                middle, radius = product(active, self.hidden)
                middle += self.bias
                radius += 2 * U * (np.abs(self.bias) + np.abs(middle))
                taylor.activated(*self.activation, middle, radius)
                active = Balls(middle, radius)
            return product(active, self.output)


def product(balls: Balls, matrix: Matrix) -> Balls:
    """The product with a matrix of exact numbers, or with each of several; all radii exceed 0."""
    gamma = 1.001 * (matrix.shape[-2] + 1) * U
    spread = (gamma * np.abs(balls.middle) + balls.radius) @ np.abs(matrix)
    middle, radius = balls.middle @ matrix, spread * UP + TINY
    radius[~np.isfinite(middle)] = np.inf  # nothing is known about what overflows
    return Balls(middle, radius)


@njit
def _sums(x):
    """The sum of exp(x) of each row from above, up to its roundings; -inf is left out."""
    result = np.zeros(x.shape[0])
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            if x[i, j] != -math.inf:
                result[i] += above(x[i, j])
    return result


def bounds(logits: Balls, targets: Targets) -> Bounds:
    """Bounds of the divergences of contexts with these logits, by the two lemmas above."""
    places = np.repeat(np.arange(len(targets)), targets.support), targets.following
    inside = logits.middle[places]
    top = np.maximum.reduceat(inside, targets.ends[:-1])
    spread = np.maximum.reduceat(logits.radius[places], targets.ends[:-1])
    divergences, mass = np.zeros(len(targets)), np.ones(len(targets))
    least = np.zeros(len(targets))  # what the divergences are from below
    with ctx.workprec(BITS):
        for i, (_, counts) in enumerate(followers(targets)):
            if len(counts) > 1:
                support = [arb(x) for x in inside[targets.ends[i] : targets.ends[i + 1]].tolist()]
                enclosed = divergence(support, counts, [])
                least[i], divergences[i] = float(enclosed.lower()), float(enclosed.upper())
                mass[i] = float(sum(((x - arb(top[i])).exp() for x in support), arb(0)).lower())
    divergences, mass = np.maximum(divergences * (1 + 2.0**-50), 0), mass * (1 - 2.0**-50)
    powers = logits.middle - top[:, None]
    powers[places] = -math.inf
    outside = np.log1p(_sums(powers) / mass)
    about = divergences + outside
    powers += logits.radius
    powers += np.abs(logits.middle - top[:, None]) * 4 * U + spread[:, None]
    slack = np.where(targets.support > 1, spread / math.sqrt(2), 0)
    ratios = (_sums(powers) / mass * UP).tolist()
    with ctx.workprec(BITS):  # log(1 + R) from above
        rest = np.array([float(arb(x).log1p().upper()) for x in ratios]) * (1 + 2.0**-50)
    above = (np.sqrt(divergences) + slack) ** 2 + rest
    known = (np.abs(logits.middle) + logits.radius < HUGE).all(axis=1)
    # the sums exceed the true ones by a factor 1 + 2^-31 at most, and by what is below TINY; more
    # than LIMIT is infinite in them
    middles = np.minimum(np.maximum(least, 0) + outside, LIMIT) * (1 - 2.0**-30) - TINY
    falls = logits.radius.max(axis=1) / math.sqrt(2)
    root = np.sqrt(np.maximum(middles, 0)) * (1 - 2.0**-40) - falls * (1 + 2.0**-40)
    return Bounds(
        np.where(known & np.isfinite(above), above * (1 + 2.0**-45), math.inf),
        about,
        np.where(known, np.maximum(root, 0) ** 2 * (1 - 2.0**-45), 0),
        logits.middle.argmax(axis=1),
    )
