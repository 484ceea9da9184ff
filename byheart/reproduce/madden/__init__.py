"""Figure 1 of madden2024: how many parameters memorise how many contexts of TinyStories."""

from ..figure import Figure
from .captions import caption, finding
from .cells import fits
from .drawing import draw
from .sweeps import LABELS, parts

__all__ = ["MADDEN_1", "finding"]

MADDEN_1 = Figure(
    name="madden-1",
    title="Gap to the entropy, and the smallest model that memorises TinyStories",
    paper="madden2024, Figure 1",
    data="tinystories",
    parts=parts,
    draw=draw,
    caption=caption,
    fits=fits,
    size=(9.0, 8.4),
    labels=LABELS,
)
