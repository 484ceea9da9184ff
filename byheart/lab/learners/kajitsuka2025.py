"""The transformer of kajitsuka2025, eq. (165): blocks, one uniform attention layer, blocks again.

A context is read out at its last token, so only that one goes through the second stack; the first
stack sees every different token once, since without positions a token is the same wherever it is.
Tokens are words with an embedding, words that are fixed vectors, or vectors of the data.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
import torch
from numpy.typing import NDArray

from ...architectures import Architecture
from ...machine.kernels import njit
from ..problem import Problem
from .kernels.blocks import Stack, backward, forward

PARTS = ("first", "second")
BLOCK = ("hidden.weight", "hidden.bias", "down.weight", "down.bias")
VECTORS = "vectors.weight"  # of words, fixed
MANY = 32  # coordinates from which m products of a matrix and a vector are faster than one of two


@dataclass(frozen=True, eq=False)
class Layout:
    """The tokens of a problem, each computed once, and how its contexts are made of them."""

    words: NDArray | None  # [points] the different words; None where tokens are vectors
    vectors: NDArray | None  # [points, coordinates] which E_in maps, or None
    starts: NDArray  # [n + 1] where the tokens of each context begin in `uses`
    uses: NDArray  # points, context after context
    states: NDArray  # [3, m, points] memory: inputs of the first stack, its outputs, their slopes

    @property
    def last(self) -> NDArray:
        return self.uses[self.starts[1:] - 1]


def layout(problem: Problem, dimension: int, table: NDArray | None = None) -> Layout:
    """Vectors of the data are all taken as different; `table` has the fixed vectors of words."""
    starts = np.append(0, np.cumsum(problem.lengths))
    if (problem.lengths == problem.length).all():  # a view of all tokens, context after context
        held = problem.tokens.reshape(-1, *problem.tokens.shape[2:])
    else:
        held = problem.tokens[np.arange(problem.length) < problem.lengths[:, None]]
    words, vectors = None, None
    if problem.reads_vectors:
        points, vectors, uses = len(held), held, np.arange(len(held))
    else:
        different, uses = np.unique(held, return_inverse=True)
        points = len(different)
        words, vectors = (different, None) if table is None else (None, table[different])
    states = np.empty((3, dimension, points), np.float32)
    return Layout(words, vectors, starts, uses.astype(np.int32), states)


def mapped(vectors: NDArray, embedding: NDArray, states: NDArray) -> None:
    """Put E_in of the vectors [points, coordinates] into the states [m, points]."""
    if len(embedding) < MANY:
        np.matmul(embedding.T, vectors.T, out=states)
        return
    for row, state in zip(np.ascontiguousarray(embedding.T), states, strict=True):
        np.dot(vectors, row, out=state)


def unmapped(vectors: NDArray, slopes: NDArray, gradient: NDArray) -> None:
    """Put the gradient [coordinates, m] of E_in, given the slopes [m, points] of its outputs."""
    if len(gradient) < MANY:
        np.matmul(vectors.T, slopes.T, out=gradient)
        return
    for i, row in enumerate(slopes):
        gradient[:, i] = row @ vectors


@njit(cache=True, fastmath=True)
def _means(states, starts, uses):
    """[m, n] the mean of the states [m, points] over the tokens of each context."""
    result = np.empty((len(states), len(starts) - 1), np.float32)
    for i in range(len(states)):
        row = states[i]
        for c in range(len(starts) - 1):
            total = np.float32(0)
            for k in range(starts[c], starts[c + 1]):
                total += row[uses[k]]
            result[i, c] = total / np.float32(starts[c + 1] - starts[c])
    return result


@njit(cache=True)
def _spread(to_means, to_last, starts, uses, slopes):
    """Put the slopes [m, points] of every token, given those of the means and of last tokens."""
    slopes[:] = 0
    for i in range(len(slopes)):
        for c in range(len(starts) - 1):
            share = to_means[i, c] / np.float32(starts[c + 1] - starts[c])
            for k in range(starts[c], starts[c + 1]):
                slopes[i, uses[k]] += share
        for c in range(len(starts) - 1):
            slopes[i, uses[starts[c + 1] - 1]] += to_last[i, c]


@njit(cache=True)
def _cross_entropy(logits, weight, context, answer, count, slopes):
    """log(sum of exp) of each context minus the answers' logits, and the slopes of it."""
    outputs, n = logits.shape
    total = 0.0
    for c in range(n):
        top = logits[:, c].max()
        normal = np.float32(0)
        for k in range(outputs):
            slopes[k, c] = np.exp(logits[k, c] - top)
            normal += slopes[k, c]
        total += weight[c] * (np.float64(top) + np.log(np.float64(normal)))
        for k in range(outputs):
            slopes[k, c] *= np.float32(weight[c]) / normal
    for pair in range(len(context)):
        total -= count[pair] * np.float64(logits[answer[pair], context[pair]])
        slopes[answer[pair], context[pair]] -= np.float32(count[pair])
    return total


