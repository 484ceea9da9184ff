"""Datasets to try methods on, and files to keep them in."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..errors import ByheartError, OptionError
from .arrays import check_size, number, number_rows, offsets, take
from .contexts import Contexts, contexts
from .dataset import Dataset
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


def random(
    sequences: int = SEQUENCES,
    length: int = 4,
    dimension: int = 2,
    labels: int = 2,
    seed: int = 0,
    vocabulary: int | None = None,
    skew: str = "uniform",
) -> Dataset:
    """Random sequences of integer vectors, one random label per multiset with last token."""
    dataset, rng = _sequences(sequences, length, dimension, labels, seed, vocabulary)
    return _labelled(dataset, contexts(dataset, positions=False), rng, skew, labels)


def tokens(
    sequences: int = SEQUENCES,
    length: int = 4,
    dimension: int = 2,
    labels: int = 2,
    seed: int = 0,
    vocabulary: int | None = None,
    skew: str = "uniform",
) -> Dataset:
    """The sequences of `random`, with a random label for every token of a multiset."""
    dataset, rng = _sequences(sequences, length, dimension, labels, seed, vocabulary)
    dataset = replace(dataset, every=True, labels=np.zeros(len(dataset.ids), np.int32))
    return _labelled(dataset, contexts(dataset, positions=False), rng, skew, labels)


def multisets(
    sequences: int = SEQUENCES,
    length: int = 7,
    dimension: int = 2,
    labels: int = 2,
    seed: int = 0,
    vocabulary: int | None = None,
    skew: str = "uniform",
) -> Dataset:
    """Multisets of 0 to `length` of such vectors, one random label each."""
    dataset, rng = _sequences(sequences, length, dimension, labels, seed, vocabulary)
    sizes = rng.integers(0, length + 1, sequences)
    sizes[0] = length
    starts = offsets(sizes)
    dataset = replace(dataset, ids=take(dataset.ids, dataset.starts[:-1], sizes), starts=starts)
    grouped = contexts(dataset, positions=False, last=False)
    return _labelled(dataset, grouped, rng, skew, labels).occurring()


def uniform(
    sequences: int = SEQUENCES, length: int = 32, vocabulary: int = 64, seed: int = 0
) -> Dataset:
    """Independent uniform tokens; the label of each token is the one after it (morris2025).

    A sequence has length + 1 tokens, of which the first is given: its information is
    length x log2(vocabulary) bits, and nothing but memory predicts it.
    """
    sizes = {"sequences": sequences, "length": length}
    for name, value in sizes.items():
        check_size(name, value)
    check_size("vocabulary", vocabulary, 2)
    rng = _generator(seed)
    tokens = rng.integers(0, vocabulary, (sequences, length + 1))
    read, ids = number(tokens[:, :-1].ravel())
    names, labels = number(tokens[:, 1:].ravel())
    return Dataset(
        kind="number",
        tokens=read[:, None],
        ids=ids.astype(np.int32),
        starts=np.arange(sequences + 1, dtype=np.int64) * length,
        labels=labels.astype(np.int32),
        label_names=tuple(names.tolist()),
        counts=np.ones(sequences, np.int64),
        every=True,
    )


def _generator(seed: int) -> np.random.Generator:
    if not isinstance(seed, int) or seed < 0:
        raise OptionError("seed", seed, "must be an integer of 0 or more")
    return np.random.default_rng(seed)


def _sequences(
    sequences: int, length: int, dimension: int, labels: int, seed: int, vocabulary: int | None
) -> tuple[Dataset, np.random.Generator]:
    """Sequences of random vectors with the label 0, and the generator to draw labels with."""
    vocabulary = max(8, sequences // 2) if vocabulary is None else vocabulary
    sizes = {"sequences": sequences, "length": length, "dimension": dimension, "labels": labels}
    for name, value in {**sizes, "vocabulary": vocabulary}.items():
        check_size(name, value)
    rng = _generator(seed)
    side = max(2, int(vocabulary ** (1 / dimension)) + 1) * 2
    vectors = rng.integers(0, side + 1, (vocabulary, dimension))
    rows = _trapped(rng, rng.integers(0, vocabulary, (sequences, length)), vocabulary)
    tokens, same = number_rows(vectors)  # two of the random vectors may be equal
    used, ids = number(same[rows].ravel())
    dataset = Dataset(
        kind="vector",
        tokens=tokens[used],
        ids=ids.astype(np.int32),
        starts=np.arange(sequences + 1, dtype=np.int64) * length,
        labels=np.zeros(sequences, np.int32),
        label_names=(0,),
        counts=np.ones(sequences, np.int64),
    )
    return dataset, rng


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


def _labelled(
    dataset: Dataset, contexts: Contexts, rng: np.random.Generator, skew: str, labels: int
) -> Dataset:
    """One random label per context."""
    place = np.arange(labels)
    weights = {
        "uniform": np.ones(labels),
        "zipf": 1 / (place + 1),
        "geometric": 0.5 ** np.minimum(place, 1000),
    }
    if skew not in weights:
        raise OptionError("skew", skew, f"must be one of {', '.join(weights)}")
    probabilities = weights[skew] / weights[skew].sum()
    drawn = rng.choice(labels, len(contexts), p=probabilities)[contexts.group]
    names, numbers = number(drawn)
    return replace(dataset, labels=numbers.astype(np.int32), label_names=tuple(names.tolist()))


KINDS: dict[str, Callable[..., Dataset]] = {
    "random": random,
    "tokens": tokens,
    "multisets": multisets,
    "uniform": uniform,
}
WRITERS = {".jsonl": jsonl.write, ".npz": npz.write}


def save(dataset: Dataset, path: str | Path) -> None:
    """Write the dataset in the format of the file name; the file appears whole or not at all."""
    extension = Path(path).suffix.lower()
    if extension not in WRITERS:
        raise ByheartError(f"{path}: the name must end in one of {' '.join(WRITERS)}.")
    WRITERS[extension](dataset, path)
