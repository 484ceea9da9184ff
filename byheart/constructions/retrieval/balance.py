"""Make the fullest bit position as empty as possible: it decides how many numbers must be stored.

The parts of a plan after its head may change places without any cost in parameters, and with them
which bits of H choose the column.
"""

import math
import random

import numpy as np
from numpy.typing import NDArray

from .plan import Layout, Plan


def loads(shift: NDArray, lengths: NDArray, columns: int, window: int) -> NDArray[np.int64]:
    """Equations per bit position, highest position first."""
    counts = np.zeros(columns + window - 1, np.int64)
    table = np.bincount(shift * window + lengths - 1, minlength=columns * window)
    held = table.reshape(columns, window)[:, ::-1].cumsum(axis=1)[:, ::-1]
    for digit in range(window):
        counts[digit : digit + columns] += held[:, digit]
    return counts


def climb(
    plan: Plan, hashes: NDArray, lengths: NDArray, window: int, tries: int, rng: random.Random
) -> tuple[Layout, int]:
    """The best layout that hill climbing over the orders finds, and its largest load."""

    def judge(order: list) -> tuple[float, int, Layout]:
        layout = plan.layout(order)
        counts = loads(layout.column_of(hashes), lengths, plan.columns, window)
        mean = counts.mean()
        steepness = 0.3 * math.sqrt(mean) if mean else 1.0
        score = float(np.exp(np.minimum((counts - mean) / steepness, 600)).sum())
        return score, int(counts.max()), layout

    current = list(plan.parts[1])
    score, least, best = judge(current)
    for attempt in range(tries if len(current) > 1 else 0):
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


def best_of(
    plan: Plan, hashes: NDArray, lengths: NDArray, window: int, tries: int, rng: random.Random
) -> tuple[Layout, int]:
    """The best layout of some random orders, and its largest load."""
    order = list(plan.parts[1])
    best, least = plan.layout(order), 1 << 62
    for _ in range(tries if plan.columns > 1 else 1):
        layout = plan.layout(order)
        load = int(loads(layout.column_of(hashes), lengths, plan.columns, window).max())
        if load < least:
            best, least = layout, load
        rng.shuffle(order)
    return best, least
