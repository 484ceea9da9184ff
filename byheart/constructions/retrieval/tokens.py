"""Token numbers of sequences for constructions that compare tokens: one whole number per column.

A column, a token or the padding, with its position where order counts, becomes a whole number from
1 on by E_in; different columns have different numbers. The padding may occur several times.
"""

import random
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...data.contexts import Contexts
from ...data.dataset import Dataset
from ...errors import AssumptionError
from ...exact.network import Input, Linear, matrix, vector
from ..base import input_of
from .problem import sums_of

PATIENCE = 24


@dataclass(frozen=True, eq=False)
class Numbered:
    """The numbers of the columns of every context, its own (last) column last.

    weights, bias  of E_in, for the coordinates times `grain`
    rows           [contexts, columns] Python integers
    """

    spec: Input
    grain: int
    weights: tuple[int, ...]
    bias: int
    rows: NDArray
    labels: NDArray[np.int64]

    def embed(self, width: int) -> Linear:
        """E_in: the number in lane 0, the other lanes 0."""
        weights = {(0, i): w * self.grain for i, w in enumerate(self.weights)}
        spec = self.spec
        return Linear(
            matrix(width, spec.coordinates, weights), vector({0: self.bias}, width), "embed"
        )

    @property
    def parameters(self) -> int:
        return sum(w != 0 for w in self.weights) + (self.bias != 0)


def numbered(dataset: Dataset, contexts: Contexts, positions: bool, seed: int) -> Numbered:
    """The columns in numbers; refused where a sequence has one token twice (A3)."""
    spec = input_of(dataset, positions)
    seen, sums = sums_of(dataset, contexts, spec)
    index = sums.indices[sums.which]
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
                f"A3 fails: sequence {sequence + 1} has one token twice; use positions=True, which "
                "makes them different, or a method that sees multisets, such as hash-fold-retrieve."
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
        unit = max(1, int(max(whole[:, 1])) + 1)
        return unit, 1
    size = 1.0
    while True:
        for _ in range(PATIENCE):
            weights = [pick.randint(-int(size), int(size)) for _ in range(d)]
            if len(set(whole @ np.array(weights, dtype=object))) == len(whole):
                return tuple(weights)
        size *= 1.5
