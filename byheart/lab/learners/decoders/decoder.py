"""Decoders of one layer that learn: the experiments of madden2024 and dana2024.

All read x_j = embedding[t_j] + positions[j] and attend from the last token of a context:

madden2024    V GELU(W heard + b) + c: one head, scores over sqrt(d), fixed sinusoidal positions
dana2024      W_U (x_S + heard): eqs. (1) and (2), which do not scale the scores
dana2024-mlp  W_U (W_2 GELU(W_1 y) + y), y = x_S + heard
"""

import math
from dataclasses import dataclass
from typing import Any, Protocol
from weakref import WeakKeyDictionary

import numpy as np
import torch
from numpy.typing import NDArray

from ....architectures import Architecture
from ...problem import Problem
from ..kernels import attention
from ..kernels.lanes import LANES
from .head import Head
from .heads import Heads
from .hidden import Activity, Hidden
from .maps import Maps
from .output import Output
from .reading import Reading, reading
from .workspace import Block, Buffers, flat, gradient


@dataclass(frozen=True)
class Work:
    """One problem's memory: vectors of pairs (token, place), and what contexts hear."""

    reading: Reading
    tables: Any  # of the attention
    activity: Activity | None
    vectors: Block
    heard: Block

    @property
    def last(self) -> Block:
        """What the output layer reads."""
        return self.heard if self.activity is None else self.activity.said


class Attention(Protocol):
    """What contexts hear: Head or Heads."""

    def tables(self, reading: Reading) -> Any:
        """What it keeps for a problem."""

    def hear(self, tables: Any, vectors: Block, heard: Block) -> None:
        """Add to heard [context, d] what the contexts of these pairs' vectors hear."""

    def hear_backward(self, tables: Any, vectors: Block, heard: Block) -> None:
        """Write the gradients of its tensors, and add to the errors of the vectors."""


class Decoder:
    """A decoder that learns: see byheart.lab.learners.Learner.

    Initial weights are drawn in the order of the architecture's tensors.
    """

    def __init__(self, architecture: Architecture, generator: torch.Generator) -> None:
        sizes, shapes = architecture.sizes, architecture.tensors
        d, heads = int(sizes["dimension"]), int(sizes["heads"])
        answers, inputs = shapes["output.weight"]
        self.output = Output(answers, inputs, "output.bias" in shapes)
        self.tensors = {
            name: self.output.tensors.get(name, _empty(shapes[name])) for name in shapes
        }
        for name in shapes:
            _draw(self.tensors[name], name, architecture, generator)
        self.width, self.skips = d, architecture.name != "madden2024"
        scale = 1.0 if self.skips else 1 / math.sqrt(d)
        self.embedding = self.tensors["embedding.weight"]
        learnt = self.tensors.get("positions.weight")
        self.positions = sinusoids(int(sizes["length"]), d) if learnt is None else learnt
        tables = self.embedding, self.positions
        self.arrays = tuple(flat(x) for x in tables)
        self.gradients = tuple(flat(gradient(x)) for x in tables)
        self.heads = _attention(self.tensors, heads, scale)
        self.hidden = Hidden(self.tensors) if "hidden.weight" in shapes else None
        self.room = Buffers()
        self.works: WeakKeyDictionary[Problem, Work] = WeakKeyDictionary()

    def named(self) -> dict[str, torch.Tensor]:
        """The tensors, which are those of the architecture."""
        return self.tensors

    def step(self, problem: Problem) -> float:
        """Put the gradient of the mean loss into every .grad; the mean loss in nats."""
        work = self._forward(problem)
        loss = self.output.learn(work.reading, work.last)
        self._backward(work)
        return loss

    def logits(self, problem: Problem) -> NDArray[np.float32]:
        """float32 [n, outputs]."""
        return self.output.logits(self._forward(problem).last.rows[: len(problem)])

    def _forward(self, problem: Problem) -> Work:
        """Compute what the output layer reads."""
        work = self.works.get(problem)
        if work is None:
            work = self.works[problem] = self._work(problem)
        read, d = work.reading, self.width
        attention.gather(*self.arrays, read.tokens, read.places, work.vectors.array, d)
        if self.skips:
            attention.pick(work.vectors.array, read.last, work.heard.array, d)
        else:
            work.heard.rows.zero_()
        if self.heads and work.tables:
            self.heads.hear(work.tables, work.vectors, work.heard)
        if self.hidden and work.activity:
            self.hidden.fire(work.activity, work.heard)
        return work

    def _backward(self, work: Work) -> None:
        """Write the gradients of everything below the output layer, given that of what it reads."""
        read, d = work.reading, self.width
        if self.hidden and work.activity:
            self.hidden.fire_backward(work.activity, work.heard)
        work.vectors.errors.zero_()
        if self.skips:
            attention.unpick(work.vectors.error_array, read.last, work.heard.error_array, d)
        if self.heads and work.tables:
            self.heads.hear_backward(work.tables, work.vectors, work.heard)
        gradient(self.embedding).zero_()
        gradient(self.positions).zero_()
        errors = work.vectors.error_array
        attention.scatter(*self.gradients, read.tokens, read.places, errors, d)

    def _work(self, problem: Problem) -> Work:
        """Memory for a problem."""
        read, d = reading(problem), self.width
        return Work(
            read,
            self.heads.tables(read) if self.heads else None,
            self.hidden.activity(read.rows) if self.hidden else None,
            self.room.block("vectors", read.pairs, d),
            self.room.block("heard", read.rows, d),
        )


def _attention(tensors: dict[str, torch.Tensor], heads: int, scale: float) -> Attention | None:
    """What computes it fastest."""
    if not heads:
        return None
    maps = Maps(tensors)
    alone = heads == 1 and maps.query.shape[1] % LANES == 0
    return Head(maps, scale) if alone else Heads(maps, heads, scale)


def sinusoids(length: int, dimension: int) -> torch.Tensor:
    """[length, d] the positions of Vaswani et al. (2017): sin and cos(j / 10000^(2 i / d))."""
    place = torch.arange(length, dtype=torch.float64)[:, None]
    even = torch.arange(0, dimension, 2, dtype=torch.float64)
    angle = place / 10000 ** (even / dimension)
    waves = torch.stack([angle.sin(), angle.cos()], 2).view(length, -1)[:, :dimension]
    found = waves.float().contiguous()
    found.grad = torch.zeros_like(found)  # computed like that of learnt ones, and not used
    return found


def _empty(shape: tuple[int, ...]) -> torch.Tensor:
    tensor = torch.empty(shape)
    tensor.grad = torch.zeros(shape)
    return tensor


def _draw(
    tensor: torch.Tensor, name: str, architecture: Architecture, generator: torch.Generator
) -> None:
    """As torch.nn does it: uniform within 1/sqrt(inputs), also for biases; N(0, 1) for embeddings.

    The program of Dana et al. has its embeddings in linear layers, which makes them smaller.
    """
    if name == "embedding.weight" and architecture.name == "madden2024":
        tensor.normal_(generator=generator)
    else:
        bound = 1 / math.sqrt(architecture.tensors[name.replace("bias", "weight")][1])
        tensor.uniform_(-bound, bound, generator=generator)
