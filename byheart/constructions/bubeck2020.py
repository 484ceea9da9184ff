"""One hidden layer of four ReLU units for every d points, whatever their labels.

Paper        bubeck2020, after its 4 ceil(N / d) units for real labels.
Statement    N points of R^d in general position with any real labels are interpolated by one hidden
             layer of 4 ceil(N / d) ReLU units: d points with d different labels share four.
Assumptions  A1  CONSISTENT
             A2  PADDED
Guarantee    G1  The output is the number of the sequence's label, exactly (checked, not only
                 argued).
             G2  In general position 4 ceil(N / d) units and at most 4 (d + 2) ceil(N / d) + d
                 parameters, and 6 (C - 1) + 1 that round the sum.
Departures   D1  The paper's text was not at hand: the proof is ours. With v = U x - D, 0 on the
                 plane of a group and at least 1 in size at other points, z = V x + w, which is the
                 label in the group, and q a power of two so small that |q z| <= 1/2 at all points,
                 relu(v + q z + 1/2) - relu(v + 1/2) - relu(v + q z - 1/2) + relu(v - 1/2)
                 is q z where v = 0 and 0 elsewhere.
             D2  V and w are rational; they are rounded so that z misses the label by at most 1/4,
                 and C - 1 further steps round the sum. The paper has real weights.
             D3  Where d points have no plane of their own, fewer are taken (see baum1988).
             D4  A sequence becomes one whole number by the reader of hash-fold-retrieve: d = 1.
Notation     N points of dimension d, C labels.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ..exact.network import Layer, Linear, Relu, matrix, vector
from .base import STAGES
from .baum1988 import Rows, Slabs, hidden_layer

FEW = 4096  # points; beyond, a bound of |z| stands for its largest value


@dataclass(frozen=True)
class Bubeck(Slabs):
    name = "bubeck2020"
    stages = {**Slabs.stages, **STAGES["Bubeck"]}

    def cover(self, points: NDArray, labels: NDArray, classes: int) -> Iterator[Layer]:
        from ..gadgets.planes import planes

        rows: Rows = []
        largest = max(abs(int(points.min())), abs(int(points.max())), 1)
        d = points.shape[1]
        grain = (2 * (d + 1) * largest).bit_length()  # rounding moves z by 1/4 at most
        whole = points.astype(object)
        for plane, hit in planes(points, range(len(points)), False, self.seed):
            V, w = _fitted(whole[hit], [int(labels[i]) for i in hit], grain)
            reach = largest * sum(map(abs, V)) + abs(w)  # |z| in units of 2^-grain, at most
            if len(points) <= FEW:
                reach = max(abs(int(x)) for x in whole @ np.array(V, dtype=object) + w)
            q = (2 * reach).bit_length()
            for tilt, shift, sign in ((1, 1, 1), (0, 1, -1), (1, -1, -1), (0, -1, 1)):
                weights = tuple(
                    u + Fraction(tilt * v, 1 << q) for u, v in zip(plane.weights, V, strict=True)
                )
                bias = Fraction(shift, 2) - plane.value + Fraction(tilt * w, 1 << q)
                rows.append((weights, bias, Fraction(sign << q, 1 << grain)))
        yield hidden_layer(rows)
        added = {(0, i): weight for i, (_, _, weight) in enumerate(rows)}
        yield Relu(matrix(1, len(rows), added), vector({0: Fraction(1, 4)}, 1), "sum")
        # relu(2 z - 2 c + 1) - relu(2 z - 2 c) is 0 for z <= c - 1/2 and 1 for z >= c
        steps = [shift - 2 * c for c in range(1, classes) for shift in (1, 0)]
        doubled = matrix(len(steps), 1, {(i, 0): 2 for i in range(len(steps))})
        yield Relu(doubled, vector(dict(enumerate(steps)), len(steps)), "round")
        out = {(0, i): 1 - 2 * (i % 2) for i in range(len(steps))}
        yield Linear(matrix(1, len(steps), out), vector({}, 1), "output")


def _fitted(points: NDArray, labels: list[int], grain: int) -> tuple[list[int], int]:
    """V and w, times 2^grain and rounded, with V x + w = y for points in general position."""
    from flint import fmpq_mat, fmpz_mat

    A = fmpq_mat(fmpz_mat([[*map(int, x), 1] for x in points]))
    y = fmpq_mat(fmpz_mat([[label] for label in labels]))
    found = A.transpose() * (A * A.transpose()).solve(y)
    exact = [found[i, 0] for i in range(found.nrows())]
    rounded = [round(Fraction(int(x.p), int(x.q)) * (1 << grain)) for x in exact]
    return rounded[:-1], rounded[-1]
