"""A decoder in ball arithmetic of as many digits as it takes (arb): every result is an enclosure.

Slow and plain: what the decoder computes (checker/FORMAT.md, section 9), operation by operation.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from flint import arb, arb_mat

from ...data.targets import Targets
from ..decoder import ATTENTION, Decoder, Tensor
from .taylor import value

Row = list[arb]


def numbers(tensor: Tensor) -> arb_mat:
    """The same numbers, exactly, whatever the precision; a vector is a column."""
    flat = tensor.ravel().tolist()
    entries = [arb(x) for x in flat] if tensor.dtype == object else flat  # pairs, or floats
    return arb_mat(len(tensor), len(flat) // len(tensor), entries)


def rows(matrix: arb_mat) -> list[Row]:
    """The rows of a matrix."""
    entries, width = matrix.entries(), matrix.ncols()
    return [entries[i : i + width] for i in range(0, len(entries), width)]


class Mixer:
    """The part of a decoder before its neurons, ready to read contexts."""

    def __init__(self, decoder: Decoder) -> None:
        self.shape = decoder.shape
        self.embedding = rows(numbers(decoder["embedding"]))
        if decoder.shape.mixing == ATTENTION:
            self.positions = rows(numbers(decoder["positions"]))
            self.heads = [_head(decoder, r) for r in range(decoder.shape.heads)]
        else:
            self.weights = numbers(decoder["token_sum"]).entries()

    def __call__(self, contexts: Sequence[Sequence[int]]) -> arb_mat:
        """h_2 of each context (madden2024, eq. (2)), [contexts, d]."""
        contexts = [self._filled(context) for context in contexts]
        dimension = self.shape.dimension
        if self.shape.mixing != ATTENTION:
            sums = [self._sum(context) for context in contexts]
            return arb_mat(len(sums), dimension, [x for row in sums for x in row])
        vectors = [self._vectors(context) for context in contexts]
        last = arb_mat(
            len(contexts),
            dimension,
            [x for vector in vectors for x in rows(vector)[-1]],
        )
        result = last if self.shape.skip else arb_mat(len(contexts), dimension)
        for match, answer in self.heads:
            result = result + _heard(vectors, last * match) * answer
        return result

    def _filled(self, context: Sequence[int]) -> Sequence[int]:
        """With the padding, if there is one, at the front."""
        if self.shape.padding is None:
            return context
        return [self.shape.padding] * (self.shape.length - len(context)) + list(context)

    def _vectors(self, context: Sequence[int]) -> arb_mat:
        entries = [
            z + u
            for token, position in zip(context, self.positions, strict=False)
            for z, u in zip(self.embedding[token], position, strict=True)
        ]
        return arb_mat(len(context), self.shape.dimension, entries)

    def _sum(self, context: Sequence[int]) -> Row:
        weights = arb_mat(1, len(context), self.weights[: len(context)])
        entries = [x for token in context for x in self.embedding[token]]
        return (weights * arb_mat(len(context), self.shape.dimension, entries)).entries()


def _head(decoder: Decoder, head: int) -> tuple[arb_mat, arb_mat]:
    """query^T key and (out value)^T of one head: what a row of the last tokens is multiplied by."""
    keys, values = (
        slice(head * size, (head + 1) * size)
        for size in (decoder.shape.key_dimension, decoder.shape.value_dimension)
    )
    query, key = (numbers(decoder[f"attention.{x}"][keys]) for x in ("query", "key"))
    value = numbers(decoder["attention.value"][values])
    out = numbers(np.ascontiguousarray(decoder["attention.out"][:, values]))
    return query.transpose() * key, value.transpose() * out.transpose()


def _heard(vectors: Sequence[arb_mat], asked: arb_mat) -> arb_mat:
    """What one head hears: the mean of each context's vectors by the softmax of their scores."""
    result: Row = []
    for vector, question in zip(vectors, rows(asked), strict=True):
        scores = (vector * arb_mat(len(question), 1, question)).entries()
        weights = [(score - scores[-1].mid()).exp() for score in scores]
        total = sum(weights[1:], weights[0])
        shares = arb_mat(1, len(weights), [weight / total for weight in weights])
        result += (shares * vector).entries()
    return arb_mat(len(vectors), vectors[0].ncols(), result)


class Reader:
    """A whole decoder, ready to read contexts."""

    def __init__(self, decoder: Decoder) -> None:
        self.shape = decoder.shape
        self.mixer = Mixer(decoder)
        if self.shape.neurons:
            self.hidden = numbers(decoder["hidden"]).transpose()
            self.bias = numbers(decoder["hidden.bias"]).entries()
        self.output = numbers(decoder["output"]).transpose()

    def __call__(self, contexts: Sequence[Sequence[int]]) -> list[Row]:
        """The logits of each context."""
        mixed = self.mixer(contexts)
        return rows((self._active(mixed) if self.shape.neurons else mixed) * self.output)

    def _active(self, mixed: arb_mat) -> arb_mat:
        found = [
            value(self.shape.activation, x + b)
            for row in rows(mixed * self.hidden)
            for x, b in zip(row, self.bias, strict=True)
        ]
        return arb_mat(mixed.nrows(), len(self.bias), found)


def divergence(support: Row, counts: Sequence[int], others: Row) -> arb:
    """KL(counts / their sum || softmax), from the logits of the support and of the other tokens.

    That of the softmax on the support alone, 0 if it is one token, plus log(1 + R): R is the weight
    of the other tokens, relative to that of the support.
    """
    top, weight = max((logit.mid() for logit in support), key=float), sum(counts)
    inside = sum(((logit - top).exp() for logit in support), arb(0))
    outside = sum(((logit - top).exp() for logit in others), arb(0))
    result = (outside / inside).log1p()
    if len(support) > 1:
        result += inside.log()
        for logit, count in zip(support, counts, strict=True):
            share = arb(count) / weight
            result += share * (share.log() - (logit - top))
    return result


def contexts_of(targets: Targets) -> list[list[int]]:
    """The tokens of each context."""
    return _parts(targets.tokens, targets.starts)


def followers(targets: Targets) -> Iterator[tuple[list[int], list[int]]]:
    """What follows each context, and how often."""
    following = _parts(targets.following, targets.ends)
    return zip(following, _parts(targets.counts, targets.ends), strict=True)


def _parts(flat: np.ndarray, offsets: np.ndarray) -> list[list[int]]:
    entries = flat.tolist()
    return [entries[first:end] for first, end in pairwise(offsets.tolist())]
