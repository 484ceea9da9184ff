"""The figures of dana2024: how many bigrams one layer of attention remembers."""

from .coefficient import DANA_2B
from .neurons import DANA_3
from .program import DANA_PROGRAM
from .scaling import Scaling

__all__ = ["DANA"]

DANA_1A = Scaling(
    name="dana-1a",
    title="Accuracy over heads (N = 50, d = d_h = 10)",
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
    title="Accuracy over the head dimension (N = 50, d = 10, H = 20)",
    axis="head_dimension",
    values=tuple(range(1, 11)),
    quick=(1, 4, 7, 10),
    sizes={"dimension": 10, "heads": 20},
    experiment="head-dimension",
    degree=2,
)
DANA_2A = Scaling(
    name="dana-2a",
    title="Accuracy over the embedding dimension (N = 50, d_h = 10, H = 20)",
    axis="dimension",
    values=tuple(range(5, 16)),
    quick=(5, 8, 10, 12, 15),
    sizes={"head_dimension": 10, "heads": 20},
    experiment="dimension",
    pieces=10,
    remark="Below d = d_h = 10 a head has the rank d, so H d + d associations are guaranteed.",
)
DANA_4 = Scaling(
    name="dana-4",
    title="Accuracy over heads (N = 10, d = d_h = 2)",
    vocabulary=10,
    axis="heads",
    values=tuple(range(1, 22, 2)),
    quick=(1, 5, 9, 13, 17, 21),
    sizes={"dimension": 2, "head_dimension": 2},
    experiment="plane",
    program=(13,),
    remark="The published table has d_h = 2, the text d_h = 5; with d = 2 a head has rank 2 "
    "either way, so H = 20 guarantees 42 associations.",
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
