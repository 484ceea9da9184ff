"""From counts to the answer of `byheart stats`, the same for labelled data and for a corpus.

Paper        madden2024, Lemma 2 (entropy); dana2024, section 4 (T_epsilon).
Statement    No model has a smaller cross-entropy than the entropy of the empirical next-token
             distributions, summed over contexts with their counts.
Departures   D1  dana2024 defines T_epsilon with "greater than 1 - epsilon". We take "at least":
                 only so is T_0 the number of sequences that occur, as the same paragraph says.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ...errors import ByheartError
from ..dataset import Ints

EPSILONS = (0.0, 0.001, 0.01, 0.05, 0.1, 0.2, 0.5)


@dataclass(frozen=True, eq=False)
class Histogram:
    """How many contexts are alike: each array has one entry for each kind, in any order.

    seen, contexts            `contexts` of them were seen `seen` times.
    whole, part, occurrences  `occurrences` times a context seen `whole` times was followed `part`
                              times by one of its labels, part < whole.
    """

    seen: Ints
    contexts: Ints
    whole: Ints
    part: Ints
    occurrences: Ints


@dataclass(frozen=True, eq=False)
class Summary:
    """All that the answer needs. right: predictions that one label a context can get right."""

    sequences: int
    tokens: int
    multisets: int
    vectors: NDArray
    labels: int
    conflicts: dict[str, int]
    right: int
    histogram: Histogram
    skipped: int


def answer(summary: Summary, separation: dict, epsilons: Sequence[float] = EPSILONS) -> dict:
    """The answer of `byheart stats`. Entropies are in nats."""
    histogram = summary.histogram
    predictions = int((histogram.seen * histogram.contexts).sum())
    entropy = _entropy(histogram)
    return {
        "sequences": summary.sequences,
        "tokens": summary.tokens,
        "contexts": int(histogram.contexts.sum()),
        "multisets": summary.multisets,
        "vocabulary": len(summary.vectors),
        "labels": summary.labels,
        "conflicts": summary.conflicts,
        "best_accuracy": summary.right / predictions,
        "entropy": {"total": entropy, "per_token": entropy / predictions},
        "separation": separation,
        "t_epsilon": [[epsilon, _t_epsilon(histogram, epsilon)] for epsilon in epsilons],
        "skipped": summary.skipped,
    }


def _entropy(histogram: Histogram) -> float:
    """madden2024, the entropy H of Lemma 2: sum of c_i pi_i log(1 / pi_i), pi_i = count / c_i.

    log1p keeps a probability close to 1 from cancelling. fsum rounds once, whatever the order: the
    number depends on the data and on nothing else.
    """
    whole, part = histogram.whole, histogram.part
    return math.fsum(histogram.occurrences * part * np.log1p((whole - part) / part))


def _t_epsilon(histogram: Histogram, epsilon: float) -> int:
    """The fewest contexts that together have at least 1 - epsilon of all predictions (D1).

    The contexts seen most often come first; of the last kind only as many as are needed. Counts are
    integers, so it is enough to reach the next integer: no rounding is involved.
    """
    if not 0 <= epsilon <= 1:
        raise ByheartError(f"epsilon is a number from 0 to 1, not {epsilon!r}.")
    order = np.argsort(-histogram.seen)
    seen, contexts = histogram.seen[order], histogram.contexts[order]
    reached = np.cumsum(seen * contexts)
    wanted = math.ceil((1 - Fraction(repr(float(epsilon)))) * int(reached[-1]))
    if wanted == 0:
        return 0
    kind = int(np.searchsorted(reached, wanted))
    before = int(reached[kind - 1]) if kind else 0
    return int(contexts[:kind].sum()) + math.ceil(Fraction(wanted - before, int(seen[kind])))
