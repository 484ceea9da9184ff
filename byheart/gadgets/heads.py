"""Heads of softmax attention that are drawn at random, and their features of contexts.

A head reads a context as A(t) = sum over s of a_s(t) x(t, s), with x(t, s) the token's vector plus
the position's and a the softmax of x(t, S)^T W_Q^T W_K x(t, s) (dana2024, eq. (1)). It has d_h
features, W_V A(t). For random weights the features of H heads are linearly independent, up to
limits of their own (bounds/ranks.py): a matrix W_O then gives every context any vector.

How independent they are depends on the scale of the scores: small ones make heads alike, large ones
saturate, and contexts look alike. In few dimensions heads are alike at any scale. Scales are then
mixed, more heads are drawn than needed, and `spread` picks the most different.

Folding. If M is invertible, the vectors M x with W_Q M^-1, W_K M^-1, W_V M^-1 have the same scores
and features. So a skip connection that should add M x(t, S) can be had from one that adds what it
reads: W_O and M are both free, d more features than the heads have.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..data.targets import Floats, Targets
from ..softmax.decoder import Decoder, Shape

Ints = NDArray[np.int64]
BLOCK = 1 << 23  # numbers computed at once
FRESH = 8  # steps of a selection after which inner products are computed anew


class Heads(NamedTuple):
    """Embeddings and heads, without the layers that use their features."""

    embedding: Floats  # of tokens, [N, d]
    positions: Floats  # [S, d]
    query: Floats  # W_Q [H, d_h, d]
    key: Floats  # W_K
    value: Floats  # W_V


def draw(shape: Shape, random: np.random.Generator, scales: tuple[float, ...] = (1.0,)) -> Heads:
    """Normal numbers: x has coordinates of variance 1, scores the deviations `scales` in turn.

    A score is the sum of d^2 d_h products of four numbers, whose variances multiply to the square
    of the scale.
    """
    d, size = shape.dimension, shape.key_dimension
    around = 0.5**0.5
    embedding = around * random.standard_normal((shape.vocabulary, d))
    positions = around * random.standard_normal((shape.length, d))
    matrices = random.standard_normal((3, shape.heads, size, d)) / d**0.5
    stretch = np.sqrt(np.resize(scales, shape.heads))[:, None, None] / size**0.25
    query, key, value = matrices
    return Heads(embedding, positions, stretch * query, stretch * key, value)


def rows(targets: Targets) -> NDArray[np.int32]:
    """The tokens of contexts that have one length, [T, S]."""
    return targets.tokens.reshape(len(targets), -1)


def last(heads: Heads, tokens: NDArray) -> Floats:
    """x(t, S) of each context, [T, d]: what the skip connection adds."""
    return heads.embedding[tokens[:, -1]] + heads.positions[-1]


def features(heads: Heads, tokens: NDArray) -> Floats:
    """W_V A(t) of all heads, [T, H d_h]."""
    (count, length), (many, size, d) = tokens.shape, heads.query.shape
    result = np.empty((count, many * size))
    step = max(1, BLOCK // max(1, many * (length + 3 * d)))
    for first in range(0, count, step):
        part = slice(first, first + step)
        vectors = heads.embedding[tokens[part]] + heads.positions  # [T, S, d]
        queries = vectors[:, -1] @ np.swapaxes(heads.query, 1, 2) @ heads.key  # [H, T, d]
        scores = np.swapaxes(queries, 0, 1) @ np.swapaxes(vectors, 1, 2)  # [T, H, S]
        scores -= scores.max(axis=2, keepdims=True)
        weights = np.exp(scores, out=scores)
        weights /= weights.sum(axis=2, keepdims=True)
        values = np.swapaxes(weights @ vectors, 0, 1) @ np.swapaxes(heads.value, 1, 2)
        result[part] = np.swapaxes(values, 0, 1).reshape(len(vectors), -1)  # from [H, T, d_h]
    return result


def spread(found: Floats, size: int, count: int) -> Ints:
    """The numbers of `count` heads whose features are as independent as can be had greedily.

    A QR decomposition with pivots that are heads: the next one is that whose least independent
    direction is furthest from the span of those before. Inner products of what is left are updated,
    and computed anew before they are all rounding.
    """
    rest = found.copy()  # what is outside the span so far
    chosen: list[int] = []
    grams = _grams(rest, size)
    for step in range(count):
        lost = min(size - 1, max(0, (step + 1) * size - len(rest)))  # directions that cannot be new
        least = np.linalg.eigvalsh(grams)[:, lost]
        least[chosen] = -np.inf
        chosen.append(int(least.argmax()))
        basis = np.linalg.qr(rest[:, chosen[-1] * size :][:, :size])[0]
        inside = np.zeros((size, rest.shape[1]))  # of which few contexts leave some 0
        for i, direction in enumerate(basis.T):  # thin products are slower than loops
            inside[i] = np.einsum("t,tk->k", direction, rest)
            rest -= direction[:, None] * inside[i]
        grams = grams - _grams(inside, size) if (step + 1) % FRESH else _grams(rest, size)
    return np.sort(np.array(chosen))


def _grams(matrix: Floats, size: int) -> Floats:
    """Inner products of the columns of each block of `size` columns."""
    columns = [matrix[:, i::size] for i in range(size)]
    return np.array([[(a * b).sum(axis=0) for b in columns] for a in columns]).transpose(2, 0, 1)


def picked(heads: Heads, numbers: Ints) -> Heads:
    """Some of the heads."""
    return heads._replace(
        query=heads.query[numbers], key=heads.key[numbers], value=heads.value[numbers]
    )


def folded(heads: Heads, matrix: Floats) -> Heads:
    """The same scores and features, with vectors that are multiplied by an invertible matrix."""
    inverse = np.linalg.inv(matrix)
    return Heads(
        heads.embedding @ matrix.T,
        heads.positions @ matrix.T,
        heads.query @ inverse,
        heads.key @ inverse,
        heads.value @ inverse,
    )


def decoder(shape: Shape, heads: Heads, out: Floats, unembedding: Floats) -> Decoder:
    """The decoder of eq. (2) with W_O = out [d, H d_h] and W_U = unembedding [N, d]."""
    tensors = {
        "embedding.weight": heads.embedding,
        "positions.weight": heads.positions,
        "attention.query.weight": heads.query.reshape(-1, shape.dimension),
        "attention.key.weight": heads.key.reshape(-1, shape.dimension),
        "attention.value.weight": heads.value.reshape(-1, shape.dimension),
        "attention.out.weight": out,
        "output.weight": unembedding,
    }
    # rounding may leave -0.0, which the file format does not have
    return Decoder(shape, {name: tensor + 0.0 for name, tensor in tensors.items()})
