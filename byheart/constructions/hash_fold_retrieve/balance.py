"""Make the fullest bit position as empty as possible: it decides how many numbers must be stored.

The folds after the head may change places without any cost in parameters, and with them which bits
of H choose the column. Hill climbing over their order lowers the largest load.
"""

import math
import random

import numpy as np
from numba import njit, uint64
from numpy.typing import NDArray

from .layout import Layout, Plan

ONE = np.uint64(1)


@njit(cache=True, nogil=True)
def _loads(bits, lengths, places, weights, columns, window, counts):
    """counts[position]: how many contexts have a label bit there (position 0 is the highest)."""
    table = np.zeros((columns, window), np.int64)
    for i in range(bits.shape[0]):
        column = 0
        for j in range(places.shape[0]):
            if not (bits[i] >> uint64(places[j])) & ONE:
                column += weights[j]
        table[column, lengths[i] - 1] += 1
    counts[:] = 0
    for column in range(columns):
        held = 0
        for digit in range(window - 1, -1, -1):
            held += table[column, digit]
            counts[column + digit] += held


def loads(layout: Layout, bits: NDArray, lengths: NDArray, window: int) -> NDArray[np.int64]:
    """Equations a bit position, highest position first."""
    backwards = layout.folds[::-1]
    places = [t for t, fold in enumerate(backwards) if fold.role == "column"]
    counts = np.zeros(layout.columns + window - 1, dtype=np.int64)
    _loads(
        bits,
        lengths,
        np.array(places, dtype=np.int64),
        np.array([backwards[t].weight for t in places], dtype=np.int64),
        layout.columns,
        window,
        counts,
    )
    return counts


def balance(
    plan: Plan, bits: NDArray, lengths: NDArray, window: int, tries: int, rng: random.Random
) -> tuple[Layout, int]:
    """The best order found, and its largest load."""
    head, rest = plan.folds

    def judge(order: list[int]) -> tuple[float, int, Layout]:
        layout = Layout(plan, head + tuple(rest[i] for i in order), plan.unknowns)
        counts = loads(layout, bits, lengths, window)
        mean = counts.mean()
        steepness = 0.3 * math.sqrt(mean) if mean else 1.0
        score = float(np.exp(np.minimum((counts - mean) / steepness, 600)).sum())
        return score, int(counts.max()), layout

    current = list(range(len(rest)))
    score, least, best = judge(current)
    for attempt in range(0 if plan.narrow or len(rest) < 2 else tries):
        order = current[:]
        if attempt < tries // 4:
            rng.shuffle(order)
        else:
            for _ in range(rng.choice((1, 1, 2))):
                a, b = rng.randrange(len(order)), rng.randrange(len(order))
                order[a], order[b] = order[b], order[a]
        new_score, load, layout = judge(order)
        if new_score <= score:
            score, current = new_score, order
        if load < least:
            least, best = load, layout
    return best, least
