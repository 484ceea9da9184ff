"""What theorem_2 of byheart/theory/dana2024/near_tables.py is compared with: a sharper bound."""

import math

from byheart.theory.assumptions import check
from byheart.theory.dana2024.near_tables import NearLookUp, look_up


def coherence(vocabulary, dimension):
    """c such that N unit vectors exist with inner products within c: sqrt(2 log(N (N - 1)) / d).

    A cap {u: <u, v> >= c} has at most exp(-d c^2 / 2) of the sphere. There are N (N - 1) / 2 pairs
    with two caps each, so that for any larger c some vectors avoid them all; the sphere is compact.
    """
    check(vocabulary=(vocabulary, 2), dimension=(dimension, 1))
    return min(1.0, math.sqrt(2 * math.log(vocabulary * (vocabulary - 1)) / dimension))


def look_up_bound(vocabulary, dimension, contexts, within=None):
    """The bound for unit vectors with inner products within c: a factor (1 + c) / (1 - c).

    By default c is coherence(), so that it is finite from d = 2 log(N (N - 1)) on and not from
    128 log(N + 1): lambda <= log((N - 1) / (e^h - 1)) / (1 - c) by eq. (6), as
    (W_j - W_g) W_g <= c - 1, and the divergence is at most lambda q (1 + c).
    """
    c = coherence(vocabulary, dimension) if within is None else within
    if c >= 1:
        return math.inf
    terms = (weight * look_up(vocabulary, q, h) for weight, q, h, _ in contexts)
    return math.fsum(terms) * (1 + c) / (1 - c)


def near_look_up(probabilities, token, weight=1.0):
    """The facts of a distribution whose look-up table has `token`."""
    others = [p for i, p in enumerate(probabilities) if i != token]
    q = math.fsum(others)
    h = -math.fsum(p * math.log(p) for p in probabilities if p)
    distance = math.fsum(abs(p / q - 1 / len(others)) for p in others) if q else 0.0
    return NearLookUp(weight, q, h, distance)
