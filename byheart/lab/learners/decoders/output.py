"""Output: the layer that says the logits, the cross-entropy of them, and the gradient of that.

Logits are padded to a multiple of eight with ones that are so low that they do not count. They
never leave the cache: a few contexts at a time are said, judged and learnt from. If a row has few
numbers to say them from, the matrices are too narrow for BLAS, and one kernel does everything.
"""

import numpy as np
import torch
from numpy.typing import NDArray

from ..kernels import saying
from ..kernels.lanes import LANES
from .reading import Reading
from .workspace import Block, Buffers, flat

LOW = -1e30  # the logit of no answer
CACHE = 1 << 17  # logits that BLAS works on at a time
FEW = 24  # so many inputs or fewer: the kernel is faster than BLAS (measured)


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
        """The logits of rows [n, inputs]."""
        n = self.answers
        return torch.addmm(self.bias[:n], last, self.weight[:n].T).numpy()

    def learn(self, reading: Reading, last: Block) -> float:
        """The mean loss; puts its gradients into those of the tensors and into last.errors.

        last has reading.rows rows
        """
        self.to_bias.zero_()
        if self.inputs <= FEW:
            return self._learn_fused(reading, last)
        self.to_weight.zero_()
        rows = max(LANES, CACHE // self.padded // LANES * LANES)
        begins = range(0, reading.rows, rows)
        return sum(self._learn_rows(reading, last, at, at + rows) for at in begins)

    def _learn_fused(self, reading: Reading, last: Block) -> float:
        self.packed.copy_(self._packed(self.weight))
        self.to_packed.zero_()
        last.errors.zero_()
        rows = last.array, last.error_array
        loss = saying.learn(*reading.judged, *rows, *self.arrays, self.inputs)
        self._packed(self.to_weight).copy_(self.to_packed)
        return loss

    def _learn_rows(self, reading: Reading, last: Block, begin: int, end: int) -> float:
        """The same for some rows by BLAS; gradients are added."""
        some = last.rows[begin:end]
        logits = self.room("logits", len(some), self.padded)
        torch.mm(some, self.weight.T, out=logits)
        loss = saying.judge(
            *reading.judged, flat(logits), flat(self.bias), flat(self.to_bias), begin, len(some)
        )
        self.to_weight.addmm_(logits.T, some)
        torch.mm(logits, self.weight, out=last.errors[begin:end])
        return loss

    def _packed(self, matrix: torch.Tensor) -> torch.Tensor:
        """The matrix as narrow.py has it, without copying."""
        return matrix.view(-1, LANES, self.inputs).transpose(1, 2)


def _tensor(padded: torch.Tensor, gradient: torch.Tensor, rows: int) -> torch.Tensor:
    tensor = padded[:rows]
    tensor.grad = gradient[:rows]
    return tensor
