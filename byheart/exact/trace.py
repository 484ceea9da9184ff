"""How one input is answered.

The value after each stage, the context ids, the stored sum that was read, which bits of it, and
where they are kept. What is followed is the last token's column, or a deep set's only one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from typing import Any

from ..claims.answer import Answer, Token
from ..claims.kind import Explains
from . import reference as exact
from .answer import ExactModel, batch_of, meaning, numbers
from .batch import columns
from .ids import compares, ids_of
from .lanes import Stream
from .network import Dyadic, FeedForward, Layer, Parameter, Relu, dyadic

Lanes = dict[int, Dyadic]  # nonzero lanes of one column


@dataclass(frozen=True)
class Stage:
    """Consecutive layers with one purpose, and the last column's lanes after them."""

    name: str
    first: int
    last: int
    fired: int  # hidden units above 0
    units: int
    lanes: Lanes

    def json(self) -> dict:
        lanes = {str(lane): _json(x) for lane, x in self.lanes.items()}
        counts = {"units": self.units, "fired": self.fired, "lanes": lanes}
        return {"stage": self.name, "layers": [self.first, self.last], **counts}

    def line(self) -> str:
        """For people."""
        span = f"{self.first}-{self.last}" if self.last > self.first else f"{self.first}"
        fired = f"{self.fired}/{self.units}" if self.units else "-"
        return f"{self.name:<12} {span:>9} {fired:>9}  {show(self.lanes.get(0, Dyadic(0, 0)))}"


@dataclass(frozen=True)
class Trace:
    """An answer and where it comes from.

    context_ids what the network knows of each token in its sequence, once columns have met (see
                context_ids.py); a deep set has one id, a network without such a layer none, and
                neither has one that was trained
    """

    answer: Answer
    stages: tuple[Stage, ...]
    context_ids: tuple[Dyadic, ...]
    stored: Dyadic | None  # the sum of stored numbers before it is shifted
    # places of the label's bits in that sum, first one first (label bit i is the exclusive or of
    # places bits[i] and bits[i] + 1)
    bits: tuple[int, ...]
    holders: tuple[Parameter, ...]  # the parameters whose values make up the sum
    outputs: tuple[Dyadic, ...]  # one, or one per token

    @property
    def output(self) -> Dyadic:
        """The last token's."""
        return self.outputs[-1]

    @property
    def context_id(self) -> Dyadic | None:
        """The last token's."""
        return self.context_ids[-1] if self.context_ids else None

    def json(self) -> dict:
        return {
            **self.answer.json(),
            "stages": [stage.json() for stage in self.stages],
            "context_id": _json(self.context_id),
            "context_ids": [_json(number) for number in self.context_ids],
            "stored": _json(self.stored),
            "bits": list(self.bits),
            "holders": [[p.layer, p.tensor, p.row, p.column] for p in self.holders],
            "output": _json(self.output),
        }

    def lines(self) -> list[str]:
        rows = [f"{'stage':<12} {'layers':>9} {'fired':>9}  main lane after it"]
        rows += [stage.line() for stage in self.stages]
        if isinstance(self.answer.label, list):  # every token is answered
            pairs = zip(self.answer.input, self.context_ids, strict=True)
            rows += [f"context id   {show(number)} of {token!r}" for token, number in pairs]
        else:
            rows += [f"context id   {show(number)}" for number in self.context_ids[-1:]]
        if self.stored is not None:
            places = ", ".join(map(str, self.bits))
            rows.append(f"stored sum   {show(self.stored)}")
            rows.append(f"label bits   at places {places} of it, counted from the lowest")
        if self.holders:
            first = (f"{p.tensor}[{p.row},{p.column}] of layer {p.layer}" for p in self.holders[:4])
            more = f" and {len(self.holders) - 4} more" if len(self.holders) > 4 else ""
            rows.append(f"held by      {', '.join(first)}{more}")
        outputs = ", ".join(map(show, self.outputs))
        label = "unknown" if self.answer.known is False else repr(self.answer.label)
        rows.append(f"output       {outputs}, which means {label}")
        return rows


