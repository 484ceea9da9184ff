"""MEMIT (Meng et al. 2023): facts in least-squares changes of the output matrices of MLPs.

W + D with D = argmin sum |D k_i - r_i|^2 + strength * E |D k|^2: the keys k_i of the contexts get
the wanted changes r_i, and the keys of normal texts change as little as the strength asks for.
`memit` changes one block. `memit_all` and `edit` change all, as the paper does with several: the
wanted stream after the last one is fitted, and each block in turn writes its share of what is still
missing, 1 of the number of blocks that are left.
Departures: no prefixes before the contexts. In `edit` the normal texts are random tokens, and the
strength is 1.
"""

from dataclasses import replace
from typing import Any

import torch

from .common import Fact, blocks
from .editing import Edit, asked

STEPS, RATE, RIDGE = 40, 0.1, 1e-4


def memit(edit: Edit, strength: float) -> Any:
    model = edit.copied().requires_grad_(False)
    if not hasattr(edit, "changes"):  # they do not depend on the strength
        edit.changes = edit.values(model, torch.arange(len(edit.contexts)), STEPS, RATE)  # type: ignore[attr-defined]
    edit.added(model, least_squares(edit, model, edit.changes, strength))  # type: ignore[attr-defined]
    return model


def least_squares(edit: Edit, model: Any, wanted: torch.Tensor, strength: float) -> torch.Tensor:
    """[M, D] the change of the block's matrix that gives the contexts their wanted changes."""
    normal, keys = edit.covariance(), edit.keys(model, edit.rows, edit.last)
    ridge = RIDGE * normal.diagonal().mean() * torch.eye(len(normal))
    return torch.linalg.solve(strength * normal + keys.T @ keys + ridge, keys.T @ wanted)


def memit_all(edit: Edit, strength: float) -> Any:
    """All blocks, whichever one the edit names."""
    count = len(blocks(edit.model))
    last = replace(edit, block=count - 1)
    changed = last.copied().requires_grad_(False)
    wanted = last.values(changed, torch.arange(len(last.contexts)), STEPS, RATE)
    before = last.streams(changed)
    for block in range(count):
        missing = wanted - (last.streams(changed) - before)
        one = replace(last, model=changed, block=block)
        one.added(changed, least_squares(one, changed, missing / (count - block), strength))
    return changed


def edit(model: Any, tokenizer: Any, request: Fact, strength: float = 1.0) -> Any:
    return memit_all(asked(model, tokenizer, request, len(blocks(model)) - 1), strength)
