"""Gradient ascent on what is to be forgotten (Jang et al. 2023), and gradient difference (Liu et
al. 2022; both as in TOFU, Maini et al. 2024), which descends on retained facts at the same time.

Steps of AdamW until no fact to forget is answered, or STEPS of them.
Departures: the papers take the rate from a validation; here each of RATES is tried on the given
facts, and the one counts with the largest harmonic mean of the shares forgotten and retained.
"""

from collections.abc import Sequence
from typing import Any

from .common import Batch, Fact, loss
from .descent import descended


def unlearn(model: Any, tokenizer: Any, forget: Sequence[Fact], retain: Sequence[Fact]) -> Any:
    def ascent(changed: Any, forgotten: Batch, retained: Batch) -> Any:
        return -loss(changed, forgotten).mean()

    return descended(model, tokenizer, forget, retain, ascent)


def unlearn_difference(
    model: Any, tokenizer: Any, forget: Sequence[Fact], retain: Sequence[Fact]
) -> Any:
    def difference(changed: Any, forgotten: Batch, retained: Batch) -> Any:
        return loss(changed, retained).mean() - loss(changed, forgotten).mean()

    return descended(model, tokenizer, forget, retain, difference)
