"""Targets: what follows each context of a dataset, and how often.

The empirical distributions of madden2024, eq. (1), and what they say about a loss (Lemma 2).
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..errors import ByheartError
from .arrays import offsets, take
from .contexts import Contexts, tally
from .dataset import Dataset, Ints

Floats = NDArray[np.float64]
Word = str | int


@dataclass(frozen=True, eq=False)
class Targets:
    """n contexts over a vocabulary of tokens that are numbered from 0.

    vocabulary  every token that is read or follows: the numbers of both are places in it
    tokens      of all contexts: context i is tokens[starts[i] : starts[i + 1]]
    following   the tokens that follow a context, increasing, of all contexts: those of context i
                are following[ends[i] : ends[i + 1]]
    counts      how often, aligned with `following`
    """

    vocabulary: tuple[Word, ...]
    tokens: NDArray[np.int32]
    starts: Ints  # [n + 1]
    following: NDArray[np.int32]
    ends: Ints  # [n + 1]
    counts: Ints

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def length(self) -> int:
        """The longest context."""
        return int(np.diff(self.starts).max(initial=1))

    @property
    def support(self) -> Ints:
        """How many tokens follow each context."""
        return np.diff(self.ends)

    @cached_property
    def weight(self) -> Ints:
        """How often each context was seen."""
        return np.add.reduceat(self.counts, self.ends[:-1])

    @property
    def probabilities(self) -> Floats:
        """The empirical probability of each following token (eq. (1)), aligned with `counts`."""
        return self.counts / np.repeat(self.weight, self.support)

    @property
    def entropy(self) -> float:
        """The entropy of the empirical distributions, weighted by their contexts' counts."""
        return float(-(self.counts * np.log(self.probabilities)).sum()) + 0.0

    def accuracy(self, likeliest: NDArray) -> float:
        """The share of predictions that a model gets right whose likeliest tokens are these."""
        hit = self.following == np.repeat(likeliest, self.support)
        return float(self.counts[hit].sum() / self.counts.sum())

    def padded(self, token: int, length: int) -> "Targets":
        """The same contexts, filled up at the front with a token to one length."""
        lengths = np.diff(self.starts)
        tokens = np.full((len(self), length), token, np.int32)
        tokens[np.arange(length) >= length - lengths[:, None]] = self.tokens
        return replace(self, tokens=tokens.ravel(), starts=offsets(np.full(len(self), length)))

    def subset(self, kept: Ints) -> "Targets":
        """Some of the contexts, over the same vocabulary."""
        sizes, lengths = self.support[kept], np.diff(self.starts)[kept]
        return Targets(
            self.vocabulary,
            take(self.tokens, self.starts[kept], lengths),
            offsets(lengths),
            take(self.following, self.ends[kept], sizes),
            offsets(sizes),
            take(self.counts, self.ends[kept], sizes),
        )


@dataclass(frozen=True, eq=False)
class Divergences:
    """How far a decoder's distribution is from the target of each context.

    values     the Kullback-Leibler divergence in nats: bounds from above if `rigorous`, else what
               a float run gave
    likeliest  the token that the decoder finds likeliest
    engine     how they were found
    """

    values: Floats
    likeliest: NDArray[np.int64]
    rigorous: bool
    engine: str


def targets(dataset: Dataset, contexts: Contexts) -> Targets:
    """What follows each of these (ordered) contexts."""
    words = words_of(dataset)
    return over(dataset, contexts, vocabulary_of(words, dataset.label_names))


def has_vocabulary(dataset: Dataset) -> bool:
    """Whether its tokens are words or integers."""
    vectors = dataset.vectors
    return dataset.kind != "vector" and bool((vectors == np.floor(vectors)).all())


def words_of(dataset: Dataset) -> tuple[Word, ...]:
    """The dataset's tokens as a vocabulary names them: words, or integers."""
    if not has_vocabulary(dataset):
        raise ByheartError("a decoder reads words or integers, and this data has other tokens.")
    if dataset.kind == "string":
        return tuple(dataset.tokens)
    return tuple(int(x) for x in dataset.vectors[:, 0])


def vocabulary_of(tokens: tuple[Word, ...], labels: tuple[Word, ...]) -> tuple[Word, ...]:
    """The tokens, then the labels that are no tokens."""
    known = set(tokens)
    return (*tokens, *(label for label in labels if label not in known))


def over(dataset: Dataset, contexts: Contexts, vocabulary: tuple[Word, ...]) -> Targets:
    """The same, numbered as a given vocabulary has them; KeyError if it lacks a word."""
    number = {word: i for i, word in enumerate(vocabulary)}
    token = np.array([number[word] for word in words_of(dataset)], np.int32)
    label = np.array([number[name] for name in dataset.label_names], np.int32)
    lengths = dataset.lengths[contexts.first]
    found = tally(dataset, contexts)
    follows = label[found.label]
    order = np.lexsort((follows, found.context))
    return Targets(
        vocabulary,
        token[take(dataset.ids, dataset.starts[contexts.first], lengths)],
        offsets(lengths),
        follows[order],
        offsets(np.bincount(found.context, minlength=len(contexts))),
        found.count[order],
    )
