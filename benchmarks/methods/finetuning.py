"""Fine-tuning on the facts alone, until each follows with a loss below 0.02 or the time is over.

The baseline of Zhu et al. 2020 and of the papers on ROME and MEMIT: of all weights (`edit`), or of
the output matrix of the MLP in the middle block (`edit_matrix`).
Departures: no bound on the norm of the change; in `edit` the smallest of RATES counts that brings
the new answer.
"""

import time
from collections.abc import Callable
from typing import Any

import torch

from .common import Fact
from .editing import Edit, asked

BATCH, ENOUGH = 128, 0.02
RATES = (1e-4, 1e-3, 1e-2, 1e-1)  # of `edit`


def finetuned(edit: Edit, rate: float) -> Any:
    model = edit.copied()
    return _trained(edit, model, list(model.parameters()), rate)


def finetuned_matrix(edit: Edit, rate: float) -> Any:
    """Of the output matrix of one MLP alone."""
    model = edit.copied()
    return _trained(edit, model, [edit.down(model).weight], rate)


def edit(model: Any, tokenizer: Any, request: Fact) -> Any:
    return _gentlest(asked(model, tokenizer, request), finetuned)


def edit_matrix(model: Any, tokenizer: Any, request: Fact) -> Any:
    return _gentlest(asked(model, tokenizer, request), finetuned_matrix)


def _gentlest(edit: Edit, method: Callable[[Edit, float], Any]) -> Any:
    """The model of the smallest rate that brings the new answer, or of the largest one."""
    for rate in RATES:
        model = method(edit, rate)
        logits = model(edit.rows, use_cache=False).logits[torch.arange(len(edit.rows)), edit.last]
        if bool((logits.argmax(-1) == edit.wanted).all()):
            break
    return model


def _trained(edit: Edit, model: Any, parameters: list[torch.Tensor], rate: float) -> Any:
    for own in model.parameters():
        own.requires_grad_(any(own is x for x in parameters))
    optimiser = torch.optim.Adam(parameters, lr=rate)
    began, random = time.process_time(), torch.Generator().manual_seed(0)
    for _ in range(edit.steps):
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
