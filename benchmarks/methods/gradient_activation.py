"""Gradient times activation (Shrikumar et al. 2016), of neurons: attribution patching to 0
(Nanda 2023; Syed et al. 2023).

The score of a neuron is its value times the derivative of the answer's lead over the likeliest
other token, summed over all places: to first order what the lead loses when the neuron is 0.
Departures: none; the answer is the likeliest token, since only what is predicted is asked for.
"""

from typing import Any

import torch

from .common import hooked, lead


def locate(model: Any, tokenizer: Any, prompt: str) -> Any:
    rows = torch.tensor([tokenizer(prompt).input_ids])
    found: list[torch.Tensor] = []

    def keep(i: int, x: torch.Tensor) -> torch.Tensor:
        found.append(x if x.requires_grad else x.detach().requires_grad_())
        return found[-1]

    with hooked(model, keep), torch.enable_grad():
        logits = model(rows, use_cache=False).logits[:, -1]
        answer, rival = logits[0].topk(2).indices.tolist()
        slopes = torch.autograd.grad(lead(logits, answer, rival).sum(), found)
    return torch.stack(
        [(x * slope).sum((0, 1)).detach() for x, slope in zip(found, slopes, strict=True)]
    ).numpy()
