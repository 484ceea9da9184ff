"""The logits that a decoder must give, for distributions with zeros.

A softmax is never zero. A token that does not follow a context gets the logit 0, one that follows
with probability p the logit L + log p. If s of w tokens follow, the divergence from the target is

    log(1 + (w - s) exp(-L)),

because the softmax divides by exp(L) + (w - s) what it should divide by exp(L). So a gap names a
floor, L = log((w - 1) / (exp(gap) - 1)) (madden2024 has targets without zeros: Lemma 2 speaks of an
infimum that is not attained).

Logits are rounded to multiples of 2**-36: sums of their differences are then exact in doubles, in
any order, as long as their absolute values add up to less than 2**17. The rounding costs a
divergence below (2**-36)**2 / 8 (Hoeffding's lemma), 3e-23 nats.
"""

import math
from dataclasses import dataclass

import numpy as np

from ..data.dataset import Ints
from ..data.targets import Floats, Targets
from ..errors import ByheartError

GRID = 2.0**-36
SLACK = 2.0**-20  # of the floor: what bounds and tails of neurons may add, relative to the gap
SMALLEST_GAP, LARGEST_GAP = 1e-15, 10.0  # nats


@dataclass(frozen=True, eq=False)
class Logits:
    """Wanted logits, 0 where none is named."""

    row: Ints  # the context of each entry, increasing
    token: Ints  # its token
    value: Floats  # its logit, a multiple of GRID


def check_gap(gap: float) -> None:
    """Refuse a gap that doubles cannot keep, or that means nothing."""
    if not SMALLEST_GAP <= gap <= LARGEST_GAP:
        raise ByheartError(
            f"`gap` must be a number of nats from {SMALLEST_GAP:g} (float64 cannot reach less) to "
            f"{LARGEST_GAP:g}, not {gap:g}."
        )


def floor(gap: float, vocabulary: int) -> float:
    """The logit L of a certain token, above 0 for all others, that keeps the gap."""
    return math.log((vocabulary - 1) / math.expm1(gap)) + SLACK


def wanted(targets: Targets, gap: float) -> Logits:
    """The logits whose softmax is within the gap of every target."""
    above = floor(gap, len(targets.vocabulary))
    value = np.ceil((above + np.log(targets.probabilities)) / GRID) * GRID
    row = np.repeat(np.arange(len(targets)), targets.support)
    return Logits(row, targets.following.astype(np.int64), value)


def reordered(logits: Logits, rank: Ints) -> Logits:
    """The same logits with context i in the place rank[i]."""
    row = rank[logits.row]
    order = np.argsort(row, kind="stable")
    return Logits(row[order], logits.token[order], logits.value[order])
