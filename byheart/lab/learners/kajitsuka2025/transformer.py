"""The transformer of kajitsuka2025, eq. (165): blocks, one uniform attention layer, blocks again.

A context is read out at its last token, so only that one goes through the second stack; the first
stack sees every different token once, since without positions a token is the same wherever it is.
"""

from collections.abc import Iterator, Mapping
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
    """The learner.

    tensors  the weights of all blocks of a stack lie in one tensor, such as "first.hidden.weight"
             [blocks, q, m]: a hundred small tensors would cost an optimiser more than the gradient.
             `named` gives them as the architecture names them.
    """

    def __init__(self, tensors: dict[str, torch.Tensor]) -> None:
        self.tensors: Mapping[str, torch.Tensor] = tensors
        self._layouts: WeakKeyDictionary[Problem, Layout] = WeakKeyDictionary()
        self._weights = {name: tensor.numpy() for name, tensor in tensors.items()}
        self._slopes = {name: np.zeros_like(array) for name, array in self._weights.items()}
        for name, tensor in tensors.items():
            tensor.grad = torch.from_numpy(self._slopes[name])
        self._stacks = [_stack(self._weights, part) for part in PARTS]
        self._stack_slopes = [_stack(self._slopes, part) for part in PARTS]

    def named(self) -> dict[str, torch.Tensor]:
        """The tensors as the architecture names them: views, block by block."""
        return dict(_named(self.tensors))

    @np.errstate(over="ignore", invalid="ignore")  # the loss tells
    def step(self, problem: Problem) -> float:
        """Put the gradient of the mean loss into every .grad; the mean loss."""
        held = self._layout(problem)
        means, mixed, read = self._run(held)
        loss, slopes = label_loss(problem, self._weights["output.weight"] @ read)
        np.matmul(slopes, read.T, out=self._slopes["output.weight"])
        back = self._weights["output.weight"].T @ slopes
        backward(self._stacks[1], mixed, back, self._stack_slopes[1])
        self._attention_back(held, means, back)
        backward(self._stacks[0], held.states[0], held.states[2], self._stack_slopes[0])
        self._embedding_back(held)
        return loss

    @np.errstate(over="ignore", invalid="ignore")
    def logits(self, problem: Problem) -> NDArray:
        """float32 [n, outputs]."""
        read = self._run(self._layout(problem))[2]
        return np.ascontiguousarray((self._weights["output.weight"] @ read).T)

    def _layout(self, problem: Problem) -> Layout:
        if problem not in self._layouts:
            dimension = self._weights["output.weight"].shape[1]
            self._layouts[problem] = layout(problem, dimension)
        return self._layouts[problem]

    def _run(self, held: Layout) -> tuple[NDArray, NDArray, NDArray]:
        """[m, n] each: the means, what goes into the second stack, and what comes out of it."""
        self._embed(held)
        forward(self._stacks[0], held.states[0], held.states[1])
        means = held.means(held.states[1])
        mixed = held.states[1][:, held.last] + self._product() @ means
        read = np.empty_like(mixed)
        forward(self._stacks[1], mixed, read)
        return means, mixed, read

    def _embed(self, held: Layout) -> None:
        weights = self._weights["embedding.weight"]
        if held.vectors is None:
            held.states[0] = weights[held.words].T
        else:
            np.matmul(weights.T, held.vectors.T, out=held.states[0])

    def _product(self) -> NDArray:
        return self._weights["attention.out.weight"] @ self._weights["attention.value.weight"]

    def _attention_back(self, held: Layout, means: NDArray, slopes: NDArray) -> None:
        """From slopes [m, n] after the attention to those of every token before it."""
        value, out = (self._weights[f"attention.{name}.weight"] for name in ("value", "out"))
        product = slopes @ means.T  # what W_O W_V would have as its gradient
        np.matmul(product, value.T, out=self._slopes["attention.out.weight"])
        np.matmul(out.T, product, out=self._slopes["attention.value.weight"])
        held.spread(self._product().T @ slopes, held.states[2])
        held.add_last(slopes, held.states[2])

    def _embedding_back(self, held: Layout) -> None:
        into = self._slopes["embedding.weight"]
        if held.vectors is None:
            into[...] = 0  # words of other problems
            into[held.words] = held.states[2].T
        else:
            np.matmul(held.vectors.T, held.states[2].T, out=into)


def start(
    architecture: Architecture, problem: Problem, generator: torch.Generator, shrink: float = 1.0
) -> Kajitsuka2025:
    """A learner as PyTorch would initialise it; W2 and b2 are multiplied by `shrink`.

    torch.nn.Embedding draws from the normal distribution, torch.nn.Linear uniformly between
    +-1/sqrt(inputs), biases as well.
    """
    tensors = {}
    for name, shape in _stacked(architecture).items():
        if name == "embedding.weight" and not problem.reads_vectors:
            tensors[name] = torch.randn(shape, generator=generator)
            continue
        bound = _inputs(name, shape, architecture) ** -0.5
        tensors[name] = (2 * torch.rand(shape, generator=generator) - 1) * bound
        if ".down." in name:
            tensors[name] *= shrink
    return Kajitsuka2025(tensors)


def _inputs(name: str, shape: tuple[int, ...], architecture: Architecture) -> int:
    """How many numbers a linear map reads; a bias is drawn as the weights beside it are."""
    if name == "embedding.weight":
        return shape[0]  # applied from the right
    if name.endswith("bias"):
        return architecture.tensors[name.replace(".", ".0.", 1).replace("bias", "weight")][1]
    return shape[-1]


def _stacked(architecture: Architecture) -> dict[str, tuple[int, ...]]:
    """The shapes of the architecture's tensors with all blocks of a stack in one."""
    shapes: dict[str, tuple[int, ...]] = {}
    for name, shape in architecture.tensors.items():
        part, _, rest = name.partition(".")
        if part not in PARTS:
            shapes[name] = shape
            continue
        whole = f"{part}.{rest.partition('.')[2]}"
        shapes[whole] = (shapes.get(whole, (0,))[0] + 1, *shape)
    return shapes


def _named(tensors: Mapping[str, torch.Tensor]) -> Iterator[tuple[str, torch.Tensor]]:
    for part in PARTS:
        for i in range(len(tensors[f"{part}.hidden.bias"])):
            for name in BLOCK:
                yield f"{part}.{i}.{name}", tensors[f"{part}.{name}"][i]
    yield from ((name, x) for name, x in tensors.items() if name.partition(".")[0] not in PARTS)


def _stack(arrays: dict[str, NDArray], part: str) -> Stack:
    return Stack(*(arrays[f"{part}.{name}"] for name in BLOCK))
