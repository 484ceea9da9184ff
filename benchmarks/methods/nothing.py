"""An edit and an unlearning that do nothing: what no method should lose to."""

from collections.abc import Sequence
from typing import Any

from .common import Fact


def edit(model: Any, tokenizer: Any, request: Fact) -> Any:
    return model


def unlearn(model: Any, tokenizer: Any, forget: Sequence[Fact], retain: Sequence[Fact]) -> Any:
    return model
