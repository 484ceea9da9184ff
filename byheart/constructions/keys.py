"""The reader that constructions after related work share: every context becomes one whole number.

The papers on feed-forward networks read one vector. A single token is projected: d weights and a
bias. A sequence is read as hash-fold-retrieve reads it: E_in, folds of each token, one attention
layer, which leaves phi(own) + 2 sum(phi) in the last column. Different contexts have different
numbers, their keys; a search finds them, and the numbers are checked.

Constructions that compare tokens have one whole number per column instead: a token or the padding,
with its position where order counts, becomes a whole number from 1 on by E_in; different columns
have different numbers. The padding may occur several times.
"""

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..data.contexts import Contexts
from ..data.dataset import Dataset
from ..errors import AssumptionError, ByheartError
from ..exact.network import Input, Layer, Linear, matrix, vector
from ..gadgets.blocks import feed_forward, fold
from .base import input_of
from .retrieval.hashing import Hash, fewest_folds, hash_contexts
from .retrieval.network import mixing_layers
from .retrieval.problem import sums_of

WIDEST = 1 << 20  # coordinates of single tokens beyond this are folded as well
PATIENCE, GROWTH = 6, 1.25  # draws before keys may be longer, and how much
ATTEMPTS = 600
DRAWS = 24  # of weights before they may be longer


@dataclass(frozen=True, eq=False)
class Reading:
    """What a network reads, and the whole number, from 0 on, that it makes of each context."""

    spec: Input
    grain: int  # keys were found for the input's coordinates times this power of two
    hashed: Hash
    mixing: str  # where columns meet: "uniform" or "hard"; "none" for single tokens
    keys: NDArray[np.int64]  # [contexts] different ones
    labels: NDArray[np.int64]  # [contexts]
    tries: int

    def layers(self, width: int) -> Iterator[Layer]:
        """The layers that leave the key in lane 0 of the last column, other lanes 0."""
        hashed, folds = self.hashed, self.hashed.token_thresholds
        weights = {(0, i): w * self.grain for i, w in enumerate(hashed.weights)}
        bias = vector({0: hashed.bias - (0 if folds else hashed.offset)}, width)
        yield Linear(matrix(width, self.spec.coordinates, weights), bias, "embed")
        blocks = [fold("token hash", "v", threshold, 3) for threshold in folds]
        if blocks and hashed.offset:
            blocks[-1] = replace(blocks[-1], constants={"v": -hashed.offset})
        lanes = {"v": 0, **{f"lane {i}": i for i in range(1, width)}}
        yield from (feed_forward(block, lanes) for block in blocks)
        if self.mixing != "none":
            yield from mixing_layers(self.mixing, self.spec, width, 0)


def reading(data: Dataset, contexts: Contexts, positions: bool, mixing: str, seed: int) -> Reading:
    """The shortest keys that the search finds."""
    single = data.length == 1
    spec = input_of(data, positions and not single)
    seen, sums = sums_of(data, contexts, spec)
    assert sums.own is not None
    labels, grain = data.labels[contexts.first].astype(np.int64), 1 << -seen.exponent
    points = seen.vectors[sums.own]
    if single and max(abs(int(points.min())), abs(int(points.max()))) <= WIDEST:
        hashed, tries = _line(points.astype(np.int64), random.Random(seed))
        return Reading(spec, grain, hashed, "none", hashed.contexts, labels, tries)
    if single:
        sums = replace(sums, indices=sums.own[:, None], which=np.arange(len(labels)), own=None)
        sums, mixing = replace(sums, total=1), "none"
    padded = spec.positions or int(np.diff(seen.batch.starts).min()) < spec.length
    columns = seen.vectors if padded else seen.vectors[:-1]
    count, longer = len(labels), 0
    for attempt in range(ATTEMPTS):
        top = int(max(64, count**2 / 6) * GROWTH**longer)
        few = max(1, round(1.2 * math.log2(count + 1)) - 1) + longer // 2
        folds = fewest_folds(columns, sums.total, top) + few
        found = hash_contexts(columns, sums, top, folds, 0, random.Random(f"{seed}/{attempt}"))
        if found is not None and len(np.unique(found.contexts)) == count:
            return Reading(spec, grain, found, mixing, found.contexts, labels, attempt + 1)
        longer += attempt % PATIENCE == PATIENCE - 1
    raise ByheartError(
        f"no hash separated all {count} contexts within {ATTEMPTS} attempts; try another `seed`."
    )


