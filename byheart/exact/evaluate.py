"""Run a Network: exactly on Python integers (the reference), or with compiled limb kernels."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from . import reference
from .batch import Batch, Ints
from .limbs.stack import LimbsError
from .network import Linear, Network

if TYPE_CHECKING:
    from .limbs.engine import Evaluator

SMALL = 2000  # outputs; below, compiling kernels does not pay
# Questions are asked a few at a time. The reference reads a weight in about 4 us, for up to 64
# questions at once; loading the kernels takes about half a second.
TOGETHER = 64
PAYS, LARGE = 1 << 14, 1 << 11  # weights that it has read, and those of a network at most

Outputs = list[Fraction] | Ints


def choose(engine: str, network: Network, batch: Batch) -> str:
    """The engine that "auto" stands for."""
    if engine == "auto":
        outputs = len(batch.ids) if network.every else len(batch)
        return "limbs" if outputs > SMALL else "exact"
    return engine


def evaluate(
    network: Network,
    batch: Batch,
    engine: str = "auto",
    progress: Callable[[int], None] | None = None,
) -> Outputs:
    """The output for every sequence. engine: "exact", "limbs", or "auto" to choose by size."""
    batch = _read(network, batch)
    if choose(engine, network, batch) == "limbs":
        try:
            return network.engines.compiled(batch, progress)
        except LimbsError:
            if engine == "limbs":
                raise
    return reference.evaluate(network, batch)


def _read(network: Network, batch: Batch) -> Batch:
    """The batch with 0 for fractions that no weight reads: they need not become integers."""
    first, vectors = network.layers[0], batch.vectors
    if not isinstance(first, Linear) or vectors.dtype.kind != "f":
        return batch
    read = np.zeros(network.input.coordinates, np.bool_)
    read[[column for _, column, _ in first.weight.entries]] = True
    return replace(batch, vectors=np.where(read[: vectors.shape[1]], vectors, 0))


class Engines:
    """What all runs of one network share (`Network.engines`): it is translated once."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self.weights = min(LARGE, sum(1 for _ in network.parameters()))
        self.read = 0
        self.evaluator: Evaluator | None = None
        self.refused = False

    def compiled(self, batch: Batch, progress: Callable[[int], None] | None = None) -> Outputs:
        """The outputs by the kernels; LimbsError if they cannot run the network."""
        if self.evaluator is None:
            from .limbs.engine import Evaluator

            self.evaluator = Evaluator(self.network)
        return self.evaluator(batch, progress)

    def answers(self, batch: Batch) -> Outputs:
        """The outputs for questions: by the kernels as soon as so many are asked that it pays."""
        self.read += self.weights * (1 + len(batch) // TOGETHER)
        if not self.refused and (self.evaluator or self.read > PAYS):
            try:
                return self.compiled(batch)
            except LimbsError:
                self.refused = self.evaluator is None  # else these questions are too long
        return reference.evaluate(self.network, batch)
