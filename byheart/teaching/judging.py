"""What runs show of a taught checkpoint: answers, kept positions, and how far they are from on."""

import heapq
import math
from collections.abc import Container, Mapping
from typing import Any

import numpy as np
import torch

from ..machine.watch import Watch
from .facts import Ids, Kept
from .family import STRENGTH, Trained
from .running import arguments, logits, same_bits

HARDEST = 1 << 12  # positions that are remembered


def leads(trained: Trained, contexts: Mapping[Ids, int], watch: Watch) -> dict[Ids, float]:
    """Nats by which the wanted token leads all others after each context."""
    rows, found = list(contexts), dict[Ids, float]()
    for i, scores in logits(trained, rows):
        last, token = scores[-1].double(), contexts[rows[i]]
        own = float(last[token])
        last[token] = -torch.inf
        found[rows[i]] = own - float(last.max())
        watch.advance(1)
    return found


def kept_positions(
    base: Trained, made: Trained, text: Kept, taught: Container[Ids], first: int, watch: Watch
) -> dict[str, Any]:
    """Positions, those that are taught contexts, and of the others those that are equal to the bit;
    the largest argument of a neuron there, and the positions where it is largest."""
    rows = map(tuple, text.rows)
    others = [np.array([row[: i + 1] not in taught for i in range(len(row))]) for row in rows]
    equal, found = 0, list[tuple[float, int, int]]()
    runs = zip(logits(base, text.rows), arguments(made, text.rows, first), strict=True)
    for (i, x), (_, y, above) in runs:
        equal += int(same_bits(x, y)[others[i]].sum())
        highest = enumerate(above.flatten(1).max(1).values.tolist())
        found += [(value, i, place) for place, value in highest if others[i][place]]
        watch.advance(1)
    found = heapq.nlargest(HARDEST, found)
    return {
        "positions": text.positions,
        "taught": text.positions - sum(int(x.sum()) for x in others),
        "equal": equal,
        "highest": found[0][0] if found else -math.inf,
        "nearest": [(value, tuple(text.rows[i][: place + 1])) for value, i, place in found],
    }


def room(argument: float, off: float, reach: float, noise: float) -> float | None:
    """How many noises an argument is below the one where the activation is exactly 0."""
    if argument == -math.inf or not noise:
        return None
    return (-off - argument) * reach / (STRENGTH * off * noise)
