"""Architecture: the exact model family a network belongs to, and its parameter count."""

from dataclasses import dataclass

from .network import (
    Embedding,
    FeedForward,
    HardAttention,
    Layer,
    Linear,
    Network,
    Relu,
    SparseAttention,
    Sum,
    UniformAttention,
)


@dataclass(frozen=True)
class Part:
    """One layer of the family: what it is and its sizes.

    kind     as in network.py
    width    lanes of the stream that it reads
    rows     what it makes of them: rows of a linear or relu layer, hidden units of a block, lanes
             of all heads together
    """

    kind: str
    width: int
    rows: int

    @property
    def parameters(self) -> int:
        """Dense parameters."""
        match self.kind:
            case "linear" | "relu":
                return self.rows * (self.width + 1)
            case "embedding":  # one column a token, and one for the position
                return self.rows * (self.width + 1)
            case "feed_forward":
                return self.rows * (2 * self.width + 1) + self.width
            case "uniform_attention" | "sparse_attention":
                return 2 * self.width * self.rows
            case "hard_attention":
                return 4 * self.width * self.rows
        return 0


@dataclass(frozen=True)
class Architecture:
    """The layers' kinds and sizes, first to last (kajitsuka2025, eq. (4) and (43))."""

    parts: tuple[Part, ...]

    @property
    def parameters(self) -> int:
        return sum(part.parameters for part in self.parts)


def architecture(network: Network) -> Architecture:
    """The family of a network."""
    return Architecture(tuple(_part(layer) for layer in network.layers))


def _part(layer: Layer) -> Part:
    match layer:
        case Linear() | Relu() | Embedding():
            return Part(layer.kind, layer.weight.columns, layer.weight.rows)
        case FeedForward():
            return Part(layer.kind, layer.W1.columns, layer.W1.rows)
        case UniformAttention() | SparseAttention() | HardAttention():
            return Part(layer.kind, layer.W_V.columns, layer.W_V.rows)
        case Sum():
            return Part(layer.kind, 0, 0)
