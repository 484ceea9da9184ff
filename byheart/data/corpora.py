"""Random corpora for statistics: documents of equal length, drawn from a seed."""

import hashlib
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..errors import OptionError
from ..machine.files import replacing
from .arrays import check_size, occurs
from .documents import Documents

SEQUENCES = 1000
BLOCK = 1 << 18  # documents made at once
Draw = Callable[[NDArray[np.float64]], NDArray]  # uniform random numbers to token numbers


def zipf(
    sequences: int = SEQUENCES,
    length: int = 10,
    vocabulary: int = 50_000,
    exponent: float = 1.0,
    seed: int = 0,
) -> Documents:
    """Independent tokens: token t, from 0, has a probability proportional to (t + 1)^-exponent."""
    check_size("vocabulary", vocabulary, 2)
    return _drawn("zipf", sequences, length, vocabulary, seed, _chooser(vocabulary, exponent))


def prefix_tree(
    sequences: int = SEQUENCES,
    length: int = 10,
    vocabulary: int = 50_000,
    branching: int = 16,
    exponent: float = 2.0,
    seed: int = 0,
) -> Documents:
    """Paths through a tree: every prefix has its own `branching` tokens that may follow.

    Child r of a node, counted from 0, has a probability proportional to (r + 1)^-exponent, so that
    many documents share prefixes. The tree is not stored: a node is a hash of the tokens before it.
    """
    check_size("vocabulary", vocabulary, 2)
    check_size("branching", branching)
    choose = _chooser(branching, exponent)

    def walk(uniform: NDArray[np.float64]) -> NDArray:
        tokens = np.empty(uniform.shape, np.int64)
        node = np.full(len(uniform), seed, np.uint64)
        for place in range(uniform.shape[1]):
            child = choose(uniform[:, place]).astype(np.uint64)
            chosen = _mixed(_mixed(node) + child) % np.uint64(vocabulary)
            node = _mixed(node + chosen * np.uint64(0xD6E8FEB86659FD93) + np.uint64(1))
            tokens[:, place] = chosen
        return tokens

    return _drawn("prefix-tree", sequences, length, vocabulary, seed, walk)


def _mixed(key: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """A permutation of the 64-bit numbers that looks random."""
    key = (key ^ (key >> np.uint64(32))) * np.uint64(0xBF58476D1CE4E5B9)
    key = (key ^ (key >> np.uint64(29))) * np.uint64(0x94D049BB133111EB)
    return key ^ (key >> np.uint64(32))


def _chooser(size: int, exponent: float) -> Draw:
    """Uniform random numbers to r = 0, 1, ..., size - 1, whose weight is 1 / (r + 1)^exponent."""
    if not isinstance(exponent, int | float) or not 0 <= exponent < math.inf:
        raise OptionError("exponent", exponent, "must be a number of 0 or more")
    reached = np.cumsum(np.arange(1, size + 1, dtype=np.float64) ** -float(exponent))
    reached /= reached[-1]
    return lambda uniform: np.searchsorted(reached, uniform, side="right")


def _drawn(
    kind: str, sequences: int, length: int, vocabulary: int, seed: int, draw: Draw
) -> Documents:
    """The documents, each followed by the number `vocabulary`."""
    check_size("sequences", sequences)
    check_size("length", length, 2)
    if not isinstance(seed, int) or not 0 <= seed < 2**64:
        raise OptionError("seed", seed, "must be an integer of 0 or more, below 2^64")
    random = np.random.default_rng(seed)
    dtype = np.uint16 if vocabulary < 2**16 else np.uint32
    tokens: NDArray = np.full((sequences, length + 1), vocabulary, dtype)
    for a in range(0, sequences, BLOCK):
        block = tokens[a : a + BLOCK]
        block[:, :-1] = draw(random.random((len(block), length)))
    return Documents(kind, tokens.ravel(), vocabulary)


def distinct(rows: NDArray) -> int:
    """The number of different tokens in some rows [n, length]."""
    return int(occurs(rows).sum())


def sha256(documents: Documents) -> str:
    return hashlib.sha256(_little(documents.ids)).hexdigest()


def save(documents: Documents, path: str | Path) -> None:
    """Write a .bin file, or a .txt file with one document per line."""
    with replacing(path) as file:
        if Path(path).suffix.lower() == ".bin":
            file.write(_little(documents.ids))
        else:
            width = int(np.argmax(documents.ids == documents.separator)) + 1
            for row in documents.ids.reshape(-1, width):
                file.write((" ".join(map(str, row[:-1].tolist())) + "\n").encode())


def _little(ids: NDArray) -> memoryview:
    return ids.astype(ids.dtype.newbyteorder("<"), copy=False).data


CORPORA: dict[str, Callable[..., Documents]] = {"zipf": zipf, "prefix-tree": prefix_tree}
EXTENSIONS = (".bin", ".txt")
