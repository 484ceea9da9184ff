"""A network as its stages: what each does, and what it costs.

Every number is counted in the weights, so the stages add up to the network. What a stage does is
said by the construction that builds it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..constructions.base import Header
from ..errors import ByheartError
from ..exact.network import Network
from ..exact.stages import Stage
from ..machine.tables import Content, Tabular
from ..models.claims import Distributions
from ..models.model import Model
from ..models.trace import made_by
from ..softmax.decoder import ATTENTION, Decoder
from ..stock.checkpoint import Checkpoint

HEADER = ("paper", "item", "summary", "statement", "assumptions", "guarantee", "departures")
READ = ("dimension", "positions", "length", "columns", "padding", "extra")


@dataclass(frozen=True, repr=False)
class Explanation(Tabular):
    """A network taken apart.

    stages     in the order in which they begin
    sentences  what each of them does
    header     the theorem that it is built after
    answer     all of it as JSON: stages, totals, what the network reads and writes, the theorem
    """

    stages: tuple[Stage, ...]
    sentences: tuple[str, ...]
    header: Header
    answer: Mapping[str, Any]

    def json(self) -> dict:
        return dict(self.answer)

    def table(self) -> Content:
        rows: list[tuple[object, ...]] = [
            (stage.name, stage.nonzero, stage.bits, stage.depth, sentence)
            for stage, sentence in zip(self.stages, self.sentences, strict=True)
        ]
        title = f"{self.answer['method']}: {self.header.summary}"
        return title, ("stage", "nonzero", "bits", "depth", ""), rows


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
    if not isinstance(model, Model):
        raise ByheartError("explain takes a Model; byheart.compile builds one.")
    construction = made_by(model)
    if construction is None:
        raise ByheartError("the model was not built by a construction that this version has.")
    if isinstance(model.network, Checkpoint):
        raise ByheartError(
            "explain takes a network of byheart's own layers apart; of a stock checkpoint, "
            "ground_truth.jsonl says which neurons answer what, and a trace shows one answer."
        )
    header, network, about = construction.header, model.network, model.about
    stages = tuple(network.stages())
    sentences = tuple(construction.stage_sentence(stage.kind, stage.name) for stage in stages)
    nonzero = sum(stage.nonzero for stage in stages)
    answer = {
        "method": about["method"],
        "form": about["form"],
        **{name: getattr(header, name) for name in HEADER},
        "dataset": {key: value for key, value in about["data"].items() if key != "sha256"},
        "input": {"tokens": model.kind, **_read(network)},
        "output": {
            "labels": len(model.labels),
            "unknown": model.claim.unknown is not None,
            "every": model.every,
        },
        "stages": [
            {
                "part": stage.part,
                "stage": stage.name,
                "kind": stage.kind,
                "does": sentence,
                "layers": [list(run) for run in stage.runs],
                "depth": stage.depth,
                "nonzero": stage.nonzero,
                "dense": stage.dense,
                "bits": stage.bits,
                "largest": stage.largest,
                "share": stage.nonzero / nonzero if nonzero else 0.0,
                "connections": stage.connections,
            }
            for stage, sentence in zip(stages, sentences, strict=True)
        ],
        "totals": {
            **network.counts()[0],
            "bits": sum(stage.bits for stage in stages),
            "largest": max(stage.largest for stage in stages),
            "depth": sum(stage.depth for stage in stages),
            "width": network.width,
        },
    }
    if isinstance(model.claim, Distributions):
        shape = network.shape
        answer |= {
            "shape": shape._asdict(),
            "formula": shape.formula,
            "ratio": ratio(shape.parameters, shape.vocabulary, shape.neurons),
            "gap": model.claim.gap,
        }
    return Explanation(stages, sentences, header, answer)


def ratio(parameters: int, vocabulary: int, neurons: int) -> float | None:
    """How many times more contexts the parameters might hold: eq. (3); None without neurons.

    At most parameters / (omega - 1) contexts (Lemma 1), at least m (Theorem 5).
    """
    return parameters / ((vocabulary - 1) * neurons) if neurons else None


def _read(network: Network | Decoder) -> dict:
    if isinstance(network, Decoder):
        shape = network.shape
        sizes = (shape.dimension, shape.mixing == ATTENTION, shape.length, shape.length)
        return dict(zip(READ, (*sizes, None, None), strict=True))
    found = {name: getattr(network.input, name) for name in READ}
    for name in ("padding", "extra"):
        found[name] = found[name] and [float(x.fraction) for x in found[name]]
    return found
