"""The loss attack (Yeom et al. 2018): a text of small loss is a member. Higher means member.

Departures: none; the loss is the mean over all tokens but the first.
"""

from typing import Any

import torch


@torch.no_grad()
def log_probabilities(model: Any, tokenizer: Any, text: str) -> torch.Tensor:
    """Of every token of the text but the first."""
    rows = torch.tensor([tokenizer(text).input_ids])
    found = model(rows, use_cache=False).logits[0, :-1].log_softmax(-1)
    return found.gather(-1, rows[0, 1:, None])[:, 0]


def membership(model: Any, tokenizer: Any, text: str) -> float:
    return float(log_probabilities(model, tokenizer, text).mean())
