"""The figures of dana2024: how many bigrams one layer of attention remembers."""

from .coefficient import DANA_2B
from .neurons import DANA_3
from .program import DANA_PROGRAM
from .scaling import Scaling

DANA_1A = Scaling(
    name="dana-1a",
    axis="heads",
    values=tuple(range(1, 32)),
    quick=(1, 11, 21, 31),
    sizes={"dimension": 10, "head_dimension": 10},
    experiment="heads",
    seeds=5,
    others=(("script", (6, 16, 21)), ("paper", (11,))),
    program=(11,),
)
DANA_1B = Scaling(
    name="dana-1b",
    axis="head_dimension",
    values=tuple(range(1, 11)),
    quick=(1, 4, 7, 10),
    sizes={"dimension": 10, "heads": 20},
    experiment="head-dimension",
    degree=2,
)
DANA_2A = Scaling(
    name="dana-2a",
    axis="dimension",
    values=tuple(range(5, 16)),
    quick=(5, 8, 10, 12, 15),
    sizes={"head_dimension": 10, "heads": 20},
    experiment="dimension",
    pieces=10,
)
DANA_4 = Scaling(
    name="dana-4",
    vocabulary=10,
    axis="heads",
    values=tuple(range(1, 22, 2)),
    quick=(1, 5, 9, 13, 17, 21),
    sizes={"dimension": 2, "head_dimension": 2},
    experiment="plane",
    program=(13,),
)

DANA = (
    DANA_1A.figure,
    DANA_1B.figure,
    DANA_2A.figure,
    DANA_2B,
    DANA_3,
    DANA_4.figure,
    DANA_PROGRAM,
)
