"""MEMIT (Meng et al. 2023) at one block: all facts in one least-squares change of its matrix.

W + D with D = argmin sum |D k_i - r_i|^2 + strength * E |D k|^2: the keys k_i of the contexts get
the wanted changes r_i, and the keys of normal texts change as little as the strength asks for.
Departures: one block instead of several, no prefixes before the contexts. In `edit` the normal
texts are random tokens, the block is the middle one, and the strength is 1.
"""

from typing import Any

import torch

from .common import Fact
from .editing import Edit, asked

STEPS, RATE, RIDGE = 40, 0.1, 1e-4


def memit(edit: Edit, strength: float) -> Any:
    model = edit.copied().requires_grad_(False)
    normal = edit.covariance()
    if not hasattr(edit, "changes"):  # they do not depend on the strength
        edit.changes = edit.values(model, torch.arange(len(edit.contexts)), STEPS, RATE)  # type: ignore[attr-defined]
    keys = edit.keys(model, edit.rows, edit.last)
    ridge = RIDGE * normal.diagonal().mean() * torch.eye(len(normal))
    edit.added(
        model,
        torch.linalg.solve(strength * normal + keys.T @ keys + ridge, keys.T @ edit.changes),  # type: ignore[attr-defined]
    )
    return model


def edit(model: Any, tokenizer: Any, request: Fact) -> Any:
    return memit(asked(model, tokenizer, request), 1.0)
