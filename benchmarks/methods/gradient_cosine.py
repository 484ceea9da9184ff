"""The cosine of the gradients of the losses of query and item (Charpiat et al. 2019; the best of
the similarities that Hanawa et al. 2021 compare).

Departures: none.
"""

from collections.abc import Sequence
from typing import Any

import torch

from .common import Fact, gradients, loss, remembered


def attribute(model: Any, tokenizer: Any, query: Fact, items: Sequence[Fact]) -> list[float]:
    def unit(some: list[Fact]) -> torch.Tensor:
        found = gradients(model, tokenizer, some, loss)
        norms = found.norm(dim=1, dtype=torch.double)  # in float32 the square of 1e-23 is 0
        return (found / norms.clamp_min(1e-300)[:, None]).float()

    every = remembered(model, "cosine", [*items, query], unit)
    return (every[:-1] @ every[-1]).tolist()
