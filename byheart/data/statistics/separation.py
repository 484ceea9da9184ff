"""How far apart the tokens of a dataset are."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

COMPARED = 200_000_000  # differences of coordinates that are computed, at most
BLOCK = 4_000_000  # at once


@dataclass(frozen=True)
class Separation:
    """The largest norm and least distance of vectors (kajitsuka2025, Assumption 4.1)."""

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
    ratios = [[x.as_integer_ratio() for x in row] for row in vectors.tolist()]
    unit = max(q for row in ratios for _, q in row)  # all are powers of two
    rows = [[p * (unit // q) for p, q in row] for row in ratios]
    norms = [sum(x * x for x in row) for row in rows]
    largest = max(range(len(rows)), key=norms.__getitem__)
    pairs: Iterable[tuple[int, int]] | None
    if vectors.shape[1] == 1:
        pairs = pairwise(sorted(range(len(rows)), key=rows.__getitem__))
    else:
        pairs = _nearest_pairs(vectors)
    if pairs is None:
        return None
    apart = (
        (sum((x - y) ** 2 for x, y in zip(rows[i], rows[j], strict=True)), min(i, j), max(i, j))
        for i, j in pairs
    )
    distance, *nearest = min(apart, default=(None, 0, 0))
    found = None if distance is None else Fraction(distance, unit * unit)
    one, other = nearest
    return Exact(Fraction(norms[largest], unit * unit), largest, found, (one, other))


def _nearest_pairs(vectors: NDArray) -> list[tuple[int, int]] | None:
    """Pairs that include the nearest one; None if there are too many to compare.

    Of numbers that doubles hold, the sum of d squared differences has a relative error below
    (d + 2) 2^-52 in doubles, as none of them overflows and their sum is not too small. So the
    nearest pair is among those within (d + 2) 2^-50 of the smallest sum.
    """
    count, d = vectors.shape
    points = vectors.astype(np.float64)
    held = vectors.dtype.kind == "f" or np.abs(vectors).max() <= 2**53
    if count * count * d > COMPARED or not held or np.abs(points).max() > 1e150:
        return None
    found: list[tuple[float, int, int]] = []
    least, slack = math.inf, 1 + (d + 2) * 2.0**-50
    step = max(1, BLOCK // (count * d))
    for start in range(0, count, step):
        block = points[start : start + step]
        sums = ((block[:, None] - points[None, start:]) ** 2).sum(axis=2)
        sums[np.tril_indices(len(block), 0, sums.shape[1])] = math.inf  # each pair once
        least = min(least, float(sums.min()))
        for i, j in np.argwhere(sums <= least * slack).tolist():
            found.append((float(sums[i, j]), start + i, start + j))
    if least < 1e-280:
        return None
    return [(i, j) for value, i, j in found if value <= least * slack] if count > 1 else []
