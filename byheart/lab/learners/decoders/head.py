"""Head: attention from the last token with a single head, and its gradient.

With q = W_Q x + b_Q of the pairs that ask, p = W_K^T q / sqrt(d) and M = W_O W_V, the scores are
p x_j, and a context hears M times the sum of weight times x_j: see kernels/one_head.py.
"""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from ..kernels import one_head
from ..kernels.lanes import whole
from .maps import Maps
from .reading import Reading
from .workspace import Block, Buffers, flat, gradient


@dataclass(frozen=True)
class Asked:
    """What the kernels read and write for one problem.

    queries  [pair, c] W_Q x + b_Q of the pairs that ask
    asked    [pair, d] what they ask, W_K^T of this
    mixed    [context, d]
    """

    reading: Reading
    queries: torch.Tensor
    asked: Block
    mixed: Block
    weights: NDArray
    scores: NDArray


class Head:
    """The maps of a single head; scores are multiplied by `scale`."""

    def __init__(self, maps: Maps, scale: float) -> None:
        self.maps, self.scale, self.width = maps, scale, maps.query.shape[1]
        self.product, self.to_product = torch.zeros(2, self.width, self.width)
        self.room = Buffers()

    def tables(self, reading: Reading) -> Asked:
        """Room for a problem."""
        return Asked(
            reading,
            self.room("queries", reading.queries, len(self.maps.query)),
            self.room.block("asked", reading.queries, self.width),
            self.room.block("mixed", reading.rows, self.width),
            flat(self.room("weights", whole(len(reading.slots)))),
            np.empty(reading.longest, np.float32),
        )

    def hear(self, tables: Asked, vectors: Block, heard: Block) -> None:
        """Add to heard [context, d] what the contexts of these pairs' vectors hear."""
        maps, read, queries = self.maps, tables.reading, tables.queries
        asking = vectors.rows[: read.queries]
        if maps.query_bias is None:
            torch.mm(asking, maps.query.T, out=queries)
        else:
            torch.addmm(maps.query_bias, asking, maps.query.T, out=queries)
        torch.mm(queries.mul_(self.scale), maps.key, out=tables.asked.rows)
        one_head.attend(
            read.slots, read.starts, vectors.array, tables.asked.array, tables.weights,
            tables.mixed.array, self.width,
        )  # fmt: skip
        torch.mm(maps.out, maps.value, out=self.product)
        heard.rows.addmm_(tables.mixed.rows, self.product.T)
        maps.add_bias(heard.rows)

    def hear_backward(self, tables: Asked, vectors: Block, heard: Block) -> None:
        """Write the gradients of the maps, and add to the errors of the vectors."""
        maps, read = self.maps, tables.reading
        self._learn_product(tables.mixed.rows, heard.errors)
        torch.mm(heard.errors, self.product, out=tables.mixed.errors)
        tables.asked.errors.zero_()
        one_head.attend_backward(
            read.slots, read.starts, vectors.array, tables.asked.array, tables.weights,
            tables.mixed.error_array, vectors.error_array, tables.asked.error_array, tables.scores,
            self.width,
        )  # fmt: skip
        self._learn_queries(tables, vectors)
        maps.learn_bias(heard.errors)

    def _learn_product(self, mixed: torch.Tensor, to_heard: torch.Tensor) -> None:
        """Write the gradients of W_O and W_V."""
        maps, to_product = self.maps, torch.mm(to_heard.T, mixed, out=self.to_product)
        torch.mm(to_product, maps.value.T, out=gradient(maps.out))
        torch.mm(maps.out.T, to_product, out=gradient(maps.value))

    def _learn_queries(self, tables: Asked, vectors: Block) -> None:
        """Write the gradients of W_Q, b_Q and W_K, and add to those of the vectors that ask."""
        maps, queries, count = self.maps, tables.queries, tables.reading.queries
        torch.mm(queries.T, tables.asked.errors, out=gradient(maps.key))
        to_queries = torch.mm(tables.asked.errors, maps.key.T, out=queries).mul_(self.scale)
        torch.mm(to_queries.T, vectors.rows[:count], out=gradient(maps.query))
        if maps.query_bias is not None:
            torch.sum(to_queries, 0, out=gradient(maps.query_bias))
        vectors.errors[:count].addmm_(to_queries, maps.query)
