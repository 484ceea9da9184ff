"""Indices: a Problem as the kernels read it; they stay the same from step to step."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...problem import Problem
from ..kernels.lanes import whole


@dataclass(frozen=True, eq=False)
class Indices:
    """Contexts as lists of pairs (token, place), and what follows as shares of all predictions."""

    tokens: NDArray  # [pair] of the distinct pairs; those that end a context come first
    places: NDArray  # [pair]
    queries: int  # how many pairs end a context
    slots: NDArray  # the pairs of all contexts, one after another
    starts: NDArray  # [context + 1] where each begins
    last: NDArray  # [context] its last pair
    asking: NDArray  # [context] its last token
    # shares, begins, answers and parts, as output_loss.py reads them: rows are contexts, padded to
    # a multiple of eight
    targets: tuple[NDArray, ...]
    longest: int

    @property
    def rows(self) -> int:
        return len(self.targets[0])

    @property
    def pairs(self) -> int:
        return whole(len(self.tokens))


def indices(problem: Problem) -> Indices:
    within = np.arange(problem.length) < problem.lengths[:, None]
    flat = (np.arange(problem.length) * problem.vocabulary + problem.tokens)[within]
    starts = np.concatenate([[0], np.cumsum(problem.lengths)])
    pairs, slots = np.unique(flat, return_inverse=True)
    ends = np.zeros(len(pairs), bool)  # whether a pair ends a context
    ends[slots[starts[1:] - 1]] = True
    order = np.argsort(~ends, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    pairs, slots = pairs[order], rank[slots]
    rows, count = whole(len(problem)), problem.predictions
    shares = np.zeros(rows, np.float32)
    shares[: len(problem)] = problem.weight / count
    begins = np.searchsorted(problem.context, np.arange(rows + 1))
    tokens, last = pairs % problem.vocabulary, slots[starts[1:] - 1]
    targets = shares, begins, problem.answer, (problem.count / count).astype(np.float32)
    pairs_of = tokens, pairs // problem.vocabulary, int(ends.sum()), slots, starts
    return Indices(*pairs_of, last, tokens[last], targets, int(problem.lengths.max()))
