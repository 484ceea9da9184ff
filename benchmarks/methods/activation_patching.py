"""Activation patching of single neurons (Vig et al. 2020; Zhang and Nanda 2024).

The score of a neuron is by how much the answer's lead over the likeliest other token falls when the
neuron alone gets another value at all places: its mean over corrupted prompts (`locate`), or 0
(`locate_zero`). Only what the model predicts is asked for, so the answer is the likeliest token.
Departures: prompts are corrupted by replacing every token with a random one, since there are no
pairs of prompts with the same form.
"""

from typing import Any

import torch

from .common import hooked, lead, neurons, random_texts

CORRUPTED, ROWS = 32, 256


def locate(model: Any, tokenizer: Any, prompt: str) -> Any:
    rows = torch.tensor([tokenizer(prompt).input_ids])
    other, _ = neurons(model, random_texts(model, CORRUPTED, rows.shape[1]))
    return _scores(model, rows, other.mean((1, 2)))


def locate_zero(model: Any, tokenizer: Any, prompt: str) -> Any:
    rows = torch.tensor([tokenizer(prompt).input_ids])
    return _scores(model, rows, torch.zeros(()))


@torch.no_grad()
def _scores(model: Any, rows: torch.Tensor, other: torch.Tensor) -> Any:
    """[L, M] what the lead loses; a neuron that has the other value already loses nothing."""
    own, logits = neurons(model, rows)
    answer, rival = logits[0].topk(2).indices.tolist()
    scores = torch.zeros(own.shape[0], own.shape[-1])
    other = other.expand_as(scores)
    sites = (own[:, 0] != other[:, None]).any(1).nonzero()
    for some in sites.split(ROWS) if len(sites) else ():

        def patched(i: int, x: torch.Tensor, some: torch.Tensor = some) -> torch.Tensor:
            x, here = x.clone(), (some[:, 0] == i).nonzero()[:, 0]
            neuron = some[here, 1]
            x[here, :, neuron] = other[i, neuron, None]
            return x

        with hooked(model, patched):
            found = model(rows.expand(len(some), -1), use_cache=False).logits[:, -1]
        scores[some[:, 0], some[:, 1]] = lead(logits, answer, rival) - lead(found, answer, rival)
    return scores.numpy()
