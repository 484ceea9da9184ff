"""Logits of all contexts in the order of their scalar, a tile of contexts at a time.

An engine advances a running state of each token past the neurons that switch. Only one tile of
logits exists at any time, and the output weights are read where they are, a block of neurons at a
time: the same speed, whichever of their two axes is contiguous.
"""

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from ...data.targets import Divergences, Floats, Targets
from ...machine.kernels import njit
from ..decoder import Decoder
from .bound import divergences
from .switches import Switches

TILE = 1 << 16  # logits in a tile, but at least BLOCK contexts
BLOCK = 64

# Writes the logits and radii of sorted contexts [start, end).
Advance = Callable[[int, int, Floats, Floats], None]


def sweep(
    decoder: Decoder,
    targets: Targets,
    switches: Switches,
    advance: Advance,
    engine: str,
    progress: Callable[[int], None] | None,
) -> Divergences:
    """Bounds of every context's divergence, from the logits that `advance` writes."""
    count, vocabulary = len(targets), decoder.shape.vocabulary
    if not (0 <= targets.following.min() and targets.following.max() < vocabulary):
        raise AssertionError("a token")  # compiled loops do not check their indices
    size = min(count, max(BLOCK, TILE // vocabulary))
    logits, radii = np.empty((size, vocabulary)), np.empty(size)
    values, likeliest = np.empty(count), np.empty(count, np.int64)
    for start, end in pairwise([*range(0, count, size), count]):
        radii[:] = 0
        advance(start, end, logits, radii)
        contexts = switches.contexts[start:end]
        follows = targets.following, targets.ends, targets.counts
        divergences(logits, radii, contexts, *follows, values, likeliest)
        if progress is not None:
            progress(end - start)
    return Divergences(values, np.zeros(count), likeliest, rigorous=True, engine=engine)


@njit
def tail_sums(output, tails):
    """sum_k tails[k] |output[j, k]| of each token j, rounded upwards; infinite if not a number."""
    vocabulary, neurons = output.shape
    sums = np.zeros(vocabulary)
    for start in range(0, neurons, BLOCK):
        for j in range(vocabulary):
            for k in range(start, min(start + BLOCK, neurons)):
                weight = output[j, k]
                if weight != 0:
                    sums[j] += tails[k] * abs(weight) + 2.0**-1000
    for j in range(vocabulary):
        total = sums[j] * (1 + (neurons + 8) * 2.0**-52)
        sums[j] = total if total < np.inf else np.inf
    return sums
