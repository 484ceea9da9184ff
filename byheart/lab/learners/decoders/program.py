"""The program of Dana et al. as a learner: its heads share one map to their dimension and one back.

With C = `compress` and D = `decompress`, both the identity where d = d_h:

z_j     C e(t_j) + pos_j, d_h coordinates
a       the output of attention from z_S, scores over sqrt(d_h)
logits  W_U (e(t_S) + D a)
"""

import math
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import torch
from numpy.typing import NDArray

from ....architectures import Architecture
from ...problem import Problem
from ..kernels import attention
from .attention import attending
from .indices import Indices, indices
from .output import Output
from .start import started
from .workspace import Block, Buffers, flat, gradient


@dataclass(frozen=True)
class Work:
    """One problem's memory."""

    indices: Indices
    asking: NDArray  # [context] the last token
    tables: Any  # of the attention
    vectors: Block  # [pair, d_h] z of the pairs (token, place)
    mixed: Block  # [context, d_h] a
    last: Block  # [context, d] the input of the output layer


class Program:
    """See byheart.lab.learners.Learner."""

    def __init__(self, architecture: Architecture, generator: torch.Generator) -> None:
        sizes = architecture.sizes
        answers, self.width = architecture.tensors["output.weight"]
        self.narrow = int(sizes["head_dimension"])
        self.output = Output(answers, self.width, biased=False)
        self.tensors = started(architecture, self.output, generator)
        self.fixed: dict[str, torch.Tensor] = {}
        self.embedding = self.tensors["embedding.weight"]
        self.positions = self.tensors["positions.weight"]
        self.compress = self.tensors.get("compress.weight")
        self.decompress = self.tensors.get("decompress.weight")
        self.compressed, self.to_compressed = torch.zeros(2, len(self.embedding), self.narrow)
        self.heads = attending(self.tensors, int(sizes["heads"]), 1 / math.sqrt(self.narrow))
        self.room = Buffers()
        self.works: WeakKeyDictionary[Problem, Work] = WeakKeyDictionary()

    def named(self) -> dict[str, torch.Tensor]:
        return self.tensors

    def logits(self, problem: Problem) -> NDArray[np.float32]:
        return self.output.logits(self._forward(problem).last.rows[: len(problem)])

    def step(self, problem: Problem) -> float:
        work = self._forward(problem)
        index, last, mixed, vectors = work.indices, work.last, work.mixed, work.vectors
        loss = self.output.backward(index, last)
        to_embedding, to_positions = gradient(self.embedding).zero_(), gradient(self.positions)
        attention.unpick(flat(to_embedding), work.asking, last.error_array, self.width)
        if self.decompress is None:
            mixed.errors.copy_(last.errors)
        else:
            torch.mm(last.errors.T, mixed.rows, out=gradient(self.decompress))
            torch.mm(last.errors, self.decompress, out=mixed.errors)
        vectors.errors.zero_()
        self.heads.backward(work.tables, vectors, mixed)
        tables = flat(self.to_compressed.zero_()), flat(to_positions.zero_())
        attention.scatter(*tables, index.tokens, index.places, vectors.error_array, self.narrow)
        if self.compress is None:
            to_embedding.add_(self.to_compressed)
        else:
            torch.mm(self.to_compressed.T, self.embedding, out=gradient(self.compress))
            to_embedding.addmm_(self.to_compressed, self.compress)
        return loss

    def _forward(self, problem: Problem) -> Work:
        """Compute the input of the output layer; the memory of a problem is made once."""
        work = self.works.get(problem)
        if work is None:
            index = indices(problem)
            work = self.works[problem] = Work(
                index,
                index.tokens[index.last],
                self.heads.tables(index),
                self.room.block("vectors", index.pairs, self.narrow),
                self.room.block("mixed", index.rows, self.narrow),
                self.room.block("last", index.rows, self.width),
            )
        index, vectors, last = work.indices, work.vectors, work.last.rows
        if self.compress is None:
            self.compressed.copy_(self.embedding)
        else:
            torch.mm(self.embedding, self.compress.T, out=self.compressed)
        tables = flat(self.compressed), flat(self.positions)
        attention.gather(*tables, index.tokens, index.places, vectors.array, self.narrow)
        work.mixed.rows.zero_()
        self.heads.forward(work.tables, vectors, work.mixed)
        attention.pick(flat(self.embedding), work.asking, work.last.array, self.width)
        if self.decompress is None:
            last.add_(work.mixed.rows)
        else:
            last.addmm_(work.mixed.rows, self.decompress.T)
        return work
