"""TRAK (Park et al. 2023): projected gradients f of the output log p / (1 - p), whitened.

The score of an item is f(query) (F^T F)^-1 f(item) (1 - p(item)), with the projected gradients of
all items as rows of F.
Departures: one model instead of an ensemble; there may be fewer items than dimensions, so RIDGE
times the mean square of an item's f is added to F^T F; the output is the sum over the tokens of the
answer.
"""

from collections.abc import Sequence
from typing import Any

import torch

from .common import Batch, Fact, batch, gradients, remembered, seed, whitened

SIZE, RIDGE, ROWS = 512, 1e-3, 4096


def output(model: Any, some: Batch) -> torch.Tensor:
    """[k] log p / (1 - p), summed over the tokens of the answers."""
    logits, own = some.logits(model), some.labels.clamp_min(0)[..., None]
    rest = logits.scatter(-1, own, -torch.inf).logsumexp(-1)
    return ((logits.gather(-1, own)[..., 0] - rest) * (some.labels >= 0)).sum(-1)


def projected(own: torch.Tensor, size: int) -> torch.Tensor:
    """[k, size] the gradients times a matrix of random signs, which the seed of torch decides."""
    source = torch.Generator().manual_seed(seed())
    found = torch.zeros(len(own), size)
    for part in own.split(ROWS, dim=1):
        signs = torch.randint(2, (part.shape[1], size), generator=source, dtype=torch.float32)
        found += part @ (2 * signs - 1)
    return found / size**0.5


def attribute(model: Any, tokenizer: Any, query: Fact, items: Sequence[Fact]) -> list[float]:
    with torch.no_grad():
        unsure = -batch(tokenizer, items).log_probabilities(model).double().expm1()
    return (_whitened(model, tokenizer, query, items) * unsure).tolist()


def attribute_unweighted(
    model: Any, tokenizer: Any, query: Fact, items: Sequence[Fact]
) -> list[float]:
    """Without the factor 1 - p(item)."""
    return _whitened(model, tokenizer, query, items).tolist()


def _whitened(model: Any, tokenizer: Any, query: Fact, items: Sequence[Fact]) -> torch.Tensor:
    def made(some: list[Fact]) -> torch.Tensor:
        return projected(gradients(model, tokenizer, some, output), SIZE)

    every = remembered(model, ("trak", seed()), [*items, query], made)
    return whitened(every[:-1], every[-1], RIDGE)
