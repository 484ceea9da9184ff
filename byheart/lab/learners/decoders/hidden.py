"""Hidden: a layer of GELU neurons, alone or with a map back that is added to what was read."""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from numpy.typing import NDArray

from ..kernels.gelu import gelu
from .workspace import Block, Buffers, flat, gradient


@dataclass(frozen=True)
class Activity:
    """What the neurons get, say and how steep they are, for one problem: [row, neuron]."""

    before: torch.Tensor
    after: torch.Tensor
    slope: torch.Tensor
    said: Block
    arrays: tuple[NDArray, ...]


class Hidden:
    """GELU(W x + b), or W_2 GELU(W_1 x) + x if there is a map back."""

    def __init__(self, tensors: Mapping[str, torch.Tensor]) -> None:
        self.weight = tensors["hidden.weight"]
        self.bias = tensors.get("hidden.bias")
        self.down = tensors.get("down.weight")
        self.room = Buffers()

    @property
    def outputs(self) -> int:
        """How many numbers it says a row."""
        return (self.weight if self.down is None else self.down).shape[0]

    def activity(self, rows: int) -> Activity:
        """Room for so many rows, a multiple of eight."""
        neurons = len(self.weight)
        before, slope = self.room("before", rows, neurons), self.room("slope", rows, neurons)
        said = self.room.block("said", rows, self.outputs)
        after = said.rows if self.down is None else self.room("after", rows, neurons)
        arrays = tuple(map(flat, (before, after, slope)))
        return Activity(before, after, slope, said, arrays)

    def fire(self, activity: Activity, read: Block) -> None:
        """Compute what is said from rows that are read."""
        if self.bias is None:
            torch.mm(read.rows, self.weight.T, out=activity.before)
        else:
            torch.addmm(self.bias, read.rows, self.weight.T, out=activity.before)
        gelu(*activity.arrays)
        if self.down is not None:
            torch.addmm(read.rows, activity.after, self.down.T, out=activity.said.rows)

    def fire_backward(self, activity: Activity, read: Block) -> None:
        """Write the gradients of the maps, and put that of the rows into the errors of `read`."""
        to_said = activity.said.errors
        if self.down is None:
            to_before = to_said.mul_(activity.slope)
            torch.mm(to_before, self.weight, out=read.errors)
        else:
            torch.mm(to_said.T, activity.after, out=gradient(self.down))
            to_before = torch.mm(to_said, self.down, out=activity.before).mul_(activity.slope)
            torch.addmm(to_said, to_before, self.weight, out=read.errors)
        torch.mm(to_before.T, read.rows, out=gradient(self.weight))
        if self.bias is not None:
            torch.sum(to_before, 0, out=gradient(self.bias))
