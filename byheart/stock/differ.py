"""What differs between two checkpoints of one shape: parameters and bits, stage by stage."""

import numpy as np

from ..claims.location import Difference, Place, StageDifference
from .checkpoint import Checkpoint
from .stages import layer_of
from .stages import stages as stages_of


def difference(one: Checkpoint, two: Checkpoint) -> Difference | None:
    shapes = [{name: x.shape for name, x in network.tensors.items()} for network in (one, two)]
    if shapes[0] != shapes[1]:
        return None
    places: list[Place] = []
    counted = {stage.name: [0, 0, 0] for stage in stages_of(one)}
    for name, first in one.tensors.items():
        number, stage = layer_of(one, name)
        second, counts = two.tensors[name], counted[stage]
        counts[0] += first.size
        for flat in np.flatnonzero((first != second).ravel()).tolist():
            row, column = divmod(flat, first.shape[1]) if first.ndim == 2 else (flat, 0)
            places.append(Place(number, name, row, column))
            counts[1] += 1
            both = np.array([first.ravel()[flat], second.ravel()[flat]], np.float32)
            own, other = both.view(np.uint32).tolist()
            counts[2] += (own ^ other).bit_count()
    stages = (StageDifference(name, *numbers) for name, numbers in counted.items())
    return Difference(tuple(places), tuple(stages))
