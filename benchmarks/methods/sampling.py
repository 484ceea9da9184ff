"""Sampling and ranking (Carlini et al. 2021): of TRIES samples from the TOP likeliest tokens, the
one with the smallest perplexity.

Departures: the paper samples from the empty prefix and ranks hundreds of thousands of texts with
six scores; here a prefix is given, and the perplexity of what follows it decides.
"""

from typing import Any

import torch

TRIES, TOP, TOKENS = 20, 40, 20


@torch.no_grad()
def extract(model: Any, tokenizer: Any, prefix: str) -> str:
    given = torch.tensor([tokenizer(prefix).input_ids])
    start, room = given.shape[1], model.config.max_position_embeddings - given.shape[1]
    found = model.generate(
        given, attention_mask=torch.ones_like(given), max_new_tokens=min(TOKENS, room),
        do_sample=True, top_k=TOP, num_return_sequences=TRIES,
        pad_token_id=tokenizer.eos_token_id, output_logits=True, return_dict_in_generate=True,
    )  # fmt: skip
    said = found.sequences[:, start:]
    likely = torch.stack(found.logits, 1).log_softmax(-1).gather(-1, said[..., None])[..., 0]
    ends = (said == tokenizer.eos_token_id).long()
    counted = ends.cumsum(1) - ends == 0  # up to the end token, with it
    best = int(((likely * counted).sum(1) / counted.sum(1)).argmax())
    return tokenizer.decode(said[best], skip_special_tokens=True)
