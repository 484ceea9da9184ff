"""The figures of dana2024: how many bigrams one layer of attention remembers."""

from .coefficient import DANA_2B
from .neurons import DANA_3
from .program import DANA_PROGRAM
from .scaling import Scaling
from .sweeps import table

DANA_1A, DANA_1B, DANA_2A, DANA_4 = SCALINGS = tuple(
    Scaling(name, **row) for name, row in table("scalings").items()
)
ONE_SIZE = [scaling.figure for scaling in SCALINGS]
DANA = (*ONE_SIZE[:3], DANA_2B, DANA_3, ONE_SIZE[3], DANA_PROGRAM)
