"""The least divergence over the dimension."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from ..data.targets import Targets
from . import candidates, nearest
from .encoder import Encoder, merged
from .exact import lossless

STEPS, LARGEST = 7, 256  # dimensions that are tried if none are named, the largest of them


def sweep(
    targets: Targets,
    dimensions: Sequence[int],
    gap: float,
    seed: int = 0,
    report: Callable[[str], None] = lambda sentence: None,
) -> Iterator[dict]:
    """A row for each dimension, in increasing order.

    An encoder of a smaller dimension is one of a larger, with zeros. Where the optimiser does worse
    with more room, the row keeps the smaller encoder, and says so.
    """
    rows = merged(targets).targets
    before: Encoder | None = None
    for dimension in sorted(set(dimensions)):
        report(f"dimension {dimension:,}")
        started = time.perf_counter()
        tried = list(candidates(rows, dimension, gap, seed))
        if before is not None and not tried[0].exact:
            tried.append(padded(before, dimension))
        before = nearest(tried)
        yield _row(dimension, before, tried, time.perf_counter() - started)


def _row(dimension: int, found: Encoder, tried: list[Encoder], seconds: float) -> dict:
    return {
        "dimension": dimension,
        "divergence": found.divergence,
        "largest": found.largest,
        "encoder": found.name,
        "exact": found.exact,
        "seconds": seconds,
        "tried": {encoder.name: encoder.divergence for encoder in tried},
    }


def padded(encoder: Encoder, dimension: int) -> Encoder:
    """The same encoder in a larger dimension."""
    width = encoder.unembedding.shape[1]
    zeros = ((0, 0), (0, dimension - width))
    name = encoder.name if "dimension" in encoder.name else f"{encoder.name}, dimension {width}"
    return replace(
        encoder,
        name=name,
        unembedding=np.pad(encoder.unembedding, zeros),
        embeddings=np.pad(encoder.embeddings, zeros),
    )


def steps(targets: Targets) -> list[int]:
    """About STEPS dimensions from 2 to where nothing is lost (or LARGEST), in equal ratios."""
    last = min(lossless(merged(targets)), LARGEST)
    if last <= 2:
        return list(range(1, last + 1))
    ratio = (last / 2) ** (1 / (STEPS - 1))
    return sorted({round(2 * ratio**i) for i in range(STEPS)})
