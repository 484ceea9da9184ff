"""Erasing knowledge neurons (Dai et al. 2022): what neurons that express a fact write becomes 0.

For every fact to forget, the neurons with the highest scores of `knowledge_neurons.py` are erased,
one after another and MOST at most, until the first token of its answer is not the likeliest any
more. The neurons' keys stay, and with them a trace of the prompt that no answer shows.
Departures: the paper erases the neurons that whole relations share; here each fact has its own.
"""

from collections.abc import Sequence
from typing import Any

import torch

from .common import Fact, blocks, copied, encoded, written
from .knowledge_neurons import locate

MOST = 16


@torch.no_grad()
def unlearn(model: Any, tokenizer: Any, forget: Sequence[Fact], retain: Sequence[Fact]) -> Any:
    changed = copied(model).requires_grad_(False)
    rows = [written(block) for block in blocks(changed)]  # views: the weights change with them
    for fact in forget:
        prompt, answer = encoded(tokenizer, fact)
        scores = torch.as_tensor(locate(model, tokenizer, fact["prompt"]))
        for i in scores.flatten().argsort(descending=True)[:MOST].tolist():
            block, neuron = divmod(i, scores.shape[1])
            rows[block][neuron] = 0
            logits = changed(torch.tensor([prompt]), use_cache=False).logits[0, -1]
            if int(logits.argmax()) != answer[0]:
                break
    return changed
