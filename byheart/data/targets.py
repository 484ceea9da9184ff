"""Targets: which tokens follow each context of a dataset, and how often.

The empirical distributions of madden2024, eq. (1), and the least loss they allow (Lemma 2).
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..errors import ByheartError
from .arrays import Ints, offsets, take, totals
from .contexts import Contexts, tally
from .dataset import Dataset

Floats = NDArray[np.float64]
Word = str | int


@dataclass(frozen=True, eq=False)
class Targets:
    """n contexts over a vocabulary of tokens that are numbered from 0."""

    # every token that is read or follows: the numbers of both are places in it
    vocabulary: tuple[Word, ...]
    tokens: NDArray[np.int32]  # of all contexts: context i is tokens[starts[i] : starts[i + 1]]
    starts: Ints  # [n + 1]
    # the tokens that follow a context, increasing, of all contexts: those of context i are
    # following[ends[i] : ends[i + 1]]
    following: NDArray[np.int32]
    ends: Ints  # [n + 1]
    counts: Ints  # how often, aligned with `following`
    kind: str = "string"  # of the tokens that are read: "string" or "number"

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def length(self) -> int:
        return int(np.diff(self.starts).max(initial=1))

    @cached_property
    def sequences(self) -> list[Ints]:
        """The tokens of each context."""
        return np.split(self.tokens.astype(np.int64), self.starts[1:-1])

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
        return entropy(np.repeat(self.weight, self.support), self.counts)

    def accuracy(self, likeliest: NDArray) -> float:
        """The share of correct predictions of a model whose likeliest tokens are these."""
        hit = self.following == np.repeat(likeliest, self.support)
        return float(self.counts[hit].sum() / self.counts.sum())

    def padded(self, token: int, length: int) -> "Targets":
        """The same contexts, padded at the front with a token to one length."""
        lengths = np.diff(self.starts)
        tokens = np.full((len(self), length), token, np.int32)
        tokens[np.arange(length) >= length - lengths[:, None]] = self.tokens
        return replace(self, tokens=tokens.ravel(), starts=offsets(np.full(len(self), length)))

    def subset(self, kept: Ints) -> "Targets":
        sizes, lengths = self.support[kept], np.diff(self.starts)[kept]
        return replace(
            self,
            tokens=take(self.tokens, self.starts[kept], lengths),
            starts=offsets(lengths),
            following=take(self.following, self.ends[kept], sizes),
            ends=offsets(sizes),
            counts=take(self.counts, self.ends[kept], sizes),
        )


def entropy(whole: Ints, part: Ints, times: Ints | int = 1) -> float:
    """madden2024, the entropy H of Lemma 2: sum of c_i pi_i log(1 / pi_i), pi_i = count / c_i.

    `times` times a context seen `whole` times was followed `part` times by one of its tokens.
    log1p keeps a probability close to 1 from cancelling. Equal pairs are counted first, and fsum
    rounds once, whatever the order: the number depends on the data and on nothing else.
    """
    whole, part, times = totals(np.column_stack(np.broadcast_arrays(whole, part, times))).T
    return math.fsum(times * part * np.log1p((whole - part) / part))


@dataclass(frozen=True, eq=False)
class Divergences:
    """How far a decoder's distribution is from the target of each context."""

    values: Floats  # Kullback-Leibler, in nats: upper bounds if `rigorous`, else of a float run
    below: Floats  # rigorous lower bounds; 0 where nothing more is known
    likeliest: NDArray[np.int64]  # the token to which the decoder gives the largest probability
    rigorous: bool
    engine: str  # how they were computed


def targets(dataset: Dataset, contexts: Contexts) -> Targets:
    """The tokens that follow each of these (ordered) contexts."""
    return over(dataset, contexts, vocabulary_of(words_of(dataset), dataset.label_names))


def words_of(dataset: Dataset) -> tuple[Word, ...]:
    """The dataset's tokens as a vocabulary names them: words, or integers."""
    if not dataset.has_vocabulary:
        raise ByheartError("a decoder reads words or integers, and this data has other tokens.")
    if dataset.kind == "string":
        return tuple(dataset.tokens)
    return tuple(int(x) for x in dataset.vectors[:, 0])


def vocabulary_of(tokens: tuple[Word, ...], labels: tuple[Word, ...]) -> tuple[Word, ...]:
    """The tokens, then the labels that are not tokens."""
    known = set(tokens)
    return (*tokens, *(label for label in labels if label not in known))


def over(dataset: Dataset, contexts: Contexts, vocabulary: tuple[Word, ...]) -> Targets:
    """The same, numbered by their places in a given vocabulary; KeyError if it lacks a word."""
    number = {word: i for i, word in enumerate(vocabulary)}
    token = np.array([number[word] for word in words_of(dataset)], np.int32)
    label = np.array([number[name] for name in dataset.label_names], np.int32)
    lengths = dataset.lengths[contexts.first]
    pairs = tally(dataset, contexts)
    follows = label[pairs.label]
    order = np.lexsort((follows, pairs.context))
    return Targets(
        vocabulary,
        token[take(dataset.ids, dataset.starts[contexts.first], lengths)],
        offsets(lengths),
        follows[order],
        offsets(np.bincount(pairs.context, minlength=len(contexts))),
        pairs.count[order],
        dataset.kind,
    )
