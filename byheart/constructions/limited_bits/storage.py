"""Solved numbers, ready to be placed."""

from dataclasses import dataclass
from fractions import Fraction

from .layout import Layout
from .solve import Numbers


@dataclass(frozen=True, eq=False)
class Storage:
    """Solved numbers, ready to be placed; window: bits of the longest word."""

    layout: Layout
    numbers: Numbers
    window: int
    scale: int
    hash_scale: int

    @property
    def positions(self) -> int:
        return self.layout.plan.columns + self.window - 1

    @property
    def unit(self) -> Fraction:
        return Fraction(1, 1 << self.scale)

    @property
    def hash_unit(self) -> Fraction:
        return Fraction(1, 1 << self.hash_scale)
