"""Prefixes: the problem of a language model, which predicts every token of a sequence in one pass.

Every distinct prefix is one context, as in any other Problem. A causal model computes the contexts
of a sequence together, so they are laid out on paths: the contexts that begin no longer one.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..data.arrays import offsets, take
from ..data.dataset import Dataset
from .problem import Ints, Problem, next_token

EVALUATED = 16_384  # tokens of paths that a model computes at one time, other than in a step


class Paths(NamedTuple):
    """Where the contexts of a problem are computed."""

    ends: Ints  # [k] the contexts that begin no longer one: their tokens are what a model reads
    row: Ints  # [n] the path of each context, by its place in `ends`
    place: Ints  # [n] the position in it after which the context is complete


class Prefixes(Problem):
    """A problem whose batches are whole paths."""

    @cached_property
    def paths(self) -> Paths:
        """Sorted, with the shorter first, a context stands right before one that it begins.

        So it begins some context if and only if it begins the next one, and the first end that
        stands at it or after it is a path through it.
        """
        held = np.arange(self.length) < self.lengths[:, None]
        keys = np.where(held, self.tokens, -1)
        order = np.lexsort(keys.T[::-1])
        ordered = keys[order]
        begins = ((ordered[:-1] == ordered[1:]) | ~held[order][:-1]).all(axis=1)
        is_end = np.append(~begins, True)
        row = np.empty(len(self), np.int64)
        row[order] = np.cumsum(is_end) - is_end
        return Paths(order[is_end], row, self.lengths - 1)

    def batches(self, size: int, number: int, random: np.random.Generator) -> Iterator[Problem]:
        """Batches of paths with about `size` contexts each, in a new order for every pass.

        A context belongs to one path, so the losses of one pass add up to that of all data.
        """
        parts = max(1, round(len(self) / size))
        if parts == 1:
            yield self
            return
        made = 0
        while made < number:
            order = random.permutation(len(self.paths.ends))
            for some in np.array_split(order, parts)[: number - made]:
                chosen = np.zeros(len(self.paths.ends), bool)
                chosen[some] = True
                yield self.drawn(np.where(chosen[self.paths.row[self.context]], self.count, 0))
                made += 1


def prefixes(dataset: Dataset) -> Prefixes:
    """The tokens that follow each prefix; where every token has a label, that label follows it."""
    if dataset.every:
        places = np.arange(len(dataset.ids)) - np.repeat(dataset.starts[:-1], dataset.lengths)
        dataset = replace(
            dataset,
            ids=take(dataset.ids, np.repeat(dataset.starts[:-1], dataset.lengths), places + 1),
            starts=offsets(places + 1),
            counts=np.repeat(dataset.counts, dataset.lengths),
            every=False,
        )
    return Prefixes(**vars(next_token(dataset)))
