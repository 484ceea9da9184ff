"""How far apart the tokens of a dataset are."""

import math

import numpy as np
from numpy.typing import NDArray


def separation(vectors: NDArray) -> dict[str, float | None]:
    """The largest norm of a token vector and the smallest distance between two of them.

    r and delta of kajitsuka2025, Assumption 4.1. vectors [V, d] are sorted; a word is read as its
    number, counted from 1.
    """
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
