"""How a decoder answers one input: the numbers after each of its stages, in double arithmetic.

Where neurons see only the sum of the coordinates that attention gives (as in the proof of
madden2024, Theorem 5), that sum is a place on a line, and every neuron switches at another place.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..claims.answer import Answer, Token
from ..claims.kind import Explains
from ..claims.model import ModelData
from . import doubles as softmax
from .answer import DecoderModel, answers, numbers
from .decoder import ATTENTION
from .rounding import doubtful

SHOWN = 8  # likeliest tokens
Vector = NDArray[np.float64]


class Neuron(NamedTuple):
    """A neuron next to an input, its argument, and how far away it switches."""

    number: int
    argument: float
    distance: float


@dataclass(frozen=True, eq=False)
class DecoderTrace:
    """An answer and where it comes from."""

    answer: Answer
    mixing: str
    # a vector for each token
    embedded: Vector  # [tokens, d]
    # the output of attention, or of the token sum
    mixed: Vector  # [d]
    scalar: float | None  # the sum of its coordinates if the neurons see nothing else, else None
    neurons: int  # how many there are; on: those whose argument is above 0
    on: int
    # the neuron that is on and nearest to switching off, above: the other way round
    below: Neuron | None
    above: Neuron | None
    logits: tuple[tuple[str | int, float], ...]  # of the likeliest tokens, and one below them

    def json(self) -> dict:
        stages: list[dict] = [
            {"stage": "embed", "vectors": self.embedded.tolist()},
            {"stage": self.mixing, "vector": self.mixed.tolist(), "scalar": self.scalar},
        ]
        if self.neurons:
            nearest = {"below": self.below, "above": self.above}
            switches = {side: x and x._asdict() for side, x in nearest.items()}
            stages.append({"stage": "neurons", "neurons": self.neurons, "on": self.on, **switches})
        stages.append({"stage": "output", "logits": [list(pair) for pair in self.logits]})
        return {**self.answer.json(), "stages": stages}

    def lines(self) -> list[str]:
        """For people: one line per stage."""
        tokens = zip(self.answer.input, self.embedded, strict=True)
        embedded = "  ".join(f"{token} {_vector(vector)}" for token, vector in tokens)
        mixed = _vector(self.mixed) if self.scalar is None else f"s = {self.scalar:.17g}"
        rows = [f"embed        {embedded}", f"{self.mixing:<12} {mixed}"]
        if self.neurons:
            rows.append(f"neurons      {self.on:,} of {self.neurons:,} are on")
        for neuron, what in ((self.below, "on"), (self.above, "off")):
            if neuron is not None:
                rows.append(
                    f"             the nearest that is {what}: number {neuron.number:,}, which "
                    f"switches {neuron.distance:.3g} away (its argument is {neuron.argument:.3g})"
                )
        logits = "  ".join(f"{token} {value:.6g}" for token, value in self.logits)
        rows.append(f"logits       {logits}")
        likely = (self.answer.probabilities or ())[:SHOWN]
        return [*rows, "distribution " + "  ".join(f"{token} {p:.4%}" for token, p in likely)]


def _vector(vector: Vector) -> str:
    """One number if all coordinates are equal, else the first few."""
    if (vector == vector[0]).all():
        return f"{vector[0]:.6g}"
    shown = ", ".join(f"{x:.4g}" for x in vector[:4])
    return f"({shown}{', ...' if len(vector) > 4 else ''})"


def trace(model: DecoderModel, tokens: Sequence[Token], made_by: Explains | None) -> DecoderTrace:
    """The values on the way of one input, whose words the model knows, through the decoder."""
    row = numbers(model, tokens)
    assert row is not None
    decoder, place = model.network, (np.array(row), np.array([0, len(row)]))
    tensors = softmax.tensors_before_output(decoder)
    embedded = tensors["embedding.weight"][list(row)]
    if "positions.weight" in tensors:
        embedded = embedded + tensors["positions.weight"][: len(row)]
    mixed = softmax.mixed(decoder.shape, tensors, *place)[0]
    weights = tensors.get("hidden.weight", np.zeros((0, len(mixed))))
    arguments = weights @ mixed + tensors.get("hidden.bias", np.zeros(0))
    # a neuron whose weights are all w sees w times the sum of the coordinates: a place on a line
    on_a_line = bool(len(weights)) and bool((weights == weights[:, :1]).all())
    slopes = weights[:, 0] if on_a_line else np.linalg.norm(weights, axis=1)
    far = np.full(len(arguments), np.inf)  # a neuron without a slope never switches
    distances = np.divide(np.abs(arguments), np.abs(slopes), out=far, where=slopes != 0)
    answer = answers(model, [tokens])[0]
    logits = softmax.logits(decoder, *place)[0]
    if decoder.number != "dyadic" and doubtful(decoder, *place).any():
        from . import arb  # flint is slow to import

        logits = arb.logits(decoder, *place)[0]
    # those of the likely tokens, and one more that shows the floor
    shown = min(SHOWN, len(answer.probabilities or ()) + 1)
    best = np.argsort(-logits, kind="stable")[:shown].tolist()
    return DecoderTrace(
        answer=answer,
        mixing="attend" if decoder.shape.mixing == ATTENTION else "sum",
        embedded=embedded[-len(tokens) :],
        mixed=mixed,
        scalar=float(mixed.sum()) if on_a_line else None,
        neurons=len(arguments),
        on=int((arguments > 0).sum()),
        below=_nearest(arguments, distances, arguments > 0),
        above=_nearest(arguments, distances, arguments <= 0),
        logits=tuple((model.labels[i], float(logits[i])) for i in best),
    )


def _nearest(arguments: Vector, distances: Vector, among: NDArray[np.bool_]) -> Neuron | None:
    """The neuron among these whose switch is nearest."""
    if not (among & np.isfinite(distances)).any():
        return None
    number = int(np.where(among, distances, np.inf).argmin())
    return Neuron(number, float(arguments[number]), float(distances[number]))


def followed(model: ModelData, tokens: Sequence[Token]) -> None:
    """It has no lanes."""