def _line(points: NDArray[np.int64], pick: random.Random) -> tuple[Hash, int]:
    """Small whole weights whose products with the points differ, from 0 on."""
    count, d = points.shape
    size, tries = max(1.0, count * count / 4 / max(1, int(np.ptp(points))) / d**0.5), 0
    while True:
        for _ in range(1 if d == 1 else 4 * PATIENCE):
            tries += 1
            largest = max(1, int(size))
            weights = [1] if d == 1 else [pick.randint(-largest, largest) for _ in range(d)]
            keys = points @ np.array(weights, np.int64)
            if len(np.unique(keys)) == count:
                low = int(keys.min())
                hashed = Hash(tuple(weights), -low, None, (), 0, (), points[:0, 0], keys - low)
                return hashed, tries
        size *= 1.25


@dataclass(frozen=True, eq=False)
class Numbered:
    """The numbers of the columns of every context, its own (last) column last."""

    spec: Input
    grain: int
    weights: tuple[int, ...]  # of E_in, for the coordinates times `grain`
    bias: int  # of E_in
    rows: NDArray  # [contexts, columns] Python integers
    labels: NDArray[np.int64]

    def embed(self, width: int) -> Linear:
        weights = {(0, i): w * self.grain for i, w in enumerate(self.weights)}
        embedding = matrix(width, self.spec.coordinates, weights)
        return Linear(embedding, vector({0: self.bias}, width), "embed")


def numbered(dataset: Dataset, contexts: Contexts, positions: bool, seed: int) -> Numbered:
    """The columns in numbers; refused where a sequence has one token twice (A3)."""
    spec = input_of(dataset, positions)
    seen, sums = sums_of(dataset, contexts, spec)
    index = sums.members[sums.which]
    used, places = np.unique(index, return_inverse=True)
    points = seen.vectors[used]
    weights = _weights(points, spec, random.Random(seed))
    values = points.astype(object) @ np.array(weights, dtype=object)
    bias = 1 - int(min(values))
    rows = (values + bias)[places.reshape(index.shape)]
    lengths = dataset.lengths[dataset.owner[contexts.first]]
    for row, length, where in zip(rows, lengths.tolist(), contexts.first.tolist(), strict=True):
        if len(set(row[len(row) - length :])) < length:
            sequence = int(dataset.owner[where])
            raise AssumptionError(
                f"A3 fails: sequence {sequence + 1} has one token twice; use `positions=True`, "
                "which makes them different, or a method that sees multisets, such as "
                "hash-fold-retrieve."
            )
    labels = dataset.labels[contexts.first].astype(np.int64)
    return Numbered(spec, 1 << -seen.exponent, weights, bias, rows, labels)


def _weights(points: NDArray, spec: Input, pick: random.Random) -> tuple[int, ...]:
    """Small whole weights for which all columns differ."""
    d = points.shape[1]
    if d == 1:
        return (1,)
    whole = points.astype(object)
    if d == 2 and spec.positions:  # the position as the last digit
        return max(1, int(max(whole[:, 1])) + 1), 1
    size = 1.0
    while True:
        for _ in range(DRAWS):
            weights = [pick.randint(-int(size), int(size)) for _ in range(d)]
            if len(set(whole @ np.array(weights, dtype=object))) == len(whole):
                return tuple(weights)
        size *= 1.5
