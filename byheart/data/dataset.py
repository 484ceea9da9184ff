"""Dataset: which label follows which sequence, and how often.

Arrays, because a million rows are normal. Tokens and labels are numbered in sorted order, so the
numbering holds nothing of the data's content.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from ..errors import OptionError
from ..machine.tables import plural
from .arrays import BLOCK, Ints, Windows, beyond_float, number, number_rows, offsets, pieces, take
from .layout import Layout
from .records import pack, plain_rows

SHOWN = 8  # rows in a notebook


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """N sequences over V distinct tokens, with one label each or one label per token.

    kind      "string", "number" or "vector".
    tokens    the distinct tokens, sorted: a tuple of strings, or an array [V, d], int64 or float64.
    ids       token numbers of all sequences, one after another: sequence i is
              ids[starts[i] : starts[i + 1]]. Where they are very many, they are not written out.
    labels    label number of each sequence or, with `every`, of each token (aligned with ids);
              label_names, sorted, are strings or integers. Whatever has a label is a prediction.
    counts    how often each sequence was seen.
    skipped   documents that the loader left out because they hold no prediction, or rows of a
              table that it left out because a cell is empty.
    notes     what the loader has to say about the file: sentences without a full stop.
    loading   the options that turned a file into this dataset.
    left_out  what an option left out of the file or cut, by the option's name: predictions beyond
              the length, rows whose input was cut to it, rows with an empty cell, separators, and
              the row that became the names of columns which an option chose.
    unused    columns of a table, arrays of an .npz file or files of a folder that were not read.
    tokenizer  the content of the tokenizer.json that split the text into tokens, if one did.
    texts     what that tokenizer split, as it was read: the documents, or the input of every row,
              with its columns joined; None if no tokenizer did, or they are not known; empty if the
              sequences are the beginnings of texts already, with their next tokens.
    rows      the row of the data, or the document, that each sequence is a beginning of, from 1;
              None if the sequences are the rows themselves
    beginnings  the first tokens of documents, where the sequences are predictions of texts; None
                if they are too many to list, or there are no documents.
    layout  what the files of a text hold beside tokens; None of other data, or of a part of it.

    A dataset is a sequence of pairs (tokens, label), as the user wrote them:

    >>> data = Dataset.from_rows([(["the", "cat"], "sat"), (["the", "dog"], "ran")])
    >>> data[1]
    (['the', 'dog'], 'ran')
    >>> [label for tokens, label in data]
    ['sat', 'ran']
    >>> data[:1]
    <Dataset: 1 sequence of 2 tokens, 2 distinct strings, 1 label>
    """

    kind: str
    tokens: tuple[str, ...] | NDArray
    ids: NDArray[np.int32] | Windows
    starts: Ints  # [N + 1]
    labels: NDArray[np.int32]  # [predictions]
    label_names: tuple[str, ...] | tuple[int, ...]
    counts: Ints  # [N]
    skipped: int = 0
    notes: tuple[str, ...] = ()
    loading: Mapping[str, object] = field(default_factory=dict)
    every: bool = False
    left_out: Mapping[str, int] = field(default_factory=dict)
    unused: tuple[str, ...] = ()
    tokenizer: str | None = None
    texts: tuple[str, ...] | None = field(default=None, repr=False)
    rows: Ints | None = None
    beginnings: tuple[str, ...] | tuple[int, ...] | None = None
    layout: Layout | None = field(default=None, repr=False)

    @property
    def cut(self) -> bool:
        """Whether it is only a part of its file; a row that became names is in the options."""
        return bool(self.left_out.keys() - {"header", "files"})

    @classmethod
    def from_rows(cls, rows: Iterable[Sequence]) -> "Dataset":
        """The dataset of rows, in their order.

        Args:
            rows: Pairs (input, label) or triples (input, label, count). An input is a list of
                tokens: strings, numbers or vectors, of one kind in all rows. A label is a string
                or an integer, or a list of one label per token.

        Raises:
            ByheartError: A row cannot be used; the message names it, counted from 1.

        Example:
            >>> Dataset.from_rows([([1, 2], "odd"), ([2, 2], "even", 3)])
            <Dataset: 2 sequences of 2 tokens, 2 distinct numbers, 2 labels>
        """
        return cls(**pack(plain_rows(rows, "rows"), "rows", "row"))

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __iter__(self) -> Iterator[tuple[list, Any]]:
        return (self[index] for index in range(len(self)))

    @overload
    def __getitem__(self, index: int) -> tuple[list, Any]: ...
    @overload
    def __getitem__(self, index: slice) -> "Dataset": ...
    def __getitem__(self, index):
        """(tokens, label) of one sequence, or the dataset of a slice of the sequences.

        Where every token has a label, the label of a sequence is the list of them.
        """
        if isinstance(index, slice):
            return self.subset(np.arange(len(self))[index]).occurring()
        place = range(len(self))[index]  # IndexError beyond either end
        if not self.every:
            return self.sequence(place), self.label(place)
        own = range(self.starts[place], self.starts[place + 1])
        return self.sequence(place), [self.label(prediction) for prediction in own]

    def __repr__(self) -> str:
        return f"<Dataset: {self._sizes()}>"

    def _sizes(self) -> str:
        lengths = self.lengths
        of = "" if len(set(lengths.tolist())) <= 1 else "up to "
        return (
            f"{plural(len(self), 'sequence')} of {of}"
            f"{plural(int(lengths.max(initial=0)), 'token')}, "
            f"{plural(len(self.tokens), f'distinct {self.kind}')}, "
            f"{plural(len(self.label_names), 'label')}" + (", one per token" if self.every else "")
        )

    def _repr_html_(self) -> str:
        counted = bool((self.counts != 1).any())
        names = ["input", "label", *(["count"] if counted else [])]
        rows = []
        for i in range(min(SHOWN, len(self))):
            cells = [*self[i], *([int(self.counts[i])] if counted else [])]
            rows.append("".join(f"<td>{escape(repr(cell))}</td>" for cell in cells))
        more = f"<p>and {len(self) - SHOWN:,} more</p>" if len(self) > SHOWN else ""
        return (
            f"<p>Dataset: {escape(self._sizes())}</p><table><thead><tr>"
            + "".join(f"<th>{name}</th>" for name in names)
            + "</tr></thead><tbody>"
            + "".join(f"<tr>{row}</tr>" for row in rows)
            + f"</tbody></table>{more}"
        )

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
        """[V, d]: the network's input. A string is its number, counted from 1 (0 is padding)."""
        if self.kind == "string":
            return np.arange(1, len(self.tokens) + 1, dtype=np.int64)[:, None]
        return np.asarray(self.tokens)

    @property
    def has_vocabulary(self) -> bool:
        """Whether tokens are words or integers, as methods that store distributions need them."""
        vectors = self.vectors
        return self.kind != "vector" and bool((vectors == np.floor(vectors)).all())

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

    def prefix(self, count: int) -> "Dataset":
        """The first sequences, with the tokens and labels that occur in them.

        Args:
            count: How many sequences, from 1 to all of them.

        Raises:
            ByheartError: There are fewer sequences.

        Example:
            >>> Dataset.from_rows([(["a"], 0), (["b"], 1), (["c"], 2)]).prefix(2)
            <Dataset: 2 sequences of 1 token, 2 distinct strings, 2 labels>
        """
        if not 1 <= count <= len(self):
            problem = f"must be an integer from 1 to the {len(self)} sequences of the dataset"
            raise OptionError("count", count, problem)
        return self.subset(np.arange(count)).occurring()

    def subset(self, kept: Ints) -> "Dataset":
        """Some of the sequences; tokens and labels keep their numbers."""
        lengths, starts = self.lengths[kept], self.starts[kept]
        return replace(
            self,
            ids=pieces(self.ids, starts, lengths),
            starts=offsets(lengths),
            labels=take(self.labels, starts, lengths) if self.every else self.labels[kept],
            counts=self.counts[kept],
            texts=self.texts and None,
            rows=None if self.rows is None else self.rows[kept],
            layout=None,
        )

    def occurring(self) -> "Dataset":
        """The dataset with only the tokens and labels that occur, numbered in the same order."""
        tokens, ids = number(self.ids)
        names, labels = number(self.labels)
        return replace(
            self,
            tokens=tuple(self.tokens[i] for i in tokens)
            if self.kind == "string"
            else np.asarray(self.tokens)[tokens],
            ids=ids.astype(np.int32),
            labels=labels.astype(np.int32),
            label_names=tuple(self.label_names[i] for i in names),
        )

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
            for start in range(0, len(array), BLOCK):
                digest.update(array[start : start + BLOCK].astype("<i8").tobytes())
        return digest.hexdigest()


def rectangular(inputs: NDArray, labels: NDArray) -> Dataset:
    """The dataset of numbers [N, n] or vectors [N, n, d], and labels [N], or [N, n] of tokens."""
    count, length = inputs.shape[:2]
    tokens, ids = number_rows(inputs.reshape(count * length, -1))
    names, numbers = number(labels.ravel())
    return Dataset(
        kind="vector" if inputs.ndim == 3 else "number",
        tokens=tokens.astype(np.float64 if tokens.dtype.kind == "f" else np.int64, copy=False),
        ids=ids.astype(np.int32, copy=False),
        starts=np.arange(count + 1, dtype=np.int64) * length,
        labels=numbers.astype(np.int32),
        label_names=tuple(names.tolist()),
        counts=np.ones(count, np.int64),
        every=labels.ndim == 2,
    )


def _json_lines(values: Iterable) -> bytes:
    return "".join(json.dumps(value) + "\n" for value in values).encode()
