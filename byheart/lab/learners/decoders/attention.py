"""Attention from the last token of a context, and its gradient.

W_V and W_O of a head are multiplied first: with M_h = W_O,h W_V,h, the output is the sum over heads
h and tokens j of weight times M_h x_j. Weights sum to 1, hence the biases of values and outputs add
W_O b_V + b_O; a bias of keys changes no weight, and its gradient is 0.

Tables over pairs (token, place) hold every product with a weight matrix once per distinct pair, and
only scores and sums are left to do for each context.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from ..kernels import attention
from ..kernels.lanes import LANES
from ..kernels.narrow import product, product_backward
from .indices import Indices
from .workspace import Block, Buffers, flat, gradient

NAMES = ("query", "key", "value", "out")


class Maps:
    """W_Q, W_K, W_V and W_O; a bias is None if there is none."""

    def __init__(self, tensors: Mapping[str, torch.Tensor]) -> None:
        maps = (tensors[f"attention.{name}.weight"] for name in NAMES)
        self.query, self.key, self.value, self.out = maps
        biases = (tensors.get(f"attention.{name}.bias") for name in NAMES)
        self.query_bias, _, self.value_bias, self.out_bias = biases

    def add_bias(self, outputs: torch.Tensor) -> None:
        """Add W_O b_V + b_O to every row."""
        if self.value_bias is not None and self.out_bias is not None:
            outputs.add_(torch.addmv(self.out_bias, self.out, self.value_bias))

    def bias_backward(self, to_outputs: torch.Tensor) -> None:
        """Write the gradients of both biases, and add to that of W_O."""
        if self.value_bias is not None and self.out_bias is not None:
            to_out = torch.sum(to_outputs, 0, out=gradient(self.out_bias))
            torch.mv(self.out.T, to_out, out=gradient(self.value_bias))
            gradient(self.out).addr_(to_out, self.value_bias)


@dataclass(frozen=True)
class Tables:
    """The memory of Heads for one problem: queries, keys and outputs, and their gradients."""

    indices: Indices
    values: tuple[NDArray, ...]
    gradients: tuple[NDArray, ...]
    weights: NDArray
    scores: NDArray
    all_gradients: torch.Tensor

    @property
    def forward(self) -> tuple[NDArray, ...]:
        return self.indices.slots, self.indices.starts, *self.values, self.weights

    @property
    def counts(self) -> tuple[int, ...]:
        return self.indices.queries, self.indices.pairs, self.indices.pairs


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
        """Copy the map in, and set its gradient to 0."""
        torch.index_select(matrix.view(-1), 0, self.there, out=self.weight.view(-1))
        if bias is not None:
            torch.index_select(bias, 0, self.row_there, out=self.bias)
        self.to_weight.zero_()
        self.to_bias.zero_()

    def read(self, to_matrix: torch.Tensor) -> torch.Tensor:
        torch.index_select(self.to_weight.view(-1), 0, self.back, out=to_matrix.view(-1))
        return to_matrix


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

    def tables(self, indices: Indices) -> Tables:
        counts = -(-indices.queries // 4) * 4, indices.pairs, indices.pairs
        sizes = [n * table.columns for n, table in zip(counts, self.packed, strict=True)]
        gradients = self.room("gradients", sum(sizes))
        return Tables(
            indices,
            tuple(map(flat, self.room("values", sum(sizes)).split(sizes))),
            tuple(map(flat, gradients.split(sizes))),
            flat(self.room("weights", len(indices.slots) * self.shape[0] * LANES)),
            np.empty(indices.longest * LANES, np.float32),
            gradients,
        )

    def forward(self, tables: Tables, vectors: Block, outputs: Block) -> None:
        """Add the output of attention over these pairs' vectors to outputs [context, d]."""
        (query, key, output), maps = self.packed, self.maps
        query.fill(maps.query, maps.query_bias)
        if self.scale != 1:
            query.weight.mul_(self.scale)
            query.bias.mul_(self.scale)
        key.fill(maps.key)
        torch.bmm(self._out(maps.out), self._value(maps.value), out=self.products)
        output.fill(self.products)
        if output.spare:
            output.weight[-1, :, :, LANES - output.spare :] = 0  # lanes of no head add nothing
        for packed, table, count in zip(self.packed, tables.values, tables.counts, strict=True):
            product(vectors.array, *packed.arrays, table, count, self.width)
        maps.add_bias(outputs.rows)
        attention.attend(*tables.forward, outputs.array, *self.shape)

    def backward(self, tables: Tables, vectors: Block, outputs: Block) -> None:
        """Write the gradients of the maps, and add to the errors of the vectors."""
        (query, key, output), maps = self.packed, self.maps
        tables.all_gradients.zero_()
        memory = *tables.gradients, tables.scores
        attention.attend_backward(*tables.forward, outputs.error_array, *memory, *self.shape)
        rows = vectors.array, vectors.error_array
        for packed, errors, count in zip(self.packed, tables.gradients, tables.counts, strict=True):
            product_backward(*rows, *packed.gradients, errors, count, self.width)
        query.read(gradient(maps.query)).mul_(self.scale)
        if maps.query_bias is not None:
            to_bias = gradient(maps.query_bias)
            torch.index_select(query.to_bias, 0, query.row_back, out=to_bias).mul_(self.scale)
        key.read(gradient(maps.key))
        products = output.read(self.to_products)
        out, value = self._out(maps.out), self._value(maps.value)
        torch.bmm(out.transpose(1, 2), products, out=self._value(gradient(maps.value)))
        self._out(gradient(maps.out)).copy_(torch.bmm(products, value.transpose(1, 2)))
        maps.bias_backward(outputs.errors)

    def _out(self, matrix: torch.Tensor) -> torch.Tensor:
        """A matrix of W_O's shape as [heads, d, size]."""
        return matrix.view(self.width, self.heads, self.size).permute(1, 0, 2)

    def _value(self, matrix: torch.Tensor) -> torch.Tensor:
        """A matrix of W_V's shape as [heads, size, d]."""
        return matrix.view(self.heads, self.size, self.width)
