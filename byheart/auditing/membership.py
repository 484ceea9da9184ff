"""Membership: can the items be told from non-members, items that the model has not seen?

Paper        newcombe2006 (the interval), carlini2019 (exposure).
Statement    The AUC is the probability that a random item scores higher than a random non-member, a
             tie counting one half. The exposure of an item is log2 of the number of candidates
             minus log2 of its rank among them.
Guarantee    G1  The interval has about its nominal coverage for independent items and non-members,
                 also where the two are told apart without an error: it is never a single point.
Departures   D1  Candidates of the exposure are the non-members and the item itself, not all of the
                 space that a canary was drawn from: an exposure is at most log2(non-members + 1).
"""

import math

import numpy as np
from numpy.typing import NDArray

Z = 1.959963984540054  # 95 %
STEPS = 60  # of a bisection


def membership(items: NDArray, non_members: NDArray) -> tuple[float, float, float]:
    """The AUC of two samples of scores, the higher the more familiar; its interval of 95 %.

    >>> [round(x, 3) for x in membership(np.array([3, 2]), np.array([1, 2, 0]))]
    [0.917, 0.372, 0.995]
    """
    ordered = np.sort(non_members)
    below = np.searchsorted(ordered, items, side="left")
    ties = np.searchsorted(ordered, items, side="right") - below
    auc = float((below + ties / 2).sum() / (len(items) * len(non_members)))
    return auc, *interval(auc, len(items), len(non_members))


def interval(auc: float, items: int, non_members: int) -> tuple[float, float]:
    """All AUC t for which the one observed is within Z standard errors, if t were true.

    newcombe2006, method 5: the variance of Hanley and McNeil, with the mean of both sample sizes
    in place of each.
    """
    size = (items + non_members) / 2 - 1

    def far(t: float) -> bool:
        spread = 1 + size * (1 - t) / (2 - t) + size * t / (1 + t)
        return (auc - t) ** 2 > Z * Z * t * (1 - t) * spread / (items * non_members)

    def end(outside: float) -> float:
        inside = auc
        for _ in range(STEPS):
            middle = (inside + outside) / 2
            inside, outside = (inside, middle) if far(middle) else (middle, outside)
        return inside

    return end(0.0), end(1.0)


def exposures(items: NDArray, non_members: NDArray) -> NDArray[np.float64]:
    """[N] log2(candidates) - log2(rank) of each item; the rank counts non-members as high."""
    higher = len(non_members) - np.searchsorted(np.sort(non_members), items, side="left")
    return math.log2(len(non_members) + 1) - np.log2(1 + higher)
