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
REFINEMENTS = 1
FEW_DIMENSIONS = 8  # below, heads are selected
SCALE, SCALES = (4.0,), (8.0, 16.0, 32.0)  # deviations of scores; in few dimensions
LARGEST_FOLDING = 1e12  # condition number of M
OVERSAMPLING, SELECTION = 6, 4e9  # heads drawn for one that is picked; multiplications at most


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
    return targets.tokens.reshape(len(targets), -1)


def last(heads: Heads, tokens: NDArray) -> Floats:
    """x(t, S) of each context, [T, d]: what the skip connection adds."""
    return heads.embedding[tokens[:, -1]] + heads.positions[-1]


def features(heads: Heads, tokens: NDArray) -> Floats:
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


def picked(heads: Heads, at: Ints) -> Heads:
    return heads._replace(query=heads.query[at], key=heads.key[at], value=heads.value[at])


def folded(heads: Heads, matrix: Floats) -> Heads:
    """The same scores and features, with vectors that are multiplied by an invertible matrix."""
    inverse = np.linalg.inv(matrix)
    maps = (x @ inverse for x in (heads.query, heads.key, heads.value))
    return Heads(heads.embedding @ matrix.T, heads.positions @ matrix.T, *maps)


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


class Solution(NamedTuple):
    """[W_O, M]^T [features, d], and an estimate of the features' condition number."""

    matrix: Floats
    condition: float


Solved = tuple[Decoder, float, float]  # with the condition numbers of the features and of M


def drawn(shape: Shape, tokens: NDArray, random: np.random.Generator) -> Heads:
    """Random heads; in few dimensions the most different of several times as many."""
    if shape.dimension >= FEW_DIMENSIONS:
        return draw(shape, random, SCALE)
    times = int(np.clip(SELECTION / len(tokens) ** 3, 1, OVERSAMPLING))
    many = draw(shape._replace(heads=times * shape.heads), random, SCALES)
    if times == 1:
        return many
    return picked(many, spread(features(many, tokens), shape.value_dimension, shape.heads))


def unfolded(
    shape: Shape, heads: Heads, tokens: NDArray, goal: Floats, unembedding: Floats
) -> Solved:
    """The decoder for H d_h >= T_0: W_O F = E - x_S, the skip connection is what it is."""
    matrix, condition = solve(features(heads, tokens), goal - last(heads, tokens))
    return decoder(shape, heads, matrix.T, unembedding), condition, 1.0


def tight(shape: Shape, heads: Heads, tokens: NDArray, goal: Floats, unembedding: Floats) -> Solved:
    """The decoder for H d_h + d >= T_0: [W_O, M] [F; x_S] = E, with M folded into the heads.

    With M = U s V^T, coordinates are turned by V before and by U^T after (W_U turns them back).
    What is folded is then diagonal: it scales numbers that are multiplied with each other by s and
    1 / s, and amplifies no rounding, whatever the condition number of M is.
    """
    d = shape.dimension
    matrix, condition = solve(np.hstack([features(heads, tokens), last(heads, tokens)]), goal)
    turn, sizes, basis = np.linalg.svd(matrix[-d:].T)
    folding = float(sizes[0] / sizes[-1]) if sizes[-1] else np.inf
    if folding < LARGEST_FOLDING:
        heads = folded(folded(heads, basis), np.diag(sizes))
    else:
        folding = np.inf
    return decoder(shape, heads, turn.T @ matrix[:-d].T, unembedding @ turn), condition, folding


def solve(found: Floats, wanted: Floats) -> Solution:
    """The matrix of least norm with found @ matrix = wanted, for found [T, K] with T <= K."""
    from scipy import linalg  # slow to import

    if len(found) == found.shape[1]:
        factors, pivots, _ = linalg.lapack.dgetrf(found.T)  # LAPACK's order: no copy is rearranged
        reciprocal, _ = linalg.lapack.dgecon(factors, np.abs(found).sum(axis=1).max())

        def step(missing: Floats) -> Floats:
            return linalg.lu_solve((factors, pivots), missing, trans=1, check_finite=False)
    else:  # Q R^-T for found^T = Q R
        basis, triangle = linalg.qr(found.T, mode="economic", check_finite=False)
        reciprocal, _ = linalg.lapack.dtrcon(triangle)

        def step(missing: Floats) -> Floats:
            return basis @ linalg.solve_triangular(triangle, missing, trans="T", check_finite=False)

    condition = 1 / reciprocal if reciprocal > np.finfo(float).tiny else np.inf
    result = np.zeros((found.shape[1], wanted.shape[1]))
    for _ in range(1 + REFINEMENTS if np.isfinite(condition) else 0):
        result += step(wanted - found @ result)
    return Solution(result, condition)
