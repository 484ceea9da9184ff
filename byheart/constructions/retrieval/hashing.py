"""From a context to one integer: project each token, fold it, add up, fold again.

Folding v -> v - 3 relu(v - t) at two thirds of the range [0, 3t/2] maps it onto [0, t] with slopes
1 and -2: it keeps integers and mixes their digits. A context's number is
H = phi(own) + 2 sum(phi): its own (last) token is the only one with an odd coefficient; a deep
set's is sum(phi). With an embedding, a token's number is drawn instead of projected. All of it is
exact integer arithmetic on the distinct columns; nothing here is a guarantee, the search simply
tries another seed when two contexts with different labels meet.
"""

import random
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ...data.arrays import BLOCK, Windows
from ...exact.batch import Columns
from ...machine.kernels import njit

Ints = NDArray[np.int64]
SAFE = 1 << 61  # sums stay below 2^63


@dataclass(frozen=True, eq=False)
class Sums:
    """One integer per column to one per context: phi(own) + 2 sum(phi), or sum(phi)."""

    # [sequences, columns] column numbers; the columns themselves where sequences are windows
    indices: NDArray[np.signedinteger] | Columns
    which: Ints  # [contexts] its sequence
    own: Ints | None  # [contexts] the number of its own column, None if it does not count
    total: int  # the largest sum of coefficients
    # whether all sums of coefficients are equal: then a constant can be taken off each phi
    level: bool

    def __call__(self, phi: Ints) -> Ints:
        sums, own = np.empty(len(self.which), np.int64), self.own
        if own is None:
            phi, own = np.append(phi, 0), self.which[:0]  # no column counts 0
        if isinstance(self.indices, Columns):
            _add_windows(phi, *self._windows(self.indices), own, sums)
        else:
            _add_up(phi, self.indices, self.which, own, sums)
        return sums

    def _windows(self, seen: Columns) -> tuple:
        """For each context, where its tokens stand among those of the text, and how many."""
        ids = seen.batch.ids
        assert isinstance(ids, Windows)
        begins, lengths = ids.begins[self.which], np.diff(ids.starts)[self.which]
        numbers, stride = seen.numbers, seen.places
        if numbers is None:
            numbers, stride = np.arange(len(seen.vectors), dtype=np.int32), 0
        padding = len(seen.batch.vectors) * max(1, stride)
        return numbers, ids.values, begins, lengths, seen.spec.columns, stride, padding

    @property
    def members(self) -> NDArray[np.signedinteger]:
        """[sequences, columns] column numbers, written out."""
        if not isinstance(self.indices, Columns):
            return self.indices
        seen = self.indices
        return seen.index(slice(0, len(seen.batch))).astype(np.int32)


@dataclass(frozen=True, eq=False)
class Hash:
    """Weights and thresholds, in units of the integer hash."""

    weights: tuple[int, ...]  # of the coordinates; with drawn numbers, of the position if any
    bias: int  # makes every projection non-negative
    drawn: dict[int, int] | None  # the number of each token id, if they are drawn
    token_thresholds: tuple[int, ...]
    offset: int  # subtracted from every folded token, so that the sums start near 0
    mix_thresholds: tuple[int, ...]
    tokens: Ints  # [columns] folded tokens, before the offset
    contexts: Ints  # [contexts] H


def hash_contexts(
    columns: NDArray,
    sums: Sums,
    top: int,
    token_folds: int,
    mix_folds: int,
    rng: random.Random,
    draw: bool = False,
) -> Hash | None:
    """A random hash with 0 <= H < top, or None if the tokens need more token folds to fit."""
    mix = fold_thresholds(top - 1, mix_folds)
    room = _range(top - 1, mix_folds) + 1
    shares = [rng.uniform(0.6, 1) for _ in range(columns.shape[1])]
    seed = rng.getrandbits(62) if draw else 0
    # where the number of tokens is not given, no token may count 0
    lift = 0.0 if sums.level or draw else rng.uniform(0.1, 0.3)
    spread, total = 1.0, sums.total
    for _ in range(4):
        largest = int(Fraction(room) / Fraction(spread) / total) - 1
        if largest < 1 or largest * total >= SAFE:
            return None
        reach = _range(largest, token_folds)
        if draw:
            weights, bias, drawn, values = _draw(columns, reach, shares, seed)
        else:
            above, drawn = int(Fraction(reach) * Fraction(lift)), None
            weights, bias, values = _project(columns, reach, above, shares)
        if 0 in weights:
            return None
        thresholds = fold_thresholds(largest, token_folds)
        tokens = np.empty(len(values), np.int64)
        for start in range(0, len(values), BLOCK):
            tokens[start : start + BLOCK] = _fold(values[start : start + BLOCK], thresholds)
        contexts = sums(tokens)
        low, high = int(contexts.min()), int(contexts.max())
        low = low if sums.level else 0
        offset = low // total if spread < 1 else 0
        contexts = contexts - offset * total
        used = (high - offset * total + 1) / room
        if used <= 1 and (spread < 1 or high - low > 0.6 * room or high == low):
            break
        # a concentrated sum wastes the range: widen it; one that came out too wide: narrow it
        spread *= 1.02 * (used if spread < 1 else (high - low + total) / room)
    else:
        return None
    contexts = _fold(contexts, mix)
    assert 0 <= contexts.min() and contexts.max() < top
    return Hash(weights, bias, drawn, thresholds, offset, mix, tokens, contexts)


