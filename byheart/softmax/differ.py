"""What differs between two decoders of one shape: parameters and bits, stage by stage."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from ..claims.location import Difference, Place, StageDifference
from ..exact.differ import flipped
from ..exact.network import Dyadic
from .decoder import Decoder, Tensor
from .stages import layer_of


def difference(one: Decoder, two: Decoder) -> Difference | None:
    return compared(one.tensors, two.tensors, partial(layer_of, one))


def compared(
    one: Mapping[str, Tensor], two: Mapping[str, Tensor], layer_of: Callable[[str], tuple[int, str]]
) -> Difference | None:
    """What differs in tensors, by layer and stage; None if their names or shapes do."""
    if {name: x.shape for name, x in one.items()} != {name: x.shape for name, x in two.items()}:
        return None
    places: list[Place] = []
    counted = {stage: [0, 0, 0] for _, stage in sorted({layer_of(name) for name in one})}
    for name, first in one.items():
        number, stage = layer_of(name)
        second, counts = two[name], counted[stage]
        counts[0] += first.size
        for at in map(tuple, np.argwhere(first != second).tolist()):
            row, column = (*at, 0)[:2]  # a vector is one column
            places.append(Place(number, name, row, column))
            counts[1] += 1
            counts[2] += _bits(first[at], second[at])
    stages = (StageDifference(name, *numbers) for name, numbers in counted.items())
    return Difference(tuple(places), tuple(stages))


def _bits(one: Any, two: Any) -> int:
    """Bits that differ: of floats, among those that store each."""
    if isinstance(one, Dyadic):
        return flipped(one, two)
    first, second = np.array([one, two]).view(f"u{one.itemsize}").tolist()
    return (first ^ second).bit_count()
