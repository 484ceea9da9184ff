"""Run a Network: exactly on Python integers (the reference), or with compiled limb kernels."""

from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from .batch import Batch
from .network import Network

SMALL = 2000  # sequences; below, compiling kernels does not pay


def choose(engine: str, sequences: int) -> str:
    """The engine that "auto" stands for."""
    if engine == "auto":
        return "limbs" if sequences > SMALL else "exact"
    return engine


def evaluate(
    network: Network,
    batch: Batch,
    engine: str = "auto",
    progress: Callable[[int], None] | None = None,
) -> list[Fraction] | NDArray[np.int64]:
    """The output for every sequence. engine: "exact", "limbs", or "auto" to choose by size."""
    if choose(engine, len(batch)) == "limbs":
        from .limbs import engine as limbs

        try:
            return limbs.evaluate(network, batch, progress)
        except limbs.LimbsError:
            if engine == "limbs":
                raise
    from . import reference as exact

    return exact.evaluate(network, batch)
