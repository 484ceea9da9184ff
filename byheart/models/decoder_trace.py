"""How a decoder answers one input: the numbers after each of its stages, in double arithmetic.

Where neurons see only the sum of what attention says (as in the proof of madden2024, Theorem 5),
that sum is a place on a line, and every neuron switches at another place of it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..softmax import doubles as softmax
from ..softmax.decoder import ATTENTION, Decoder
from .claim import Answer, Token
from .model import Model

SHOWN = 8  # likeliest tokens
Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Neuron:
    """A neuron next to an input.

    argument  what its activation is applied to
    distance  from the input to where it switches: on the line if there is one, else in space
    """

    number: int
    argument: float
    distance: float

    def json(self) -> dict:
        return {"number": self.number, "argument": self.argument, "distance": self.distance}


@dataclass(frozen=True, eq=False)
class DecoderTrace:
    """An answer and where it comes from.

    embedded  a vector for each token
    mixed     what attention, or the token sum, says of the input
    scalar    the sum of its coordinates if the neurons see nothing else, else None
    neurons   how many there are; on: those whose argument is above 0
    below     the neuron that is on and nearest to switching off, above: the other way round
    logits    of the likeliest tokens, and one below them
    """

    answer: Answer
    mixing: str
    embedded: Vector  # [tokens, d]
    mixed: Vector  # [d]
    scalar: float | None
    neurons: int
    on: int
    below: Neuron | None
    above: Neuron | None
    logits: tuple[tuple[str | int, float], ...]

    def json(self) -> dict:
        return {
            **self.answer.json(),
            "stages": [
                {"stage": "embed", "vectors": self.embedded.tolist()},
                {"stage": self.mixing, "vector": self.mixed.tolist(), "scalar": self.scalar},
                *([self._switched()] if self.neurons else []),
                {"stage": "output", "logits": [list(pair) for pair in self.logits]},
            ],
        }

    def _switched(self) -> dict:
        return {
            "stage": "neurons",
            "neurons": self.neurons,
            "on": self.on,
            "below": self.below and self.below.json(),
            "above": self.above and self.above.json(),
        }

    def lines(self) -> list[str]:
        """For people: one line per stage."""
        tokens = zip(self.answer.input, self.embedded, strict=True)
        embedded = "  ".join(f"{token} {_vector(vector)}" for token, vector in tokens)
        said = _vector(self.mixed) if self.scalar is None else f"s = {self.scalar:.17g}"
        rows = [f"embed        {embedded}", f"{self.mixing:<12} {said}"]
        if self.neurons:
            rows.append(f"neurons      {self.on:,} of {self.neurons:,} are on")
        places = ((self.below, "the nearest that is on"), (self.above, "the nearest that is off"))
        rows += [f"             {_neuron(*pair)}" for pair in places if pair[0] is not None]
        logits = "  ".join(f"{token} {value:.6g}" for token, value in self.logits)
        rows.append(f"logits       {logits}")
        chances = "  ".join(
            f"{token} {chance:.4%}" for token, chance in (self.answer.probabilities or ())[:SHOWN]
        )
        return [*rows, f"distribution {chances}"]


def _vector(vector: Vector) -> str:
    """One number if all coordinates are equal, else the first few."""
    if (vector == vector[0]).all():
        return f"{vector[0]:.6g}"
    shown = ", ".join(f"{x:.4g}" for x in vector[:4])
    return f"({shown}{', ...' if len(vector) > 4 else ''})"


def _neuron(neuron: Neuron | None, what: str) -> str:
    assert neuron is not None
    return (
        f"{what}: number {neuron.number:,}, which switches {neuron.distance:.3g} away "
        f"(its argument is {neuron.argument:.3g})"
    )


def trace(model: Model, tokens: Sequence[Token]) -> DecoderTrace:
    """The values on the way of one input through the decoder."""
    numbers = model.numbers(tokens)
    assert numbers is not None
    decoder, place = model.network, (np.array(numbers), np.array([0, len(numbers)]))
    tensors = _doubles(decoder)
    mixed = softmax.mixed(decoder.shape, tensors, *place)[0]
    weights, bias = _neurons(tensors, len(mixed))
    arguments = weights @ mixed + bias
    distances, scalar = _distances(weights, mixed, arguments)
    answer = model.answers([tokens])[0]
    return DecoderTrace(
        answer,
        "attend" if decoder.shape.mixing == ATTENTION else "sum",
        _embedded(tensors, numbers)[-len(tokens) :],
        mixed,
        scalar,
        len(arguments),
        int((arguments > 0).sum()),
        _nearest(arguments, distances, arguments > 0),
        _nearest(arguments, distances, arguments <= 0),
        _best(model, softmax.logits(decoder, *place)[0], len(answer.probabilities or ())),
    )


def _doubles(decoder: Decoder) -> dict[str, Vector]:
    """The tensors before the output matrix, which may hold numbers that are too long for this."""
    tensors = {name: x for name, x in decoder.tensors.items() if name != "output.weight"}
    if decoder.number == "float64":
        return tensors
    return {
        name: np.array([float(x.fraction) for x in tensor.ravel()]).reshape(tensor.shape)
        for name, tensor in tensors.items()
    }


def _neurons(tensors: Mapping[str, Vector], dimension: int) -> tuple[Vector, Vector]:
    """Their weights and biases; a decoder may have none."""
    none = np.zeros((0, dimension)), np.zeros(0)
    return (tensors["hidden.weight"], tensors["hidden.bias"]) if "hidden.bias" in tensors else none


def _embedded(tensors: Mapping[str, Vector], numbers: Sequence[int]) -> Vector:
    vectors = tensors["embedding.weight"][list(numbers)]
    if "positions.weight" not in tensors:
        return vectors
    return vectors + tensors["positions.weight"][: len(numbers)]


def _best(model: Model, logits: Vector, likely: int) -> tuple[tuple[str | int, float], ...]:
    """The largest logits: those of the likely tokens, and one more that shows the floor."""
    best = np.argsort(-logits, kind="stable")[: min(SHOWN, likely + 1)].tolist()
    return tuple((model.labels[i], float(logits[i])) for i in best)


def _distances(weights: Vector, mixed: Vector, arguments: Vector) -> tuple[Vector, float | None]:
    """How far each neuron's switch is, and the input's place on the line if there is one.

    A neuron whose weights are all w sees w times the sum of the coordinates.
    """
    if len(weights) and (weights == weights[:, :1]).all():
        return _ratio(arguments, weights[:, 0]), float(mixed.sum())
    return _ratio(arguments, np.linalg.norm(weights, axis=1)), None


def _ratio(arguments: Vector, slopes: Vector) -> Vector:
    """A neuron without a slope never switches: it is infinitely far."""
    far = np.full(len(arguments), np.inf)
    return np.divide(np.abs(arguments), np.abs(slopes), out=far, where=slopes != 0)


def _nearest(arguments: Vector, distances: Vector, among: NDArray[np.bool_]) -> Neuron | None:
    """The neuron among these whose switch is nearest."""
    if not (among & np.isfinite(distances)).any():
        return None
    number = int(np.where(among, distances, np.inf).argmin())
    return Neuron(number, float(arguments[number]), float(distances[number]))
