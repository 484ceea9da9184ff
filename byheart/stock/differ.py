"""What differs between two checkpoints of one shape: parameters and bits, stage by stage."""

from functools import partial

from ..claims.location import Difference
from ..softmax.differ import compared
from .checkpoint import Checkpoint
from .stages import layer_of


def difference(one: Checkpoint, two: Checkpoint) -> Difference | None:
    return compared(one.tensors, two.tensors, partial(layer_of, one))
