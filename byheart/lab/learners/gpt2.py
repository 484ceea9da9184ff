"""A stock GPT-2 as a learner, with gradients written by hand.

It computes what `GPT2LMHeadModel` of transformers computes without dropout; tests compare both, and
the gradients with those of PyTorch. Tokens are columns, eight sequences to a register (see
kernels/columns.py): at a few thousand parameters, attention and normalisation take most of the time
of a step in PyTorch, and matrix products, which it does here too, take little.
"""

import math
from collections.abc import Mapping
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import torch
from numpy.typing import NDArray

from ...architectures import Architecture
from ...data.arrays import offsets
from ..problem import EVALUATED, Prefixes, Problem
from .decoders.workspace import Buffers, flat, gradient
from .kernels import causal, columns
from .kernels.lanes import LANES, whole

DEVIATION = 0.02  # of initial weights, as in GPT-2


class Layout(NamedTuple):
    """The paths of a problem, whose tokens are columns: k of them, with those that pad."""

    k: int
    tokens: NDArray[np.int64]  # [column]
    shares: NDArray[np.float32]  # [column] the share of all predictions that are made there
    begins: NDArray[np.int64]  # [column + 1] where the answers of each column begin
    answers: NDArray[np.int64]  # where each answer that occurs is among the logits [answer, column]
    parts: NDArray[np.float32]  # its share of all predictions


class Rows(NamedTuple):
    """Numbers [row, column], and the same memory as a flat array."""

    matrix: torch.Tensor
    array: NDArray[np.float32]


