"""Data that a decoder of given sizes cannot memorise.

Paper        madden2024, Theorem 1.
Statement    For a model of k parameters there are documents of T + 1 tokens whose contexts, about
             2 k / (omega - 1) of them, have empirical distributions that no choice of parameters
             comes near to.
Assumptions  A1  Sizes of a decoder of one layer (eq. (2)), and two tokens at least.
Guarantee    G1  n' = floor(k / (omega - 1)) + 1 contexts of T tokens, and their prefixes: no more
                 contexts than the theorem allows.
             G2  Every token follows each of the n' contexts.
Departures   D1  k contains T, which is the fixed point (capacity.py).
             D2  The theorem needs targets outside the closure of what the model reaches. That set
                 has measure 0, so that random targets are outside with probability 1; counts only
                 come near to them. Nothing is proved of one dataset.
Notation     k parameters, omega vocabulary, n' contexts of the full length, T length.
"""

import numpy as np

from ...data.arrays import number, offsets
from ...data.dataset import Dataset, Ints
from ...errors import ByheartError, OptionError
from .capacity import Adversarial, fixed_point, parameters

FINE = 1000  # counts that a token has, on average
MOST = 20_000_000  # rows


def theorem(
    vocabulary: int, dimension: int, heads: int, head_dimension: int, neurons: int
) -> tuple[int, Adversarial]:
    """The parameters k of the decoder with the length of the fixed point, and Theorem 1 for it."""

    def count(length: int) -> int:
        return parameters(vocabulary, length, dimension, heads, head_dimension, neurons)

    found = fixed_point(count, vocabulary)
    return count(found.length), found


def adversarial(
    vocabulary: int = 5,
    dimension: int = 2,
    heads: int = 1,
    head_dimension: int | None = None,
    neurons: int = 4,
    seed: int = 0,
) -> Dataset:
    """The contexts of Theorem 1, the first n' words of T letters, and their counts."""
    head = dimension if head_dimension is None else head_dimension
    sizes = {"vocabulary": vocabulary, "dimension": dimension, "heads": heads}
    sizes |= {"head_dimension": head, "neurons": neurons}
    for name, value in {**sizes, "seed": seed}.items():  # A1
        least = {"vocabulary": 2, "seed": 0}.get(name, 1)
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise OptionError(name, value, f"must be an integer of {least} or more")
    _, found = theorem(**sizes)
    if found.contexts * vocabulary > MOST:
        raise ByheartError(
            f"the data of Theorem 1 would have {found.contexts:,} contexts with {vocabulary:,} "
            f"tokens each, more than {MOST:,} rows; use smaller sizes."
        )
    powers = vocabulary ** np.arange(found.length - 1, -1, -1)
    words = np.arange(found.interpolated)[:, None] // powers % vocabulary
    drawn = np.random.default_rng(seed).exponential(FINE, (len(words), vocabulary))
    counts = 1 + drawn.astype(np.int64)  # G2; exponential numbers make a uniform distribution
    return _dataset(words, counts)


def _dataset(words: Ints, counts: Ints) -> Dataset:
    """One row per prefix and next token, the shortest prefixes first; words are sorted."""
    inputs, labels, totals = [], [], []
    for size in range(1, words.shape[1]):
        prefixes = words[:, : size + 1]
        new = np.ones(len(words), bool)
        new[1:] = (prefixes[1:] != prefixes[:-1]).any(axis=1)
        first, group = np.flatnonzero(new), np.cumsum(new) - 1
        inputs.append(words[first, :size])
        labels.append(words[first, size])
        totals.append(np.bincount(group, counts.sum(axis=1)).astype(np.int64))
    inputs.append(np.repeat(words, counts.shape[1], axis=0))
    labels.append(np.tile(np.arange(counts.shape[1]), len(words)))
    totals.append(counts.ravel())
    tokens, ids = number(np.concatenate([block.ravel() for block in inputs]))
    return Dataset(
        kind="number",
        tokens=tokens[:, None],
        ids=ids.astype(np.int32),
        starts=offsets(np.concatenate([np.full(len(x), x.shape[1]) for x in inputs])),
        labels=np.concatenate(labels).astype(np.int32),
        label_names=tuple(range(counts.shape[1])),
        counts=np.concatenate(totals),
    )
