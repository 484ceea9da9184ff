"""Trial: one training run with its configuration; its result is a row.

The seed is a hash of the configuration: neither the order of trials nor which process runs them
changes a result. It is the same to the bit on one machine; another processor, or another version of
PyTorch or Numba, may add numbers in another order.
"""

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from ..architectures import Architecture, architecture
from ..architectures.trainable import trainable
from ..errors import ByheartError, OptionError
from .problem import EVALUATED, Problem, size_of
from .protocol import Protocol, read

Row = dict[str, Any]  # a line of rows.jsonl
PROCESS = 300_000_000  # bytes of a worker that trains next to nothing; libraries are shared
SINGLE, DOUBLE = 4, 8  # bytes
CRITERIA = ("gap", "loss", "accuracy", "plateau")


@dataclass(frozen=True)
class Criterion:
    """When data counts as memorised.

    "gap"       summed loss minus entropy, as a share of the entropy, is at most `value`
    "loss"      mean loss minus mean entropy, in nats, is at most `value`
    "accuracy"  the share of the attainable accuracy is at least `value`
    "plateau"   an attempt with more steps changes the memorised bits by at most this share
    """

    kind: str
    value: float

    def __str__(self) -> str:
        return f"{self.kind}={self.value:g}"

    def check(self, problem: Problem) -> None:
        """ByheartError if this data cannot be judged by it."""
        if self.kind == "gap" and not problem.entropy:
            raise ByheartError(
                "a gap is relative to the entropy, and the entropy of this data is 0; "
                "use `criterion='accuracy=1'` or `criterion='loss=0.01'`."
            )

    def reached(self, problem: Problem, loss: float, accuracy: float) -> bool:
        """Whether a summed loss and an accuracy are good enough."""
        excess = loss - problem.entropy
        match self.kind:
            case "gap":
                return excess <= self.value * problem.entropy
            case "loss":
                return excess <= self.value * problem.predictions
            case "plateau":  # which one attempt cannot show
                return False
        return accuracy >= self.value * problem.best_accuracy

    def level(self, problem: Problem, before: float, after: float) -> bool:
        """Whether two summed losses, the second of more steps, show a plateau of memorised bits."""
        uniform = problem.predictions * math.log(problem.outputs)
        return self.kind == "plateau" and abs(after - before) <= self.value * (uniform - after)


def criterion(text: str) -> Criterion:
    """The criterion that "kind=value" names."""
    kind, _, value = text.partition("=")
    try:
        number = float(value)
    except ValueError:
        number = 0
    if kind not in CRITERIA or not 0 < number < math.inf:
        kinds = "'gap=SHARE', 'loss=NATS', 'accuracy=SHARE' or 'plateau=SHARE'"
        raise OptionError("criterion", text, f"must be {kinds}, such as 'gap=0.01'")
    if kind == "accuracy" and number > 1:
        raise ByheartError(f"an accuracy is at most 1, not {number:g}.")
    return Criterion(kind, number)


@dataclass(frozen=True)
class Trial:
    """Everything that a training run depends on."""

    architecture: str
    sizes: Mapping[str, int]  # of the architecture, by their names there
    data: Mapping[str, Any]  # {"sha256": ..., "sequences": ...}: how many of its first sequences
    protocol: Protocol
    criterion: Criterion
    seed: int  # a small number that distinguishes repetitions

    def __str__(self) -> str:
        """In words: madden2024 with dimension 16, neurons 8, sequences 100, seed 0."""
        sizes = {**self.sizes, "sequences": self.data.get("sequences"), "seed": self.seed}
        listed = ", ".join(f"{name} {size}" for name, size in sizes.items() if size is not None)
        return f"{self.architecture} with {listed}"

    def json(self) -> dict:
        own = {name: dict(getattr(self, name)) for name in ("sizes", "data")}
        how = {"protocol": self.protocol.json(), "criterion": asdict(self.criterion)}
        return {**own, "architecture": self.architecture, **how, "seed": self.seed}

    @cached_property
    def key(self) -> str:
        text = json.dumps(self.json(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    def random_seed(self, *parts: object) -> int:
        """A seed for one purpose, from the configuration alone."""
        digest = hashlib.sha256(":".join([self.key, *map(str, parts)]).encode()).digest()
        return int.from_bytes(digest[:7], "big")

    def architecture_for(self, problem: Problem) -> Architecture:
        """The architecture with its sizes; the data decides some of them."""
        record = trainable(self.architecture)
        if problem.reads_vectors and "coordinates" in self.sizes:
            raise ByheartError("the data has vectors already; coordinates=... is for words.")
        decided = {size: getattr(problem, name) for size, name in record.from_data.items()}
        return architecture(self.architecture, {**decided, **record.always, **self.sizes})

    def memory(self, problem: Problem) -> int:
        """Bytes that a worker holds at one time, at most: an estimate, rather too large.

        Of a parameter: its weight, gradient and two moments, three numbers for a step; SOAP turns
        them and keeps more (19 were observed), and for each side of a matrix that it turns another
        matrix and its basis, and four to turn the largest. Of a fixed tensor: its rows twice. Of a
        context: activations with their gradients, and the loss in doubles. Of a batch drawn before
        training: its indices as well. A model that reads whole sequences keeps the activations of
        all layers, of one batch or of what it evaluates at one time; a context is one token.
        """
        described, protocol = self.architecture_for(problem), self.protocol
        turned = [x.turned for x in protocol.attempts if x.optimiser == "soap"]
        matrices = [shape for shape in described.tensors.values() if len(shape) > 1]
        sides = [side for x in matrices for side in x if side <= max(turned, default=0)]
        sizes = {name: size for name, size in described.sizes.items() if isinstance(size, int)}
        activations = (
            sizes["length"] * (4 * sizes["dimension"] + 2 * sizes["heads"])
            + 4 * sizes["heads"] * sizes["head_dimension"]
            + sizes["layers"] * (4 * sizes["width"] + 4 * sizes["dimension"])
            + math.prod(problem.tokens.shape[1:])
        )
        contexts = len(problem)
        if trainable(self.architecture).problem == "prefixes":
            contexts = min(contexts, max(EVALUATED, 2 * (protocol.batch or contexts)))
            per_layer = 40 * sizes["dimension"] + 6 * sizes["heads"] * sizes["length"]
            activations = sizes["layers"] * per_layer + 8 * problem.outputs
        drawn = 0
        if protocol.batch is not None and protocol.batches is not None:
            rows = protocol.batches * min(protocol.batch, len(problem.count))
            drawn = rows * DOUBLE * (3 * problem.length + 12)
        fixed = sum(map(math.prod, described.fixed.values()))
        return (
            PROCESS
            + size_of(problem)
            + SINGLE * 2 * fixed
            + SINGLE * (20 if turned else 7) * described.parameters
            + SINGLE * (2 * sum(side * side for side in sides) + 4 * max(sides, default=0) ** 2)
            + contexts * SINGLE * activations
            + len(problem) * (2 * SINGLE + 3 * DOUBLE) * problem.outputs
            + drawn
        )


def trial(row: Mapping[str, Any]) -> Trial:
    how = read(row["protocol"]), Criterion(**row["criterion"])
    return Trial(row["architecture"], row["sizes"], row["data"], *how, row["seed"])
