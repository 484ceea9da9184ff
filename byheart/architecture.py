"""Architecture: the exact model family a network belongs to, and its parameter count."""

from collections.abc import Iterator
from dataclasses import dataclass

from .network import FeedForward, Network, UniformAttention


@dataclass(frozen=True)
class Architecture:
    """Embedding, blocks h + W2 relu(W1 h + b1) + b2 with uniform attention among them, output.

    kajitsuka2025, eq. (43).

    coordinates  of an input column
    width        lanes of the stream
    hidden       hidden units of each feed-forward block
    heads        head dimension of each attention layer
    """

    coordinates: int
    width: int
    hidden: tuple[int, ...]
    heads: tuple[int, ...] = (1,)

    def sizes(self) -> Iterator[tuple[str, int]]:
        """Dense parameters, layer by layer."""
        yield "embed", self.width * (self.coordinates + 1)
        for units in self.hidden:
            yield "feed_forward", units * (2 * self.width + 1) + self.width
        for dimension in self.heads:
            yield "uniform_attention", 2 * self.width * dimension
        yield "output", self.width + 1

    @property
    def parameters(self) -> int:
        return sum(size for _, size in self.sizes())


def architecture(network: Network) -> Architecture:
    """The family of a network."""
    return Architecture(
        network.input.coordinates,
        network.width,
        tuple(x.W1.rows for x in network.layers if isinstance(x, FeedForward)),
        tuple(x.W_V.rows for x in network.layers if isinstance(x, UniformAttention)),
    )
