"""What differs between two checkpoints of one shape: parameters and bits, stage by stage."""

from functools import partial
from typing import Any

from ..claims.location import Difference
from ..softmax.differ import compared
from .checkpoint import Checkpoint
from .stages import layer_of


def difference(one: Checkpoint, two: Checkpoint) -> Difference | None:
    if _graph(one) != _graph(two):
        return None
    return compared(one.tensors, two.tensors, partial(layer_of, one))


def _graph(network: Checkpoint) -> dict[str, Any]:
    """The configuration, apart from how many places there are."""
    return {name: x for name, x in network.config.items() if name != network.family.places}
