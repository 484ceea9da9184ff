"""One hidden layer of ReLU units: a step wherever the label changes along a line.

Paper        nilsson1965, as cited; the same after zhang2017 and huang1998.
Statement    N points on a line, or projected to one, are memorised by one hidden layer of at most N
             units: the baseline that is linear in N.
Assumptions  A1  CONSISTENT
             A2  PADDED
Guarantee    G1  The output is the number of the sequence's label, exactly (checked, not only
                 argued).
             G2  At most two units for each of the S places where the label changes between
                 neighbouring keys, and three parameters per unit, beside the reader.
Departures   D1  Contexts become whole numbers by the reader of hash-fold-retrieve, single tokens by
                 a projection: the papers have points.
             D2  A ramp has the length 1, from one whole number to the next, so that slopes are
                 whole. zhang2017 has one kink per point and slopes (y' - y) / (z' - z), which are
                 not dyadic; its "2 n + d" counts a weight vector that all units share once.
Notation     N points, S label changes.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from ..exact.network import Layer, Linear, Relu, matrix, vector
from .keyed import Hashed


def steps(keys: list[int], labels: list[int]) -> tuple[int, dict[int, int]]:
    """A broken line: f(0) and the changes of slope, by their places."""
    pairs = sorted(zip(keys, labels, strict=True))
    kinks: dict[int, int] = {}
    for (a, before), (b, after) in pairwise(pairs):
        if before != after:
            start = a if kinks.get(a) else b - 1
            kinks[start] = kinks.get(start, 0) + after - before
            kinks[start + 1] = kinks.get(start + 1, 0) - (after - before)
    return pairs[0][1], {place: change for place, change in kinks.items() if change}


@dataclass(frozen=True)
class Staircase(Hashed):
    name = "staircase"

    def plan(self, keys: list[int], labels: list[int], classes: int) -> Iterator[Layer]:
        start, kinks = steps(keys, labels)
        places = sorted(kinks)
        count = len(places)
        biases = vector({i: -place for i, place in enumerate(places)}, count)
        yield Relu(matrix(count, 1, {(i, 0): 1 for i in range(count)}), biases, "steps")
        out = {(0, i): kinks[place] for i, place in enumerate(places)}
        yield Linear(matrix(1, count, out), vector({0: start}, 1), "output")
