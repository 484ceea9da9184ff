"""Kajitsuka & Sato, eq. (165), in plain PyTorch: full batches of N sequences, AdamW.

Every token of every sequence goes through the first blocks, and only the token that is read out
through the second ones.
"""

from collections.abc import Mapping

import torch.nn.functional as F
from torch import Tensor, nn


class Block(nn.Module):
    """x + W_2 relu(W_1 x + b_1) + b_2 (eq. (3))."""

    def __init__(self, dimension: int, width: int) -> None:
        super().__init__()
        self.hidden = nn.Linear(dimension, width)
        self.down = nn.Linear(width, dimension)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.down(F.relu(self.hidden(x)))


class Attention(nn.Module):
    """W_O W_V of the mean of all tokens (eq. (39))."""

    def __init__(self, dimension: int) -> None:
        super().__init__()
        self.value = nn.Linear(dimension, dimension, bias=False)
        self.out = nn.Linear(dimension, dimension, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(self.value(x.mean(1)))


class Transformer(nn.Module):
    """Blocks for each token, uniform attention, blocks for the last token."""

    def __init__(self, vocabulary: int, blocks: int, dimension: int, labels: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, dimension)
        self.first = nn.Sequential(*(Block(dimension, 4 * dimension) for _ in range(blocks)))
        self.attention = Attention(dimension)
        self.second = nn.Sequential(*(Block(dimension, 4 * dimension) for _ in range(blocks)))
        self.output = nn.Linear(dimension, labels, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.first(self.embedding(tokens))
        return self.output(self.second(x[:, -1] + self.attention(x)))


def started(tensors: Mapping[str, Tensor]) -> Transformer:
    """A model with these weights."""
    vocabulary, dimension = tensors["embedding.weight"].shape
    blocks = sum(name.startswith("first.") for name in tensors) // 4
    model = Transformer(vocabulary, blocks, dimension, len(tensors["output.weight"]))
    model.load_state_dict(dict(tensors))
    return model


def loss(model: nn.Module, tokens: Tensor, answers: Tensor) -> Tensor:
    """The mean cross-entropy of all sequences."""
    return F.cross_entropy(model(tokens), answers)
