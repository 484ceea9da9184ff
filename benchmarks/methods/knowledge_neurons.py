"""Knowledge neurons (Dai et al. 2022): integrated gradients (Sundararajan et al. 2017) of the
answer's probability along the neurons of one block at the last place, from 0 to their values.

The score of a neuron is its value times the mean of the derivative at STEPS points of that way.
Departures: the search over several prompts of one fact, which keeps what they share, is left out,
since there is one prompt; the answer is the likeliest token.
"""

from typing import Any

import torch

from .common import blocks, hooked, neurons

STEPS = 20


def locate(model: Any, tokenizer: Any, prompt: str) -> Any:
    rows = torch.tensor([tokenizer(prompt).input_ids])
    own, logits = neurons(model, rows)
    answer = int(logits[0].argmax())
    way = torch.arange(1, STEPS + 1)[:, None] / STEPS
    scores = []
    for layer in range(len(blocks(model))):
        value = own[layer, 0, -1]
        scaled = (way * value).requires_grad_()

        def put(
            i: int, x: torch.Tensor, layer: int = layer, scaled: torch.Tensor = scaled
        ) -> torch.Tensor:
            return x if i != layer else torch.cat([x[:, :-1], scaled[:, None]], dim=1)

        with hooked(model, put), torch.enable_grad():
            found = model(rows.expand(STEPS, -1), use_cache=False).logits[:, -1]
            slope = torch.autograd.grad(found.softmax(-1)[:, answer].sum(), scaled)[0]
        scores.append(value * slope.mean(0))
    return torch.stack(scores).numpy()
