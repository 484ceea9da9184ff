"""Membership: can the items be told from non-members, items that the model has not seen?

Paper        carlini2019 (exposure), newcombe2006 and clopper1934 (intervals). The scores: yeom2018
             (loss), carlini2021 (zlib), shi2024 (min-k %), zhang2025 (min-k %++), carlini2022
             (offline LiRA, with one variance for all items), zarifzadeh2024 (RMIA: the likelihood
             over its mean under the references).
Statement    The AUC is the probability that a random item scores higher than a random non-member, a
             tie counting one half. The exposure of an item is log2 of the number of candidates
             minus log2 of its rank among them, by the model's own log-perplexity.
Guarantee    G1  The interval of an AUC has about its nominal coverage for independent items and
                 non-members, also where the two are told apart without an error: it is never a
                 single point.
             G2  A true positive rate is that of the lowest threshold that at most the stated share
                 of the given non-members exceeds. Its interval (exact, binomial) is of the items.
Departures   D1  Candidates of the exposure are the non-members and the item itself, not all of the
                 space that a canary was drawn from: an exposure is at most log2(non-members + 1).
                 Perplexities are per token, so that candidates may differ in length.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

LEVEL = 0.95
STEPS = 60  # of a bisection
FALSE_POSITIVES = (0.01, 0.001)


@dataclass(frozen=True)
class Rate:
    """The share of items found where at most a share `false` of non-members is taken for items.

    None where there are fewer non-members than `needs`, 1 / false: no threshold is known.
    """

    false: float
    true: float | None
    low: float | None
    high: float | None
    needs: int


@dataclass(frozen=True)
class Score:
    """How well one score tells items from non-members."""

    name: str
    auc: float
    low: float
    high: float
    rates: tuple[Rate, ...]


@dataclass(frozen=True, eq=False)
class Ranked:
    """The values of a score, the higher the more familiar."""

    name: str
    items: NDArray[np.float64]
    non_members: NDArray[np.float64]

    def judged(self, level: float = LEVEL) -> Score:
        auc, low, high = membership(self.items, self.non_members, level)
        found = tuple(rate(self.items, self.non_members, false) for false in FALSE_POSITIVES)
        return Score(self.name, auc, low, high, found)


def membership(
    items: NDArray, non_members: NDArray, level: float = LEVEL
) -> tuple[float, float, float]:
    """The AUC of two samples of scores, the higher the more familiar; its interval.

    >>> [round(x, 3) for x in membership(np.array([3, 2]), np.array([1, 2, 0]))]
    [0.917, 0.372, 0.995]
    """
    ordered = np.sort(non_members)
    below = np.searchsorted(ordered, items, side="left")
    ties = np.searchsorted(ordered, items, side="right") - below
    auc = float((below + ties / 2).sum() / (len(items) * len(non_members)))
    return auc, *interval(auc, len(items), len(non_members), level)


def interval(auc: float, items: int, non_members: int, level: float = LEVEL) -> tuple[float, float]:
    """All AUC t for which the one observed is within so many standard errors, if t were true.

    newcombe2006, method 5: the variance of Hanley and McNeil, with the mean of both sample sizes
    in place of each.
    """
    z, size = NormalDist().inv_cdf((1 + level) / 2), (items + non_members) / 2 - 1

    def far(t: float) -> bool:
        spread = 1 + size * (1 - t) / (2 - t) + size * t / (1 + t)
        return (auc - t) ** 2 > z * z * t * (1 - t) * spread / (items * non_members)

    def end(outside: float) -> float:
        inside = auc
        for _ in range(STEPS):
            middle = (inside + outside) / 2
            inside, outside = (inside, middle) if far(middle) else (middle, outside)
        return inside

    return end(0.0), end(1.0)


def rate(items: NDArray, non_members: NDArray, false: float) -> Rate:
    """The true positive rate at a false positive rate, with an interval of 95 %.

    >>> found = rate(np.arange(90, 100), np.arange(100), 0.05)
    >>> found.true, round(found.low, 3)
    (0.5, 0.187)
    """
    needs = round(1 / false)
    if len(non_members) < needs:
        return Rate(false, None, None, None, needs)
    threshold = np.sort(non_members)[::-1][math.floor(false * len(non_members) + 1e-9)]
    found = int((items > threshold).sum())
    return Rate(false, found / len(items), *binomial(found, len(items)), needs)


def binomial(found: float, of: int, level: float = LEVEL) -> tuple[float, float]:
    """The interval of Clopper and Pearson for a share.

    >>> [round(x, 4) for x in binomial(0, 10)]
    [0.0, 0.3085]
    """
    from scipy.special import betaincinv

    tail = (1 - level) / 2
    low = float(betaincinv(found, of - found + 1, tail)) if found else 0.0
    high = float(betaincinv(found + 1, of - found, 1 - tail)) if found < of else 1.0
    return low, high


def exposures(items: NDArray, non_members: NDArray) -> NDArray[np.float64]:
    """[N] log2(candidates) - log2(rank) of each item; the rank counts non-members as high."""
    higher = len(non_members) - np.searchsorted(np.sort(non_members), items, side="left")
    return math.log2(len(non_members) + 1) - np.log2(1 + higher)


def judged(ranked: Sequence[Ranked]) -> tuple[tuple[Score, ...], Score]:
    """Every score, and the strongest with an interval that allows for having chosen it.

    Bonferroni: at the level 1 - 0.05 / m, m intervals hold together in 95 % of all cases.
    """
    scores = tuple(one.judged() for one in ranked)
    best = max(range(len(scores)), key=lambda i: scores[i].auc)
    return scores, ranked[best].judged(1 - (1 - LEVEL) / len(ranked))


def beyond(
    saved: Mapping[str, NDArray], tokens: Mapping[str, NDArray]
) -> tuple[float, float | None]:
    """Bits that items save beyond what as many tokens of non-members save, and its standard error.

    n (R - r), of n tokens and the rates R and r of both: each is a ratio of sums, whose variance is
    that of the residuals s_i - R n_i.
    """
    tokens_of = float(tokens["items"].sum())
    rates, spread = [], 0.0
    for name in ("items", "non_members"):
        n, total = len(saved[name]), float(tokens[name].sum())
        rates.append(float(saved[name].sum()) / total)
        residuals = saved[name] - rates[-1] * tokens[name]
        spread += n / (n - 1) * float((residuals**2).sum()) / total**2 if n > 1 else math.nan
    error = None if math.isnan(spread) else tokens_of * math.sqrt(spread)
    return tokens_of * (rates[0] - rates[1]), error
