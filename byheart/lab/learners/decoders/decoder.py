"""Decoders of one layer that learn: the experiments of madden2024 and dana2024.

All read x_j = embedding[t_j] + positions[j] and attend from the last token of a context:

madden2024        V GELU(W a + b) + c: one head, scores over sqrt(d), fixed sinusoidal positions
dana2024          W_U (x_S + a): eqs. (1) and (2), which do not scale the scores
dana2024-mlp      W_U (W_2 GELU(W_1 y) + y), y = x_S + a
dana2024-program  W_U (e(t_S) + D a): heads share one map C to their dimension and one map D back

a is the output of attention. The program attends from z_S with z_j = C e(t_j) + pos_j, scores over
sqrt(d_h); C = `compress` and D = `decompress` are the identity where d = d_h.
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
from .attention import Heads, Maps
from .indices import Indices, indices
from .layers import Activations, Hidden, Output
from .workspace import Block, Buffers, flat, gradient


@dataclass(frozen=True)
class Work:
    """One problem's memory: vectors of pairs (token, place), and of contexts after attention."""

    indices: Indices
    tables: Any  # of the attention
    activations: Activations | None
    vectors: Block
    attended: Block
    last: Block  # the input of the output layer


class Decoder:
    """A decoder that learns: see byheart.lab.learners.Learner."""

    def __init__(self, architecture: Architecture, generator: torch.Generator) -> None:
        sizes, shapes = architecture.sizes, architecture.tensors
        record = trainable(architecture.name)
        self.width, heads = int(sizes["dimension"]), int(sizes["heads"])
        self.skip, self.shared = record.skip, record.shared
        # the coordinates that attention reads
        self.narrow = int(sizes["head_dimension"]) if self.shared else self.width
        answers, inputs = shapes["output.weight"]
        self.output = Output(answers, inputs, "output.bias" in shapes)
        self.tensors = started(architecture, self.output, generator)
        self.embedding = self.tensors["embedding.weight"]
        learnt = self.tensors.get("positions.weight")
        length = int(sizes["length"])
        self.positions = sinusoids(length, self.width) if learnt is None else learnt
        self.heads: Heads | None = None
        if heads:
            scale = 1 / math.sqrt(self.narrow) if record.scaled else 1.0
            self.heads = Heads(Maps(self.tensors), heads, scale)
        self.compress = self.tensors.get("compress.weight")
        self.decompress = self.tensors.get("decompress.weight")
        if self.shared:  # C e(t) of all tokens, and the gradient of it
            self.compressed, self.to_compressed = torch.zeros(2, len(self.embedding), self.narrow)
        self.hidden = Hidden(self.tensors) if "hidden.weight" in shapes else None
        self.room = Buffers()
        self.works: WeakKeyDictionary[Problem, Work] = WeakKeyDictionary()
        self.fixed = dict.fromkeys(architecture.fixed, self.positions)

    def named(self) -> dict[str, torch.Tensor]:
        return self.tensors

    def logits(self, problem: Problem) -> NDArray[np.float32]:
        work = self._work(problem)
        self._forward(work)
        return self.output.logits(work.last.rows[: len(problem)])

    def step(self, problem: Problem) -> float:
        work = self._work(problem)
        self._forward(work)
        loss = self.output.backward(work.indices, work.last)
        work.vectors.errors.zero_()
        gradient(self.embedding).zero_()
        gradient(self.positions).zero_()
        self._backward(work)
        return loss

    def _work(self, problem: Problem) -> Work:
        work = self.works.get(problem)
        if work is None:
            index = indices(problem)
            activations = self.hidden.activations(index.rows) if self.hidden else None
            attended = self.room.block("attended", index.rows, self.narrow)
            last = activations.output if activations else attended
            if self.shared:
                last = self.room.block("last", index.rows, self.width)
            tables = self.heads.tables(index) if self.heads else None
            vectors = self.room.block("vectors", index.pairs, self.narrow)
            work = Work(index, tables, activations, vectors, attended, last)
            self.works[problem] = work
        return work

    def _forward(self, work: Work) -> None:
        """Compute the input of the output layer."""
        index, table = work.indices, self.embedding
        if self.compress is not None:
            table = torch.mm(table, self.compress.T, out=self.compressed)
        tables, pairs = (flat(table), flat(self.positions)), (index.tokens, index.places)
        attention.gather(*tables, *pairs, work.vectors.array, self.narrow)
        if self.skip and not self.shared:
            attention.pick(work.vectors.array, index.last, work.attended.array, self.width)
        else:
            work.attended.rows.zero_()
        if self.heads and work.tables:
            self.heads.forward(work.tables, work.vectors, work.attended)
        if self.hidden and work.activations:
            self.hidden.forward(work.activations, work.attended)
        if self.shared:
            last = work.last.rows
            attention.pick(flat(self.embedding), index.asking, work.last.array, self.width)
            if self.decompress is None:
                last.add_(work.attended.rows)
            else:
                last.addmm_(work.attended.rows, self.decompress.T)

    def _backward(self, work: Work) -> None:
        """Write all gradients but those of the output layer; those of tables begin at 0."""
        index, last, attended, vectors = work.indices, work.last, work.attended, work.vectors
        to_table = to_embedding = gradient(self.embedding)
        if self.hidden and work.activations:
            self.hidden.backward(work.activations, attended)
        if self.shared:
            to_table = self.to_compressed.zero_()
            attention.unpick(flat(to_embedding), index.asking, last.error_array, self.width)
            if self.decompress is None:
                attended.errors.copy_(last.errors)
            else:
                torch.mm(last.errors.T, attended.rows, out=gradient(self.decompress))
                torch.mm(last.errors, self.decompress, out=attended.errors)
        elif self.skip:
            attention.unpick(vectors.error_array, index.last, attended.error_array, self.width)
        if self.heads and work.tables:
            self.heads.backward(work.tables, vectors, attended)
        gradients, pairs = (to_table, gradient(self.positions)), (index.tokens, index.places)
        attention.scatter(*map(flat, gradients), *pairs, vectors.error_array, self.narrow)
        if self.compress is not None:
            torch.mm(to_table.T, self.embedding, out=gradient(self.compress))
            to_embedding.addmm_(to_table, self.compress)
        elif self.shared:
            to_embedding.add_(to_table)


