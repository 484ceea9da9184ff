"""Buffers: float32 memory that is allocated once and used again at every step."""

import math
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray


@dataclass(frozen=True)
class Block:
    """Rows of numbers and their gradients, the errors; both as matrices and as flat arrays."""

    rows: torch.Tensor
    errors: torch.Tensor
    array: NDArray[np.float32]
    error_array: NDArray[np.float32]


class Buffers:
    """Named memory that grows to the largest size that was needed."""

    def __init__(self) -> None:
        self._held: dict[str, torch.Tensor] = {}

    def __call__(self, name: str, *shape: int) -> torch.Tensor:
        """A tensor of this shape in the memory of this name; what it holds is not defined."""
        size = math.prod(shape)
        held = self._held.get(name)
        if held is None or held.numel() < size:
            held = self._held[name] = torch.zeros(size)
        return held[:size].view(shape)

    def block(self, name: str, *shape: int) -> Block:
        rows, errors = self(name, *shape), self(f"errors of {name}", *shape)
        return Block(rows, errors, flat(rows), flat(errors))


def flat(tensor: torch.Tensor) -> NDArray[np.float32]:
    return tensor.view(-1).numpy()


def gradient(tensor: torch.Tensor) -> torch.Tensor:
    assert tensor.grad is not None
    return tensor.grad
