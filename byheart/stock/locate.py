"""Which parameters of a stock checkpoint hold an answer: those of the neurons that are on."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ..claims.answer import Answer, Token
from ..claims.kind import Explains
from ..claims.location import Changed, Held, Place
from .answer import StockModel, answers
from .checkpoint import Checkpoint
from .stages import layer_of, neuron_entries, written_by
from .trace import trace


def size(network: Checkpoint) -> int:
    """All parameters."""
    return network.counts()[0]["dense"]


def exists(network: Checkpoint, place: Place) -> bool:
    """Whether it has this parameter, and it is not 0."""
    tensor = network.tensors.get(place.tensor)
    if tensor is None or layer_of(network, place.tensor)[0] != place.layer:
        return False
    at = (place.row, place.column)[: tensor.ndim]
    inside = all(0 <= i < size for i, size in zip(at, tensor.shape, strict=True))
    return inside and (tensor.ndim == 2 or place.column == 0) and bool(tensor[at])


def held(model: StockModel, tokens: Sequence[Token], made_by: Explains | None) -> Held:
    """The neurons of a stock checkpoint that are on at this input."""
    network = model.network
    always = set(model.claim.always)
    on = [(x[0], x[1]) for x in trace(model, tokens, made_by).neurons if (x[0], x[1]) not in always]
    read = tuple(
        Place(layer_of(network, name)[0], name, row, column)
        for layer, neuron in on
        for name, row, column in neuron_entries(network, layer, neuron)
    )
    spread = any(x.neurons is None for x in model.claim.holders)
    note = "these neurons are on at this input, and write the answer"
    if spread:
        note = f"answers are in superposition: {len(on):,} neurons take part in this one"
    elif not on:
        note = "no neuron is on at this input: the answer is the end of the text"
    return Held(read, (), tuple(on), note)


def changes(
    model: StockModel, tokens: Sequence[Token], answer: Answer, held: Held
) -> Iterator[Changed]:
    """What the neurons write, set to 0: the answer is forgotten, and no other."""
    tensors, places = dict(model.network.tensors), list[Place]()
    for layer, neuron in held.neurons:
        name, axis = written_by(model.network, layer)
        tensors[name] = tensors[name].copy()
        line = tensors[name][neuron] if axis == 0 else tensors[name][:, neuron]
        line[:] = 0
    for layer in {layer for layer, _ in held.neurons}:
        name, _ = written_by(model.network, layer)
        places += [place for place in held.read if place.tensor == name]
    changed = replace(model, network=replace(model.network, tensors=tensors))
    (found,) = answers(changed, [tokens])
    if places and found.label != answer.label:
        yield Changed(tuple(places), found.label, "observed")