def started(
    architecture: Architecture, output: Output, generator: torch.Generator
) -> dict[str, torch.Tensor]:
    """Weights drawn in the order of the architecture's tensors, as torch.nn does it.

    Uniform within 1/sqrt(inputs), also for biases; N(0, 1) for embeddings. The program of Dana et
    al. has its embeddings in linear layers, which makes them smaller. Its queries, keys and values
    are those of torch.nn.MultiheadAttention, which draws within sqrt(1.5/inputs); not so here.
    """
    shapes, normal = architecture.tensors, trainable(architecture.name).embeddings == "normal"
    tensors: dict[str, torch.Tensor] = {}
    for name, shape in shapes.items():
        tensor = output.tensors.get(name)
        if tensor is None:
            tensor = torch.empty(shape)
            tensor.grad = torch.zeros(shape)
        if name == "embedding.weight" and normal:
            tensor.normal_(generator=generator)
        else:
            bound = 1 / math.sqrt(shapes[name.replace("bias", "weight")][1])
            tensor.uniform_(-bound, bound, generator=generator)
        tensors[name] = tensor
    return tensors


def sinusoids(length: int, dimension: int) -> torch.Tensor:
    """[length, d] the positions of Vaswani et al. (2017): sin and cos(j / 10000^(2 i / d))."""
    place = torch.arange(length, dtype=torch.float64)[:, None]
    angle = place / 10000 ** (torch.arange(0, dimension, 2, dtype=torch.float64) / dimension)
    waves = torch.stack([angle.sin(), angle.cos()], 2).view(length, -1)[:, :dimension]
    positions = waves.float().contiguous()
    positions.grad = torch.zeros_like(positions)  # computed like that of learnt ones, and not used
    return positions
