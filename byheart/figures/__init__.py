"""The figures of the papers, redrawn: our rows beside the published numbers and the bounds."""

from . import dana, kajitsuka, lora, madden, morris
from .figure import Figure

FIGURES: tuple[Figure, ...] = (
    *madden.MADDEN,
    *dana.DANA,
    *kajitsuka.KAJITSUKA,
    morris.MORRIS_CAPACITY,
    lora.LORA_CAPACITY,
)
