"""A network as its stages: what each does, and what it costs.

A stage is all layers with one purpose in one part of the network: E_in, what is done to every
column on its own, where columns meet, what is done after that, E_out. Every number is counted in
the weights, so the stages add up to the network.
"""

import html
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from ..constructions.base import Header
from ..errors import ByheartError
from ..exact.network import Dyadic, Mixing, Network
from ..models.claims import Distributions
from ..models.model import Model
from ..models.trace import made_by
from ..softmax.decoder import Decoder
from . import decoder_stages
from .stage import AFTER, FIRST, LAST, MEETING, TOKENS, Sentence, Stage


@dataclass(frozen=True)
class Explanation:
    """A network taken apart.

    stages   in the order in which they begin
    header   the theorem that it is built after
    answer   the same as JSON: stages, totals, what it reads and writes, the theorem
    """

    stages: tuple[Stage, ...]
    header: Header
    answer: Mapping[str, Any]

    def json(self) -> dict:
        return dict(self.answer)

    def __repr__(self) -> str:
        lines = [f"{self.answer['method']}: {self.header.summary}"]
        lines += [f"{x.name:<14}{x.nonzero:>9,} nonzero  {x.sentence}" for x in self.stages]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = (
            f"<tr><td>{html.escape(x.name)}</td><td>{x.nonzero:,}</td><td>{x.bits:,}</td>"
            f"<td>{html.escape(x.sentence)}</td></tr>"
            for x in self.stages
        )
        head = "<tr><th>stage</th><th>nonzero</th><th>bits</th><th></th></tr>"
        return f"<table>{head}{''.join(rows)}</table>"


def explain(model: Model) -> Explanation:
    """The stages of a model's network, what each of them costs, and the theorem behind it.

    Args:
        model: A model that a construction built, compiled just now or opened from its folder.

    Returns:
        The explanation; it prints as a table, and `.json()` is what `byheart explain --json` says.

    Example:
        >>> import byheart
        >>> data = byheart.Dataset.from_rows([(["a", "b"], "x"), (["b", "b"], "y")])
        >>> [stage.name for stage in byheart.explain(byheart.compile(data)).stages][0]
        'embed'
    """
    construction = made_by(model)
    if construction is None:
        raise ByheartError("the model was not built by a construction that this version has.")
    header, network, about = construction.header, model.network, model.about
    decoder = isinstance(network, Decoder)
    make = decoder_stages.stages if decoder else stages
    found = tuple(make(network, construction.stage_sentence))
    nonzero = sum(stage.nonzero for stage in found)
    answer = {
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
        "input": decoder_stages.reads(model) if decoder else _reads(model),
        "output": {
            "labels": len(model.labels),
            "unknown": model.claim.unknown is not None,
            "every": model.every,
        },
        "stages": [stage.json(nonzero) for stage in found],
        "totals": decoder_stages.totals(network) if decoder else _totals(network, found),
    }
    if isinstance(model.claim, Distributions):
        answer |= decoder_stages.shape_facts(network.shape) | {"gap": model.claim.gap}
    return Explanation(found, header, answer)


def _reads(model: Model) -> dict:
    reads = model.network.input

    def floats(vector: Sequence[Dyadic] | None) -> list[float] | None:
        return None if vector is None else [float(x.fraction) for x in vector]

    return {
        "tokens": model.kind,
        "dimension": reads.dimension,
        "positions": reads.positions,
        "length": reads.length,
        "columns": reads.columns,
        "padding": floats(reads.padding),
        "extra": floats(reads.extra),
    }


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


def stages(network: Network, sentence: Sentence) -> list[Stage]:
    """The stages in the order in which they begin."""
    members: dict[tuple[str, str, str], list[int]] = {}
    for index, layer in enumerate(network.layers):
        members.setdefault((_part(network, index), layer.kind, layer.stage), []).append(index)
    return [_stage(network, part, x, sentence) for (part, _, _), x in members.items()]


def _part(network: Network, index: int) -> str:
    if index in (0, len(network.layers) - 1):
        return LAST if index else FIRST
    if isinstance(network.layers[index], Mixing):
        return MEETING
    meeting = network.attentions
    return TOKENS if meeting and index < meeting[-1] else AFTER


def _stage(network: Network, part: str, indices: list[int], sentence: Sentence) -> Stage:
    layers = [network.layers[i] for i in indices]
    tensors = [tensor for layer in layers for tensor in layer.tensors.values()]
    values = [entry.value for tensor in tensors for entry in tensor.entries]
    pairs = [len(getattr(layer, "connections", ())) for layer in layers]
    return Stage(
        part,
        layers[0].kind,
        layers[0].stage,
        sentence(layers[0].kind, layers[0].stage),
        tuple(_runs(indices)),
        0 if part in (FIRST, LAST) else len(layers),
        len(values),
        sum(tensor.rows * tensor.columns for tensor in tensors),
        sum(value.coded_bits for value in values),
        max((value.fixed_bits for value in values), default=0),
        sum(pairs) or None,
    )


def _runs(indices: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Consecutive layers: number less rank is constant on each run."""
    for _, group in groupby(enumerate(indices), lambda pair: pair[1] - pair[0]):
        run = [index for _, index in group]
        yield run[0], run[-1]
