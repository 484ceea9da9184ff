"""Dataset: which label follows which sequence, and how often.

Arrays, because a million rows are normal. Tokens and labels are numbered in sorted order, so the
numbering holds nothing of the data's content.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
TokenKind = str  # "string", "number" or "vector"


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """N sequences over V distinct tokens, with one label each or one label a token.

    kind      "string", "number" or "vector".
    tokens    the distinct tokens, sorted: a tuple of strings, or an array [V, d], int64 or float64.
    ids       token numbers of all sequences, one after another: sequence i is
              ids[starts[i] : starts[i + 1]].
    labels    label number of each sequence or, with `every`, of each token (aligned with ids);
              label_names, sorted, are strings or integers. What carries a label is a prediction.
    counts    how often each sequence was seen.
    skipped   documents that the loader left out because they hold no prediction.
    loading   the options that turned a file into this dataset.
    """

    kind: TokenKind
    tokens: tuple[str, ...] | NDArray
    ids: NDArray[np.int32]
    starts: Ints  # [N + 1]
    labels: NDArray[np.int32]  # [predictions]
    label_names: tuple[str, ...] | tuple[int, ...]
    counts: Ints  # [N]
    skipped: int = 0
    loading: Mapping[str, object] = field(default_factory=dict)
    every: bool = False

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __repr__(self) -> str:
        labels = f"{len(self.label_names)} labels" + (", one a token" if self.every else "")
        return f"<Dataset: {len(self)} sequences of {self.kind} tokens, {labels}>"

    @property
    def owner(self) -> Ints:
        """The sequence of each prediction."""
        numbers = np.arange(len(self))
        return np.repeat(numbers, self.lengths) if self.every else numbers

    @property
    def own(self) -> Ints:
        """The place in ids of each prediction's own token: the last one, or with `every` itself."""
        return np.arange(len(self.ids)) if self.every else self.starts[1:] - 1

    @property
    def lengths(self) -> Ints:
        return np.diff(self.starts)

    @property
    def length(self) -> int:
        """The longest sequence."""
        return int(self.lengths.max(initial=1))

    @property
    def vectors(self) -> NDArray:
        """[V, d]: what the network reads. A string is its number, counted from 1 (0 is padding)."""
        if self.kind == "string":
            return np.arange(1, len(self.tokens) + 1, dtype=np.int64)[:, None]
        return np.asarray(self.tokens)

    def sequence(self, index: int) -> list:
        """The tokens of one sequence as the user wrote them."""
        return [self.token(i) for i in self.ids[self.starts[index] : self.starts[index + 1]]]

    def token(self, number: int) -> str | float | list:
        """One token as the user wrote it."""
        if self.kind == "string":
            return self.tokens[number]
        vector = self.vectors[number].tolist()
        return vector if self.kind == "vector" else vector[0]

    def label(self, prediction: int) -> str | int:
        return self.label_names[self.labels[prediction]]

    def sha256(self) -> str:
        """The hash of checker/FORMAT.md, section 6."""
        kind = self.kind + (" every" if self.every else "")
        digest = hashlib.sha256(f"byheart-data-1\n{kind}\n".encode())
        if self.kind == "string":
            digest.update(_json_lines(self.tokens))
        else:
            vectors = self.vectors
            large = vectors.dtype.kind == "i" and beyond_float(vectors)
            digest.update(f"{'int64' if large else 'float64'} {vectors.shape[1]}\n".encode())
            digest.update(vectors.astype("<i8" if large else "<f8").tobytes())
        digest.update(_json_lines(self.label_names))
        for array in (self.lengths, self.ids, self.labels, self.counts):
            digest.update(array.astype("<i8").tobytes())
        return digest.hexdigest()


def _json_lines(values) -> bytes:
    return "".join(json.dumps(value) + "\n" for value in values).encode()


def beyond_float(integers: Ints) -> bool:
    """Whether some integer is no IEEE double (2^63 - 1 rounds up to 2^63, hence the clip)."""
    rounded = np.minimum(integers.astype(np.float64), 2.0**63 - 1024)
    return bool((rounded.astype(np.int64) != integers).any())
