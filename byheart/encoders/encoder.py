"""Sequence encoders: logits that are a matrix times a vector of the context.

Paper        dana2024, Definition 1: f(t) = W E(t) with W in R^{N, d} (the paper prints R^{d, N})
             and any function E from contexts to R^d. Every transformer of dimension d is one
             (Proposition 1), so the least divergence of an encoder, d_KL(pi, L(N, S, d)), is a
             limit for all of them.
Notation     N vocabulary, S length, d dimension, pi targets, W unembedding, E embeddings.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from ..data.arrays import take
from ..data.dataset import Ints
from ..data.targets import Floats, Targets
from ..errors import AssumptionError
from ..softmax.doubles import divergence

BLOCK = 1 << 23  # logits computed at once


@dataclass(frozen=True, eq=False)
class Encoder:
    """A sequence encoder for some targets, and how far from them it is."""

    name: str  # "circle", "sphere", "look-up", "exact", "optimal", ...
    unembedding: Floats  # W [N, d]
    embeddings: Floats  # E [contexts, d]
    divergence: float  # the mean of the contexts' divergences, weighted by their counts, in doubles
    largest: float  # the largest of them
    # a closed form: it attains d_KL(pi, L(N, S, d)), which is 0, up to the gap. Otherwise its
    # divergence is a bound from above
    exact: bool

    def padded(self, dimension: int) -> "Encoder":
        """The same encoder in a larger dimension."""
        width = self.unembedding.shape[1]
        zeros = ((0, 0), (0, dimension - width))
        return replace(
            self,
            name=self.name if "dimension" in self.name else f"{self.name}, dimension {width}",
            unembedding=np.pad(self.unembedding, zeros),
            embeddings=np.pad(self.embeddings, zeros),
        )


@dataclass(frozen=True, eq=False)
class Merged:
    """Targets without repetition: contexts with equal distributions are one context."""

    targets: Targets  # one context for each distribution; its counts are those of all its contexts
    group: Ints  # the distribution of each of the contexts

    @cached_property
    def share(self) -> Floats:
        """The share of all predictions that each distribution has; they sum to 1."""
        weight = self.targets.weight
        return weight / weight.sum()

    @property
    def likeliest(self) -> Ints:
        """The token that follows each context most often, g of Theorem 2; of several, the first."""
        rows = np.repeat(np.arange(len(self.targets)), self.targets.support)
        order = np.lexsort((self.targets.following, -self.targets.counts, rows))
        return self.targets.following[order[self.targets.ends[:-1]]].astype(np.int64)


def merged(targets: Targets) -> Merged:
    """The distinct distributions of these targets, in the order of their first contexts."""
    common = np.gcd.reduceat(targets.counts, targets.ends[:-1])
    reduced = targets.counts // np.repeat(common, targets.support)
    ranges = pairwise(targets.ends.tolist())
    keys = [targets.following[a:b].tobytes() + reduced[a:b].tobytes() for a, b in ranges]
    numbers = {key: i for i, key in enumerate(dict.fromkeys(keys))}
    group = np.array([numbers[key] for key in keys], np.int64)
    first = np.unique(group, return_index=True)[1]
    part = targets.subset(first)
    times = np.zeros(len(first), np.int64)
    np.add.at(times, group, common)  # the first contexts have the counts of all
    counts = take(reduced, targets.ends[:-1][first], part.support) * np.repeat(times, part.support)
    return Merged(replace(part, counts=counts), group)


def measured(
    name: str, unembedding: Floats, embeddings: Floats, rows: Merged, exact: bool
) -> Encoder:
    """The encoder that gives these embeddings to the distinct distributions."""
    values = divergences(unembedding, embeddings, rows.targets)
    mean = float(rows.share @ values)
    return Encoder(name, unembedding, embeddings[rows.group], mean, float(values.max()), exact)


def divergences(unembedding: Floats, embeddings: Floats, targets: Targets) -> Floats:
    parts = []
    for a, b in blocks(targets):
        logits, part = embeddings[a:b] @ unembedding.T, targets.subset(np.arange(a, b))
        with np.errstate(over="ignore", divide="ignore"):
            values = divergence(logits, part)
        far = np.flatnonzero(np.isinf(values))
        if len(far):
            # Beyond 700 nats a softmax is 0 in doubles. The divergence is the logarithm of the
            # softmax's sum minus the target's mean.
            logits, part = logits[far], part.subset(far)
            rows, p = np.repeat(np.arange(len(part)), part.support), part.probabilities
            most = logits.max(axis=1)
            total = np.log(np.exp(logits - most[:, None]).sum(axis=1))
            mean = p * (logits[rows, part.following] - most[rows] - np.log(p))
            values[far] = total - np.bincount(rows, mean, len(part))
        parts.append(values)
    return np.concatenate(parts)


def blocks(targets: Targets) -> Iterator[tuple[int, int]]:
    """Ranges of contexts with about BLOCK logits each."""
    size = max(1, BLOCK // len(targets.vocabulary))
    return pairwise([*range(0, len(targets), size), len(targets)])


def check(name: str, targets: Targets, dimension: int) -> None:
    """Refuse a dimension below 1, and a vocabulary that leaves no choice."""
    if dimension < 1:
        raise AssumptionError(f"The dimension of an encoder must be 1 or more, not {dimension}.")
    if len(targets.vocabulary) < 2:
        raise AssumptionError(
            f"This data has one token, and {name} needs two different tokens: the next token is "
            "always the same."
        )
