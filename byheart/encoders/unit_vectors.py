"""Unit vectors that keep away from each other: unembeddings that distinguish tokens.

What counts is the coherence, the largest inner product of two of them: a token's logit is above all
others by (1 - coherence) times the length of the embedding, or more. Corners of a regular polygon
are best in the plane, those of a regular simplex in N - 1 dimensions. Between, the maximum is
smoothed to log(sum exp(s W_i . W_j)) / s and minimised for growing s: no proof of being best.
Negative inner products do no harm (dana2024 remarks it after Theorem 2), so they are not avoided.
"""

from functools import lru_cache

import numpy as np

from ..data.targets import Floats
from ..errors import AssumptionError
from .exact import simplex

SHARPNESS = (8.0, 64.0, 512.0)
ITERATIONS = 100  # for each sharpness
MOST = 2048  # vectors that are moved; more have too many inner products: they stay random


def unit_vectors(count: int, dimension: int, seed: int) -> Floats:
    """Different unit vectors of small coherence, [count, dimension]."""
    return _found(count, dimension, seed).copy()


@lru_cache(maxsize=1)  # two encoders in a row ask for the same
def _found(count: int, dimension: int, seed: int) -> Floats:
    if dimension == 2:
        angles = 2 * np.pi * np.arange(count) / count
        return np.column_stack([np.cos(angles), np.sin(angles)])
    if dimension >= count - 1:
        corners = simplex(count) / np.sqrt(1 - 1 / count)
        return np.pad(corners, ((0, 0), (0, dimension - count + 1)))
    if dimension == 1:
        raise AssumptionError(
            f"A line has two unit vectors, and the vocabulary has {count} tokens; use dimension 2."
        )
    start = np.random.default_rng(seed).standard_normal((count, dimension))
    for sharpness in SHARPNESS if count <= MOST else ():
        start = _apart(start, sharpness)
    return start / np.linalg.norm(start, axis=1, keepdims=True)


def _apart(start: Floats, sharpness: float) -> Floats:
    """The vectors moved apart, by L-BFGS; their lengths mean nothing."""
    from scipy.optimize import minimize  # slow to import

    def smoothed(flat: Floats) -> tuple[float, Floats]:
        lengths = np.linalg.norm(flat.reshape(start.shape), axis=1, keepdims=True)
        vectors = flat.reshape(start.shape) / lengths
        products = vectors @ vectors.T
        np.fill_diagonal(products, -np.inf)
        most = products.max()
        weights = np.exp(sharpness * (products - most))
        total = weights.sum()
        pull = 2 * (weights / total) @ vectors
        pull -= (pull * vectors).sum(axis=1, keepdims=True) * vectors  # along the sphere
        return most + np.log(total) / sharpness, (pull / lengths).ravel()

    options = {"maxiter": ITERATIONS}
    moved = minimize(smoothed, start.ravel(), jac=True, method="L-BFGS-B", options=options)
    return moved.x.reshape(start.shape)
