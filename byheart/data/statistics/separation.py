"""How far apart the tokens of a dataset are."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Separation:
    """The largest norm of a token vector and the smallest distance between two of them.

    r and delta of kajitsuka2025, Assumption 4.1; None where it is infinite.
    """

    radius: float | None
    distance: float | None


def separation(vectors: NDArray) -> Separation:
    """The separation of vectors [V, d], which are sorted; a word is its number, counted from 1.

    Nearest neighbours are found in float64, and differences taken in the vectors' own type, so that
    large integers which float64 would merge still differ. In one dimension the order is enough.
    """
    radius, distance = _norms(vectors.astype(np.float64)).max(), math.inf
    if len(vectors) > 1:
        one, other = vectors[1:], vectors[:-1]
        if vectors.shape[1] > 1:
            from scipy.spatial import cKDTree

            points = vectors.astype(np.float64)
            scale = np.abs(points).max()
            neighbours = cKDTree(points / scale).query(points / scale, k=2)[1]
            own = np.arange(len(vectors))
            nearest = np.where(neighbours[:, 0] == own, neighbours[:, 1], neighbours[:, 0])
            one, other = vectors, vectors[nearest]
        if vectors.dtype.kind == "f":
            differences = np.abs(one - other)
        else:  # the unsigned difference of integers cannot overflow
            larger, smaller = np.maximum(one, other), np.minimum(one, other)
            differences = (larger.view(np.uint64) - smaller.view(np.uint64)).astype(np.float64)
        distance = _norms(differences).min()
    return Separation(*(float(x) if math.isfinite(x) else None for x in (radius, distance)))


def _norms(vectors: NDArray) -> NDArray:
    """Euclidean norms, scaled so that squares neither overflow nor vanish."""
    scale = np.abs(vectors).max(axis=1, keepdims=True)
    scale[scale == 0] = 1
    with np.errstate(over="ignore"):
        return scale[:, 0] * np.sqrt(((vectors / scale) ** 2).sum(axis=1))
