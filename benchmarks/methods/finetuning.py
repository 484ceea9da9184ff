"""Fine-tuning on the facts alone, until each follows with a loss below 0.02 or the time is over."""

import time
from typing import Any

import torch

from .common import Edit

STEPS, BATCH, ENOUGH = 400, 128, 0.02


def finetuned(edit: Edit, rate: float) -> Any:
    model = edit.copied()
    return _trained(edit, model, list(model.parameters()), rate)


def finetuned_matrix(edit: Edit, rate: float) -> Any:
    """Of the output matrix of one MLP alone."""
    model = edit.copied()
    return _trained(edit, model, [edit.down(model).weight], rate)


def _trained(edit: Edit, model: Any, parameters: list[torch.Tensor], rate: float) -> Any:
    for own in model.parameters():
        own.requires_grad_(any(own is x for x in parameters))
    optimiser = torch.optim.Adam(parameters, lr=rate)
    began, random = time.process_time(), torch.Generator().manual_seed(0)
    for _ in range(STEPS):
        some = torch.randperm(len(edit.contexts), generator=random)[:BATCH]
        scores = model(edit.rows[some], use_cache=False).logits
        scores = scores[torch.arange(len(some)), edit.last[some]]
        loss = torch.nn.functional.cross_entropy(scores, edit.wanted[some])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        if loss.item() < ENOUGH or time.process_time() - began > edit.limit:
            break
    return model.requires_grad_(False)
