"""Corpora to count: documents of equal length, drawn at random from a seed."""

import hashlib
import math
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..errors import ByheartError
from ..machine.files import replacing
from .documents import Documents

SEQUENCES = 1000
BLOCK = 1 << 18  # documents made at once
Draw = Callable[[NDArray[np.float64]], NDArray]  # random numbers [n, length] to token numbers


def zipf(
    sequences: int = SEQUENCES,
    length: int = 10,
    vocabulary: int = 50_000,
    exponent: float = 1.0,
    seed: int = 0,
) -> Documents:
    """Independent tokens: token t, counted from 0, has a chance as 1 / (t + 1)^exponent."""
    _check(sequences, length, vocabulary, exponent)
    reached = _reached(vocabulary, exponent)
    return _drawn("zipf", sequences, length, vocabulary, seed, lambda u: _choose(reached, u))


def prefix_tree(
    sequences: int = SEQUENCES,
    length: int = 10,
    vocabulary: int = 50_000,
    branching: int = 16,
    exponent: float = 2.0,
    seed: int = 0,
) -> Documents:
    """Paths through a tree: every beginning has its own `branching` tokens that may follow.

    Child r of a node, counted from 0, has a chance as 1 / (r + 1)^exponent, so that many documents
    begin alike. The tree is not stored: a node is a hash of the tokens on the way to it.
    """
    _check(sequences, length, vocabulary, exponent)
    if not isinstance(branching, int) or not 1 <= branching < 2**31:
        raise ByheartError(f"branching is an integer of 1 or more, not {branching!r}.")
    reached = _reached(branching, exponent)

    def walk(uniform: NDArray[np.float64]) -> NDArray:
        tokens = np.empty(uniform.shape, np.int64)
        node = np.full(len(uniform), seed, np.uint64)
        for place in range(uniform.shape[1]):
            child = _choose(reached, uniform[:, place]).astype(np.uint64)
            chosen = _mixed(_mixed(node) + child) % np.uint64(vocabulary)
            node = _mixed(node + chosen * np.uint64(0xD6E8FEB86659FD93) + np.uint64(1))
            tokens[:, place] = chosen
        return tokens

    return _drawn("prefix-tree", sequences, length, vocabulary, seed, walk)


def _mixed(key: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """A permutation of the 64-bit numbers that looks like chance."""
    key = (key ^ (key >> np.uint64(32))) * np.uint64(0xBF58476D1CE4E5B9)
    key = (key ^ (key >> np.uint64(29))) * np.uint64(0x94D049BB133111EB)
    return key ^ (key >> np.uint64(32))


def _check(sequences: int, length: int, vocabulary: int, exponent: float) -> None:
    least = {"sequences": (sequences, 1), "length": (length, 2), "vocabulary": (vocabulary, 2)}
    for name, (value, bound) in least.items():
        if not isinstance(value, int) or isinstance(value, bool) or not bound <= value < 2**31:
            raise ByheartError(f"{name} is an integer of {bound} or more, not {value!r}.")
    if not isinstance(exponent, int | float) or not 0 <= exponent < math.inf:
        raise ByheartError(f"exponent is a number of 0 or more, not {exponent!r}.")


def _reached(size: int, exponent: float) -> NDArray[np.float64]:
    """The chance of a number up to each of 0, 1, ..., size - 1."""
    reached = np.cumsum(np.arange(1, size + 1, dtype=np.float64) ** -float(exponent))
    return reached / reached[-1]


def _choose(reached: NDArray[np.float64], uniform: NDArray[np.float64]) -> NDArray:
    return np.searchsorted(reached, uniform, side="right")


def _drawn(
    kind: str, sequences: int, length: int, vocabulary: int, seed: int, draw: Draw
) -> Documents:
    """The documents, each followed by the number `vocabulary`."""
    if not isinstance(seed, int) or not 0 <= seed < 2**64:
        raise ByheartError(f"seed is an integer of 0 or more, below 2^64, not {seed!r}.")
    random = np.random.default_rng(seed)
    tokens: NDArray = np.full((sequences, length + 1), vocabulary, _id_type(vocabulary))
    for a in range(0, sequences, BLOCK):
        block = tokens[a : a + BLOCK]
        block[:, :-1] = draw(random.random((len(block), length)))
    return Documents(kind, tokens.ravel(), vocabulary)


def _id_type(largest: int) -> type:
    return np.uint16 if largest < 2**16 else np.uint32


def distinct(rows: NDArray) -> int:
    """How many different tokens some rows [n, length] have."""
    seen = np.zeros(int(rows.max()) + 1, bool)
    for column in rows.T:
        seen[column] = True
    return int(seen.sum())


def sha256(documents: Documents) -> str:
    """The hash of the .bin file."""
    return hashlib.sha256(_little(documents.ids)).hexdigest()


def save(documents: Documents, path: str | Path) -> None:
    """Write a .bin file, or a .txt file with a line for each document."""
    with replacing(path) as file:
        if Path(path).suffix.lower() == ".bin":
            file.write(_little(documents.ids))
        else:
            file.writelines(_lines(documents))


def _little(ids: NDArray) -> memoryview:
    """The bytes of the .bin file."""
    return ids.astype(ids.dtype.newbyteorder("<"), copy=False).data


def _lines(documents: Documents) -> Iterator[bytes]:
    width = int(np.argmax(documents.ids == documents.separator)) + 1
    for row in documents.ids.reshape(-1, width):
        yield (" ".join(map(str, row[:-1].tolist())) + "\n").encode()


CORPORA: dict[str, Callable[..., Documents]] = {"zipf": zipf, "prefix-tree": prefix_tree}
EXTENSIONS = (".bin", ".txt")
