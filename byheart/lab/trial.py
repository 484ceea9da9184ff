"""Trial: one training run, its configuration, and what came of it as a row.

The seed is a hash of the configuration: neither the order of trials nor which process runs them
changes a result. It is the same to the bit on one machine; another processor, or another version of
PyTorch or Numba, may add numbers in another order.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from ..architectures import Architecture, architecture
from ..errors import ByheartError
from .problem import Problem
from .protocol import Attempt, Protocol, Search

Row = dict[str, Any]  # what a line of rows.jsonl holds


@dataclass(frozen=True)
class Criterion:
    """When data counts as memorised.

    "gap"       summed loss minus entropy, as a share of the entropy, is at most `value`
    "loss"      mean loss minus mean entropy, in nats, is at most `value`
    "accuracy"  the share of the attainable accuracy is at least `value`
    """

    kind: str
    value: float

    def __str__(self) -> str:
        return f"{self.kind}={self.value:g}"

    def check(self, problem: Problem) -> None:
        """ByheartError if this data cannot be judged so."""
        if self.kind == "gap" and not problem.entropy:
            raise ByheartError(
                "a gap is relative to the entropy, and the entropy of this data is 0; "
                "use --criterion accuracy=1 or loss=0.01."
            )

    def reached(self, problem: Problem, loss: float, accuracy: float) -> bool:
        """Whether a summed loss and an accuracy are good enough."""
        excess = loss - problem.entropy
        match self.kind:
            case "gap":
                return excess <= self.value * problem.entropy
            case "loss":
                return excess <= self.value * problem.predictions
        return accuracy >= self.value * problem.best_accuracy


DEFAULTS = {
    "madden2024": Criterion("gap", 0.01),
    "dana2024": Criterion("accuracy", 1.0),
    "dana2024-mlp": Criterion("accuracy", 1.0),
    "kajitsuka2025": Criterion("loss", 0.01),
}


def criterion(text: str) -> Criterion:
    """The criterion that "kind=value" names."""
    kind, _, value = text.partition("=")
    try:
        found = Criterion(kind, float(value))
    except ValueError:
        found = Criterion("", 0)
    if found.kind not in ("gap", "loss", "accuracy") or not 0 < found.value < float("inf"):
        raise ByheartError(
            "--criterion is gap=SHARE, loss=NATS or accuracy=SHARE, such as gap=0.01, "
            f"not {text!r}."
        )
    if found.kind == "accuracy" and found.value > 1:
        raise ByheartError(f"an accuracy is at most 1, not {found.value:g}.")
    return found


@dataclass(frozen=True)
class Trial:
    """Everything that a training run depends on.

    sizes  of the architecture, by their names there
    data   {"sha256": ..., "sequences": ...}: which dataset, and how many of its first sequences
    seed   a small number that tells repetitions apart
    """

    architecture: str
    sizes: Mapping[str, int]
    data: Mapping[str, Any]
    protocol: Protocol
    criterion: Criterion
    seed: int

    def json(self) -> dict:
        return {
            **{name: dict(getattr(self, name)) for name in ("sizes", "data")},
            "architecture": self.architecture,
            "protocol": self.protocol.json(),
            "criterion": asdict(self.criterion),
            "seed": self.seed,
        }

    @cached_property
    def key(self) -> str:
        """The hash of the configuration."""
        text = json.dumps(self.json(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    def random_seed(self, *parts: object) -> int:
        """A seed for one purpose, from the configuration alone."""
        digest = hashlib.sha256(":".join([self.key, *map(str, parts)]).encode()).digest()
        return int.from_bytes(digest[:7], "big")

    def architecture_for(self, problem: Problem) -> Architecture:
        """The architecture with its sizes; what the data decides is taken from the data."""
        decided: dict[str, int] = {"vocabulary": problem.vocabulary, "length": problem.length}
        if self.architecture == "kajitsuka2025":
            decided["labels"] = problem.outputs
        if self.architecture == "madden2024":
            decided["attention_biases"] = True  # as in the authors' program
        return architecture(self.architecture, {**decided, **self.sizes})


def trial(given: Mapping[str, Any]) -> Trial:
    """The trial that its JSON describes."""
    protocol = given["protocol"]
    search = protocol["search"]
    return Trial(
        given["architecture"],
        given["sizes"],
        given["data"],
        Protocol(
            **{
                **protocol,
                "attempts": tuple(Attempt(**x) for x in protocol["attempts"]),
                "frozen": tuple(protocol["frozen"]),
                "search": None
                if search is None
                else Search(search["trials"], tuple(search["rate"]), tuple(search["warmup"])),
            }
        ),
        Criterion(**given["criterion"]),
        given["seed"],
    )
