"""LoRA adapters of a small GPT-2 as a learner: the weights W of its maps stay, and B A is learnt.

The base is fixed: a GPT-2 that was trained on other random sequences, as many as one bit for each
of its parameters. It is the same for every trial of these sizes.
"""

import math
from collections.abc import Mapping
from functools import cache

import torch
from numpy.typing import NDArray

from ...architectures import Architecture, architecture
from ...data.generate import uniform
from ..problem import Problem, prefixes
from .gpt2 import GPT2

SEED = 260_530_260  # of the base and its sequences, which no data of a user has
SIZES = ("vocabulary", "length", "layers", "dimension", "heads")
STEPS, RATE = 600, 0.004  # of its training


class LoRA:
    """The learner of this architecture: see byheart.lab.learners.Learner."""

    def __init__(self, described: Architecture, generator: torch.Generator, shrink: float) -> None:
        """A is random and B is 0, so that training begins at the base."""
        sizes = [int(described.sizes[name]) for name in SIZES]
        self.fixed: Mapping[str, torch.Tensor] = base(*sizes)
        self.model = GPT2(_whole(*sizes), generator)
        tensors = {}
        for name, shape in described.tensors.items():
            random = torch.randn(shape, generator=generator) * shrink / math.sqrt(shape[1])
            tensors[name] = random if name.endswith(".A") else torch.zeros(shape)
            tensors[name].grad = torch.zeros(shape)
        self.tensors: Mapping[str, torch.Tensor] = tensors
        for name, tensor in self.model.tensors.items():
            tensor.copy_(self.fixed[name])
        self.maps = [name.removesuffix(".A") for name in tensors if name.endswith(".A")]

    def named(self) -> Mapping[str, torch.Tensor]:
        """The whole model, with the adapters added to its weights."""
        return self._merged().tensors

    def step(self, problem: Problem) -> float:
        mean = self._merged().step(problem)
        for name in self.maps:
            a, b = self.tensors[f"{name}.A"], self.tensors[f"{name}.B"]
            errors = self.model.tensors[f"{name}.weight"].grad
            assert errors is not None and a.grad is not None and b.grad is not None
            torch.mm(b.T, errors, out=a.grad)
            torch.mm(errors, a.T, out=b.grad)
        return mean

    def logits(self, problem: Problem) -> NDArray:
        return self._merged().logits(problem)

    def _merged(self) -> GPT2:
        for name in self.maps:
            a, b, weight = self.tensors[f"{name}.A"], self.tensors[f"{name}.B"], f"{name}.weight"
            torch.addmm(self.fixed[weight], b, a, out=self.model.tensors[weight])
        return self.model


def _whole(*sizes: int) -> Architecture:
    return architecture("gpt2", dict(zip(SIZES, sizes, strict=True)))


@cache
def base(*sizes: int) -> Mapping[str, torch.Tensor]:
    """The tensors of the trained base, of these SIZES."""
    described, (vocabulary, length) = _whole(*sizes), sizes[:2]
    count = max(1, round(described.parameters / (length * math.log2(max(2, vocabulary)))))
    problem = prefixes(uniform(count, length, max(2, vocabulary), SEED))
    model = GPT2(described, torch.Generator().manual_seed(SEED))
    optimiser = torch.optim.Adam(list(model.tensors.values()), fused=True)
    for step in range(STEPS):
        for group in optimiser.param_groups:
            group["lr"] = RATE * min((step + 1) / 31, 1 - step / STEPS)
        model.step(problem)
        optimiser.step()
    return {name: tensor.detach().clone() for name, tensor in model.tensors.items()}