def _json(number: Dyadic | None) -> list | None:
    return None if number is None else [str(number.mantissa), number.exponent]


def show(number: Dyadic) -> str:
    """A number for people: short ones in full, long ones by their leading digits and length."""
    value = number.fraction
    if value.denominator == 1 and abs(value) < 10**12:
        return str(int(value))
    if value.denominator == 1:
        sign = "-" if value < 0 else ""
        digits = abs(int(value)).bit_length()
        return f"{sign}0x{abs(int(value)) >> max(0, digits - 32):x}... ({digits} bits)"
    if abs(value) < 10**12:
        return f"{float(value):.6g}"
    return f"{show(dyadic(int(value)))} + fraction"


def followed(
    model: ExactModel, tokens: Sequence[Token]
) -> tuple[list[Lanes], list[list[int]], list[Fraction]]:
    """One input, whose words the model knows, through the network in exact arithmetic.

    Returns the last column's nonzero lanes after each layer, the hidden units of each layer that
    are above 0 in it, and the outputs. Before columns first meet, a stream has an entry for each
    distinct column; later one for each column that is kept, the last one last.
    """
    network, rows = model.network, numbers(model, tokens)
    assert rows is not None
    batch = batch_of(network, [rows])
    _, index = next(columns(network.input, batch).indices(1))
    first = min(network.attentions, default=len(network.layers))
    streams: list[Lanes] = []

    def observe(layer: int, stream: Stream) -> None:
        row = int(index[0, -1]) if layer < first else -1
        present = rows or layer >= first  # an empty multiset has no column before the sum
        lanes: Lanes = {}
        for lane, x in sorted(stream.items()) if present else ():
            number = dyadic(int(x.values[row]))
            if number.mantissa:
                lanes[lane] = Dyadic(number.mantissa, number.exponent - x.scale)
        streams.append(lanes)

    outputs = exact.evaluate(network, batch, observe)
    fired = [_fired(layer, streams[i - 1], streams[i]) for i, layer in enumerate(network.layers)]
    return streams, fired, list(outputs)


def trace(model: ExactModel, tokens: Sequence[Token], made_by: Explains | None) -> Trace:
    """How one input, whose words the model knows, is answered."""
    network = model.network
    streams, fired, outputs = followed(model, tokens)
    stored = made_by and made_by.stored(network, streams, fired)

    def name_of(index: int) -> str:
        layer = network.layers[index]
        return made_by.traced_stage(layer) if made_by else layer.stage

    units = [
        x.weight.rows if isinstance(x, Relu) else x.W1.rows if isinstance(x, FeedForward) else 0
        for x in network.layers
    ]
    stages = []
    for name, group in groupby(range(len(streams)), name_of):
        layers = list(group)
        on, of = sum(len(fired[i]) for i in layers), sum(units[i] for i in layers)
        stages.append(Stage(name, layers[0], layers[-1], on, of, streams[layers[-1]]))
    # training aims at no ids, and where scores are compared no lane holds them
    met = network.attentions and model.record.training is None and not compares(network)
    rows = numbers(model, tokens)
    assert rows is not None
    (ids,) = ids_of(network, [rows]) if met else ([],)
    held: tuple[Any, Any, Any] = (
        (stored.value, stored.bits, stored.holders) if stored else (None, (), ())
    )
    context_ids, numbered = (tuple(map(dyadic, x)) for x in (ids, outputs))
    answer = meaning(model, tokens, outputs)
    return Trace(answer, tuple(stages), context_ids, *held, numbered)


def _fired(layer: Layer, before: Lanes, after: Lanes) -> list[int]:
    """Hidden units of a block, or rows of a relu layer, that are above 0 in the last column."""
    if isinstance(layer, Relu):
        return list(after)
    if not isinstance(layer, FeedForward):
        return []
    values, rows = {lane: x.fraction for lane, x in before.items()}, layer.W1.by_row
    return [
        unit
        for unit in range(layer.W1.rows)
        if sum(w.fraction * values.get(k, 0) for k, w in rows.get(unit, ())) > -layer.b1[unit, 0]
    ]
