"""Reading: a Problem as the kernels want it, indices that stay the same from step to step."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...problem import Problem
from ..kernels.lanes import whole


@dataclass(frozen=True, eq=False)
class Reading:
    """Contexts as lists of pairs (token, place), and what follows as shares of all predictions.

    tokens, places  [pair] the distinct pairs; those that end a context come first
    queries         how many do
    slots           the pairs of all contexts, one after another
    starts          [context + 1] where each begins
    last            [context] its last pair
    judged          shares, begins, answers and parts, as saying.py wants them: rows are contexts,
                    padded to a multiple of eight
    """

    tokens: NDArray
    places: NDArray
    queries: int
    slots: NDArray
    starts: NDArray
    last: NDArray
    judged: tuple[NDArray, ...]
    longest: int

    @property
    def rows(self) -> int:
        """The contexts with those that pad them."""
        return len(self.judged[0])

    @property
    def pairs(self) -> int:
        """The pairs with those that pad them to a multiple of eight."""
        return whole(len(self.tokens))


def reading(problem: Problem) -> Reading:
    """The reading of a problem."""
    within = np.arange(problem.length) < problem.lengths[:, None]
    flat = (np.arange(problem.length) * problem.vocabulary + problem.tokens)[within]
    starts = np.concatenate([[0], np.cumsum(problem.lengths)])
    pairs, slots, queries = _numbered(flat, starts[1:] - 1)
    return Reading(
        tokens=pairs % problem.vocabulary,
        places=pairs // problem.vocabulary,
        queries=queries,
        slots=slots,
        starts=starts,
        last=slots[starts[1:] - 1],
        judged=_judged(problem),
        longest=int(problem.lengths.max()),
    )


def _judged(problem: Problem) -> tuple[NDArray, ...]:
    rows, count = whole(len(problem)), problem.predictions
    shares = np.zeros(rows, np.float32)
    shares[: len(problem)] = problem.weight / count
    begins = np.searchsorted(problem.context, np.arange(rows + 1))
    return shares, begins, problem.answer, (problem.count / count).astype(np.float32)


def _numbered(flat: NDArray, ends: NDArray) -> tuple[NDArray, NDArray, int]:
    """The distinct numbers, those at `ends` first; the index of each; how many are at ends."""
    pairs, slots = np.unique(flat, return_inverse=True)
    asks = np.zeros(len(pairs), bool)
    asks[slots[ends]] = True
    order = np.argsort(~asks, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return pairs[order], rank[slots], int(asks.sum())
