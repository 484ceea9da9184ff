"""Greedy decoding of what follows a prefix (Carlini et al. 2023).

Departures: none; at most TOKENS tokens, and nothing after the end token.
"""

from typing import Any

import torch

TOKENS = 20


@torch.no_grad()
def extract(model: Any, tokenizer: Any, prefix: str) -> str:
    given = torch.tensor([tokenizer(prefix).input_ids])
    room = model.config.max_position_embeddings - given.shape[1]
    found = model.generate(
        given, attention_mask=torch.ones_like(given), max_new_tokens=min(TOKENS, room),
        do_sample=False, pad_token_id=tokenizer.eos_token_id,
    )  # fmt: skip
    return tokenizer.decode(found[0, given.shape[1] :], skip_special_tokens=True)
