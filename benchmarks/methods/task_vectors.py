"""Forgetting by negation of a task vector (Ilharco et al. 2023): W - a (W' - W), where W' is the
model after fine-tuning on what is to be forgotten.

Departures: as in the paper a is chosen on a validation, here on the given facts, by the harmonic
mean of the shares forgotten and retained; STEPS of Adam at RATE.
"""

from collections.abc import Sequence
from typing import Any

import torch

from .common import Fact, batch, copied, loss
from .descent import best

STEPS, RATE = 20, 1e-3
FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)


def unlearn(model: Any, tokenizer: Any, forget: Sequence[Fact], retain: Sequence[Fact]) -> Any:
    forgotten, retained, tuned = batch(tokenizer, forget), batch(tokenizer, retain), copied(model)
    optimiser = torch.optim.Adam(tuned.parameters(), lr=RATE)
    with torch.enable_grad():
        for _ in range(STEPS):
            optimiser.zero_grad()
            loss(tuned, forgotten).mean().backward()
            optimiser.step()

    @torch.no_grad()
    def negated(factor: float) -> Any:
        changed = copied(model)
        for x, y in zip(changed.parameters(), tuned.parameters(), strict=True):
            x -= factor * (y - x)
        return changed

    return best([negated(factor) for factor in FACTORS], forgotten, retained)
