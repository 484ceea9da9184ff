"""The mean loss of outputs for labels, with its slopes."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ...problem import Problem


def label_loss(problem: Problem, logits: NDArray) -> tuple[float, NDArray]:
    """The mean loss of `logits` [outputs, n], and its slopes with respect to them."""
    slopes = np.empty_like(logits)
    kernel = _squared if problem.squared else _cross_entropy
    total = kernel(logits, problem.weight, problem.context, problem.answer, problem.count, slopes)
    slopes /= np.float32(problem.predictions)
    return total / problem.predictions, slopes


@njit(cache=True)
def _cross_entropy(logits, weight, context, answer, count, slopes):
    """log(sum of exp) of each context as often as it occurs, minus the answers' logits."""
    outputs, n = logits.shape
    total = 0.0
    for c in range(n):
        top = logits[:, c].max()
        normal = np.float32(0)
        for k in range(outputs):
            slopes[k, c] = np.exp(logits[k, c] - top)
            normal += slopes[k, c]
        total += weight[c] * (np.float64(top) + np.log(np.float64(normal)))
        for k in range(outputs):
            slopes[k, c] *= np.float32(weight[c]) / normal
    for pair in range(len(context)):
        total -= count[pair] * np.float64(logits[answer[pair], context[pair]])
        slopes[answer[pair], context[pair]] -= np.float32(count[pair])
    return total


@njit(cache=True)
def _squared(logits, weight, context, answer, count, slopes):
    """The squared distance from -1 or +1."""
    total = 0.0
    slopes[:] = 0
    for pair in range(len(context)):
        away = logits[0, context[pair]] - np.float32(2 * answer[pair] - 1)
        total += count[pair] * np.float64(away) ** 2
        slopes[0, context[pair]] += np.float32(2 * count[pair]) * away
    return total
