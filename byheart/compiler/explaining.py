"""A network as its stages: what each does, and what it costs.

A stage is all layers with one purpose in one part of the network: E_in, what is done to every
column on its own, where columns meet, what is done after that, E_out. Every number is counted in
the weights, so the stages add up to the network.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from ..constructions.base import Header
from ..exact.network import Dyadic, Layer, Mixing, Network
from ..models.model import Model

FIRST, TOKENS, MEETING, AFTER, LAST = PARTS = ("input", "tokens", "meeting", "after", "output")

# (kind of layer, stage): what it does
SENTENCES = {
    ("linear", "embed"): "E_in turns each token's vector into the numbers of its column.",
    ("embedding", "embed"): "The embedding matrix gives each token id its column.",
    ("feed_forward", "token hash"): "Folds mix the digits of each token's number.",
    ("uniform_attention", "attend"): "Each column learns the sum over all columns.",
    ("hard_attention", "attend"): "Each column adds what the columns with the largest score hold.",
    ("sparse_attention", "gather"): "The extra token gathers the sum of all columns.",
    ("sparse_attention", "attend"): "Each column reads that sum from the extra token.",
    ("sum", "sum"): "All columns are added up to one.",
    ("feed_forward", "mix"): "Folds mix the digits of the context's number.",
    ("feed_forward", "store"): "Folds halve the context's number; each threshold stores a number.",
    ("feed_forward", "gate"): "Bits of the context's number switch copies of the tables off.",
    ("feed_forward", "row index"): "Bits of the context's number choose the row of a table.",
    ("feed_forward", "column gate"): "Bits of the context's number open or close the shifts.",
    ("feed_forward", "column index"): "Bits of the context's number choose how far to shift.",
    ("feed_forward", "mark"): "Bits of the context's number make up its fingerprint.",
    ("feed_forward", "select"): "The chosen row of each table is added to the stored sum.",
    ("feed_forward", "add lanes"): "Copies of the tables that are on join the stored sum.",
    ("feed_forward", "add"): "Copies of the tables that are on join the stored sum.",
    ("feed_forward", "shift"): "The stored sum moves until the label's bits stand on top.",
    ("feed_forward", "strip"): "Folds take off the high bits of the stored sum.",
    ("feed_forward", "compare"): "The stored fingerprint is compared: an unknown input is told.",
    ("feed_forward", "decode"): "The label's code word becomes the label's number.",
    ("feed_forward", "read"): "Thresholds read the label's number digit by digit.",
    ("relu", "select"): "Finds the group of the key and fetches the group's two long numbers.",
    ("relu", "read"): "Tent maps read keys and values out of the two numbers, bit by bit.",
    ("relu", "compare"): "Each key read is compared; the value of an equal one is kept.",
    ("relu", "project"): "A projection turns the column into one scalar, the context id.",
    ("linear", "output"): "E_out hands over the number of the label.",
}


@dataclass(frozen=True)
class Stage:
    """Layers of one name in one part.

    runs     its layers, first and last of each piece
    depth    blocks: E_in and E_out are none
    bits     of all its parameters, coded; `largest` of the longest one, in plain notation
    """

    part: str
    kind: str
    name: str
    sentence: str
    runs: tuple[tuple[int, int], ...]
    depth: int
    nonzero: int
    dense: int
    bits: int
    largest: int
    connections: int | None

    def json(self, total: int) -> dict:
        return {
            "part": self.part,
            "stage": self.name,
            "kind": self.kind,
            "does": self.sentence,
            "layers": [list(run) for run in self.runs],
            "depth": self.depth,
            "nonzero": self.nonzero,
            "dense": self.dense,
            "bits": self.bits,
            "largest": self.largest,
            "share": self.nonzero / total if total else 0.0,
            "connections": self.connections,
        }


def explain(model: Model, header: Header) -> dict:
    """The stages of a model, their totals, and what the theorem says of it."""
    network, about = model.network, model.about
    parts = stages(network)
    nonzero = sum(stage.nonzero for stage in parts)
    return {
        **described(about, header),
        "input": _input(model),
        "output": {
            "labels": len(model.labels),
            "unknown": model.unknown is not None,
            "every": network.every,
        },
        "stages": [stage.json(nonzero) for stage in parts],
        "totals": _totals(network, parts),
    }


def described(about: Mapping, header: Header) -> dict:
    """The method, the data and the theorem."""
    return {
        "method": about["method"],
        "form": about["form"],
        "paper": header.paper,
        "item": header.item,
        "summary": header.summary,
        "statement": header.statement,
        "assumptions": header.assumptions,
        "guarantee": header.guarantee,
        "departures": header.departures,
        "dataset": {key: value for key, value in about["data"].items() if key != "sha256"},
    }


def _input(model: Model) -> dict:
    reads = model.network.input
    return {
        "tokens": model.kind,
        "dimension": reads.dimension,
        "positions": reads.positions,
        "length": reads.length,
        "columns": reads.columns,
        "padding": _numbers(reads.padding),
        "extra": _numbers(reads.extra),
    }


def _numbers(vector: Sequence[Dyadic] | None) -> list[float] | None:
    return None if vector is None else [float(x.fraction) for x in vector]


def _totals(network: Network, parts: Iterable[Stage]) -> dict:
    """What the stages add up to; the theorem counts all but E_in and E_out."""
    parts = list(parts)
    outside = sum(stage.nonzero for stage in parts if stage.part in (FIRST, LAST))
    nonzero = sum(stage.nonzero for stage in parts)
    return {
        "nonzero": nonzero,
        "dense": sum(stage.dense for stage in parts),
        "counted": nonzero - outside,
        "outside": outside,
        "bits": sum(stage.bits for stage in parts),
        "largest": max(stage.largest for stage in parts),
        "depth": sum(stage.depth for stage in parts),
        "width": network.width,
    }


def stages(network: Network) -> list[Stage]:
    """The stages in the order in which they begin."""
    members: dict[tuple[str, str, str], list[int]] = {}
    for index, layer in enumerate(network.layers):
        members.setdefault((_part(network, index), layer.kind, layer.stage), []).append(index)
    return [_stage(network, part, indices) for (part, _, _), indices in members.items()]


def _part(network: Network, index: int) -> str:
    if index in (0, len(network.layers) - 1):
        return LAST if index else FIRST
    if isinstance(network.layers[index], Mixing):
        return MEETING
    meeting = network.attentions
    return TOKENS if meeting and index < meeting[-1] else AFTER


def _stage(network: Network, part: str, indices: list[int]) -> Stage:
    layers = [network.layers[i] for i in indices]
    tensors = [tensor for layer in layers for tensor in layer.tensors.values()]
    values = [entry.value for tensor in tensors for entry in tensor.entries]
    pairs = [len(getattr(layer, "connections", ())) for layer in layers]
    return Stage(
        part,
        layers[0].kind,
        layers[0].stage,
        sentence(layers[0]),
        tuple(_runs(indices)),
        0 if part in (FIRST, LAST) else len(layers),
        len(values),
        sum(tensor.rows * tensor.columns for tensor in tensors),
        sum(value.coded_bits for value in values),
        max((value.fixed_bits for value in values), default=0),
        sum(pairs) or None,
    )


def sentence(layer: Layer) -> str:
    """What the layer's stage does; its plain name if nobody has said it."""
    return SENTENCES.get((layer.kind, layer.stage), layer.stage)


def _runs(indices: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Consecutive layers: number less rank is constant on each run."""
    for _, group in groupby(enumerate(indices), lambda pair: pair[1] - pair[0]):
        run = [index for _, index in group]
        yield run[0], run[-1]