class GPT2:
    """The learner of this architecture: see byheart.lab.learners.Learner."""

    def __init__(
        self, architecture: Architecture, generator: torch.Generator, shrink: float = 1.0
    ) -> None:
        """Weights as GPT-2 begins with; those that end a residual branch are smaller."""
        sizes = architecture.sizes
        self.heads, self.layers = int(sizes["heads"]), int(sizes["layers"])
        self.dimension = int(sizes["dimension"])
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
            tensor.grad = torch.zeros_like(tensor)
        self.tensors: Mapping[str, torch.Tensor] = tensors
        self.names = [f"layers.{i}" for i in range(self.layers)]
        self._buffers = Buffers()
        self._held: dict[tuple[str, int], Rows] = {}
        self._layouts: WeakKeyDictionary[Problem, Layout] = WeakKeyDictionary()

    def named(self) -> Mapping[str, torch.Tensor]:
        return self.tensors

    def step(self, problem: Problem) -> float:
        layout = self._layout(problem)
        logits = self._forward(layout.tokens, layout.k)
        room = [self._room(name, 1, LANES).array for name in ("tops", "normals")]
        mean = columns.column_losses(logits.array, *layout[2:], *room)
        self._backward(layout.tokens, layout.k, logits)
        return float(mean)

    def logits(self, problem: Problem) -> NDArray:
        assert isinstance(problem, Prefixes)
        ends, row, place = problem.paths
        size, parts = max(LANES, EVALUATED // problem.length // LANES * LANES), []
        for first in range(0, len(ends), size):
            tokens, k = _columns(problem.tokens[ends[first : first + size]])
            logits = self._forward(tokens, k).matrix.view(-1, problem.length, k)
            parts.append(logits.permute(2, 1, 0).contiguous())
        return torch.cat(parts)[row, place].numpy()

    def _layout(self, problem: Problem) -> Layout:
        if problem not in self._layouts:
            assert isinstance(problem, Prefixes)
            ends, row, place = problem.paths
            tokens, k = _columns(problem.tokens[ends])
            column = (place * k + row)[problem.context]
            order = np.argsort(column, kind="stable")
            parts = problem.count / problem.predictions
            weight = np.bincount(column, parts, len(tokens)).astype(np.float32)
            begins = offsets(np.bincount(column, minlength=len(tokens)))
            places = (problem.answer.astype(np.int64) * len(tokens) + column)[order]
            shares = parts.astype(np.float32)[order]
            self._layouts[problem] = Layout(k, tokens, weight, begins, places, shares)
        return self._layouts[problem]

    def _room(self, name: str, rows: int, count: int) -> Rows:
        """Memory of this name and shape, the same at every step; what it holds is not defined."""
        room = self._held.get((name, count))
        if room is None:
            matrix = self._buffers(name, rows, count)
            room = self._held[name, count] = Rows(matrix, flat(matrix))
        return room

    def _forward(self, tokens: NDArray[np.int64], k: int) -> Rows:
        """[vocabulary, column] the logits after every token."""
        d, count, (length, size) = self.dimension, len(tokens), self._sizes(tokens, k)
        table, positions = self.tensors["embedding.weight"], self.tensors["positions.weight"]
        desk = self._room("desk", 7 * size, length * LANES)
        state = self._room("state", d, count)
        columns.embed(tokens, table.numpy(), positions.numpy(), state.array, k)
        for layer in self.names:
            maps = self._mapped(f"{layer}.attention.in", self._normed(f"{layer}.norm_1", state))
            weights = self._room(f"{layer}.weights", -(-self.heads * (length + 1) // 2), count)
            mixed = self._room(f"{layer}.mixed", d, count)
            arrays = maps.array, weights.array, mixed.array, desk.array
            causal.attend(*arrays, self.heads, size, length, k)
            state = self._mapped(f"{layer}.attention.out", mixed, state)
            hidden = self._mapped(f"{layer}.hidden", self._normed(f"{layer}.norm_2", state))
            after = self._room(f"{layer}.after", 4 * d, count)
            columns.gelu_tanh(hidden.array, after.array, hidden.array)  # the slope in its place
            state = self._mapped(f"{layer}.down", after, state)
        logits = self._room("logits", len(table), count)
        torch.mm(table, self._normed("norm", state).matrix, out=logits.matrix)
        return logits

    def _backward(self, tokens: NDArray[np.int64], k: int, errors: Rows) -> None:
        """Write all gradients, given that of the logits, after `_forward` of the same tokens."""
        d, count, (length, size) = self.dimension, len(tokens), self._sizes(tokens, k)
        table, positions = self.tensors["embedding.weight"], self.tensors["positions.weight"]
        desk = self._room("desk", 7 * size, length * LANES)
        slopes = self._room("slopes", 1, length * LANES)
        to_state, to_maps = self._room("to state", d, count), self._room("to maps", 3 * d, count)
        to_state.matrix.zero_()
        states = ["state", *(f"{x}.{y}" for x in self.names for y in ("attention.out", "down"))]
        before = {name: self._room(name, d, count) for name in states}

        torch.mm(errors.matrix, self._room("norm", d, count).matrix.T, out=gradient(table))
        to_normed = self._room(f"to {d}", d, count)
        torch.mm(table.T, errors.matrix, out=to_normed.matrix)
        self._normed_backward("norm", before[states[-1]], to_normed, to_state)
        for layer, first in reversed(list(zip(self.names, states[::2], strict=False))):
            after, slope = (self._room(f"{layer}.{x}", 4 * d, count) for x in ("after", "hidden"))
            to_hidden = self._mapped_backward(f"{layer}.down", after, to_state)
            to_hidden.matrix.mul_(slope.matrix)
            normed = self._room(f"{layer}.norm_2", d, count)
            to_normed = self._mapped_backward(f"{layer}.hidden", normed, to_hidden)
            middle = before[f"{layer}.attention.out"]
            self._normed_backward(f"{layer}.norm_2", middle, to_normed, to_state)

            mixed = self._room(f"{layer}.mixed", d, count)
            to_mixed = self._mapped_backward(f"{layer}.attention.out", mixed, to_state)
            maps = self._room(f"{layer}.attention.in", 3 * d, count)
            weights = self._room(f"{layer}.weights", -(-self.heads * (length + 1) // 2), count)
            arrays = (x.array for x in (maps, weights, to_mixed, to_maps, desk, slopes))
            causal.attend_backward(*arrays, self.heads, size, length, k)
            normed = self._room(f"{layer}.norm_1", d, count)
            to_normed = self._mapped_backward(f"{layer}.attention.in", normed, to_maps)
            self._normed_backward(f"{layer}.norm_1", before[first], to_normed, to_state)
        to_tables = gradient(table).numpy(), gradient(positions).zero_().numpy()
        columns.embed_backward(tokens, to_state.array, *to_tables, k)

    def _sizes(self, tokens: NDArray[np.int64], k: int) -> tuple[int, int]:
        """The length of a path, and the dimension of a head."""
        return len(tokens) // k, self.dimension // self.heads

    def _mapped(self, name: str, inputs: Rows, added: Rows | None = None) -> Rows:
        """The linear map of this name, plus what is to be added."""
        weight, bias = self.tensors[f"{name}.weight"], self.tensors[f"{name}.bias"]
        outputs = self._room(name, len(weight), inputs.matrix.shape[1])
        torch.addmm(bias[:, None], weight, inputs.matrix, out=outputs.matrix)
        if added is not None:
            outputs.matrix.add_(added.matrix)
        return outputs

    def _mapped_backward(self, name: str, inputs: Rows, errors: Rows) -> Rows:
        """Write the gradients of the map, given those of its outputs; that of its inputs."""
        weight, bias = self.tensors[f"{name}.weight"], self.tensors[f"{name}.bias"]
        torch.mm(errors.matrix, inputs.matrix.T, out=gradient(weight))
        torch.sum(errors.matrix, 1, out=gradient(bias))
        to_inputs = self._room(f"to {len(inputs.matrix)}", *inputs.matrix.shape)
        torch.mm(weight.T, errors.matrix, out=to_inputs.matrix)
        return to_inputs

    def _normed(self, name: str, states: Rows) -> Rows:
        size, count = states.matrix.shape
        rows = {"": size, ".means": 1, ".scales": 1}
        normed, means, scales = (self._room(name + x, n, count) for x, n in rows.items())
        maps = (flat(self.tensors[f"{name}.{x}"]) for x in ("weight", "bias"))
        columns.normalise(states.array, *maps, normed.array, means.array, scales.array)
        return normed

    def _normed_backward(self, name: str, states: Rows, errors: Rows, to_states: Rows) -> None:
        """Add to the gradient of the states; write those of weight and bias."""
        size, count = states.matrix.shape
        weight, bias = (self.tensors[f"{name}.{x}"] for x in ("weight", "bias"))
        moments = (self._room(name + x, 1, count).array for x in (".means", ".scales"))
        gradients = flat(gradient(weight)), flat(gradient(bias))
        room = self._room("sums", 2 * size, LANES).array
        arrays = errors.array, to_states.array, *gradients, room
        columns.normalise_backward(states.array, flat(weight), *moments, *arrays)


def _columns(paths: NDArray) -> tuple[NDArray[np.int64], int]:
    """The tokens of paths [k, length] in the order of columns, with paths that pad; how many."""
    k = whole(len(paths))
    filled = np.zeros((k, paths.shape[1]), np.int64)
    filled[: len(paths)] = paths
    return np.ascontiguousarray(filled.T).reshape(-1), k
