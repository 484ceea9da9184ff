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

from ..exact.network import Layer, Linear, Relu, matrix, vector
from .keyed import Hashed


@dataclass(frozen=True)
class Steps:
    """A broken line: f(0) and the changes of slope, by their places."""

    start: int
    kinks: dict[int, int]
    width: int = 1

    def layers(self) -> Iterator[Layer]:
        places = sorted(self.kinks)
        count = len(places)
        biases = vector({i: -place for i, place in enumerate(places)}, count)
        yield Relu(matrix(count, 1, {(i, 0): 1 for i in range(count)}), biases, "steps")
        out = {(0, i): self.kinks[place] for i, place in enumerate(places)}
        yield Linear(matrix(1, count, out), vector({0: self.start}, 1), "output")

    @property
    def parameters(self) -> int:
        """Three per kink; the kink at 0 has no bias."""
        return 3 * len(self.kinks) - (0 in self.kinks) + (self.start != 0)

    @property
    def depth(self) -> int:
        return 1

    @property
    def units(self) -> int:
        return len(self.kinks)


def steps(keys: list[int], labels: list[int]) -> Steps:
    """The ramp from a to b > a ends at b or, where a kink is at a already, begins at a."""
    pairs = sorted(zip(keys, labels, strict=True))
    kinks: dict[int, int] = {}
    for (a, before), (b, after) in zip(pairs, pairs[1:], strict=False):
        if before != after:
            start = a if kinks.get(a) else b - 1
            kinks[start] = kinks.get(start, 0) + after - before
            kinks[start + 1] = kinks.get(start + 1, 0) - (after - before)
    return Steps(pairs[0][1], {place: change for place, change in kinks.items() if change})


@dataclass(frozen=True)
class Staircase(Hashed):
    name = "staircase"

    def plan(self, keys: list[int], labels: list[int], classes: int) -> Steps:
        return steps(keys, labels)
