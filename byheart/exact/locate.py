"""Which parameters of an exact network hold an answer.

An answer of a network that retrieves labels is a bit (or a few) of a sum of stored numbers: it
reads those numbers, at these places. Of any other network, what is read are the parameters that
enter the answer after the columns have met.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from ..claims.answer import Answer, Token
from ..claims.kind import Explains
from ..claims.location import Changed, Held, Place
from ..errors import ByheartError
from .answer import ExactModel, answers
from .network import FeedForward, Layer, Linear, Matrix, Network, Relu, matrix
from .trace import followed

MAX_TRIED = 32  # changes of a single parameter that are tried


def size(network: Network) -> int:
    return network.counts()[0]["nonzero"]


def exists(network: Network, place: Place) -> bool:
    if not 0 <= place.layer < len(network.layers):
        return False
    tensor = network.layers[place.layer].tensors.get(place.tensor)
    return tensor is not None and tensor[place.row, place.column] != 0


def held(model: ExactModel, tokens: Sequence[Token], made_by: Explains | None) -> Held:
    streams, fired, _ = followed(model, tokens)
    stored = made_by and made_by.stored(model.network, streams, fired)
    if stored:
        read = tuple(Place(*parameter[:4]) for parameter in stored.holders)
        note = "the answer is these bits of a sum of stored numbers, each kept by parameters"
        if stored.default:
            note = "the default answer: no parameter holds it alone"
        return Held(read, stored.bits, (), note)
    network, entering = model.network, []
    for index in range(max(network.attentions, default=-1) + 1, len(network.layers)):
        layer, on = network.layers[index], set(fired[index])
        before = set(streams[index - 1]) if index else set()
        for name, tensor in layer.tensors.items():
            for row, column, _ in tensor.entries:
                if _enters(layer, name, row in on, column in on, column in before):
                    entering.append(Place(index, name, row, column))
    read = tuple(entering)
    note = "these parameters enter the answer after the columns have met, with a value not 0"
    if not read:
        read = tuple(sorted(Place(*p[:4]) for p in network.parameters()))
        note = "this method stores answers in all parameters"
    return Held(read, (), (), note)


def _enters(layer: Layer, name: str, writes: bool, reads: bool, filled: bool) -> bool:
    """Whether an entry counts: its row writes, its column reads, or its lane is filled."""
    match layer, name:
        case (FeedForward(), "W1") | (Relu(), "weight"):
            return writes and filled
        case (FeedForward(), "b1") | (Relu(), "bias"):
            return writes
        case FeedForward(), "W2":
            return reads
        case Linear(), "weight":
            return filled
        case (FeedForward(), "b2") | (Linear(), "bias"):
            return True
    return False


def changes(
    model: ExactModel, tokens: Sequence[Token], answer: Answer, held: Held
) -> Iterator[Changed]:
    """Single parameters that alter the answer, by one bit of the stored sum or when they are 0."""
    network, read, bits = model.network, held.read, held.bits
    for place in read[:: max(1, len(read) // MAX_TRIED)][:MAX_TRIED]:
        now = network.layers[place.layer].tensors[place.tensor][place.row, place.column]
        moves = [Fraction(2) ** (bits[0] + k) for k in (0, 1, -1)] if bits else [-now]
        for move in moves:
            other = replace(model, network=with_value(network, place, now + move))
            try:
                (found,) = answers(other, [tokens])
            except ByheartError:  # such a network has no exact answer, as a mean of three
                continue
            if found.label != answer.label:
                yield Changed((place,), found.label, "proved")
                break


def with_value(network: Network, place: Place, value: Fraction) -> Network:
    layers: list[Any] = list(network.layers)
    tensor: Matrix = layers[place.layer].tensors[place.tensor]
    values = {(row, column): x.fraction for row, column, x in tensor.entries}
    values[place.row, place.column] = value
    changed = matrix(tensor.rows, tensor.columns, values)
    layers[place.layer] = replace(layers[place.layer], **{place.tensor: changed})
    return replace(network, layers=tuple(layers))
