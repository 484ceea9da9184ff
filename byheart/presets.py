"""Presets: the architectures of the papers, tensor by tensor, with exact parameter counts.

A preset is a description, not a network: the names and shapes of the tensors that are learnt, in
the layout of PyTorch ([outputs, inputs]), so that a count can be compared with any checkpoint.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

from .errors import ByheartError

Tensors = dict[str, tuple[int, ...]]


@dataclass(frozen=True)
class Preset:
    """An architecture with its sizes.

    name       by which it is known here
    reference  paper and item
    formula    what it computes
    tensors    what is learnt, with shapes
    fixed      what is not learnt and not counted, with shapes
    """

    name: str
    reference: str
    formula: str
    tensors: Tensors
    fixed: Tensors

    def __post_init__(self) -> None:
        for name, shape in (self.tensors | self.fixed).items():
            if min(shape) < 1:
                raise ByheartError(f"{self.name}: {name} would be {shape}; sizes are 1 or more.")

    @property
    def parameters(self) -> int:
        """The numbers of all tensors that are learnt."""
        return sum(math.prod(shape) for shape in self.tensors.values())


def dana2024(
    vocabulary: int, length: int, dimension: int, heads: int, head_dimension: int
) -> Preset:
    """Attention only: d (S + 2 N + 4 d_h H) parameters. W_QK is W_Q^T W_K, of rank d_h."""
    d = dimension
    return Preset(
        "dana2024",
        "dana2024, eq. (2)",
        "W_U (e(t_S) + pos_S + W_O W_V A(t))",
        {
            **_embeddings(vocabulary, length, d),
            **(_attention(d, heads * head_dimension) if heads else {}),
            "output.weight": (vocabulary, d),
        },
        {},
    )


def dana2024_mlp(vocabulary: int, length: int, dimension: int, width: int) -> Preset:
    """One head of dimension d and neurons after it: d (S + 2 N + 4 d + 2 w) parameters.

    As many as attention only with d_h = d and H heads if w = 2 d (H - 1).
    """
    d = dimension
    return Preset(
        "dana2024-mlp",
        "dana2024, section 4.2.1",
        "W_U (W_2 GELU(W_1 x) + x), x = e(t_S) + pos_S + W_O W_V A(t)",
        {
            **_embeddings(vocabulary, length, d),
            **_attention(d, d),
            "hidden.weight": (width, d),
            "down.weight": (d, width),
            "output.weight": (vocabulary, d),
        },
        {},
    )


def madden2024(
    vocabulary: int,
    length: int = 10,
    dimension: int = 16,
    neurons: int = 512,
    attention_biases: bool = False,
) -> Preset:
    """The experiment: w d + 4 d^2 + m (d + 1) + w (m + 1) parameters, w the vocabulary.

    Sinusoidal positions are not learnt. "A bias in both linear layers" are those of hidden and
    output; the authors' program has them in the four maps of attention as well: 4 d more.
    """
    d, m = dimension, neurons
    maps = _attention(d, d)
    biases: Tensors = {name.replace("weight", "bias"): (d,) for name in maps}
    return Preset(
        "madden2024",
        "madden2024, section 7",
        "V^T GELU(W^T attention(e(t) + sinusoids) + b) + c, one head, no skip connection",
        {
            "embedding.weight": (vocabulary, d),
            **maps,
            **(biases if attention_biases else {}),
            "hidden.weight": (m, d),
            "hidden.bias": (m,),
            "output.weight": (vocabulary, m),
            "output.bias": (vocabulary,),
        },
        {"positions.weight": (length, d)},
    )


def _embeddings(vocabulary: int, length: int, dimension: int) -> Tensors:
    return {
        "embedding.weight": (vocabulary, dimension),
        "positions.weight": (length, dimension),
    }


def _attention(dimension: int, rows: int) -> Tensors:
    """Queries, keys and values of all heads, and what they are mapped to."""
    maps: Tensors = {
        f"attention.{name}.weight": (rows, dimension) for name in ("query", "key", "value")
    }
    return {**maps, "attention.out.weight": (dimension, rows)}


PRESETS: dict[str, Callable[..., Preset]] = {
    "dana2024": dana2024,
    "dana2024-mlp": dana2024_mlp,
    "madden2024": madden2024,
}
