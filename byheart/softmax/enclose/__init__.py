"""Rigorous bounds for a Decoder: how far its distributions are, at most, from their targets.

The claim is about real numbers: the saved weights are exact, and softmax, exp and the activations
are the true functions. Nothing here trusts a library's exp. Four engines, the cheapest first:

thermometer  neurons that are almost on or off (logistic, tanh, erf): O(n vocabulary)
ramps        the same for GELU, whose neurons are almost max(0, x): compensated sums
heads        decoders without neurons: balls in doubles, then as the next where those are too wide
dense        any decoder: balls in doubles, then balls of more digits where those are too wide
"""

from collections.abc import Callable
from dataclasses import replace
from importlib import import_module

import numpy as np

from ...data.targets import Divergences, Targets
from ..decoder import Decoder

DOUBT = 15.0  # seconds for contexts that no engine has decided in time
ENGINES = ("thermometer", "ramps", "heads", "dense")


def enclose(
    decoder: Decoder,
    targets: Targets,
    gap: float,
    limit: float,
    progress: Callable[[int], None] | None = None,
) -> Divergences | None:
    """Bounds of every context's divergence; None if `limit` seconds are too few for any.

    The first engine whose bounds are all within the gap, else the last that applies. Where none has
    decided a context, and the dense engine is too slow for all, some are enclosed by it
    nevertheless: one that is beyond the gap refutes, whatever the others are.
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
    if best is not None and best.engine == "dense":
        return best
    nothing, zeros = np.full(len(targets), np.inf), np.zeros(len(targets))
    known = best or Divergences(nothing, zeros, zeros.astype(np.int64), True, "dense")
    chosen = np.flatnonzero(~(known.values <= gap) & ~(known.below > gap))
    dense, limit = import_module(".dense", __name__), min(limit, DOUBT)
    if not len(chosen) or dense.seconds(decoder, targets.subset(chosen[:1])) > limit:
        return best
    while dense.seconds(decoder, part := targets.subset(chosen)) > limit:
        chosen = chosen[::2]
    some = dense.enclose(decoder, part, gap)
    values, below, likeliest = known.values.copy(), known.below.copy(), known.likeliest.copy()
    values[chosen] = np.minimum(values[chosen], some.values)
    below[chosen] = np.maximum(below[chosen], some.below)
    likeliest[chosen] = some.likeliest
    return replace(known, values=values, below=below, likeliest=likeliest)
