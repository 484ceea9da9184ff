"""One hidden layer of slabs: about N / d of them, each through d points of one label.

Paper        baum1988, as cited, with ReLU units in place of thresholds.
Statement    N points of R^d in general position with two labels are memorised by one hidden layer
             of ceil(N / d) threshold units, with long weights.
Assumptions  A1  CONSISTENT
             A2  PADDED
Guarantee    G1  The output is the number of the sequence's label, exactly (checked, not only
                 argued).
             G2  For points in general position one slab for d points of each label but the
                 commonest, at most: three units and 3 (d + 2) parameters per slab, and d + 1 more.
Departures   D1  The paper's text was not at hand: the proof is ours. With whole numbers a plane
                 through d points is U x = D, and v = U x - D is 0 on it and at least 1 in size off
                 it: relu(v + 1) - 2 relu(v) + relu(v - 1) is 1 on it and 0 at the other points.
             D2  General position is not needed: a plane through points of one label must hold no
                 point of another. Where d points have no such plane, fewer are taken; points on a
                 line need one slab each (kajitsuka2025 cites ceil(N / d) for any set: see errata).
             D3  A sequence becomes one whole number by the reader of hash-fold-retrieve: d = 1, a
                 slab per sequence. Of more than 64 coordinates a slab looks at 64.
Notation     N points of dimension d.
"""

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ..data.contexts import Contexts
from ..data.dataset import Dataset
from ..exact.network import Layer, Linear, Number, Relu, matrix, vector
from .base import input_of
from .keyed import Hashed, Parts

Rows = list[tuple[tuple[Number, ...], Number, Number]]  # weights, bias, output weight of a unit


def hidden_layer(rows: Rows) -> Relu:
    """One unit for each row."""
    count, width = len(rows), len(rows[0][0])
    weights = {(i, c): w for i, (row, _, _) in enumerate(rows) for c, w in enumerate(row)}
    biases = vector({i: bias for i, (_, bias, _) in enumerate(rows)}, count)
    return Relu(matrix(count, width, weights), biases, "slabs")


@dataclass(frozen=True)
class Slabs(Hashed):
    """A network that reads points: single vectors as they are, sequences as their keys."""

    stages = {**Hashed.stages, "slabs": "Units that are 0 at all points but those on one plane."}

    def plan(self, keys: list[int], labels: list[int], classes: int) -> Iterable[Layer]:
        return self.cover(np.array(keys, np.int64)[:, None], np.array(labels), classes)

    @abstractmethod
    def cover(self, points: NDArray, labels: NDArray, classes: int) -> Iterable[Layer]:
        """From whole points to their labels."""

    def parts(self, dataset: Dataset, contexts: Contexts) -> Parts:
        if dataset.length > 1:
            return super().parts(dataset, contexts)
        from .retrieval.problem import sums_of  # numba is slow to import

        spec = input_of(dataset, False)
        seen, sums = sums_of(dataset, contexts, spec)
        points, d = seen.vectors[sums.own], seen.vectors.shape[1]
        scale = matrix(d, d, {(i, i): 1 << -seen.exponent for i in range(d)})
        labels = dataset.labels[contexts.first].astype(np.int64)
        plan = self.cover(points, labels, len(dataset.label_names))
        return spec, 1, (Linear(scale, vector({}, d), "embed"), *plan)


@dataclass(frozen=True)
class Baum(Slabs):
    name = "baum1988"

    def cover(self, points: NDArray, labels: NDArray, classes: int) -> Iterable[Layer]:
        from ..gadgets.planes import planes

        common = int(np.bincount(labels, minlength=classes).argmax())
        rows: Rows = []
        for label in sorted({int(x) for x in labels} - {common}):
            members = np.flatnonzero(labels == label).tolist()
            for plane, _ in planes(points, members, True, self.seed):
                for shift, weight in ((1, 1), (0, -2), (-1, 1)):
                    out = Fraction(weight * (label - common))
                    rows.append((plane.weights, shift - plane.value, out))
        weights = {(0, i): weight for i, (_, _, weight) in enumerate(rows)}
        output = Linear(matrix(1, len(rows), weights), vector({0: common}, 1), "output")
        return [hidden_layer(rows), output]
