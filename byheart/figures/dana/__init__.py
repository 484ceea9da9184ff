"""The figures of dana2024: how many bigrams one layer of attention remembers."""

from .coefficient import DANA_2B
from .neurons import DANA_3
from .program import DANA_PROGRAM
from .scaling import Scaling

WIDE = {"head_dimension": 10, "heads": 20}
TALL = {"dimension": 10, "heads": 20}
SAME = {"dimension": 10, "head_dimension": 10}
PLANE = {"dimension": 2, "head_dimension": 2}
DANA_1A = Scaling(
    "dana-1a",
    "heads",
    tuple(range(1, 32)),
    (1, 11, 21, 31),
    SAME,
    "heads",
    seeds=5,
    others=(("script", (6, 16, 21)), ("paper", (11,))),
    program=(11,),
)
TO_TEN, TO_15, TO_21 = tuple(range(1, 11)), tuple(range(5, 16)), tuple(range(1, 22, 2))
DANA_1B = Scaling(
    "dana-1b", "head_dimension", TO_TEN, (1, 4, 7, 10), TALL, "head-dimension", degree=2
)
DANA_2A = Scaling("dana-2a", "dimension", TO_15, (5, 8, 10, 12, 15), WIDE, "dimension", pieces=10)
DANA_4 = Scaling(
    "dana-4", "heads", TO_21, (1, 5, 9, 13, 17, 21), PLANE, "plane", vocabulary=10, program=(13,)
)
ONE_SIZE = [scaling.figure for scaling in (DANA_1A, DANA_1B, DANA_2A, DANA_4)]
DANA = (*ONE_SIZE[:3], DANA_2B, DANA_3, ONE_SIZE[3], DANA_PROGRAM)
