"""The random datasets of the papers, from a seed."""

import numpy as np
from numpy.typing import NDArray

from ..data.arrays import number, number_rows
from ..data.dataset import Dataset


def bigrams(vocabulary: int, seed: int = 0) -> Dataset:
    """All pairs of tokens, each with one next token, drawn uniformly (dana2024, Assumption 1)."""
    pairs = np.indices((vocabulary, vocabulary)).reshape(2, -1).T
    following = np.random.default_rng(seed).integers(0, vocabulary, len(pairs))
    return _dataset("number", np.arange(vocabulary)[:, None], pairs, following)


def vectors(sequences: int, length: int, dimension: int, seed: int = 0) -> Dataset:
    """Sequences of vectors, uniform in [0, 1), each labelled -1 or +1 at random (kajitsuka2025)."""
    random = np.random.default_rng(seed)
    signs = 2 * random.integers(0, 2, sequences) - 1
    tokens, ids = _numbered(random.random((sequences * length, dimension)))
    return _dataset("vector", tokens, ids.reshape(sequences, length), signs)


def _numbered(rows: NDArray) -> tuple[NDArray, NDArray]:
    """number_rows, faster if no two rows begin alike: then the first column sorts them."""
    order = np.argsort(rows[:, 0])
    tokens = rows[order]
    if (np.diff(tokens[:, 0]) <= 0).any():
        return number_rows(rows)
    places = np.empty(len(rows), np.int64)
    places[order] = np.arange(len(rows))
    return tokens, places


def _dataset(kind: str, tokens: NDArray, rows: NDArray, labels: NDArray) -> Dataset:
    """Sequences of one length, token numbers [N, n], every one seen once."""
    names, numbers = number(labels)
    return Dataset(
        kind=kind,
        tokens=tokens,
        ids=rows.ravel().astype(np.int32),
        starts=np.arange(len(rows) + 1, dtype=np.int64) * rows.shape[1],
        labels=numbers.astype(np.int32),
        label_names=tuple(names.tolist()),
        counts=np.ones(len(rows), np.int64),
    )
