"""Decoders of one layer that learn: the experiments of madden2024 and dana2024.

All read x_j = embedding[t_j] + positions[j] and attend from the last token of a context:

madden2024    V GELU(W a + b) + c: one head, scores over sqrt(d), fixed sinusoidal positions
dana2024      W_U (x_S + a): eqs. (1) and (2), which do not scale the scores
dana2024-mlp  W_U (W_2 GELU(W_1 y) + y), y = x_S + a

a is the output of attention.
"""

import math
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import torch
from numpy.typing import NDArray

from ....architectures import Architecture
from ....architectures.trainable import trainable
from ...problem import Problem
from ..kernels import attention
from .attention import Head, Heads, attending
from .hidden import Activations, Hidden
from .indices import Indices, indices
from .output import Output
from .start import started
from .workspace import Block, Buffers, flat, gradient


@dataclass(frozen=True)
class Work:
    """One problem's memory: vectors of pairs (token, place), and of contexts after attention."""

    indices: Indices
    tables: Any  # of the attention
    activations: Activations | None
    vectors: Block
    attended: Block

    @property
    def last(self) -> Block:
        """The input of the output layer."""
        return self.attended if self.activations is None else self.activations.output


class Decoder:
    """A decoder that learns: see byheart.lab.learners.Learner."""

    def __init__(self, architecture: Architecture, generator: torch.Generator) -> None:
        sizes, shapes = architecture.sizes, architecture.tensors
        record = trainable(architecture.name)
        d, heads = int(sizes["dimension"]), int(sizes["heads"])
        answers, inputs = shapes["output.weight"]
        self.output = Output(answers, inputs, "output.bias" in shapes)
        self.tensors = started(architecture, self.output, generator)
        self.width, self.skip = d, record.skip
        self.embedding = self.tensors["embedding.weight"]
        learnt = self.tensors.get("positions.weight")
        self.positions = sinusoids(int(sizes["length"]), d) if learnt is None else learnt
        tables = self.embedding, self.positions
        self.arrays = tuple(flat(x) for x in tables)
        self.gradients = tuple(flat(gradient(x)) for x in tables)
        self.heads: Head | Heads | None = None
        if heads:
            scale = 1 / math.sqrt(d) if record.scaled else 1.0
            self.heads = attending(self.tensors, heads, scale)
        self.hidden = Hidden(self.tensors) if "hidden.weight" in shapes else None
        self.room = Buffers()
        self.works: WeakKeyDictionary[Problem, Work] = WeakKeyDictionary()
        self.fixed = dict.fromkeys(architecture.fixed, self.positions)

    def named(self) -> dict[str, torch.Tensor]:
        return self.tensors

    def logits(self, problem: Problem) -> NDArray[np.float32]:
        return self.output.logits(self._forward(problem).last.rows[: len(problem)])

    def step(self, problem: Problem) -> float:
        work = self._forward(problem)
        index, d = work.indices, self.width
        loss = self.output.backward(index, work.last)
        if self.hidden and work.activations:
            self.hidden.backward(work.activations, work.attended)
        work.vectors.errors.zero_()
        errors = work.vectors.error_array
        if self.skip:
            attention.unpick(errors, index.last, work.attended.error_array, d)
        if self.heads and work.tables:
            self.heads.backward(work.tables, work.vectors, work.attended)
        gradient(self.embedding).zero_()
        gradient(self.positions).zero_()
        attention.scatter(*self.gradients, index.tokens, index.places, errors, d)
        return loss

    def _forward(self, problem: Problem) -> Work:
        """Compute the input of the output layer; the memory of a problem is made once."""
        work, d = self.works.get(problem), self.width
        if work is None:
            index = indices(problem)
            work = self.works[problem] = Work(
                index,
                self.heads.tables(index) if self.heads else None,
                self.hidden.activations(index.rows) if self.hidden else None,
                self.room.block("vectors", index.pairs, d),
                self.room.block("attended", index.rows, d),
            )
        index = work.indices
        attention.gather(*self.arrays, index.tokens, index.places, work.vectors.array, d)
        if self.skip:
            attention.pick(work.vectors.array, index.last, work.attended.array, d)
        else:
            work.attended.rows.zero_()
        if self.heads and work.tables:
            self.heads.forward(work.tables, work.vectors, work.attended)
        if self.hidden and work.activations:
            self.hidden.forward(work.activations, work.attended)
        return work


def sinusoids(length: int, dimension: int) -> torch.Tensor:
    """[length, d] the positions of Vaswani et al. (2017): sin and cos(j / 10000^(2 i / d))."""
    place = torch.arange(length, dtype=torch.float64)[:, None]
    even = torch.arange(0, dimension, 2, dtype=torch.float64)
    angle = place / 10000 ** (even / dimension)
    waves = torch.stack([angle.sin(), angle.cos()], 2).view(length, -1)[:, :dimension]
    positions = waves.float().contiguous()
    positions.grad = torch.zeros_like(positions)  # computed like that of learnt ones, and not used
    return positions
