"""Capacity: the bits that an architecture memorises of ever more random data, where they level off.

Morris et al. (2025): with few sequences a model memorises all of their information; with more and
more of them the bits that it memorises stay the same, and this number is its capacity.
"""

from dataclasses import dataclass
from statistics import median
from typing import Any

from .results import Cell, Point

STORED = 32  # bits of a parameter, as it is trained and saved
FULL = 0.95  # a share of the data's information from which the data may be the limit
FLAT = 0.05  # two numbers of sequences are on one plateau if their bits differ by less


@dataclass(frozen=True)
class Capacity:
    """The most bits that the trainings of one size memorised, and whether more data adds to them.

    bits       median over seeds, at the number of sequences where it is largest
    low, high  the least and the most of a seed there
    sequences  that number
    share      of the information of that data
    settled    whether more steps would change the bits of the last two numbers of sequences by no
               more than the criterion allows, by every seed
    level      whether the last two numbers of sequences have the same bits, within 5 %
    """

    parameters: int
    bits: float
    low: float
    high: float
    sequences: int
    share: float
    settled: bool
    level: bool

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
        names = ("bits", "low", "high", "sequences", "share", "settled", "level", "plateau")
        own = {name: getattr(self, name) for name in names}
        return own | {"per_parameter": self.per_parameter, "per_stored_bit": self.per_stored_bit}


def capacity(cell: Cell) -> Capacity | None:
    """The capacity of a cell whose points are numbers of sequences; None if nothing was trained.

    Trainings that diverged are left out.
    """
    measured = [(point, bits_of(point)) for point in cell.points if bits_of(point)]
    if not measured:
        return None
    best, bits = max(measured, key=lambda one: median(one[1]))
    last = measured[-2:]
    ends = [median(some) for _, some in last]
    return Capacity(
        best.parameters,
        median(bits),
        min(bits),
        max(bits),
        best.value,
        median(bits) / best.information,
        len(last) == 2 and all(point.reached == len(point.results) for point, _ in last),
        len(last) == 2 and max(ends) - min(ends) < FLAT * max(ends),
    )


def bits_of(point: Point) -> list[float]:
    """The memorised bits of the seeds that did not diverge."""
    return [result.bits for result in point.results if result.bits is not None]
