"""Hidden: a layer of GELU neurons, alone or with a map back that is added to its input."""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from numpy.typing import NDArray

from ..kernels.gelu import gelu
from .workspace import Block, Buffers, flat, gradient


@dataclass(frozen=True)
class Activations:
    """Values before and after the GELU with its slopes, [row, neuron], and the output."""

    before: torch.Tensor
    after: torch.Tensor
    slope: torch.Tensor
    output: Block
    arrays: tuple[NDArray, ...]


class Hidden:
    """GELU(W x + b), or W_2 GELU(W_1 x) + x if there is a map back."""

    def __init__(self, tensors: Mapping[str, torch.Tensor]) -> None:
        self.weight = tensors["hidden.weight"]
        self.bias = tensors.get("hidden.bias")
        self.down = tensors.get("down.weight")
        self.room = Buffers()

    def activations(self, rows: int) -> Activations:
        """Room for the rows of a problem, a multiple of eight."""
        neurons = len(self.weight)
        before, slope = self.room("before", rows, neurons), self.room("slope", rows, neurons)
        outputs = neurons if self.down is None else len(self.down)
        output = self.room.block("output", rows, outputs)
        after = output.rows if self.down is None else self.room("after", rows, neurons)
        arrays = tuple(map(flat, (before, after, slope)))
        return Activations(before, after, slope, output, arrays)

    def forward(self, activations: Activations, inputs: Block) -> None:
        if self.bias is None:
            torch.mm(inputs.rows, self.weight.T, out=activations.before)
        else:
            torch.addmm(self.bias, inputs.rows, self.weight.T, out=activations.before)
        gelu(*activations.arrays)
        if self.down is not None:
            output = activations.output.rows
            torch.addmm(inputs.rows, activations.after, self.down.T, out=output)

    def backward(self, activations: Activations, inputs: Block) -> None:
        """Write the gradients of the maps, and that of the inputs into their errors."""
        to_output = activations.output.errors
        if self.down is None:
            to_before = to_output.mul_(activations.slope)
            torch.mm(to_before, self.weight, out=inputs.errors)
        else:
            torch.mm(to_output.T, activations.after, out=gradient(self.down))
            to_before = torch.mm(to_output, self.down, out=activations.before)
            to_before.mul_(activations.slope)
            torch.addmm(to_output, to_before, self.weight, out=inputs.errors)
        torch.mm(to_before.T, inputs.rows, out=gradient(self.weight))
        if self.bias is not None:
            torch.sum(to_before, 0, out=gradient(self.bias))
