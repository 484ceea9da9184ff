"""Which parameters of a decoder hold an answer.

A decoder whose neurons lie on a line holds a context in the neurons beside it; otherwise every
weight of the output contributes, and the note says so.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from ..claims.answer import Answer, Token
from ..claims.kind import Explains
from ..claims.location import Changed, Held, Place
from . import doubles
from .answer import DecoderModel, answers, numbers
from .decoder import Decoder
from .stages import layer_of


def size(network: Decoder) -> int:
    return network.counts()[0]["dense"]


def exists(network: Decoder, place: Place) -> bool:
    return place.tensor in network.tensors and place in _whole(network, place.tensor)


def held(model: DecoderModel, tokens: Sequence[Token], made_by: Explains | None) -> Held:
    """The two neurons beside the context, if they lie on a line; else the whole output matrix."""
    decoder = model.network
    if made_by is None or not made_by.on_a_line:
        read = tuple(_whole(decoder, "output.weight"))
        if decoder.shape.neurons == 0 and "attention.out.weight" in decoder.tensors:
            read += tuple(_whole(decoder, "attention.out.weight"))
        note = f"every answer is spread over all {len(read):,} of these weights"
        return Held(read, (), (), note)
    row = numbers(model, tokens)
    assert row is not None
    tensors = doubles.tensors_before_output(decoder)
    mixed = doubles.mixed(decoder.shape, tensors, np.array(row), np.array([0, len(row)]))[0]
    weights, bias = tensors["hidden.weight"], tensors["hidden.bias"]
    # neuron k switches at -bias / slope; the context is between two of these places
    slopes = weights[:, 0]
    switches = np.divide(-bias, slopes, out=np.full(len(bias), -np.inf), where=slopes != 0)
    order = np.argsort(switches, kind="stable")
    right = int(np.searchsorted(switches[order], mixed.sum(), side="right"))
    neurons = tuple(int(order[k]) for k in (right - 1, right) if 0 <= k < len(order))
    places = []
    for name in ("hidden.weight", "hidden.bias", "output.weight"):
        values = decoder.tensors[name].ravel().tolist()
        for place, value in zip(_whole(decoder, name), values, strict=True):
            neuron = place.column if name == "output.weight" else place.row
            if neuron in neurons and (value if decoder.number == "float64" else value.mantissa):
                places.append(place)
    note = "these neurons switch on either side of the context; no other lies between"
    return Held(tuple(places), (), neurons, note)


def _whole(decoder: Decoder, name: str) -> Iterator[Place]:
    number, tensor = layer_of(decoder, name)[0], decoder.tensors[name]
    places = np.ndindex(len(tensor), tensor.size // len(tensor))
    return (Place(number, name, row, column) for row, column in places)


def changes(
    model: DecoderModel, tokens: Sequence[Token], answer: Answer, held: Held
) -> Iterator[Changed]:
    """The answer's token lowered between the two neurons beside the context, and nowhere else."""
    decoder, neurons, label = model.network, held.neurons, answer.label
    if len(neurons) < 2 or decoder.number != "float64" or not answer.probabilities:
        return
    token = list(model.labels).index(label)  # type: ignore[arg-type]
    output = decoder.tensors["output.weight"].copy()
    low, high = neurons
    reach = float(np.abs(output).max()) * 4 + 1
    output[token, low] -= reach
    output[token, high] += reach
    changed = Decoder(decoder.shape, {**decoder.tensors, "output.weight": output})
    (found,) = answers(replace(model, network=changed), [tokens])
    if found.label != label:
        number = layer_of(decoder, "output.weight")[0]
        places = tuple(Place(number, "output.weight", token, k) for k in (low, high))
        yield Changed(places, found.label, "observed")
