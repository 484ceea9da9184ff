"""Problem: a dataset as training sees it, every context once, with the counts of its answers.

The loss of repeated rows is the loss of their distinct contexts weighted by how often they occur,
so nothing is trained twice.

Prefixes are the problem of a language model, which predicts every token of a sequence in one pass.
Every distinct prefix is one context, as in any other Problem. A causal model computes the contexts
of a sequence together, so they are laid out on paths: the contexts that begin no longer one.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..data.arrays import offsets, take
from ..data.contexts import contexts, tally
from ..data.dataset import Dataset
from ..data.targets import Targets, entropy, targets
from ..errors import ByheartError

Ints = NDArray[np.int64]
EVALUATED = 16_384  # tokens of paths that a model computes at one time, other than in a step


class Facts(NamedTuple):
    """The facts of a problem that its rows have."""

    contexts: int
    vocabulary: int
    outputs: int
    predictions: int
    entropy: float
    best_accuracy: float


@dataclass(frozen=True, eq=False)
class Problem:
    """n contexts and what follows them."""

    vocabulary: int  # how many tokens can be read; coordinates of a vector, if `tokens` are vectors
    outputs: int  # how many answers there are: tokens that follow, or labels
    tokens: NDArray  # [n, L] numbers of tokens, padded with 0; or [n, L, vocabulary] vectors
    lengths: Ints  # [n] how many tokens of each row count
    context: Ints  # [k] the contexts of the pairs (context, answer) that occur, increasing
    answer: Ints  # [k] their answers, increasing within a context
    count: Ints  # [k] how often
    # the loss is the squared distance of one output from -1 or +1 (answers 0 and 1); otherwise it
    # is the cross-entropy of `outputs` logits
    squared: bool = False

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def length(self) -> int:
        return self.tokens.shape[1]

    @property
    def reads_vectors(self) -> bool:
        return self.tokens.ndim == 3

    @cached_property
    def weight(self) -> Ints:
        """[n] how often each context occurs."""
        return np.bincount(self.context, self.count, len(self)).astype(np.int64)

    @cached_property
    def predictions(self) -> int:
        return int(self.count.sum())

    @cached_property
    def entropy(self) -> float:
        """The least that the summed loss can be (madden2024, Lemma 2, for the cross-entropy)."""
        whole = self.weight[self.context]
        if self.squared:  # the variance of +-1: 1 - (2 p - 1)^2 = 4 p (1 - p)
            return float((self.count * 2 * (1 - self.count / whole)).sum())
        return entropy(whole, self.count)

    @cached_property
    def best_accuracy(self) -> float:
        """The largest share of correct predictions that any function of the context reaches."""
        begins = np.flatnonzero(np.diff(self.context, prepend=-1))
        return float(np.maximum.reduceat(self.count, begins).sum() / self.predictions)

    @property
    def facts(self) -> Facts:
        return Facts(len(self), *(getattr(self, name) for name in Facts._fields[1:]))

    def loss(self, logits: NDArray) -> float:
        logits = logits.astype(np.float64)
        if self.squared:
            return float((self.count * (logits[self.context, 0] - self.signs) ** 2).sum())
        top = logits.max(axis=1)
        normal = top + np.log(np.exp(logits - top[:, None]).sum(axis=1))
        missing = normal[self.context] - logits[self.context, self.answer]
        return float((self.count * missing).sum())

    def accuracy(self, logits: NDArray) -> float:
        """The share of predictions in which the largest logit, or the sign, is correct."""
        predicted = logits[:, 0] > 0 if self.squared else logits.argmax(axis=1)
        correct = predicted[self.context] == self.answer
        return float(self.count[correct].sum() / self.predictions)

    @property
    def signs(self) -> Ints:
        return 2 * self.answer - 1

    def drawn(self, counts: Ints) -> "Problem":
        """The pairs, each drawn as often as `counts` says; contexts never drawn are left out."""
        kept = np.flatnonzero(counts)
        rows, context = np.unique(self.context[kept], return_inverse=True)
        return replace(
            self,
            tokens=self.tokens[rows],
            lengths=self.lengths[rows],
            context=context.astype(np.int64),
            answer=self.answer[kept],
            count=counts[kept],
        )

    def batches(self, size: int, number: int, random: np.random.Generator) -> Iterator["Problem"]:
        """Independent batches of `size` predictions, drawn from the empirical distribution."""
        probabilities = self.count / self.predictions
        for _ in range(number):
            yield self.drawn(random.multinomial(size, probabilities))


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
        """Batches of paths with about `size` contexts each, in a new order for every pass."""
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


def next_token(dataset: Dataset) -> Problem:
    """The tokens that follow each ordered context, over one vocabulary of inputs and outputs."""
    _check_one_label(dataset)
    distributions: Targets = targets(dataset, contexts(dataset, positions=True))
    lengths = np.diff(distributions.starts)
    tokens = np.zeros((len(distributions), distributions.length), np.int32)
    tokens[np.arange(distributions.length) < lengths[:, None]] = distributions.tokens
    words = len(distributions.vocabulary)
    context = np.repeat(np.arange(len(distributions)), distributions.support)
    answers = distributions.following.astype(np.int64), distributions.counts
    return Problem(words, words, tokens, lengths, context, *answers)


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


def labelled(dataset: Dataset, squared: bool = False) -> Problem:
    """The labels of each multiset of tokens with its last one; tokens are words or vectors."""
    if squared and len(dataset.label_names) != 2:
        raise ByheartError(
            f"the squared loss is for two labels, and this data has {len(dataset.label_names)}."
        )
    _check_one_label(dataset)
    if dataset.kind == "number":
        raise ByheartError("this architecture reads words or vectors, and the data has numbers.")
    grouped = contexts(dataset, positions=False)
    lengths = dataset.lengths[grouped.first]
    table: NDArray = np.arange(len(dataset.tokens), dtype=np.int32)
    if dataset.kind == "vector":
        with np.errstate(over="ignore"):
            table = dataset.vectors.astype(np.float32)
        if not np.isfinite(table).all():
            raise ByheartError("a coordinate is too large for float32, in which training computes.")
    tokens = np.zeros((len(lengths), int(lengths.max()), *table.shape[1:]), table.dtype)
    flat = take(dataset.ids, dataset.starts[grouped.first], lengths)
    tokens[np.arange(tokens.shape[1]) < lengths[:, None]] = table[flat]
    pairs = tally(dataset, grouped)
    order = np.lexsort((pairs.label, pairs.context))
    answers = pairs.context[order], pairs.label[order].astype(np.int64), pairs.count[order]
    inputs = tokens.shape[2] if tokens.ndim == 3 else len(dataset.tokens)
    outputs = 1 if squared else len(dataset.label_names)
    return Problem(inputs, outputs, tokens, lengths, *answers, squared)


def _check_one_label(dataset: Dataset) -> None:
    if dataset.every:
        raise ByheartError("training needs one label per sequence; this data has one per token.")


def size_of(problem: Problem) -> int:
    """Bytes of its arrays."""
    return sum(x.nbytes for x in vars(problem).values() if isinstance(x, np.ndarray))
