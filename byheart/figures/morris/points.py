"""The points of morris-capacity: bits per parameter of trained and of compiled models."""

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from statistics import median
from typing import NamedTuple

import numpy as np

from ...lab.sweeps.results import memorised
from ...lab.trial import Row
from ..figure import RowsByLabel
from ..fits import Fit, least_squares
from ..published import read


class Trained(NamedTuple):
    """The trainings of one size on one number of sequences that did not diverge.

    bits      memorised per parameter, by seed
    settled   how many of them twice the steps changed by no more than 2 %
    by_steps  for every seed, the bits per parameter of each attempt by its steps
    """

    parameters: int
    sequences: int
    bits: list[float]
    settled: int
    by_steps: list[dict[int, float]]

    @property
    def middle(self) -> float:
        return median(self.bits)

    def at(self, steps: int) -> list[float]:
        """By seed, where it was trained with this number of steps."""
        return [ends[steps] for ends in self.by_steps if steps in ends]

    @property
    def steps(self) -> list[int]:
        return sorted({steps for ends in self.by_steps for steps in ends})


def trained(rows: RowsByLabel) -> list[Trained]:
    """By parameters and then by sequences."""
    found = [of_rows(some) for some in rows.values()]
    return sorted((one for one in found if one is not None), key=lambda x: x[:2])


def of_rows(rows: Sequence[Row]) -> Trained | None:
    kept = [(row, bits) for row in rows if (bits := memorised(row)) is not None]
    if not kept:
        return None
    first = kept[0][0]
    return Trained(
        first["parameters"],
        first["trial"]["data"]["sequences"],
        [bits / row["parameters"] for row, bits in kept],
        sum(row["reached"] for row, _ in kept),
        [by_steps(row) for row, _ in kept],
    )


def by_steps(row: Row) -> dict[int, float]:
    """The bits per parameter of each attempt that did not diverge, by its steps."""
    ends = {x["steps"]: memorised({**row, "loss": x["loss"]}) for x in row["attempts"]}
    return {steps: bits / row["parameters"] for steps, bits in ends.items() if bits is not None}


def doublings(some: Iterable[Trained]) -> dict[int, list[float]]:
    """By what shares twice the steps changed the bits: by these steps, one for each training."""
    found: dict[int, list[float]] = {}
    for one in some:
        for ends in one.by_steps:
            for (_, before), (steps, after) in pairwise(sorted(ends.items())):
                found.setdefault(steps, []).append(after / before - 1)
    return dict(sorted(found.items()))


class Compiled(NamedTuple):
    """A model of hash-fold-retrieve with two labels, proved: one bit of information a context."""

    parameters: int
    bits: int
    stored: float


def compiled() -> list[Compiled]:
    return [
        Compiled(int(row["parameters"]), int(row["contexts"]), float(row["stored_bits"]))
        for row in read("compiled")
    ]


def by_size(found: Iterable[Trained]) -> dict[int, list[Trained]]:
    groups: dict[int, list[Trained]] = {}
    for one in found:
        groups.setdefault(one.parameters, []).append(one)
    return groups


def trend(found: Sequence[Trained]) -> Fit | None:
    """Bits per parameter of every training, linear in log2 of the parameters; None for one size."""
    points = [(math.log2(one.parameters), bits) for one in found for bits in one.bits]
    if len({x for x, _ in points}) < 2:
        return None
    across, heights = zip(*points, strict=True)
    columns = {"1": np.ones(len(points)), "log2(parameters)": np.array(across)}
    return least_squares("bits per parameter, all trainings", columns, heights)


def fits(rows: RowsByLabel) -> list[Fit]:
    law = trend(trained(rows))
    return [] if law is None else [law]
