"""From a context to one integer: project each token, fold it, add up, fold again.

Folding v -> v - 3 relu(v - t) at two thirds of the range [0, 3t/2] maps it onto [0, t] with slopes
1 and -2: it keeps integers and mixes their digits. A context's number is
H = phi(last) + 2 sum(phi): the last token is the only one with an odd coefficient. All of it is
exact integer arithmetic on the distinct columns; nothing here is a guarantee, the search simply
tries another seed when two contexts with different labels meet.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
SAFE = 1 << 61  # sums stay below 2^63


@dataclass(frozen=True, eq=False)
class Hash:
    """Weights and thresholds, in units of the integer hash."""

    weights: tuple[int, ...]  # one a coordinate
    bias: int  # makes every projection non-negative
    token_thresholds: tuple[int, ...]
    offset: int  # subtracted from every folded token, so that the sums start near 0
    mix_thresholds: tuple[int, ...]
    tokens: Ints  # [columns] folded tokens, before the offset
    contexts: Ints  # [contexts] H


def hash_contexts(
    columns: NDArray,
    sums: Callable[[Ints], Ints],
    length: int,
    top: int,
    token_folds: int,
    mix_folds: int,
    rng: random.Random,
) -> Hash | None:
    """A random hash with 0 <= H < top, or None if the tokens need more token folds to fit.

    columns   [columns, coordinates] integers
    sums      maps one integer a column to phi(last) + 2 sum(phi) a context
    """
    mix = _thresholds(top - 1, mix_folds)
    room = _range(top - 1, mix_folds) + 1
    shares = [rng.uniform(0.6, 1) for _ in range(columns.shape[1])]
    spread = 1.0
    for _ in range(4):
        largest = int(Fraction(room) / Fraction(spread) / (2 * length + 1)) - 1
        if largest < 1 or largest * (2 * length + 1) >= SAFE:
            return None
        weights, bias = _projection(columns, _range(largest, token_folds), shares)
        if 0 in weights:
            return None
        thresholds = _thresholds(largest, token_folds)
        tokens = _fold(_project(columns, weights, bias), thresholds, 3).astype(np.int64)
        contexts = sums(tokens)
        low, high = int(contexts.min()), int(contexts.max())
        offset = low // (2 * length + 1) if spread < 1 else 0
        contexts = contexts - offset * (2 * length + 1)
        used = (high - offset * (2 * length + 1) + 1) / room
        if used <= 1 and (spread < 1 or high - low > 0.6 * room or high == low):
            break
        # a concentrated sum wastes the range: widen it; one that came out too wide: narrow it
        spread *= 1.02 * (used if spread < 1 else (high - low + 2 * length + 1) / room)
    else:
        return None
    contexts = _fold(contexts, mix, 3)
    assert 0 <= contexts.min() and contexts.max() < top
    return Hash(weights, bias, thresholds, offset, mix, tokens, contexts)


def conflicts(hashes: Ints, labels: NDArray) -> int:
    """Neighbours with equal hash and different labels."""
    order = np.argsort(hashes, kind="stable")
    same = hashes[order][1:] == hashes[order][:-1]
    return int((same & (labels[order][1:] != labels[order][:-1])).sum())


def fewest_folds(columns: NDArray, length: int, top: int) -> int:
    """Token folds without which the coordinates do not fit: each takes a third off the range."""
    size = max(_extents(columns)[1]) * columns.shape[1] * 2  # a share is at least 0.6
    last, folds = max(1, top // (2 * length + 1) - 1), 0
    while last < size:
        last, folds = last * 3 // 2 + 1, folds + 1
    return folds


def _thresholds(last: int, folds: int) -> tuple[int, ...]:
    """Thresholds, first fold first, after which every value is in [0, last]."""
    found = [last]
    for _ in range(folds - 1):
        found.append(found[-1] * 3 // 2)
    return tuple(found[::-1])[:folds] if folds else ()


def _range(last: int, folds: int) -> int:
    """The largest value that `folds` folds bring into [0, last]."""
    for _ in range(folds):
        last = last * 3 // 2
    return last


def _fold(values: NDArray, thresholds: tuple[int, ...], slope: int) -> NDArray:
    for threshold in thresholds:
        values = values - slope * np.maximum(values - threshold, 0)
    return values


def _projection(columns: NDArray, largest: int, shares: list[float]) -> tuple[tuple[int, ...], int]:
    """Integer weights and a bias that send every column into [0, largest].

    The weights are in random proportion to `largest` and to each other. A single weight that filled
    the range exactly would make every folded token a multiple of it, and sums of such tokens meet.
    """
    low, extent = _extents(columns)
    weights = tuple(
        int(Fraction(largest) * Fraction(share) / (len(shares) * size))
        for share, size in zip(shares, extent, strict=True)
    )
    return weights, -sum(w * m for w, m in zip(weights, low, strict=True))


def _extents(columns: NDArray) -> tuple[list[int], list[int]]:
    """The smallest coordinates (0 if none is negative), and the room that each coordinate takes."""
    low = [min(0, int(x)) for x in columns.min(axis=0)]
    return low, [max(1, int(x) - m) for x, m in zip(columns.max(axis=0), low, strict=True)]


def _project(columns: NDArray, weights: tuple[int, ...], bias: int) -> NDArray:
    """In 64 bits where that is safe, else in Python integers."""
    reach = bias + sum(
        w * max(abs(int(x)), abs(int(y)))
        for w, x, y in zip(weights, columns.min(axis=0), columns.max(axis=0), strict=True)
    )
    if columns.dtype != object and 3 * reach < SAFE:
        return columns @ np.array(weights, dtype=np.int64) + bias
    total = np.array([bias], dtype=object)
    for weight, column in zip(weights, columns.T, strict=True):
        total = total + column.astype(object) * weight
    return total
