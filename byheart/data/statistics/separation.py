"""How far apart the tokens of a dataset are."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

COMPARED = 1_000_000  # pairs of vectors that are compared exactly, at most


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


class Exact(NamedTuple):
    """The squares of radius and distance, as fractions, and which tokens have them."""

    radius: Fraction
    largest: int
    distance: Fraction | None  # None: there is one token
    nearest: tuple[int, int]


def exact_separation(vectors: NDArray) -> Exact | None:
    """The separation of vectors [V, d] without rounding; None if there are too many pairs.

    Vectors are put in the order of the coordinate that varies most. Two whose difference there is
    already as large as the smallest distance so far are not compared.
    """
    rows = [[Fraction(x) for x in row] for row in vectors.tolist()]
    norms = [sum((x * x for x in row), Fraction(0)) for row in rows]
    largest = max(range(len(rows)), key=norms.__getitem__)
    axis = int(np.ptp(vectors.astype(np.float64), axis=0).argmax())
    order = sorted(range(len(rows)), key=lambda i: rows[i][axis])
    best: Fraction | None = None
    nearest, compared = (0, 0), 0
    for place, i in enumerate(order):
        for j in order[place + 1 :]:
            if best is not None and (rows[j][axis] - rows[i][axis]) ** 2 >= best:
                break
            compared += 1
            if compared > COMPARED:
                return None
            pairs = zip(rows[i], rows[j], strict=True)
            distance = sum(((x - y) ** 2 for x, y in pairs), Fraction(0))
            if best is None or distance < best:
                best, nearest = distance, (min(i, j), max(i, j))
    return Exact(norms[largest], largest, best, nearest)
