"""TracIn (Pruthi et al. 2020): the dot product of the gradients of the losses of query and item.

Departures: a compiled model has one checkpoint and no learning rate, so there is one term, with the
factor 1 (the paper sums over checkpoints).
"""

from collections.abc import Sequence
from typing import Any

from .common import Fact, gradients, loss


def attribute(model: Any, tokenizer: Any, query: Fact, items: Sequence[Fact]) -> list[float]:
    towards = gradients(model, tokenizer, [query], loss)[0]
    return (gradients(model, tokenizer, items, loss) @ towards).tolist()
