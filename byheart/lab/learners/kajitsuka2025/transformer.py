"""The transformer of kajitsuka2025, eq. (165): blocks, one uniform attention layer, blocks again.

A context is read out at its last token, so only that one goes through the second stack; the first
stack sees every different token once, since without positions a token is the same wherever it is.
"""

from collections.abc import Mapping
from weakref import WeakKeyDictionary

import numpy as np
import torch
from numpy.typing import NDArray

from ....architectures import Architecture
from ...problem import Problem
from ..kernels.blocks import Stack, backward, forward
from .label_loss import label_loss
from .layout import Layout, layout

PARTS = ("first", "second")
BLOCK = ("hidden.weight", "hidden.bias", "down.weight", "down.bias")


class Kajitsuka2025:
    """The learner of this architecture: see byheart.lab.learners.Learner.

    tensors  the weights of all blocks of a stack lie in one tensor, such as "first.hidden.weight"
             [blocks, q, m]: a hundred small tensors would cost an optimiser more than the gradient.
             `named` gives them as the architecture names them.
    """

    def __init__(self, tensors: dict[str, torch.Tensor]) -> None:
        self.tensors: Mapping[str, torch.Tensor] = tensors
        self._layouts: WeakKeyDictionary[Problem, Layout] = WeakKeyDictionary()
        self._weights = {name: tensor.numpy() for name, tensor in tensors.items()}
        self._gradients = {name: np.zeros_like(array) for name, array in self._weights.items()}
        for name, tensor in tensors.items():
            tensor.grad = torch.from_numpy(self._gradients[name])
        self._stacks = [_stack(self._weights, part) for part in PARTS]
        self._stack_gradients = [_stack(self._gradients, part) for part in PARTS]

    def named(self) -> dict[str, torch.Tensor]:
        """The tensors as the architecture names them: views, block by block."""
        return {
            f"{part}.{i}.{name}": self.tensors[f"{part}.{name}"][i]
            for part in PARTS
            for i in range(len(self.tensors[f"{part}.hidden.bias"]))
            for name in BLOCK
        } | {name: x for name, x in self.tensors.items() if name.partition(".")[0] not in PARTS}

    @np.errstate(over="ignore", invalid="ignore")  # the loss tells
    def step(self, problem: Problem) -> float:
        """Put the gradient of the mean loss into every .grad; the mean loss."""
        weights, gradients = self._weights, self._gradients
        held, means, mixed, last = self._forward(problem)
        loss, slopes = label_loss(problem, weights["output.weight"] @ last)
        np.matmul(slopes, last.T, out=gradients["output.weight"])
        back = weights["output.weight"].T @ slopes
        backward(self._stacks[1], mixed, back, self._stack_gradients[1])
        value, out = weights["attention.value.weight"], weights["attention.out.weight"]
        to_product = back @ means.T  # the gradient of W_O W_V
        np.matmul(to_product, value.T, out=gradients["attention.out.weight"])
        np.matmul(out.T, to_product, out=gradients["attention.value.weight"])
        held.spread((out @ value).T @ back, held.states[2])
        held.add_last(back, held.states[2])
        backward(self._stacks[0], held.states[0], held.states[2], self._stack_gradients[0])
        to_embedding = gradients["embedding.weight"]
        if held.vectors is None:
            to_embedding[...] = 0  # words of other problems
            to_embedding[held.words] = held.states[2].T
        else:
            np.matmul(held.vectors.T, held.states[2].T, out=to_embedding)
        return loss

    @np.errstate(over="ignore", invalid="ignore")
    def logits(self, problem: Problem) -> NDArray:
        """float32 [n, outputs]."""
        last = self._forward(problem)[3]
        return np.ascontiguousarray((self._weights["output.weight"] @ last).T)

    def _forward(self, problem: Problem) -> tuple[Layout, NDArray, NDArray, NDArray]:
        """The layout and, [m, n] each, the means and the second stack's inputs and outputs."""
        weights = self._weights
        if problem not in self._layouts:
            self._layouts[problem] = layout(problem, weights["output.weight"].shape[1])
        held, embedding = self._layouts[problem], weights["embedding.weight"]
        if held.vectors is None:
            held.states[0] = embedding[held.words].T
        else:
            np.matmul(embedding.T, held.vectors.T, out=held.states[0])
        forward(self._stacks[0], held.states[0], held.states[1])
        means = held.means(held.states[1])
        product = weights["attention.out.weight"] @ weights["attention.value.weight"]
        mixed = held.states[1][:, held.last] + product @ means
        last = np.empty_like(mixed)
        forward(self._stacks[1], mixed, last)
        return held, means, mixed, last


def start(
    architecture: Architecture, problem: Problem, generator: torch.Generator, shrink: float = 1.0
) -> Kajitsuka2025:
    """A learner as PyTorch would initialise it; W2 and b2 are multiplied by `shrink`.

    torch.nn.Embedding draws from the normal distribution, torch.nn.Linear uniformly between
    +-1/sqrt(inputs), biases as well.
    """
    shapes: dict[str, tuple[int, ...]] = {}  # with all blocks of a stack in one tensor
    inputs: dict[str, int] = {}  # of linear maps; a bias is drawn as the weights beside it are
    for name, shape in architecture.tensors.items():
        part, _, rest = name.partition(".")
        whole = f"{part}.{rest.partition('.')[2]}" if part in PARTS else name
        blocks = (shapes.get(whole, (0,))[0] + 1,) if part in PARTS else ()
        shapes[whole] = (*blocks, *shape)
        inputs[whole] = architecture.tensors[name.replace("bias", "weight")][1]
    inputs["embedding.weight"] = shapes["embedding.weight"][0]  # applied from the right
    tensors = {}
    for name, shape in shapes.items():
        if name == "embedding.weight" and not problem.reads_vectors:
            tensors[name] = torch.randn(shape, generator=generator)
            continue
        bound = inputs[name] ** -0.5
        tensors[name] = (2 * torch.rand(shape, generator=generator) - 1) * bound
        if ".down." in name:
            tensors[name] *= shrink
    return Kajitsuka2025(tensors)


def _stack(arrays: dict[str, NDArray], part: str) -> Stack:
    return Stack(*(arrays[f"{part}.{name}"] for name in BLOCK))
