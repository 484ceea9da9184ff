"""A stock GPT-2 as a learner: PyTorch's own operations and gradients.

It computes what `GPT2LMHeadModel` of transformers computes without dropout; a test compares them.
"""

import math
from collections.abc import Mapping
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional

from ...architectures import Architecture
from ..prefixes import Prefixes
from ..problem import Problem

DEVIATION = 0.02  # of initial weights, as in GPT-2
TOKENS = 16_384  # of paths that are evaluated at one time
NORM = 1e-5  # added to a variance


class Layout(NamedTuple):
    """The paths of a problem as tensors.

    tokens   [k, length] of the paths
    at       [n] the place of each context among all tokens of the paths
    answers  the place of each answer that occurs among the logits after all these tokens
    counts   how often it occurs
    """

    tokens: torch.Tensor
    at: torch.Tensor
    answers: torch.Tensor
    counts: torch.Tensor


class GPT2:
    """The learner of this architecture: see byheart.lab.learners.Learner."""

    def __init__(
        self, architecture: Architecture, generator: torch.Generator, shrink: float = 1.0
    ) -> None:
        """Weights as GPT-2 begins with; those that end a residual branch are smaller."""
        sizes = architecture.sizes
        self.heads, self.layers = int(sizes["heads"]), int(sizes["layers"])
        self.fixed: Mapping[str, torch.Tensor] = {}
        tensors = {}
        for name, shape in architecture.tensors.items():
            scale = DEVIATION
            if name.endswith(("out.weight", "down.weight")):
                scale *= shrink / math.sqrt(2 * self.layers)
            if len(shape) > 1:
                tensors[name] = torch.randn(shape, generator=generator) * scale
            else:
                tensors[name] = torch.full(shape, float("norm" in name and "weight" in name))
        for tensor in tensors.values():
            tensor.requires_grad_()
            tensor.grad = torch.zeros_like(tensor)
        self.tensors: Mapping[str, torch.Tensor] = tensors
        self._layouts: WeakKeyDictionary[Problem, Layout] = WeakKeyDictionary()

    def named(self) -> Mapping[str, torch.Tensor]:
        return self.tensors

    def step(self, problem: Problem) -> float:
        layout = self._layout(problem)
        for tensor in self.tensors.values():
            assert tensor.grad is not None
            tensor.grad.zero_()
        predicted = functional.log_softmax(self._forward(layout.tokens), -1)
        found = predicted.view(-1).index_select(0, layout.answers)
        mean = -(found @ layout.counts) / problem.predictions
        mean.backward()
        return float(mean.detach())

    def logits(self, problem: Problem) -> NDArray:
        layout = self._layout(problem)
        rows = max(1, TOKENS // layout.tokens.shape[1])
        with torch.no_grad():
            parts = [self._forward(part) for part in layout.tokens.split(rows)]
            return torch.cat(parts)[layout.at].numpy()

    def _layout(self, problem: Problem) -> Layout:
        if problem not in self._layouts:
            assert isinstance(problem, Prefixes)
            ends, row, place = problem.paths
            at = row * problem.length + place
            arrays = (
                problem.tokens[ends].astype(np.int64),
                at,
                at[problem.context] * problem.outputs + problem.answer,
                problem.count.astype(np.float32),
            )
            self._layouts[problem] = Layout(*map(torch.from_numpy, arrays))
        return self._layouts[problem]

    def _forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """[k * length, vocabulary] the logits after every token of the paths [k, length]."""
        get, (k, length) = self.tensors, tokens.shape
        d = get["embedding.weight"].shape[1]

        def normed(name: str) -> torch.Tensor:
            weight, bias = get[f"{name}.weight"], get[f"{name}.bias"]
            return functional.layer_norm(state, (d,), weight, bias, NORM)

        def mapped(name: str, vectors: torch.Tensor) -> torch.Tensor:
            return torch.addmm(get[f"{name}.bias"], vectors, get[f"{name}.weight"].T)

        later = torch.full((length, length), -math.inf).triu(1)
        positions = get["positions.weight"][:length]
        state = (get["embedding.weight"][tokens] + positions).view(-1, d)
        for layer in (f"layers.{i}" for i in range(self.layers)):
            parts = mapped(f"{layer}.attention.in", normed(f"{layer}.norm_1"))
            heads = parts.view(k, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
            query, key, value = heads
            scores = query @ key.transpose(-1, -2) / math.sqrt(d // self.heads) + later
            mixed = (scores.softmax(-1) @ value).transpose(1, 2).reshape(-1, d)
            state = state + mapped(f"{layer}.attention.out", mixed)
            hidden = mapped(f"{layer}.hidden", normed(f"{layer}.norm_2"))
            hidden = functional.gelu(hidden, approximate="tanh")
            state = state + mapped(f"{layer}.down", hidden)
        return normed("norm") @ get["embedding.weight"].T