@njit
def _add_up(phi, indices, which, own, sums):
    for i in range(which.shape[0]):
        total = np.int64(0)
        for j in range(indices.shape[1]):
            total += phi[indices[which[i], j]]
        sums[i] = 2 * total + phi[own[i]] if own.shape[0] else total


@njit
def _add_windows(phi, numbers, values, begins, lengths, columns, stride, padding, own, sums):
    """The same for windows of a text: numbers[value * stride + position] is a token's column."""
    step = 1 if stride else 0
    before = np.zeros(columns + 1, np.int64)  # what so many columns of padding add up to
    for j in range(columns - lengths.min()):
        before[j + 1] = before[j] + phi[numbers[padding + j * step]]
    for i in range(begins.shape[0]):
        missing = columns - lengths[i]
        total = before[missing]
        for j in range(lengths[i]):
            token = np.int64(values[begins[i] + j])
            if step:
                token = token * stride + missing + j
            total += phi[numbers[token]]
        sums[i] = 2 * total + phi[own[i]] if own.shape[0] else total


def conflicts(hashes: Ints, labels: NDArray) -> int:
    """Neighbours, in the order of the hashes, with equal hash and different labels."""
    order = np.argsort(hashes, kind="stable")
    hashes, labels = hashes[order], labels[order]
    return int(((hashes[1:] == hashes[:-1]) & (labels[1:] != labels[:-1])).sum())


def fewest_folds(columns: NDArray, total: int, top: int) -> int:
    """Token folds without which the coordinates do not fit: each takes a third off the range."""
    size = max(_extents(columns)[1]) * columns.shape[1] * 2  # a share is at least 0.6
    last, folds = max(1, top // total - 1), 0
    while last < size:
        last, folds = last * 3 // 2 + 1, folds + 1
    return folds


def fold_thresholds(last: int, folds: int) -> tuple[int, ...]:
    """Thresholds, first fold first, after which every value is in [0, last]."""
    return tuple(_range(last, more) for more in reversed(range(folds)))


def _range(last: int, folds: int) -> int:
    """The largest value that `folds` folds bring into [0, last]."""
    for _ in range(folds):
        last = last * 3 // 2
    return last


def _fold(values: NDArray, thresholds: tuple[int, ...]) -> NDArray:
    for threshold in thresholds:
        values = values - 3 * np.maximum(values - threshold, 0)
    return values


def _project(
    columns: NDArray, largest: int, above: int, shares: list[float]
) -> tuple[tuple[int, ...], int, NDArray]:
    """Integer weights and a bias that send every column into [above, largest], and its value.

    The weights are in random proportion to the range and to each other. A single weight that filled
    the range exactly would make every folded token a multiple of it, and sums of such tokens meet.
    Values are computed in 64 bits where that is safe, else in Python integers.
    """
    low, extent = _extents(columns)
    weights = tuple(
        int(Fraction(largest - above) * Fraction(share) / (len(shares) * size))
        for share, size in zip(shares, extent, strict=True)
    )
    bias = above - sum(w * m for w, m in zip(weights, low, strict=True))
    reach = bias + sum(
        w * max(abs(int(x)), abs(int(y)))
        for w, x, y in zip(weights, columns.min(axis=0), columns.max(axis=0), strict=True)
    )
    if columns.dtype != object and 3 * reach < SAFE:
        return weights, bias, columns @ np.array(weights, dtype=np.int64) + bias
    total = np.array([bias], dtype=object)
    for weight, column in zip(weights, columns.T, strict=True):
        total = total + column.astype(object) * weight
    return weights, bias, total


def _draw(
    columns: NDArray, largest: int, shares: list[float], seed: int
) -> tuple[tuple[int, ...], int, dict[int, int], NDArray]:
    """A number from 1 to `largest` for each token id.

    With positions, half of the range is theirs; folds must then mix the two.
    """
    ids, place = np.unique(columns[:, 0].astype(np.int64), return_inverse=True)
    last = int(columns[:, 1].max()) if columns.shape[1] == 2 else 0
    room = largest // 2 if columns.shape[1] == 2 else largest
    random = np.random.default_rng(seed).integers(0, 1 << 62, len(ids))
    if columns.shape[1] == 2 and 3 * largest >= SAFE:  # too long to fold in 64 bits
        numbers = 1 + (random.astype(object) * room >> 62)
    else:
        numbers = 1 + random % max(1, room)
    weights = (int(room * shares[1]) // max(1, last),) if columns.shape[1] == 2 else ()
    values = numbers[place]
    if weights:
        values = values + weights[0] * columns[:, 1].astype(numbers.dtype)
    return weights, 0, dict(zip(ids.tolist(), numbers.tolist(), strict=True)), values


def _extents(columns: NDArray) -> tuple[list[int], list[int]]:
    """The smallest coordinates (0 if none is negative), and the room that each coordinate takes."""
    low = [min(0, int(x)) for x in columns.min(axis=0)]
    return low, [max(1, int(x) - m) for x, m in zip(columns.max(axis=0), low, strict=True)]
