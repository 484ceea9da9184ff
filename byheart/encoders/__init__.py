"""How near to given distributions any model of dimension d can come (dana2024, section 3).

One file per item: closed forms (exact, circle), a construction (look_up), an optimiser (optimal).
"""

from collections.abc import Iterator

from ..data.targets import Targets
from .circle import certain as certain
from .circle import circle_encoder as circle_encoder
from .encoder import Encoder as Encoder
from .encoder import check, merged
from .exact import exact_encoder as exact_encoder
from .exact import lossless
from .look_up import equation_6 as equation_6
from .look_up import look_up_encoder as look_up_encoder
from .optimal import optimal_encoder as optimal_encoder


def best(targets: Targets, dimension: int, gap: float, seed: int = 0) -> Encoder:
    """The encoder with the least divergence; a closed form where there is one."""
    return nearest(candidates(targets, dimension, gap, seed))


def candidates(targets: Targets, dimension: int, gap: float, seed: int = 0) -> Iterator[Encoder]:
    """A closed form within the gap, if one applies; otherwise all upper bounds."""
    check("an encoder", targets, dimension)
    if dimension >= lossless(merged(targets)):
        yield exact_encoder(targets, dimension, gap)
        return
    if certain(targets) and dimension > 1:
        yield circle_encoder(targets, dimension, gap, seed)
        return
    if dimension > 1:
        yield equation_6(targets, dimension, gap, seed)
        yield look_up_encoder(targets, dimension, gap, seed)
    yield optimal_encoder(targets, dimension, gap, seed)


def nearest(encoders: Iterator[Encoder] | list[Encoder]) -> Encoder:
    return min(encoders, key=lambda encoder: encoder.divergence)
