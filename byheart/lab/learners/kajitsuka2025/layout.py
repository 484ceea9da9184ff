"""Layout: the tokens of a problem, where its contexts hold them, and their means."""

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ...problem import Problem


@dataclass(frozen=True, eq=False)
class Layout:
    """The tokens of a problem, each computed once, and how its contexts are made of them.

    words    [points] the different words, or None where tokens are vectors
    vectors  [points, coordinates], or None
    starts   [n + 1] where the tokens of each context begin in `uses`
    uses     points, context after context
    states   [3, m, points] memory: inputs of the first stack, its outputs, their slopes
    """

    words: NDArray | None
    vectors: NDArray | None
    starts: NDArray
    uses: NDArray
    states: NDArray

    @property
    def last(self) -> NDArray:
        """[n] the point at which each context is read out."""
        return self.uses[self.starts[1:] - 1]

    def means(self, states: NDArray) -> NDArray:
        """[m, n] the mean of the states [m, points] over the tokens of each context."""
        result = np.empty((len(states), len(self.starts) - 1), np.float32)
        _means(states, self.starts, self.uses, result)
        return result

    def spread(self, slopes: NDArray, into: NDArray) -> None:
        """Put the slopes of every token into [m, points], given those of the means [m, n]."""
        into[...] = 0
        _spread(slopes, self.starts, self.uses, into)

    def add_last(self, slopes: NDArray, into: NDArray) -> None:
        """Add slopes [m, n] of the last tokens to [m, points]."""
        _add(slopes, self.last, into)


def layout(problem: Problem, dimension: int) -> Layout:
    """The layout of a problem. Vectors are all taken as different, which they mostly are."""
    starts = np.append(0, np.cumsum(problem.lengths))
    if (problem.lengths == problem.length).all():  # a view of all tokens, context after context
        held = problem.tokens.reshape(-1, *problem.tokens.shape[2:])
    else:
        held = problem.tokens[np.arange(problem.length) < problem.lengths[:, None]]
    if problem.reads_vectors:
        words, vectors, uses = None, held, np.arange(len(held))
    else:
        words, uses = np.unique(held, return_inverse=True)
        vectors = None
    points = len(held if words is None else words)
    states = np.empty((3, dimension, points), np.float32)
    return Layout(words, vectors, starts, uses.astype(np.int32), states)


@njit(cache=True, fastmath=True)
def _means(states, starts, uses, result):
    for i in range(len(states)):
        row = states[i]
        for c in range(len(starts) - 1):
            total = np.float32(0)
            for k in range(starts[c], starts[c + 1]):
                total += row[uses[k]]
            result[i, c] = total / np.float32(starts[c + 1] - starts[c])


@njit(cache=True)
def _spread(slopes, starts, uses, into):
    for i in range(len(slopes)):
        for c in range(len(starts) - 1):
            share = slopes[i, c] / np.float32(starts[c + 1] - starts[c])
            for k in range(starts[c], starts[c + 1]):
                into[i, uses[k]] += share


@njit(cache=True)
def _add(slopes, points, into):
    for i in range(len(slopes)):
        for c in range(len(points)):
            into[i, points[c]] += slopes[i, c]
