"""The layers after attention: GELU neurons, and the output with its cross-entropy.

Logits are padded to a multiple of eight with ones that are so low that they do not count. They
never leave the cache: a few contexts at a time go forward and backward. If the inputs of a row are
few, the matrices are too narrow for BLAS, and one kernel does everything.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from ..kernels import output_loss
from ..kernels.gelu import gelu
from ..kernels.lanes import LANES
from .indices import Indices
from .workspace import Block, Buffers, flat, gradient

LOW = -1e30  # the logit of no answer
CACHE = 1 << 17  # logits that BLAS works on at a time
FEW = 24  # inputs up to which the kernel is faster than BLAS (measured)


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


class Output:
    """W x + b for the rows x of a matrix; its tensors are the first rows of padded ones."""

    def __init__(self, answers: int, inputs: int, biased: bool) -> None:
        self.answers, self.inputs = answers, inputs
        self.padded = -(-answers // LANES) * LANES
        self.weight, self.to_weight = torch.zeros(2, self.padded, inputs)
        self.bias, self.to_bias = torch.zeros(2, self.padded)
        self.bias[answers:] = LOW
        self.tensors = {"output.weight": self.weight[:answers]}
        self.tensors["output.weight"].grad = self.to_weight[:answers]
        if biased:
            self.tensors["output.bias"] = self.bias[:answers]
            self.tensors["output.bias"].grad = self.to_bias[:answers]
        self.room = Buffers()
        self.packed, self.to_packed = torch.zeros(2, self.padded // LANES, inputs, LANES)
        logits = torch.zeros(4, self.padded)
        used = self.packed, self.to_packed, self.bias, self.to_bias, logits
        self.arrays = tuple(map(flat, used))

    def logits(self, last: torch.Tensor) -> NDArray[np.float32]:
        n = self.answers
        return torch.addmm(self.bias[:n], last, self.weight[:n].T).numpy()

    def backward(self, indices: Indices, last: Block) -> float:
        """The mean loss; puts its gradients into those of the tensors and into last.errors."""
        self.to_bias.zero_()
        if self.inputs <= FEW:
            self.packed.copy_(self._packed(self.weight))
            self.to_packed.zero_()
            last.errors.zero_()
            rows = last.array, last.error_array
            loss = output_loss.fused(*indices.targets, *rows, *self.arrays, self.inputs)
            self._packed(self.to_weight).copy_(self.to_packed)
            return loss
        self.to_weight.zero_()
        loss, biases = 0.0, (flat(self.bias), flat(self.to_bias))
        rows_at_once = max(LANES, CACHE // self.padded // LANES * LANES)
        for begin in range(0, indices.rows, rows_at_once):
            some = last.rows[begin : begin + rows_at_once]
            logits = self.room("logits", len(some), self.padded)
            torch.mm(some, self.weight.T, out=logits)
            loss += output_loss.rows(*indices.targets, flat(logits), *biases, begin, len(some))
            self.to_weight.addmm_(logits.T, some)
            torch.mm(logits, self.weight, out=last.errors[begin : begin + rows_at_once])
        return loss

    def _packed(self, matrix: torch.Tensor) -> torch.Tensor:
        """The matrix as narrow.py has it, without copying."""
        return matrix.view(-1, LANES, self.inputs).transpose(1, 2)
