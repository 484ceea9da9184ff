"""How one input is answered.

The value after each stage, the context id, the stored sum that was read, which bits of it, and
where they are kept.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from .errors import ByheartError
from .evaluate import exact
from .evaluate.batch import columns
from .model import Answer, Model, Token
from .network import Dyadic, FeedForward, Network, Parameter, dyadic

FOLDS = {"store", "gate", "row index", "column gate", "column index", "mark", "constant"}
Lanes = dict[int, Dyadic]  # nonzero lanes of the last column


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
        lanes = {str(lane): [str(x.mantissa), x.exponent] for lane, x in self.lanes.items()}
        return {
            "stage": self.name,
            "layers": [self.first, self.last],
            "units": self.units,
            "fired": self.fired,
            "lanes": lanes,
        }

    def line(self) -> str:
        """For people."""
        span = f"{self.first}-{self.last}" if self.last > self.first else f"{self.first}"
        fired = f"{self.fired}/{self.units}" if self.units else "-"
        value = show(self.lanes.get(0, Dyadic(0, 0)))
        return f"{self.name:<12} {span:>9} {fired:>9}  {value}"


@dataclass(frozen=True)
class Trace:
    """An answer and where it comes from.

    context_id  the stream's main lane after the attention layer: what the network knows of the
                input
    stored      the sum of stored numbers before it is shifted
    bits        places of the label's bits in that sum, first one first (label bit i is the
                exclusive or of places bits[i] and bits[i] + 1)
    holders     the parameters whose values make up the sum
    """

    answer: Answer
    stages: tuple[Stage, ...]
    context_id: Dyadic | None
    stored: Dyadic | None
    bits: tuple[int, ...]
    holders: tuple[Parameter, ...]
    output: Dyadic

    def json(self) -> dict:
        return {
            **self.answer.json(),
            "stages": [stage.json() for stage in self.stages],
            "context_id": _json(self.context_id),
            "stored": _json(self.stored),
            "bits": list(self.bits),
            "holders": [[p.layer, p.tensor, p.row, p.column] for p in self.holders],
            "output": _json(self.output),
        }

    def lines(self) -> list[str]:
        """For people: a line a stage."""
        rows = [f"{'stage':<12} {'layers':>9} {'fired':>9}  main lane after it"]
        rows += [stage.line() for stage in self.stages]
        if self.context_id is not None:
            rows.append(f"context id   {show(self.context_id)}")
        if self.stored is not None:
            places = ", ".join(map(str, self.bits))
            rows.append(f"stored sum   {show(self.stored)}")
            rows.append(f"label bits   at places {places} of it, counted from the lowest")
        if self.holders:
            rows.append(f"held by      {_places(self.holders)}")
        rows.append(f"output       {show(self.output)}, which means {self.answer.label!r}")
        return rows


def _places(holders: Sequence[Parameter]) -> str:
    """The first few places, and how many more there are."""
    shown = ", ".join(f"{p.tensor}[{p.row},{p.column}] of layer {p.layer}" for p in holders[:4])
    return f"{shown} and {len(holders) - 4} more" if len(holders) > 4 else shown


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


def trace(model: Model, tokens: Sequence[Token]) -> Trace:
    """Follow one input through the network, in exact arithmetic."""
    rows = model.numbers(tokens)
    if rows is None:
        raise ByheartError("a word is outside the model's vocabulary, so there is nothing to trace")
    batch = model.batch_of([rows])
    _, index = next(columns(model.network.input, batch).indices(1))
    streams: list[Lanes] = []

    def observe(layer: int, stream: exact.Stream) -> None:
        before = not model.network.attentions or layer < model.network.attentions[0]
        row = int(index[0, -1]) if before else -1
        lanes = {lane: _value(x, row) for lane, x in stream.items()}
        streams.append({lane: value for lane, value in sorted(lanes.items()) if value.mantissa})

    (output,) = exact.evaluate(model.network, batch, observe)
    answer = model.meaning(tokens, output)
    fired = [_fired(model.network, i, streams) for i in range(len(streams))]
    stages = tuple(_stages(model.network, streams, fired))
    attention = model.network.attentions
    identity = streams[attention[0]].get(0) if attention else None
    stored, bits = _stored(model.network, streams)
    holders = tuple(_holders(model.network, fired)) if stored else ()
    return Trace(answer, stages, identity, stored, bits, holders, dyadic(output))


def _value(lane: exact.Lane, row: int) -> Dyadic:
    number = dyadic(int(lane.values[row]))
    return Dyadic(number.mantissa, number.exponent - lane.scale if number.mantissa else 0)


def _fired(network: Network, index: int, streams: Sequence[Lanes]) -> list[int]:
    """Hidden units of a block above 0 in the last column."""
    layer = network.layers[index]
    if not isinstance(layer, FeedForward):
        return []
    before = {lane: x.fraction for lane, x in streams[index - 1].items()}
    rows = layer.W1.by_row
    return [
        unit
        for unit in range(layer.W1.rows)
        if sum(w.fraction * before.get(k, 0) for k, w in rows.get(unit, ())) > -layer.b1[unit, 0]
    ]


def _stages(
    network: Network, streams: Sequence[Lanes], fired: Sequence[list[int]]
) -> Iterator[Stage]:
    def family(index: int) -> str:
        return "fold" if network.layers[index].stage in FOLDS else network.layers[index].stage

    for name, group in groupby(range(len(streams)), family):
        layers = list(group)
        blocks = [x for i in layers if isinstance(x := network.layers[i], FeedForward)]
        yield Stage(
            name,
            layers[0],
            layers[-1],
            sum(len(fired[i]) for i in layers),
            sum(block.W1.rows for block in blocks),
            streams[layers[-1]],
        )


def _stored(network: Network, streams: Sequence[Lanes]) -> tuple[Dyadic | None, tuple[int, ...]]:
    """The stored sum, and the places of the label's bits in it, for networks that shift and strip.

    The lowest strip threshold is 2**K and the largest shift is K minus the length of a word
    (see assemble._strip).
    """
    stages = [layer.stage for layer in network.layers]
    if "strip" not in stages:
        return None, ()
    strips = [i for i, stage in enumerate(stages) if stage == "strip"]
    shifts = [i for i, stage in enumerate(stages) if stage == "shift"]
    stored = streams[min([*shifts, strips[0]]) - 1].get(0)
    shifted = streams[strips[0] - 1].get(0)
    if stored is None or shifted is None:
        return None, ()
    moved = shifted.exponent - stored.exponent
    top = dyadic(-network.layers[strips[-1]].tensors["b1"][0, 0]).exponent
    widest = sum(int(network.layers[i].tensors["W2"][0, 0] + 1).bit_length() - 1 for i in shifts)
    return stored, tuple(top - moved - 1 - i for i in range(top - widest))


def _holders(network: Network, fired: Sequence[list[int]]) -> Iterator[Parameter]:
    """The parameters that hold the numbers in the sum.

    Thresholds of folds that fired, and cells and constants of lanes that are on.
    """
    on = _lanes_on(network, fired)
    for index, layer in enumerate(network.layers):
        if not isinstance(layer, FeedForward) or layer.stage not in FOLDS | {"select"}:
            continue
        select = layer.stage == "select"
        if layer.stage in ("store", "gate"):
            for unit in fired[index]:
                yield Parameter(index, "b1", unit, 0, layer.b1.by_row[unit][0][1])
        cells = [entry for entry in layer.W2.entries if select and entry.column in fired[index]]
        for name, entries in (("W2", cells), ("b2", layer.b2.entries)):
            for row, column, value in entries:
                if row in on:
                    yield Parameter(index, name, row, column, value)


def _lanes_on(network: Network, fired: Sequence[list[int]]) -> set[int]:
    """Lanes whose values reach the main lane 0: added, step by step, by units that fired."""
    added = {}
    for index, layer in enumerate(network.layers):
        if isinstance(layer, FeedForward) and layer.stage == "add lanes":
            for target, unit, _ in layer.W2.entries:
                if unit in fired[index]:
                    added[layer.W1.by_row[unit][0][0]] = target
    on = {0}
    for lane in added:
        path = [lane]
        while path[-1] in added:
            path.append(added[path[-1]])
        on |= set(path) if path[-1] == 0 else set()
    return on
