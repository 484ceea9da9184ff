"""Places as waves, so that attention can look a fixed number of places back, at one place exactly.

Let w_1 ... w_F be frequencies. The score of place s for a query at place t that looks j places back
is A sum_f cos(w_f (t - j - s)): it is A F at s = t - j, and at most A (F - gap) at every other
place, with gap = F - max over distances of sum_f cos(w_f distance). Large A makes the softmax as
sharp as one likes. A turn of the query by w_f j does the look back: cos(w_f (t - j - s)) is the
inner product of (cos, sin) of w_f (t - j) and of w_f s.

A place where a text begins gets a score of its own, A (F - gap / 2), half way between: it catches
the heads that look for a place before the beginning, and no others.
"""

import math

import numpy as np

from ..data.targets import Floats

TRIES = 2000
BASES = 400


def frequencies(
    waves: int, places: int, heads: int, random: np.random.Generator
) -> tuple[Floats, float]:
    """F free frequencies, the best of many draws, and their gap over all distances that occur."""
    distance = np.arange(1, places + heads + 1)[:, None]
    best: tuple[float, Floats] = (-math.inf, np.zeros(waves))
    for _ in range(TRIES):
        drawn = random.random(waves) * 2 * math.pi
        gap = waves - float(np.cos(distance * drawn).sum(axis=1).max())
        if gap > best[0]:
            best = gap, drawn
    return best[1], best[0]


def rotary_base(size: int, places: int, heads: int) -> tuple[float, float]:
    """The base of rotary positions with the largest gap, and the gap of its faster waves.

    A head of `size` lanes has size / 2 waves, base^(-2 f / size). The slowest is kept for the
    beginning of the text: its cosine must stay close enough to 1 over all places that the score of
    the beginning remains between (3/4) and (1/4) of the gap below the best.
    """
    half = size // 2
    waves = half - 1
    distance = np.arange(1, places + heads + 1)[:, None]
    best = (0.0, 0.0)
    for base in np.geomspace(10, 1e8, BASES):
        found = base ** -(np.arange(half) / half)
        gap = waves - float(np.cos(distance * found[:waves]).sum(axis=1).max())
        lowest = math.cos(min(math.pi, found[-1] * places))
        if lowest * (waves - gap / 4) > waves - 3 * gap / 4 and gap > best[0]:
            best = gap, float(base)
    return best[1], best[0]
