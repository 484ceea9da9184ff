"""How long the embedding of a context must be, if it points to the vector of one token.

With E = l W_g the logit of token j is below that of g by l a_j, a_j = (W_g - W_j) . W_g. If all a_j
are positive, the softmax goes from uniform at l = 0 to g alone. `falls` holds a_j, one row per
context.
"""

from collections.abc import Callable

import numpy as np

from ..data.dataset import Ints
from ..data.targets import Floats

Function = Callable[[Floats], tuple[Floats, Floats]]  # values and slopes, of increasing functions
STEPS, NEAR = 200, 1e-14


def falls_of(unembedding: Floats, own: Ints) -> Floats:
    """The falls of contexts that point to the unit vectors of these tokens."""
    falls = 1 - unembedding[own] @ unembedding.T
    falls[np.arange(len(own)), own] = 0
    return falls


def by_entropy(falls: Floats, own: Ints, entropy: Floats) -> Floats:
    """The solution l >= 0 of eq. (6), log sum_j exp(-l a_j) = h, for each context (0 < h <= log N).

    F(l) = log sum_{j != g} exp(-l a_j) must be log(e^h - 1). F is convex, so it stays above its
    tangent log(N - 1) - l mean a, and below log(N - 1) - l min a: two bounds on l.
    """
    wanted = np.log(np.expm1(entropy))
    rows = np.arange(len(own))
    least = _others(falls, own).min(axis=1)
    many = np.log(falls.shape[1] - 1)

    def function(scale: Floats) -> tuple[Floats, Floats]:
        weights = np.exp(-scale[:, None] * (falls - least[:, None]))
        weights[rows, own] = 0
        total = weights.sum(axis=1)
        return wanted - np.log(total) + scale * least, (weights * falls).sum(axis=1) / total

    mean = falls.sum(axis=1) / (falls.shape[1] - 1)
    low, high = np.maximum(0, many - wanted) / mean, np.maximum(0, many - wanted) / least
    return root(function, low, high)


def nearest(falls: Floats, own: Ints, mean: Floats) -> Floats:
    """The l >= 0 that minimises log sum_j exp(-l a_j) + l m, m > 0 the target's mean of a_j.

    It is the divergence up to a constant, and convex; its slope is m minus the softmax's mean of
    a_j. That mean is at most (N - 1) a exp(-l a) with a = min a_j if l a >= 1: a bound on l.
    """
    least = _others(falls, own).min(axis=1)
    high = np.maximum(1, np.log((falls.shape[1] - 1) * least / mean)) / least

    def function(scale: Floats) -> tuple[Floats, Floats]:
        weights = np.exp(-scale[:, None] * falls)
        total = weights.sum(axis=1)
        now = (weights * falls).sum(axis=1) / total
        return mean - now, (weights * falls**2).sum(axis=1) / total - now**2

    scale = root(function, np.zeros(len(own)), high)
    return np.where(mean >= falls.mean(axis=1), 0, scale)  # even l = 0 is too long


def root(function: Function, low: Floats, high: Floats) -> Floats:
    """Where increasing functions are zero, by Newton's steps kept between bounds."""
    x = (low + high) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        for _ in range(STEPS):
            value, slope = function(x)
            low, high = np.where(value < 0, x, low), np.where(value < 0, high, x)
            step = x - value / slope
            new = np.where((step >= low) & (step <= high), step, (low + high) / 2)
            done = np.abs(new - x) <= NEAR * np.abs(x)
            x = new
            if done.all():
                break
    return x


def _others(falls: Floats, own: Ints) -> Floats:
    result = falls.copy()
    result[np.arange(len(own)), own] = np.inf
    return result
