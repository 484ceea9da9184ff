"""Rigorous bounds for a Decoder: how far its distributions are, at most, from their targets.

The claim is about real numbers: the saved weights are exact, and softmax, exp and the activations
are the true functions. Nothing here trusts a library's exp. Four engines, the cheapest first:

thermometer  neurons that are almost on or off (logistic, tanh, erf): O(n vocabulary)
ramps        the same for GELU, whose neurons are almost max(0, x): compensated sums
heads        decoders without neurons: balls in doubles, then as the next where those are too wide
dense        any decoder: balls in doubles, then balls of more digits where those are too wide
"""

from collections.abc import Callable
from importlib import import_module

from ...data.targets import Divergences, Targets
from ..decoder import Decoder

ENGINES = ("thermometer", "ramps", "heads", "dense")


def enclose(
    decoder: Decoder,
    targets: Targets,
    gap: float,
    limit: float,
    progress: Callable[[int], None] | None = None,
) -> Divergences | None:
    """Bounds from above of every context's divergence; None if that takes over `limit` seconds.

    The first engine whose bounds are all within the gap, else the last that applies.
    """
    best = None
    for name in ENGINES:
        engine = import_module(f".{name}", __name__)
        if not engine.applies(decoder) or engine.seconds(decoder, targets) > limit:
            continue
        best = engine.enclose(decoder, targets, gap, progress) or best
        progress = None  # the contexts are counted once
        if best is not None and (best.values <= gap).all():
            return best
    return best
