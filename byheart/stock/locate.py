"""Which parameters of a stock checkpoint hold an answer: those of the neurons that are on."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from ..claims.answer import Answer, Token
from ..claims.claim import TOKEN
from ..claims.kind import Explains
from ..claims.location import Changed, Held, Line, Place, WrittenToken
from . import forward
from .answer import StockModel, answers, numbers, vocabulary
from .checkpoint import Checkpoint
from .stages import layer_of, neuron_entries, written_by
from .trace import trace


def size(network: Checkpoint) -> int:
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
    """The neurons that are on before each token of the answer."""
    network, always = model.network, set(model.claim.always)
    words, written = vocabulary(model), list[WrittenToken]()
    for spoken in said(model, tokens):
        before = [*tokens, *(words.token(x.number) for x in written)]
        on = [(x[0], x[1]) for x in trace(model, before, made_by).neurons]
        on = [neuron for neuron in on if neuron not in always]
        lines = tuple(line for neuron in on for line in lines_of(network, *neuron))
        written.append(WrittenToken(words.piece(spoken), spoken, tuple(on), lines))
    neurons = tuple(dict.fromkeys(neuron for token in written for neuron in token.neurons))
    read = tuple(
        Place(layer_of(network, name)[0], name, row, column)
        for layer, neuron in neurons
        for name, row, column in neuron_entries(network, layer, neuron)
    )
    if any(x.neurons is None for x in model.claim.holders):
        note = f"answers are in superposition: {len(neurons):,} neurons take part in this one"
    elif not neurons:
        note = "no neuron is on at this input: the answer is the end of the text"
    else:
        note = "each token is written by the neurons that are on before it"
    return Held(read, (), neurons, note, tokens=tuple(written))


def said(model: StockModel, tokens: Sequence[Token]) -> list[int]:
    """The numbers of the tokens of the answer, without the end; of a next token, this one."""
    row, found, end = numbers(model, tokens), list[int](), model.places[model.claim.end]
    while row is not None and len(row) <= model.length:
        token = int(forward.answers(model.network, [row])[0])
        if token == end:
            break
        found.append(token)
        row = [*row, token]
        if model.claim.labels_are == TOKEN:
            break
    return found


def lines_of(network: Checkpoint, layer: int, neuron: int) -> list[Line]:
    """What a neuron is in each tensor of its block."""
    found = []
    for own, axis in network.family.neurons:
        name = f"{network.family.blocks}.{layer}.{own}"
        tensor = network.tensors[name]
        kind = "entry" if tensor.ndim == 1 else ("row", "column")[axis]
        nonzero = int(np.count_nonzero(np.take(tensor, neuron, axis)))
        found.append(Line(name, kind, neuron, nonzero))
    return found


def changes(
    model: StockModel, tokens: Sequence[Token], answer: Answer, held: Held
) -> Iterator[Changed]:
    """What the neurons of the first token write, set to 0: the answer is forgotten."""
    tensors, places = dict(model.network.tensors), list[Place]()
    chosen = held.tokens[0].neurons if held.tokens else ()
    for layer, neuron in chosen:
        name, axis = written_by(model.network, layer)
        tensors[name] = tensors[name].copy()
        line = tensors[name][neuron] if axis == 0 else tensors[name][:, neuron]
        line[:] = 0
        places += [
            place
            for place in held.read
            if place.tensor == name and (place.row, place.column)[axis] == neuron
        ]
    changed = replace(model, network=replace(model.network, tensors=tensors))
    (found,) = answers(changed, [tokens])
    if places and found.label != answer.label:
        yield Changed(tuple(places), found.label, "observed")
