"""Which parameters hold an answer.

An answer of a network that retrieves labels is a bit (or a few) of a sum of stored numbers: it
reads those numbers, at these places. Of any other exact network, what is read are the parameters
that enter the answer after the columns have met. A decoder whose neurons lie on a line holds a
context in the neurons beside it; where every weight enters every answer, that is said.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from ..data.dataset import Dataset
from ..errors import ByheartError
from ..exact.network import (
    FeedForward,
    Linear,
    Matrix,
    Network,
    Parameter,
    Relu,
    dyadic,
    matrix,
)
from ..softmax import doubles
from ..softmax.decoder import Decoder
from ..stock.checkpoint import Checkpoint
from ..stock.stages import layer_of, neuron_entries, written_by
from .claim import Answer, Token
from .claims.labels import Labels
from .difference import Place, tensors_of
from .model import Model
from .trace import followed, made_by

TRIED = 32  # changes of a single parameter that are tried
ON_A_LINE = ("one-layer", "token-averaging")


@dataclass(frozen=True)
class Changed:
    """Parameters whose change alone gives another answer.

    evidence  "proved" by a run in exact arithmetic, or "observed" in one with doubles
    """

    places: tuple[Place, ...]
    label: Any
    evidence: str

    def json(self) -> dict:
        places = [list(place) for place in self.places]
        return {"places": places, "label": self.label, "evidence": self.evidence}


@dataclass(frozen=True)
class Location:
    """Where an answer is held.

    answer   what the model answers
    read     the parameters that hold what this answer reads
    bits     places of the label's bits in the sum of the stored numbers, where there is one
    neurons  of a decoder, those that hold this context; of a stock checkpoint, (block, neuron)
    of       nonzero parameters of the network (of a decoder or a stock checkpoint: all)
    changes  changes that alter the answer, found by trying
    note     how the method holds its answers, a sentence
    """

    answer: Answer
    read: tuple[Place, ...]
    bits: tuple[int, ...]
    neurons: tuple[Any, ...]
    of: int
    changes: tuple[Changed, ...]
    note: str

    def json(self) -> dict:
        return {
            **self.answer.json(),
            "read": [list(place) for place in self.read],
            "bits": list(self.bits),
            "neurons": list(self.neurons),
            "of": self.of,
            "changes": [change.json() for change in self.changes],
            "holds": self.note,
        }


def locate(model: Model, tokens: Sequence[Token]) -> Location:
    """Where the answer to one input, whose words the model knows, is held."""
    (answer,) = model.claim.answers(model, [tokens])
    read, bits, neurons, note = held(model, tokens)
    tried = _decoder_changes if isinstance(model.network, Decoder) else _network_changes
    if isinstance(model.network, Checkpoint):
        tried = _stock_changes
    changes = tuple(tried(model, tokens, answer, read, bits, neurons))
    count = model.parameters.nonzero
    of = count if isinstance(model.network, Network) else model.parameters.dense
    return Location(answer, read, bits, neurons, of, changes, note)


def reverse(
    model: Model,
    data: Dataset,
    place: Place,
    progress: Callable[[int], None] = lambda done: None,
) -> list[list]:
    """The inputs of the data whose answers read a parameter."""
    data = model.claim.reads(model, data)
    if not _exists(model, place):
        raise ByheartError(
            f"the network has no nonzero parameter {place.tensor}[{place.row},{place.column}] in "
            f"layer {place.layer}; byheart locate lists those that an answer reads."
        )
    found, seen = [], set()
    for index in range(len(data)):
        tokens = data.sequence(index)
        key = repr(tokens)
        if key not in seen and model.numbers(tokens) is not None:
            seen.add(key)
            if place in held(model, tokens)[0]:
                found.append(tokens)
        progress(index + 1)
    return found


def _exists(model: Model, place: Place) -> bool:
    """Whether the network has this parameter: not 0, or of a decoder any."""
    if not isinstance(model.network, Checkpoint):
        return place in places_of(model)
    tensor = model.network.tensors.get(place.tensor)
    if tensor is None or layer_of(model.network, place.tensor)[0] != place.layer:
        return False
    at = (place.row, place.column)[: tensor.ndim]
    inside = all(0 <= i < size for i, size in zip(at, tensor.shape, strict=True))
    return inside and (tensor.ndim == 2 or place.column == 0) and bool(tensor[at])


def places_of(model: Model) -> set[Place]:
    """The nonzero parameters of a network; of a decoder all."""
    if isinstance(model.network, Decoder):
        return {place for name in model.network.tensors for place in _whole(model.network, name)}
    return {Place(*parameter[:4]) for parameter in model.network.parameters()}


def held(
    model: Model, tokens: Sequence[Token]
) -> tuple[tuple[Place, ...], tuple[int, ...], tuple[Any, ...], str]:
    """The parameters that an answer reads, bit places, neurons, and a sentence about them."""
    if isinstance(model.network, Decoder):
        return _held_by_decoder(model, tokens)
    if isinstance(model.network, Checkpoint):
        return _held_by_neurons(model, tokens)
    streams, fired, _ = followed(model, tokens)
    made = made_by(model)
    stored = made and made.stored(model.network, streams, fired)
    if stored:
        read = tuple(Place(*parameter[:4]) for parameter in stored.holders)
        note = "the answer is these bits of a sum of stored numbers, each kept by parameters"
        return read, stored.bits, (), note
    read = tuple(Place(*x[:4]) for x in _entering(model.network, streams, fired))
    note = "these parameters enter the answer after the columns have met, with a value not 0"
    if not read:
        read = tuple(sorted(places_of(model)))
        note = "no smaller part of the network than all of it is known to hold this answer"
    return read, (), (), note


def _entering(
    network: Network, streams: Sequence[dict], fired: Sequence[list[int]]
) -> Iterator[Parameter]:
    """The parameters after the last meeting of columns whose products are not 0."""
    first = max(network.attentions, default=-1) + 1
    for index in range(first, len(network.layers)):
        layer, on = network.layers[index], set(fired[index])
        before = streams[index - 1] if index else {}
        inputs: dict[str, Callable[[int, int], bool]] = {}
        if isinstance(layer, FeedForward):
            inputs = {
                "W1": lambda row, column, on=on, h=before: row in on and column in h,  # type: ignore[misc]
                "b1": lambda row, column, on=on: row in on,  # type: ignore[misc]
                "W2": lambda row, column, on=on: column in on,  # type: ignore[misc]
                "b2": lambda row, column: True,
            }
        elif isinstance(layer, Relu):
            inputs = {
                "weight": lambda row, column, on=on, h=before: row in on and column in h,  # type: ignore[misc]
                "bias": lambda row, column, on=on: row in on,  # type: ignore[misc]
            }
        elif isinstance(layer, Linear):
            inputs = {
                "weight": lambda row, column, h=before: column in h,  # type: ignore[misc]
                "bias": lambda row, column: True,
            }
        for name, enters in inputs.items():
            for row, column, value in layer.tensors[name].entries:
                if enters(row, column):
                    yield Parameter(index, name, row, column, value)


def _whole(decoder: Decoder, name: str) -> Iterator[Place]:
    number = next(n for n, _, own in tensors_of(decoder) if own == name)
    shape = decoder.tensors[name].shape
    for row in range(shape[0]):
        for column in range(shape[1] if len(shape) == 2 else 1):
            yield Place(number, name, row, column)


def _nonzero(decoder: Decoder, place: Place) -> bool:
    tensor = decoder.tensors[place.tensor]
    value = tensor[place.row, place.column] if tensor.ndim == 2 else tensor[place.row]
    return bool(value.mantissa if decoder.number != "float64" else value)


def _held_by_decoder(
    model: Model, tokens: Sequence[Token]
) -> tuple[tuple[Place, ...], tuple[int, ...], tuple[int, ...], str]:
    """The two neurons beside the context, if they lie on a line; else the whole output matrix."""
    decoder = model.network
    if model.about.get("method") not in ON_A_LINE:
        read = tuple(_whole(decoder, "output.weight"))
        if decoder.shape.neurons == 0 and "attention.out.weight" in decoder.tensors:
            read += tuple(_whole(decoder, "attention.out.weight"))
        note = f"every answer is spread over all {len(read):,} of these weights"
        return read, (), (), note
    numbers = model.numbers(tokens)
    assert numbers is not None
    tensors = {name: x for name, x in decoder.tensors.items() if name != "output.weight"}
    if decoder.number != "float64":
        tensors = {
            name: np.array([float(x.fraction) for x in tensor.ravel()]).reshape(tensor.shape)
            for name, tensor in tensors.items()
        }
    starts = np.array([0, len(numbers)])
    mixed = doubles.mixed(decoder.shape, tensors, np.array(numbers), starts)[0]
    weights, bias = tensors["hidden.weight"], tensors["hidden.bias"]
    # neuron k switches at -bias / slope; the context is between two of these places
    slopes = weights[:, 0]
    switches = np.divide(-bias, slopes, out=np.full(len(bias), -np.inf), where=slopes != 0)
    order = np.argsort(switches, kind="stable")
    right = int(np.searchsorted(switches[order], mixed.sum(), side="right"))
    neurons = tuple(int(order[k]) for k in (right - 1, right) if 0 <= k < len(order))
    read = tuple(
        place
        for place in (
            *_whole(decoder, "hidden.weight"),
            *_whole(decoder, "hidden.bias"),
            *_whole(decoder, "output.weight"),
        )
        if (place.column if place.tensor == "output.weight" else place.row) in neurons
        and _nonzero(decoder, place)
    )
    note = "these neurons switch on either side of the context; no other lies between"
    return read, (), neurons, note


def _held_by_neurons(
    model: Model, tokens: Sequence[Token]
) -> tuple[tuple[Place, ...], tuple[int, ...], tuple[Any, ...], str]:
    """The neurons of a stock checkpoint that are on at this input."""
    network = model.network
    always = set(getattr(model.claim, "always", ()))
    on = [(x[0], x[1]) for x in model.trace(tokens).neurons if (x[0], x[1]) not in always]
    read = tuple(
        Place(layer_of(network, name)[0], name, row, column)
        for layer, neuron in on
        for name, row, column in neuron_entries(network, layer, neuron)
    )
    spread = any(x.neurons is None for x in getattr(model.claim, "holders", ()))
    note = "these neurons are on at this input, and write the answer"
    if spread:
        note = f"answers are in superposition: {len(on):,} neurons take part in this one"
    elif not on:
        note = "no neuron is on at this input: the answer is the end of the text"
    return read, (), tuple(on), note


def _stock_changes(
    model: Model,
    tokens: Sequence[Token],
    answer: Answer,
    read: tuple[Place, ...],
    bits: tuple[int, ...],
    neurons: tuple[Any, ...],
) -> Iterator[Changed]:
    """What the neurons write, set to 0: the answer is forgotten, and no other."""
    tensors, places = dict(model.network.tensors), []
    for layer, neuron in neurons:
        name, axis = written_by(model.network, layer)
        tensors[name] = tensors[name].copy()
        line = tensors[name][neuron] if axis == 0 else tensors[name][:, neuron]
        line[:] = 0
    for layer in {layer for layer, _ in neurons}:
        name, _ = written_by(model.network, layer)
        places += [place for place in read if place.tensor == name]
    changed = replace(model, network=replace(model.network, tensors=tensors))
    (found,) = model.claim.answers(changed, [tokens])
    if places and found.label != answer.label:
        yield Changed(tuple(places), found.label, "observed")


def _network_changes(
    model: Model,
    tokens: Sequence[Token],
    answer: Answer,
    read: tuple[Place, ...],
    bits: tuple[int, ...],
    neurons: tuple[int, ...],
) -> Iterator[Changed]:
    """Single parameters that alter the answer: by one bit of the stored sum, or when they are 0.

    Each is changed in the network, which is then asked in exact arithmetic.
    """
    assert isinstance(model.claim, Labels)
    network = model.network
    for place in read[:: max(1, len(read) // TRIED)][:TRIED]:
        layer = network.layers[place.layer]
        now = layer.tensors[place.tensor][place.row, place.column]
        moves = [Fraction(2) ** (bits[0] + k) for k in (0, 1, -1)] if bits else [-now]
        for move in moves:
            changed = with_value(network, place, now + move)
            other = replace(model, network=changed)
            try:
                (found,) = model.claim.answers(other, [tokens])
            except ByheartError:  # such a network has no exact answer, as a mean of three
                continue
            if found.label != answer.label:
                yield Changed((place,), found.label, "proved")
                break


def with_value(network: Network, place: Place, value: Fraction) -> Network:
    """The network with one parameter changed."""
    layer: Any = network.layers[place.layer]
    tensor: Matrix = layer.tensors[place.tensor]
    entries = {(row, column): x for row, column, x in tensor.entries}
    entries[place.row, place.column] = dyadic(value)
    made = matrix(tensor.rows, tensor.columns, {k: x.fraction for k, x in entries.items()})
    layers = list(network.layers)
    layers[place.layer] = replace(layer, **{place.tensor: made})
    return replace(network, layers=tuple(layers))


def _decoder_changes(
    model: Model,
    tokens: Sequence[Token],
    answer: Answer,
    read: tuple[Place, ...],
    bits: tuple[int, ...],
    neurons: tuple[int, ...],
) -> Iterator[Changed]:
    """The answer's token lowered between the two neurons beside the context, and nowhere else."""
    decoder, label = model.network, answer.label
    if len(neurons) < 2 or decoder.number != "float64" or not answer.probabilities:
        return
    token = list(model.labels).index(label)  # type: ignore[arg-type]
    output = decoder.tensors["output.weight"].copy()
    low, high = neurons
    reach = float(np.abs(output).max()) * 4 + 1
    output[token, low] -= reach
    output[token, high] += reach
    changed = Decoder(decoder.shape, {**decoder.tensors, "output.weight": output})
    (found,) = model.claim.answers(replace(model, network=changed), [tokens])
    if found.label != label:
        number = next(n for n, _, name in tensors_of(decoder) if name == "output.weight")
        places = tuple(Place(number, "output.weight", token, k) for k in (low, high))
        yield Changed(places, found.label, "observed")
