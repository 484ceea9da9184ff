"""Make the fullest bit position as empty as possible: it decides how many numbers are stored."""

import random

import numpy as np
from numpy.typing import NDArray

from .layout import Layout, Plan


def balance(
    plan: Plan,
    hashes: NDArray,
    lengths: NDArray,
    window: int,
    tries: int,
    rng: random.Random,
) -> tuple[Layout, int]:
    """The order of the digits that leaves the fullest bit position emptiest, and its load.

    Digits after the head may change places without any cost in parameters; of some random orders
    the best is taken.
    """
    head, rest = plan.digits
    order = list(rest)
    best, least = Layout(plan, head + rest), 1 << 62
    for _ in range(tries if plan.columns > 1 else 1):
        layout = Layout(plan, (*head, *order))
        load = int(loads(layout.read(hashes).shift, lengths, plan.columns, window).max())
        if load < least:
            best, least = layout, load
        rng.shuffle(order)
    return best, least


def loads(shift: NDArray, lengths: NDArray, columns: int, window: int) -> NDArray[np.int64]:
    """Equations a bit position, highest position first."""
    counts = np.zeros(columns + window - 1, np.int64)
    table = np.bincount(shift * window + lengths - 1, minlength=columns * window)
    held = table.reshape(columns, window)[:, ::-1].cumsum(axis=1)[:, ::-1]
    for digit in range(window):
        counts[digit : digit + columns] += held[:, digit]
    return counts
