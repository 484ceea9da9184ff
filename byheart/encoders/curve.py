"""The least divergence over the dimension: how near to a dataset any model can come."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..data.targets import Targets
from ..machine.watch import SILENT, Watch
from . import candidates, nearest
from .encoder import Encoder, merged
from .exact import lossless

STEPS, LARGEST = 7, 256  # dimensions that are tried by default, the largest of them


@dataclass(frozen=True)
class EncoderPoint:
    """The best encoder of one dimension; if not exact, its divergence is an upper bound."""

    dimension: int
    divergence: float  # the mean over predictions, in nats
    largest: float  # the divergence of the worst context
    encoder: str
    exact: bool  # whether it is a closed form: 0 up to the gap
    seconds: float
    tried: Mapping[str, float]  # the divergence of every encoder that was tried, by name


def sweep(
    targets: Targets, dimensions: Sequence[int], gap: float, seed: int = 0, watch: Watch = SILENT
) -> Iterator[EncoderPoint]:
    """A point for each dimension, increasing; a smaller encoder stays where it is better."""
    rows = merged(targets).targets
    before: Encoder | None = None
    for dimension in sorted(set(dimensions)):
        watch.note(f"dimension {dimension:,}")
        started = time.perf_counter()
        tried = list(candidates(rows, dimension, gap, seed))
        if before is not None and not tried[0].exact:
            tried.append(before.padded(dimension))
        before = nearest(tried)
        sizes = before.divergence, before.largest, before.name, before.exact
        seconds = time.perf_counter() - started
        yield EncoderPoint(dimension, *sizes, seconds, {x.name: x.divergence for x in tried})


def steps(targets: Targets) -> list[int]:
    """About STEPS dimensions from 2 to where nothing is lost (or LARGEST), in equal ratios."""
    last = min(lossless(merged(targets)), LARGEST)
    if last <= 2:
        return list(range(1, last + 1))
    ratio = (last / 2) ** (1 / (STEPS - 1))
    return sorted({round(2 * ratio**i) for i in range(STEPS)})
