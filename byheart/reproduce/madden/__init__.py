"""Figure 1 of madden2024: how many parameters memorise how many contexts of TinyStories."""

from ..figure import Figure
from .drawing import draw
from .laws import fits
from .parts import LABELS, parts
from .telling import caption

MADDEN_1 = Figure(
    name="madden-1",
    title="Gap to the entropy, and the smallest model that memorises TinyStories",
    paper="madden2024, Figure 1",
    data="tinystories",
    sweeps=parts,
    draw=draw,
    caption=caption,
    fits=fits,
    size=(9.0, 8.4),
    labels=LABELS,
)
