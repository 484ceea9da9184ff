"""Theorem 2 of dana2024: how well encoders of a low dimension do on near look-up tables.

The encoder is E(t) = lambda(t) W_g(t), for vectors W_i that are nearly orthogonal, with lambda such
that log sum over j of exp(lambda (W_j - W_g) W_g) is the entropy h of the target, eq. (6). Its
divergence is then lambda times the sum over t of pi(t) (W_g - W_t) W_g. capacity.py has the
assumptions and departures.
"""

import math
from collections.abc import Iterable
from typing import NamedTuple

from ...errors import AssumptionError
from ..assumptions import check


class NearLookUp(NamedTuple):
    """The facts of a context that Theorem 2 needs."""

    weight: float  # probability of the context
    error: float  # q, the probability of the tokens other than g
    entropy: float  # h of the distribution, in nats
    distance: float = 0.0  # L1, of the distribution of the other tokens from uniform, at most 2


def theorem_2_constant(vocabulary: int, dimension: int) -> float:
    """C = sqrt(32 log(N + 1) / d): some W has all entries of W W^T - I within C.

    Far from the best: among N random unit vectors one pair has an inner product beyond c with a
    probability below N (N - 1) exp(-d c^2 / 2), so that sqrt(2 log(N (N - 1)) / d) is enough.
    """
    check(vocabulary=(vocabulary, 2), dimension=(dimension, 1))
    return math.sqrt(32 * math.log(vocabulary + 1) / dimension)


def theorem_2(vocabulary: int, dimension: int, contexts: Iterable[NearLookUp]) -> float:
    """The bound of d_KL(pi, L(N, S, d)) with its term in d_TV; infinite unless C < 1/2 (A4).

    With all entries of W W^T - I within C, (W_g - W_t) W_g is at most 1 + 2 C, and at least 1 - 2 C
    for t != g: the divergence is at most lambda q (1 + 2 C), and eq. (6) makes
    e^h - 1 <= (N - 1) e^(-lambda (1 - 2 C)). The paper's way by the uniform distribution costs
    C d_TV more, for nothing.
    """
    C = theorem_2_constant(vocabulary, dimension)
    if C >= 0.5:
        return math.inf
    return math.fsum(
        weight * look_up(vocabulary, q, h) * (1 + 2 * C + C * distance) / (1 - 2 * C)
        for weight, q, h, distance in contexts
    )


def look_up(vocabulary: int, q: float, h: float) -> float:
    """q log((N - 1) / (e^h - 1)), and 0 for a certain token: there lambda may be anything."""
    if not 0 <= q <= 1 or not 0 <= h <= math.log(vocabulary) * (1 + 1e-12):
        raise AssumptionError("errors must be probabilities, and entropies from 0 to log N (D5).")
    if q == 0:
        return 0.0
    return q * max(0.0, math.log((vocabulary - 1) / math.expm1(h))) if h else math.inf
