"""Output: the layer of the logits, their cross-entropy, and its gradient.

Logits are padded to a multiple of eight with ones that are so low that they do not count. They
never leave the cache: a few contexts at a time go forward and backward. If the inputs of a row are
few, the matrices are too narrow for BLAS, and one kernel does everything.
"""

import numpy as np
import torch
from numpy.typing import NDArray

from ..kernels import output_loss
from ..kernels.lanes import LANES
from .indices import Indices
from .workspace import Block, Buffers, flat

LOW = -1e30  # the logit of no answer
CACHE = 1 << 17  # logits that BLAS works on at a time
FEW = 24  # inputs up to which the kernel is faster than BLAS (measured)


class Output:
    """W x + b for the rows x of a matrix; its tensors are the first rows of padded ones."""

    def __init__(self, answers: int, inputs: int, biased: bool) -> None:
        self.answers, self.inputs = answers, inputs
        self.padded = -(-answers // LANES) * LANES
        self.weight, self.to_weight = torch.zeros(2, self.padded, inputs)
        self.bias, self.to_bias = torch.zeros(2, self.padded)
        self.bias[answers:] = LOW
        self.tensors = {"output.weight": _tensor(self.weight, self.to_weight, answers)}
        if biased:
            self.tensors["output.bias"] = _tensor(self.bias, self.to_bias, answers)
        self.room = Buffers()
        self.packed, self.to_packed = torch.zeros(2, self.padded // LANES, inputs, LANES)
        logits = torch.zeros(4, self.padded)
        used = self.packed, self.to_packed, self.bias, self.to_bias, logits
        self.arrays = tuple(map(flat, used))

    def logits(self, last: torch.Tensor) -> NDArray[np.float32]:
        n = self.answers
        return torch.addmm(self.bias[:n], last, self.weight[:n].T).numpy()

    def backward(self, indices: Indices, last: Block) -> float:
        """The mean loss; puts its gradients into those of the tensors and into last.errors.

        last has indices.rows rows
        """
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


def _tensor(padded: torch.Tensor, gradient: torch.Tensor, rows: int) -> torch.Tensor:
    tensor = padded[:rows]
    tensor.grad = gradient[:rows]
    return tensor
