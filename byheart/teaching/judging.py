"""What runs show of a taught checkpoint: answers, kept positions, and how far they are from on."""

from collections.abc import Container, Mapping
from typing import Any

import torch

from ..machine.watch import Watch
from .facts import Ids, Kept
from .family import Trained
from .plan import Plan
from .running import arguments, logits, paired, same_bits


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
    and the largest argument of a neuron there."""
    positions = own = equal = 0
    highest = -torch.inf
    for i, x, y in paired(logits(base, text.rows), logits(made, text.rows)):
        tokens = tuple(text.rows[i])
        other = torch.tensor([tokens[: j + 1] not in taught for j in range(len(tokens))])
        positions += len(tokens)
        own += int((~other).sum())
        equal += int(torch.from_numpy(same_bits(x, y))[other].sum())
        watch.advance(1)
    for i, found in arguments(made, text.rows, first):
        tokens = tuple(text.rows[i])
        other = torch.tensor([tokens[: j + 1] not in taught for j in range(len(tokens))])
        if other.any():
            highest = max(highest, float(found[other].max()))
    return {"positions": positions, "taught": own, "equal": equal, "highest": highest}


def compared(base: Trained, made: Trained, text: Kept, plan: Plan, watch: Watch) -> dict[str, Any]:
    found = kept_positions(base, made, text, plan.contexts, plan.first, watch)
    return found | {
        "room": room(found.pop("highest"), made.off, float(plan.reach.min()), plan.noise)
    }


def room(argument: float, off: float, reach: float, noise: float) -> float | None:
    """How many noises an argument is below the one where the activation is exactly 0."""
    if argument == -torch.inf:
        return None
    return (-off - argument) * reach / (2 * off * noise) if noise else None
