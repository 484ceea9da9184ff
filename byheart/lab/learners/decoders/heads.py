"""Heads: attention from the last token as tables over pairs (token, place), and its gradient.

The value and output maps of a head are multiplied first: with M_h = W_O,h W_V,h, what a context
hears is the sum over heads and tokens of weight times M_h x. So every product with a weight matrix
is done once a distinct pair, and only scores and sums are left to do for each context.
"""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from ..kernels import attention
from ..kernels.lanes import LANES
from ..kernels.narrow import product, product_backward
from .maps import Maps
from .reading import Reading
from .workspace import Block, Buffers, flat, gradient


@dataclass(frozen=True)
class Tables:
    """Queries, keys and outputs as attention.py has them, for one problem, and their gradients."""

    reading: Reading
    values: tuple[NDArray, ...]
    gradients: tuple[NDArray, ...]
    weights: NDArray
    scores: NDArray
    all_gradients: torch.Tensor

    @property
    def forward(self) -> tuple[NDArray, ...]:
        """What the kernels read."""
        return self.reading.slots, self.reading.starts, *self.values, self.weights

    @property
    def counts(self) -> tuple[int, ...]:
        """How many rows each table has."""
        return self.reading.queries, self.reading.pairs, self.reading.pairs


class Packed:
    """A map as the kernels read it, a matrix [head, c, d] in the order [block, c, d, lane]."""

    def __init__(self, heads: int, size: int, width: int) -> None:
        blocks = -(-heads // LANES)
        head = torch.arange(blocks * LANES).view(blocks, 1, 1, LANES)
        c, i = torch.arange(size).view(1, -1, 1, 1), torch.arange(width).view(1, 1, -1, 1)
        self.spare = blocks * LANES - heads
        here = torch.where(head < heads, head, 0)  # lanes of no head repeat those of head 0
        self.there = ((here * size + c) * width + i).reshape(-1)
        self.row_there = (here * size + c).reshape(-1)
        self.back, self.row_back = _inverse(self.there), _inverse(self.row_there)
        self.weight, self.to_weight = torch.zeros(2, blocks, size, width, LANES)
        self.bias, self.to_bias = torch.zeros(2, blocks * size * LANES)
        self.columns = len(self.bias)
        self.arrays = flat(self.weight), flat(self.bias)
        self.gradients = flat(self.weight), flat(self.to_weight), flat(self.to_bias)

    def fill(self, matrix: torch.Tensor, bias: torch.Tensor | None = None) -> None:
        torch.index_select(matrix.view(-1), 0, self.there, out=self.weight.view(-1))
        if bias is not None:
            torch.index_select(bias, 0, self.row_there, out=self.bias)
        self.to_weight.zero_()
        self.to_bias.zero_()

    def read(self, to_matrix: torch.Tensor) -> torch.Tensor:
        """Put the gradient where it belongs."""
        packed = self.to_weight.view(-1)
        torch.index_select(packed, 0, self.back, out=to_matrix.view(-1))
        return to_matrix

    def read_bias(self, to_bias: torch.Tensor) -> torch.Tensor:
        return torch.index_select(self.to_bias, 0, self.row_back, out=to_bias)


def _inverse(there: torch.Tensor) -> torch.Tensor:
    """For each place, the first that is filled from it."""
    back = torch.empty(int(there.max()) + 1, dtype=torch.int64)
    back[there.flip(0)] = torch.arange(len(there)).flip(0)
    return back


class Heads:
    """The maps of attention; scores are multiplied by `scale`."""

    def __init__(self, maps: Maps, heads: int, scale: float) -> None:
        size = len(maps.query) // heads
        self.maps, self.heads, self.size, self.scale = maps, heads, size, scale
        self.width = maps.query.shape[1]
        d = self.width
        self.packed = Packed(heads, size, d), Packed(heads, size, d), Packed(heads, d, d)
        self.products, self.to_products = torch.zeros(2, heads, d, d)
        self.shape = -(-heads // LANES), size, d
        self.room = Buffers()

    def tables(self, reading: Reading) -> Tables:
        """Room for the tables of a problem."""
        counts = -(-reading.queries // 4) * 4, reading.pairs, reading.pairs
        sizes = [n * table.columns for n, table in zip(counts, self.packed, strict=True)]
        gradients = self.room("gradients", sum(sizes))
        return Tables(
            reading,
            tuple(map(flat, self.room("values", sum(sizes)).split(sizes))),
            tuple(map(flat, gradients.split(sizes))),
            flat(self.room("weights", len(reading.slots) * self.shape[0] * LANES)),
            np.empty(reading.longest * LANES, np.float32),
            gradients,
        )

    def hear(self, tables: Tables, vectors: Block, heard: Block) -> None:
        """Add to heard [context, d] what the contexts of these pairs' vectors hear."""
        self._pack()
        for packed, table, count in zip(self.packed, tables.values, tables.counts, strict=True):
            product(vectors.array, *packed.arrays, table, count, self.width)
        self.maps.add_bias(heard.rows)
        attention.attend(*tables.forward, heard.array, *self.shape)

    def hear_backward(self, tables: Tables, vectors: Block, heard: Block) -> None:
        """Write the gradients of the maps, and add to the errors of the vectors."""
        tables.all_gradients.zero_()
        attention.attend_backward(
            *tables.forward, heard.error_array, *tables.gradients, tables.scores, *self.shape
        )
        rows = vectors.array, vectors.error_array
        for packed, errors, count in zip(self.packed, tables.gradients, tables.counts, strict=True):
            product_backward(*rows, *packed.gradients, errors, count, self.width)
        self._unpack()
        self.maps.learn_bias(heard.errors)

    def _pack(self) -> None:
        """Lay the weights out as the kernels read them."""
        (asking, asked, said), maps = self.packed, self.maps
        asking.fill(maps.query, maps.query_bias)
        if self.scale != 1:
            asking.weight.mul_(self.scale)
            asking.bias.mul_(self.scale)
        asked.fill(maps.key)
        torch.bmm(self._out(maps.out), self._value(maps.value), out=self.products)
        said.fill(self.products)
        if said.spare:
            said.weight[-1, :, :, LANES - said.spare :] = 0  # lanes of no head say nothing

    def _unpack(self) -> None:
        """Write the gradients of the maps, given those that the kernels wrote."""
        (asking, asked, said), maps = self.packed, self.maps
        asking.read(gradient(maps.query)).mul_(self.scale)
        if maps.query_bias is not None:
            asking.read_bias(gradient(maps.query_bias)).mul_(self.scale)
        asked.read(gradient(maps.key))
        products = said.read(self.to_products)
        out, value = self._out(maps.out), self._value(maps.value)
        torch.bmm(out.transpose(1, 2), products, out=self._value(gradient(maps.value)))
        self._out(gradient(maps.out)).copy_(torch.bmm(products, value.transpose(1, 2)))

    def _out(self, matrix: torch.Tensor) -> torch.Tensor:
        """A matrix of W_O's shape as [heads, d, size]."""
        return matrix.view(self.width, self.heads, self.size).permute(1, 0, 2)

    def _value(self, matrix: torch.Tensor) -> torch.Tensor:
        """A matrix of W_V's shape as [heads, size, d]."""
        return matrix.view(self.heads, self.size, self.width)
