"""Dana et al. in plain PyTorch: eq. (2), the MLP-based transformer, the program's own attention.

Trained with Adam on batches of pairs.

Only the last position asks. Measured on one core: products and sums over the few positions need
half the time of scaled_dot_product_attention, which is made for long sequences.
"""

from collections.abc import Mapping

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Attention(nn.Module):
    """All heads at once, asked by the last position; eq. (1) does not scale the scores."""

    def __init__(self, dimension: int, heads: int, head_dimension: int, scale: float = 1.0) -> None:
        super().__init__()
        self.shape, self.scale = (heads, head_dimension), scale
        rows = heads * head_dimension
        self.query = nn.Linear(dimension, rows, bias=False)
        self.key = nn.Linear(dimension, rows, bias=False)
        self.value = nn.Linear(dimension, rows, bias=False)
        self.out = nn.Linear(rows, dimension, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        query = self.query(x[:, -1:]).unflatten(-1, self.shape)
        key, value = (part(x).unflatten(-1, self.shape) for part in (self.key, self.value))
        shares = torch.softmax(self.scale * (query * key).sum(-1), dim=1)
        return self.out((shares.unsqueeze(-1) * value).sum(1).flatten(1))


class Transformer(nn.Module):
    """W_U y, y = x + W_2 GELU(W_1 x) with neurons, else x; x = e(t_S) + pos_S + W_O W_V A(t)."""

    def __init__(
        self,
        vocabulary: int,
        length: int,
        dimension: int,
        heads: int,
        head_dimension: int,
        width: int = 0,
    ) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, dimension)
        self.positions = nn.Embedding(length, dimension)
        self.attention = Attention(dimension, heads, head_dimension)
        if width:
            self.hidden = nn.Linear(dimension, width, bias=False)
            self.down = nn.Linear(width, dimension, bias=False)
        self.width = width
        self.output = nn.Linear(dimension, vocabulary, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embedding(tokens) + self.positions.weight
        x = x[:, -1] + self.attention(x)
        if self.width:
            x = x + self.down(F.gelu(self.hidden(x)))
        return self.output(x)


class Program(nn.Module):
    """W_U (e(t_S) + D W_O W_V A(z)), z_j = C e(t_j) + pos_j: the program, where d != d_h."""

    def __init__(
        self, vocabulary: int, length: int, dimension: int, heads: int, head_dimension: int
    ) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, dimension)
        self.positions = nn.Embedding(length, head_dimension)
        self.compress = nn.Linear(dimension, head_dimension, bias=False)
        self.decompress = nn.Linear(head_dimension, dimension, bias=False)
        self.attention = Attention(head_dimension, heads, head_dimension, head_dimension**-0.5)
        self.output = nn.Linear(dimension, vocabulary, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embedding(tokens)
        z = self.compress(x) + self.positions.weight
        return self.output(x[:, -1] + self.decompress(self.attention(z)))


def started(tensors: Mapping[str, Tensor], heads: int) -> nn.Module:
    """A model with these weights."""
    vocabulary, dimension = tensors["embedding.weight"].shape
    head_dimension = len(tensors["attention.query.weight"]) // heads
    sizes = vocabulary, len(tensors["positions.weight"]), dimension, heads, head_dimension
    model: nn.Module
    if "compress.weight" in tensors:
        model = Program(*sizes)
    else:
        model = Transformer(*sizes, len(tensors.get("hidden.weight", ())))
    model.load_state_dict(dict(tensors))
    return model


def loss(model: nn.Module, tokens: Tensor, answers: Tensor) -> Tensor:
    """The mean cross-entropy of a batch."""
    return F.cross_entropy(model(tokens), answers)
