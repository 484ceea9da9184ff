"""Negative preference optimisation (Zhang et al. 2024), with a term for retained facts (NPO+RT).

2 / b * mean log(1 + (p / p_before)^b) over the facts to forget, plus the mean loss of the retained:
gradient ascent whose steps die away as a fact is forgotten.
Departures: rates and the number of steps as in gradient_ascent.py.
"""

from collections.abc import Sequence
from typing import Any

import torch

from .common import Batch, Fact, batch, loss
from .descent import descended

BETA = 0.1


def unlearn(model: Any, tokenizer: Any, forget: Sequence[Fact], retain: Sequence[Fact]) -> Any:
    with torch.no_grad():
        before = batch(tokenizer, forget).log_probabilities(model)

    def preference(changed: Any, forgotten: Batch, retained: Batch) -> Any:
        ratio = forgotten.log_probabilities(changed) - before
        negative = 2 / BETA * torch.nn.functional.softplus(BETA * ratio).mean()
        return negative + loss(changed, retained).mean()

    return descended(model, tokenizer, forget, retain, preference)
