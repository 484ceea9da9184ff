"""What a dataset asks of a model: contexts, conflicts, entropy, separation, T_epsilon.

Paper        madden2024, Lemma 2 (entropy); dana2024, section 4 (T_epsilon).
Statement    No model has a smaller cross-entropy than the entropy of the empirical next-token
             distributions, summed over contexts with their counts.
Departures   D1  dana2024 defines T_epsilon with "greater than 1 - epsilon". We take "at least":
                 only so is T_0 the number of sequences that occur, as the same paragraph says.
"""

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from .contexts import Contexts, Tally, contexts, tally
from .dataset import Dataset, Ints
from .errors import ByheartError

EPSILONS = (0.0, 0.001, 0.01, 0.05, 0.1, 0.2, 0.5)


def statistics(dataset: Dataset, epsilons: Sequence[float] = EPSILONS) -> dict:
    """The answer of `byheart stats`. Entropies are in nats."""
    ordered = contexts(dataset, positions=True)
    multisets = contexts(dataset, positions=False)
    table = tally(dataset, ordered)
    seen = _totals(table, ordered)
    predictions = int(seen.sum())
    entropy = _entropy(table, seen)
    return {
        "sequences": len(dataset),
        "tokens": len(dataset.ids),
        "contexts": len(ordered),
        "multisets": len(multisets),
        "vocabulary": len(dataset.tokens),
        "labels": len(dataset.label_names),
        "conflicts": _conflicts(dataset, ordered, multisets),
        "best_accuracy": _most_seen(table, ordered) / predictions,
        "entropy": {"total": entropy, "per_token": entropy / predictions},
        "separation": _separation(dataset),
        "t_epsilon": [[epsilon, _t_epsilon(seen, epsilon)] for epsilon in epsilons],
        "skipped": dataset.skipped,
    }


def _conflicts(dataset: Dataset, ordered: Contexts, multisets: Contexts) -> dict[str, int]:
    conflicts = ordered.conflicts(dataset)
    return {
        "contexts": int(conflicts.sum()),
        "sequences": int(conflicts[ordered.group].sum()),
        "multisets": int(multisets.conflicts(dataset).sum()),
    }


def _totals(table: Tally, ordered: Contexts) -> Ints:
    """How often each context was seen."""
    totals = np.zeros(len(ordered), np.int64)
    np.add.at(totals, table.context, table.count)
    return totals


def _most_seen(table: Tally, ordered: Contexts) -> int:
    """The most predictions that answering one label a context can get right."""
    most = np.zeros(len(ordered), np.int64)
    np.maximum.at(most, table.context, table.count)
    return int(most.sum())


def _entropy(table: Tally, seen: Ints) -> float:
    """madden2024, the entropy H of Lemma 2: sum of c_i pi_i log(1 / pi_i), pi_i = count / c_i."""
    return float((table.count * np.log(seen[table.context] / table.count)).sum())


def _t_epsilon(seen: Ints, epsilon: float) -> int:
    """The fewest contexts that together have at least 1 - epsilon of all predictions (D1).

    Counts are integers, so it is enough to reach the next integer: no rounding is involved.
    """
    if not 0 <= epsilon <= 1:
        raise ByheartError(f"epsilon is a number from 0 to 1, not {epsilon!r}.")
    share = 1 - Fraction(repr(float(epsilon)))
    reached = np.cumsum(np.sort(seen)[::-1])
    wanted = math.ceil(share * int(reached[-1]))
    return int(np.searchsorted(reached, wanted)) + 1 if wanted else 0


def _separation(dataset: Dataset) -> dict[str, float | None]:
    """The largest norm of a token vector and the smallest distance between two of them.

    r and delta of kajitsuka2025, Assumption 4.1. A word is read as its number, counted from 1.
    """
    vectors = dataset.vectors
    radius = _norms(vectors.astype(np.float64)).max()
    distance = _norms(_nearest(vectors)).min() if len(vectors) > 1 else math.inf
    return {"radius": _finite(radius), "distance": _finite(distance)}


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _nearest(vectors: NDArray) -> NDArray:
    """For each vector the difference to its nearest neighbour.

    Neighbours are found in float64, and differences taken in the vectors' own type, so that large
    integers which float64 would merge still differ. In one dimension the order is enough.
    """
    if vectors.shape[1] == 1:
        return _differences(vectors[1:], vectors[:-1])
    from scipy.spatial import cKDTree

    points = vectors.astype(np.float64)
    scale = np.abs(points).max()
    neighbours = cKDTree(points / scale).query(points / scale, k=2)[1]
    own = np.arange(len(vectors))
    other = np.where(neighbours[:, 0] == own, neighbours[:, 1], neighbours[:, 0])
    return _differences(vectors, vectors[other])


def _differences(one: NDArray, other: NDArray) -> NDArray:
    """|one - other| as float64; for integers the unsigned difference cannot overflow."""
    if one.dtype.kind == "f":
        return np.abs(one - other)
    larger, smaller = np.maximum(one, other), np.minimum(one, other)
    return (larger.view(np.uint64) - smaller.view(np.uint64)).astype(np.float64)


def _norms(vectors: NDArray) -> NDArray:
    """Euclidean norms, scaled so that squares neither overflow nor vanish."""
    scale = np.abs(vectors).max(axis=1, keepdims=True)
    scale[scale == 0] = 1
    with np.errstate(over="ignore"):
        return scale[:, 0] * np.sqrt(((vectors / scale) ** 2).sum(axis=1))
