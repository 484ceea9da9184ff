"""Datasets to try methods on, and files to keep them in."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..errors import ByheartError, OptionError, one_of
from .arrays import check_size, number, offsets, take
from .contexts import contexts
from .dataset import Dataset, rectangular
from .readers import jsonl, npz

SEQUENCES = 1000
Sequences = NDArray[np.int64]  # [N, n]: token numbers

# How rows are changed, and how often: the traps a construction must not fall into.
TRAPS = {
    "permuted": 0.10,  # an earlier row in another order: often the same context
    "swapped": 0.10,  # an earlier row with first and last token exchanged: equal multiset
    "repeated": 0.10,  # the same token everywhere
    "duplicate": 0.05,  # an earlier row
    "similar": 0.10,  # an earlier row with another first token
}


def _generator(seed: int) -> np.random.Generator:
    if not isinstance(seed, int) or seed < 0:
        raise OptionError("seed", seed, "must be an integer of 0 or more")
    return np.random.default_rng(seed)


def _trapped(rng: np.random.Generator, rows: Sequences, vocabulary: int) -> Sequences:
    """The rows with traps set: of the rows chosen, each is made from an earlier one.

    A row is made once its source is final. Sources are earlier and few rows have one, so this
    ends after as many rounds as the longest chain of sources, which grows as log N.
    """
    count = len(rows)
    edges = np.cumsum(list(TRAPS.values()))
    names = np.array([*TRAPS, "fresh"])[np.searchsorted(edges, rng.random(count), side="right")]
    names[0] = "fresh"  # nothing comes before the first row
    repeated = names == "repeated"
    rows[repeated] = rng.integers(0, vocabulary, (int(repeated.sum()), 1))
    sources = (rng.random(count) * np.arange(count)).astype(np.int64)
    pending = ~np.isin(names, ("repeated", "fresh"))
    while pending.any():
        ready = np.flatnonzero(pending & ~pending[sources])
        copies = rows[sources[ready]]
        permuted, swapped, similar = (
            names[ready] == name for name in ("permuted", "swapped", "similar")
        )
        copies[permuted] = rng.permuted(copies[permuted], axis=1)
        copies[swapped, 0], copies[swapped, -1] = copies[swapped, -1], copies[swapped, 0]
        copies[similar, 0] = rng.integers(0, vocabulary, int(similar.sum()))
        rows[ready] = copies
        pending[ready] = False
    return rows


def _maker(form: str, longest: int) -> Callable[..., Dataset]:
    """Random data over integer vectors: "random", "tokens" or "multisets" (see below)."""

    def make(
        sequences: int = SEQUENCES,
        length: int = longest,
        dimension: int = 2,
        labels: int = 2,
        seed: int = 0,
        vocabulary: int | None = None,
        skew: str = "uniform",
    ) -> Dataset:
        vocabulary = max(8, sequences // 2) if vocabulary is None else vocabulary
        sizes = {"sequences": sequences, "length": length, "dimension": dimension, "labels": labels}
        for name, value in {**sizes, "vocabulary": vocabulary}.items():
            check_size(name, value)
        rng = _generator(seed)
        side = max(2, int(vocabulary ** (1 / dimension)) + 1) * 2
        vectors = rng.integers(0, side + 1, (vocabulary, dimension))
        rows = _trapped(rng, rng.integers(0, vocabulary, (sequences, length)), vocabulary)
        unlabelled = np.zeros((sequences, length) if form == "tokens" else sequences, np.int64)
        dataset = rectangular(vectors[rows], unlabelled)
        if form == "multisets":
            held = rng.integers(0, length + 1, sequences)
            held[0] = length
            ids = take(dataset.ids, dataset.starts[:-1], held)
            dataset = replace(dataset, ids=ids, starts=offsets(held))
        grouped = contexts(dataset, positions=False, last=form != "multisets")
        place = np.arange(labels)
        weights = {
            "uniform": np.ones(labels),
            "zipf": 1 / (place + 1),
            "geometric": 0.5 ** np.minimum(place, 1000),
        }
        one_of(weights, skew=skew)
        probabilities = weights[skew] / weights[skew].sum()
        drawn = rng.choice(labels, len(grouped), p=probabilities)[grouped.group]
        names, numbers = number(drawn)
        return replace(
            dataset, labels=numbers.astype(np.int32), label_names=tuple(names.tolist())
        ).occurring()

    return make


random = _maker("random", 4)  # sequences, one random label per multiset with last token
tokens = _maker("tokens", 4)  # the same sequences, a random label for every token of a multiset
multisets = _maker("multisets", 7)  # of 0 to `length` vectors, one random label each


def uniform(
    sequences: int = SEQUENCES, length: int = 32, vocabulary: int = 64, seed: int = 0
) -> Dataset:
    """Independent uniform tokens; the label of each token is the one after it (morris2025).

    A sequence has length + 1 tokens, of which the first is given: its information is
    length x log2(vocabulary) bits, and nothing but memory predicts it.
    """
    check_size("sequences", sequences)
    check_size("length", length)
    check_size("vocabulary", vocabulary, 2)
    rows = _generator(seed).integers(0, vocabulary, (sequences, length + 1))
    return rectangular(rows[:, :-1], rows[:, 1:])


KINDS = {"random": random, "tokens": tokens, "multisets": multisets, "uniform": uniform}
WRITERS = {".jsonl": jsonl.write, ".npz": npz.write}


def save(dataset: Dataset, path: str | Path) -> None:
    """Write the dataset in the format of the file name; the file appears whole or not at all."""
    extension = Path(path).suffix.lower()
    if extension not in WRITERS:
        raise ByheartError(f"{path}: the name must end in one of {' '.join(WRITERS)}.")
    WRITERS[extension](dataset, path)
