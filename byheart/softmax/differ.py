"""What differs between two decoders of one shape: parameters and bits, stage by stage."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..claims.location import Difference, Place, StageDifference
from ..exact.differ import flipped
from ..exact.network import Dyadic
from .decoder import Decoder


def difference(one: Decoder, two: Decoder) -> Difference | None:
    if one.shape != two.shape:
        return None
    places: list[Place] = []
    counted: dict[str, list[int]] = {}
    for number, stage, name in tensors_of(one):
        first, second = one.tensors[name], two.tensors[name]
        counts = counted.setdefault(stage, [0, 0, 0])
        counts[0] += first.size
        for flat in np.flatnonzero((first != second).ravel()).tolist():
            row, column = divmod(flat, first.shape[1]) if first.ndim == 2 else (flat, 0)
            places.append(Place(number, name, row, column))
            counts[1] += 1
            counts[2] += _bits(first.ravel()[flat], second.ravel()[flat])
    stages = (StageDifference(name, *numbers) for name, numbers in counted.items())
    return Difference(tuple(places), tuple(stages))


def tensors_of(decoder: Decoder) -> Iterator[tuple[int, str, str]]:
    """The stage of each tensor, by its number and its name, and the tensor's name."""
    names = {"embedding": "embed", "positions": "embed", "attention": "attend"}
    names |= {"token_sum": "sum", "hidden": "neurons", "output": "output"}
    order = list(dict.fromkeys(names[name.split(".")[0]] for name in decoder.tensors))
    order.sort(key=lambda name: list(dict.fromkeys(names.values())).index(name))
    for name in decoder.tensors:
        stage = names[name.split(".")[0]]
        yield order.index(stage), stage, name


def _bits(one: Any, two: Any) -> int:
    """Bits that differ: of doubles, among the 64 that store each."""
    if isinstance(one, Dyadic):
        return flipped(one, two)
    pair = np.array([one, two], np.float64).view(np.uint64).tolist()
    return (pair[0] ^ pair[1]).bit_count()