@njit(cache=True)
def _squared(logits, weight, context, answer, count, slopes):
    total = 0.0
    slopes[:] = 0
    for pair in range(len(context)):
        away = logits[0, context[pair]] - np.float32(2 * answer[pair] - 1)
        total += count[pair] * np.float64(away) ** 2
        slopes[0, context[pair]] += np.float32(2 * count[pair]) * away
    return total


class Kajitsuka2025:
    """The learner of this architecture: see byheart.lab.learners.Learner.

    tensors  the weights of all blocks of a stack lie in one tensor, such as "first.hidden.weight"
             [blocks, q, m]: a hundred small tensors would cost an optimiser more than the gradient.
             `named` gives them as the architecture names them.
    vectors  [vocabulary, coordinates] of words, fixed; None where words have an embedding
    """

    def __init__(
        self, tensors: dict[str, torch.Tensor], vectors: torch.Tensor | None = None
    ) -> None:
        self.tensors: Mapping[str, torch.Tensor] = tensors
        self.fixed = {} if vectors is None else {VECTORS: vectors}
        self._table = None if vectors is None else vectors.numpy()
        self._layouts: WeakKeyDictionary[Problem, Layout] = WeakKeyDictionary()
        self._weights = {name: tensor.numpy() for name, tensor in tensors.items()}
        self._gradients = {name: np.zeros_like(array) for name, array in self._weights.items()}
        for name, tensor in tensors.items():
            tensor.grad = torch.from_numpy(self._gradients[name])
        self._stacks, self._stack_gradients = (
            [Stack(*(arrays[f"{part}.{name}"] for name in BLOCK)) for part in PARTS]
            for arrays in (self._weights, self._gradients)
        )

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
        weights, gradients = self._weights, self._gradients
        held, means, mixed, last = self._forward(problem)
        logits = weights["output.weight"] @ last
        slopes, predictions = np.empty_like(logits), problem.predictions
        summed_loss = _squared if problem.squared else _cross_entropy
        answers = problem.context, problem.answer, problem.count
        loss = summed_loss(logits, problem.weight, *answers, slopes) / predictions
        slopes /= np.float32(predictions)
        np.matmul(slopes, last.T, out=gradients["output.weight"])
        back = weights["output.weight"].T @ slopes
        backward(self._stacks[1], mixed, back, self._stack_gradients[1])
        value, out = weights["attention.value.weight"], weights["attention.out.weight"]
        to_product = back @ means.T  # the gradient of W_O W_V
        np.matmul(to_product, value.T, out=gradients["attention.out.weight"])
        np.matmul(out.T, to_product, out=gradients["attention.value.weight"])
        _spread((out @ value).T @ back, back, held.starts, held.uses, held.states[2])
        backward(self._stacks[0], held.states[0], held.states[2], self._stack_gradients[0])
        to_embedding = gradients["embedding.weight"]
        if held.vectors is None:
            to_embedding[...] = 0  # words of other problems
            to_embedding[held.words] = held.states[2].T
        else:
            unmapped(held.vectors, held.states[2], to_embedding)
        return loss

    @np.errstate(over="ignore", invalid="ignore")
    def logits(self, problem: Problem) -> NDArray:
        last = self._forward(problem)[3]
        return np.ascontiguousarray((self._weights["output.weight"] @ last).T)

    def _forward(self, problem: Problem) -> tuple[Layout, NDArray, NDArray, NDArray]:
        """The layout and, [m, n] each, the means and the second stack's inputs and outputs."""
        weights = self._weights
        if problem not in self._layouts:
            dimension = weights["output.weight"].shape[1]
            self._layouts[problem] = layout(problem, dimension, self._table)
        held, embedding = self._layouts[problem], weights["embedding.weight"]
        if held.vectors is None:
            held.states[0] = embedding[held.words].T
        else:
            mapped(held.vectors, embedding, held.states[0])
        forward(self._stacks[0], held.states[0], held.states[1])
        means = _means(held.states[1], held.starts, held.uses)
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
    +-1/sqrt(inputs), biases as well. Fixed vectors of words are from the normal distribution.
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
    fixed = architecture.fixed.get(VECTORS)
    vectors = None if fixed is None else torch.randn(fixed, generator=generator)
    tensors = {}
    for name, shape in shapes.items():
        if name == "embedding.weight" and not problem.reads_vectors and vectors is None:
            tensors[name] = torch.randn(shape, generator=generator)
            continue
        tensors[name] = (2 * torch.rand(shape, generator=generator) - 1) * inputs[name] ** -0.5
        if ".down." in name:
            tensors[name] *= shrink
    return Kajitsuka2025(tensors, vectors)
