"""Min-K% Prob (Shi et al. 2024): the mean log-probability of the SHARE least likely tokens.

Departures: none.
"""

from typing import Any

from .loss_attack import log_probabilities

SHARE = 0.2


def membership(model: Any, tokenizer: Any, text: str) -> float:
    found = log_probabilities(model, tokenizer, text).sort().values
    return float(found[: max(1, int(SHARE * len(found)))].mean())
