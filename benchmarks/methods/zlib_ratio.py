"""The loss beside the size that zlib gives a text (Carlini et al. 2021). Higher means member.

Departures: none; the loss of the whole text, in nats, divided by the bytes of the compressed text.
"""

import zlib
from typing import Any

from .loss_attack import log_probabilities


def membership(model: Any, tokenizer: Any, text: str) -> float:
    found = log_probabilities(model, tokenizer, text)
    return float(found.sum()) / len(zlib.compress(text.encode()))
