"""What the methods of unlearning share: descent at several rates, of which the best one counts."""

from collections.abc import Callable, Sequence
from typing import Any

import torch

from .common import Batch, Fact, batch, copied, seed

STEPS, RATES = 50, (1e-5, 1e-4, 1e-3)


def best(models: Sequence[Any], forgotten: Batch, retained: Batch) -> Any:
    """The model with the largest harmonic mean of facts forgotten and facts retained."""

    def score(model: Any) -> float:
        gone = 1 - float(forgotten.answered(model).float().mean())
        kept = float(retained.answered(model).float().mean())
        return 2 * gone * kept / max(gone + kept, 1e-9)

    return max(models, key=score).requires_grad_(False)


def descended(
    model: Any,
    tokenizer: Any,
    forget: Sequence[Fact],
    retain: Sequence[Fact],
    objective: Callable[[Any, Batch, Batch], torch.Tensor],
) -> Any:
    """The best model of RATES after AdamW has made the objective small.

    It ends when no fact to forget is answered any more. Retained facts are drawn for each step, as
    many as there are to forget.
    """
    forgotten, retained = batch(tokenizer, forget), batch(tokenizer, retain)
    models = []
    for rate in RATES:
        changed, source = copied(model), torch.Generator().manual_seed(seed())
        optimiser = torch.optim.AdamW(changed.parameters(), lr=rate)
        with torch.enable_grad():
            for _ in range(STEPS):
                some = torch.randperm(len(retain), generator=source)[: len(forget)]
                optimiser.zero_grad()
                drawn = Batch(retained.rows[some], retained.labels[some])
                objective(changed, forgotten, drawn).backward()
                optimiser.step()
                if not forgotten.answered(changed).any():
                    break
        models.append(changed)
    return best(models, forgotten, retained)
