"""W_O, and the skip connection, that give every context a wanted vector."""

from typing import NamedTuple

import numpy as np

from ...data.targets import Floats
from ...gadgets.heads import Heads, decoder, draw, features, folded, last, picked, spread
from ...softmax.decoder import Decoder, Shape

REFINEMENTS = 1
FEW_DIMENSIONS = 8  # below, heads are selected
SCALE, SCALES = (4.0,), (8.0, 16.0, 32.0)  # deviations of scores; in few dimensions
LARGEST_FOLDING = 1e12  # condition number of M
OVERSAMPLING, SELECTION = 6, 4e9  # heads drawn for one that is picked; multiplications at most


class Solution(NamedTuple):
    """[W_O, M]^T [features, d], and an estimate of the features' condition number."""

    matrix: Floats
    condition: float


Solved = tuple[Decoder, float, float]  # with the condition numbers of the features and of M


def drawn(shape: Shape, tokens: np.ndarray, random: np.random.Generator) -> Heads:
    """Random heads; in few dimensions the most different of several times as many."""
    if shape.dimension >= FEW_DIMENSIONS:
        return draw(shape, random, SCALE)
    times = int(np.clip(SELECTION / len(tokens) ** 3, 1, OVERSAMPLING))
    many = draw(shape._replace(heads=times * shape.heads), random, SCALES)
    if times == 1:
        return many
    return picked(many, spread(features(many, tokens), shape.value_dimension, shape.heads))


def unfolded(
    shape: Shape, heads: Heads, tokens: np.ndarray, wanted: Floats, unembedding: Floats
) -> Solved:
    """The decoder for H d_h >= T_0: W_O F = E - x_S, the skip connection is what it is."""
    matrix, condition = solve(features(heads, tokens), wanted - last(heads, tokens))
    return decoder(shape, heads, matrix.T, unembedding), condition, 1.0


def tight(
    shape: Shape, heads: Heads, tokens: np.ndarray, wanted: Floats, unembedding: Floats
) -> Solved:
    """The decoder for H d_h + d >= T_0: [W_O, M] [F; x_S] = E, with M folded into the heads.

    With M = U s V^T, coordinates are turned by V before and by U^T after (W_U turns them back).
    What is folded is then diagonal: it scales numbers that are multiplied with each other by s and
    1 / s, and amplifies no rounding, whatever the condition number of M is.
    """
    d = shape.dimension
    matrix, condition = solve(np.hstack([features(heads, tokens), last(heads, tokens)]), wanted)
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
