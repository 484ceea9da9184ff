"""Contributions of neurons (Geva et al. 2022): a neuron's value at the last place, times the norm
of what it writes.

It asks how much a neuron writes and not whether that has to do with the answer.
Departures: none; the paper ranks by it within one block, here all blocks are ranked together.
"""

from typing import Any

import torch

from .common import blocks, neurons, written


def locate(model: Any, tokenizer: Any, prompt: str) -> Any:
    own, _ = neurons(model, torch.tensor([tokenizer(prompt).input_ids]))
    norms = torch.stack([written(block).norm(dim=1) for block in blocks(model)])
    return (own[:, 0, -1].abs() * norms).numpy()
