"""What differs between two networks of one shape: parameters and bits, stage by stage."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..data.dataset import Dataset
from ..errors import ByheartError
from ..exact.network import Dyadic, Network
from ..softmax.decoder import Decoder
from ..stock.checkpoint import Checkpoint
from ..stock.stages import layer_of
from .model import Model

ZERO = Dyadic(0, 0)
BLOCK = 4096  # sequences asked at once


class Place(NamedTuple):
    """One parameter: of a decoder, the layer is the number of its stage."""

    layer: int
    tensor: str
    row: int
    column: int


@dataclass(frozen=True)
class StageDifference:
    """A stage: how many of its parameters there are, and how many of them and their bits differ."""

    name: str
    parameters: int
    changed: int
    bits: int


@dataclass(frozen=True)
class Difference:
    """Two networks compared.

    places    the parameters that differ
    stages    all stages, in the order in which they begin
    answers   (input, answer of the first, answer of the second) where these differ; None if no data
              was asked
    asked     how many sequences were
    """

    places: tuple[Place, ...]
    stages: tuple[StageDifference, ...]
    answers: tuple[tuple[list, Any, Any], ...] | None = None
    asked: int = 0

    @property
    def parameters(self) -> int:
        return len(self.places)

    @property
    def bits(self) -> int:
        return sum(stage.bits for stage in self.stages)

    def json(self) -> dict:
        return {
            "parameters": self.parameters,
            "bits": self.bits,
            "of": sum(stage.parameters for stage in self.stages),
            "stages": [vars(stage) for stage in self.stages],
            "places": [list(place) for place in self.places],
            "asked": self.asked,
            "answers": None
            if self.answers is None
            else [{"input": i, "before": a, "after": b} for i, a, b in self.answers],
        }


def diff(model: Model, other: Model, data: Dataset | None = None) -> Difference:
    """The parameters and bits that differ between two models of one shape.

    Args:
        model: A model.
        other: Another one, whose network has layers of the same kinds and sizes.
        data: Sequences to ask both: the answers that differ are listed.

    Returns:
        The parameters that differ, counted stage by stage with their bits, and the answers.

    Raises:
        ByheartError: The networks have different shapes.

    Example:
        >>> import byheart
        >>> rows = [(["a", "b"], "x"), (["b", "b"], "y"), (["b", "a"], "y")]
        >>> data = byheart.Dataset.from_rows(rows)
        >>> model = byheart.compile(data, editable=True)
        >>> changed = byheart.edit(model, data, change=[(["b", "a"], "x")])
        >>> [before for _, before, after in byheart.diff(model, changed.model, data).answers]
        ['y']
    """
    found = difference(model, other)
    if found is None:
        raise ByheartError(
            f"the networks have different shapes ({_sized(model)} and {_sized(other)}), so their "
            "parameters do not correspond; compare them with verify on one file of data."
        )
    if data is None:
        return found
    answers = []
    for start in range(0, len(data), BLOCK):
        rows = [data.sequence(i) for i in range(start, min(start + BLOCK, len(data)))]
        both = zip(rows, model.answers(rows), other.answers(rows), strict=True)
        answers += [(row, a.label, b.label) for row, a, b in both if a.label != b.label]
    return Difference(found.places, found.stages, tuple(answers), len(data))


def difference(model: Model, other: Model) -> Difference | None:
    """What differs in the weights; None if the networks have different shapes."""
    one, two = model.network, other.network
    if isinstance(one, Decoder) and isinstance(two, Decoder):
        return _decoders(one, two) if one.shape == two.shape else None
    if isinstance(one, Checkpoint) and isinstance(two, Checkpoint):
        shapes = [{name: x.shape for name, x in net.tensors.items()} for net in (one, two)]
        return _checkpoints(one, two) if shapes[0] == shapes[1] else None
    if isinstance(one, Network) and isinstance(two, Network) and _shape(one) == _shape(two):
        return _networks(one, two)
    return None


def _shape(network: Network) -> list:
    return [
        (layer.kind, layer.stage, {name: (x.rows, x.columns) for name, x in layer.tensors.items()})
        for layer in network.layers
    ]


def _sized(model: Model) -> str:
    network = model.network
    return f"{model.about.get('method')}, depth {network.depth}, width {network.width}"


def _networks(one: Network, two: Network) -> Difference:
    first, second = (
        {Place(*parameter[:4]): parameter.value for parameter in network.parameters()}
        for network in (one, two)
    )
    keys = sorted(first.keys() | second.keys())
    flips = {
        key: flipped(first.get(key, ZERO), second.get(key, ZERO))
        for key in keys
        if first.get(key, ZERO) != second.get(key, ZERO)
    }
    stages = []
    for stage in one.stages():
        own = {i for a, b in stage.runs for i in range(a, b + 1)}
        bits = [flips[place] for place in flips if place.layer in own]
        count = sum(place.layer in own for place in keys)
        stages.append(StageDifference(stage.name, count, len(bits), sum(bits)))
    return Difference(tuple(flips), tuple(stages))


def flipped(one: Dyadic, two: Dyadic) -> int:
    """Bits that differ in plain notation: sign, and binary digits over a common denominator."""
    low = min(one.exponent, two.exponent)
    whole = [abs(x.mantissa) << (x.exponent - low) for x in (one, two)]
    return (whole[0] ^ whole[1]).bit_count() + ((one.mantissa < 0) != (two.mantissa < 0))


def _decoders(one: Decoder, two: Decoder) -> Difference:
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


def _checkpoints(one: Checkpoint, two: Checkpoint) -> Difference:
    places: list[Place] = []
    counted = {stage.name: [0, 0, 0] for stage in one.stages()}
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
