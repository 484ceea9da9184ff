"""The papers' training in plain PyTorch: the baselines of benchmarks/training.py.

Modules, autograd and torch.optim, on the rows as they are, repetitions included. What PyTorch has
to offer is used where it helps on one core: one projection for queries, keys and values, the fused
optimisers, batches prepared in advance, gradients set to None, no evaluation between steps. The
names of parameters are those of byheart.architectures, so that both sides can start alike.

torch.compile is left out: it takes 10 to 70 s for one model, and a sweep has a model a cell.
"""

from collections.abc import Callable, Sequence
from itertools import cycle

import torch
from torch import Tensor, nn

Batch = tuple[Tensor, Tensor]  # token numbers, answers
Loss = Callable[[nn.Module, Tensor, Tensor], Tensor]


class Training:
    """A model with its optimiser and its batches, which are used in turn."""

    def __init__(
        self,
        model: nn.Module,
        loss: Loss,
        optimiser: torch.optim.Optimizer,
        batches: Sequence[Batch],
    ) -> None:
        self.model, self.loss, self.optimiser = model, loss, optimiser
        self.batches = cycle(batches)

    def step(self) -> Tensor:
        """One step; the loss before it."""
        tokens, answers = next(self.batches)
        self.optimiser.zero_grad(set_to_none=True)
        loss = self.loss(self.model, tokens, answers)
        loss.backward()
        self.optimiser.step()
        return loss.detach()
