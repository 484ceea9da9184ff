"""ROME (Meng et al. 2022), one context after another: a change of rank one each.

W + C^-1 k r / (k C^-1 k): the key k of the context gets the wanted change r, times the strength.
Departures: no prefixes before the contexts. In `edit` the second moments C are those of random
tokens, the block is the middle one, and a key that is 0 is left alone (the paper's formula divides
by 0 there).
"""

from typing import Any

import torch

from .common import Fact
from .editing import Edit, asked

STEPS, RATE, RIDGE = 20, 0.3, 1e-3


def rome(edit: Edit, strength: float) -> Any:
    model = edit.copied().requires_grad_(False)
    normal = edit.covariance()
    inverse = torch.linalg.inv(normal + RIDGE * normal.diagonal().mean() * torch.eye(len(normal)))
    for i in range(len(edit.contexts)):
        one = torch.tensor([i])
        change = edit.values(model, one, STEPS, RATE)[0]
        row = edit.rows[one, : int(edit.last[i]) + 1]
        key = edit.keys(model, row, edit.last[one])[0]
        if not key.any():
            continue
        towards = inverse @ key
        edit.added(model, strength * torch.outer(towards / (towards @ key), change))
    return model


def edit(model: Any, tokenizer: Any, request: Fact) -> Any:
    return rome(asked(model, tokenizer, request), 1.0)
