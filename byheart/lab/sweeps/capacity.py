"""Capacity: the bits that an architecture memorises of ever more random data, where they level off.

Morris et al. (2025): with few sequences a model memorises all of their information; with more and
more of them the bits that it memorises stay the same, and this number is its capacity.
"""

from dataclasses import dataclass
from statistics import median
from typing import Any

from ...claims.result import picked
from .results import Cell

STORED = 32  # bits of a parameter, as it is trained and saved
FULL = 0.95  # a share of the data's information from which the data may be the limit
FLAT = 0.05  # two numbers of sequences are on one plateau if their bits differ by less


@dataclass(frozen=True)
class Capacity:
    """The most bits that trainings of one size memorised, and whether more data adds to them."""

    parameters: int
    bits: float  # median over seeds, at the number of sequences where it is largest
    low: float  # the least of a seed there
    high: float  # and the most
    sequences: int  # that number
    share: float  # of the information of that data
    # whether more steps would change the bits of the last two numbers of sequences by no more than
    # the criterion allows, by every seed
    settled: bool
    level: bool  # whether the last two numbers of sequences have the same bits, within 5 %

    @property
    def per_parameter(self) -> float:
        return self.bits / self.parameters

    @property
    def per_stored_bit(self) -> float:
        return self.per_parameter / STORED

    @property
    def plateau(self) -> bool:
        """Whether this is the capacity, and not what the data or the steps allowed."""
        return self.settled and self.level and self.share < FULL

    def json(self) -> dict[str, Any]:
        names = "bits low high sequences share settled level plateau per_parameter per_stored_bit"
        return picked(self, names)


def capacity(cell: Cell) -> Capacity | None:
    """Of a cell whose points are numbers of sequences, without trainings that diverged."""
    all_bits = ([x.bits for x in p.results if x.bits is not None] for p in cell.points)
    measured = [(p, bits) for p, bits in zip(cell.points, all_bits, strict=True) if bits]
    if not measured:
        return None
    best, bits = max(measured, key=lambda one: median(one[1]))
    last = measured[-2:]
    ends, spread = [median(some) for _, some in last], (median(bits), min(bits), max(bits))
    settled = len(last) == 2 and all(point.reached == len(point.results) for point, _ in last)
    flat = len(last) == 2 and max(ends) - min(ends) < FLAT * max(ends)
    share = median(bits) / best.information
    return Capacity(best.parameters, *spread, best.value, share, settled, flat)
