"""Model: a network with the words it reads and writes.

What `compile` returns, `open` reads and `recall` asks.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import islice
from os import PathLike
from typing import Any

import numpy as np

from ..data.dataset import Dataset
from ..errors import ByheartError
from ..exact.batch import Batch
from ..exact.evaluate import evaluate
from ..exact.network import Embedding, Network

Token = str | int | float | Sequence[float]
Label = str | int | None


@dataclass(frozen=True)
class Answer:
    """What the model says: its label, and whether it knows the input (None if it cannot tell).

    A model that answers every token gives a list of labels; one that stores distributions also
    gives the likeliest tokens with their probabilities.
    """

    input: Sequence[Token]
    label: Label | list[Label]
    known: bool | None
    probabilities: list[tuple[str | int, float]] | None = None

    def json(self) -> dict:
        return {
            "input": self.input,
            "label": self.label,
            "known": self.known,
            "probabilities": self.probabilities and [list(pair) for pair in self.probabilities],
        }


@dataclass(frozen=True, eq=False, repr=False)
class Model:
    """A network and its vocabulary.

    kind     of the tokens: "string", "number" or "vector"
    tokens   the strings in the order of their numbers, None for numbers and vectors
    labels   output y is labels[y]; y = unknown means "never seen"
    about    everything else that config.json records: method, paper, loading, data, counts, search
    number   the arithmetic that the network is exact in: "dyadic" or already "float64"
    """

    network: Network
    kind: str
    tokens: tuple[str, ...] | None
    labels: tuple[str | int, ...]
    unknown: int | None
    about: dict[str, Any] = field(default_factory=dict)
    number: str = "dyadic"

    def __repr__(self) -> str:
        nonzero = self.network.counts()[0]["nonzero"]
        return f"<Model: {self.about.get('method')}, {nonzero} nonzero parameters>"

    @property
    def length(self) -> int:
        """The longest input."""
        return self.network.input.length

    @property
    def every(self) -> bool:
        """Whether it answers every token."""
        return self.network.every

    def save(
        self, path: str | PathLike[str], *, force: bool = False, data: Dataset | None = None
    ) -> None:
        """Write the model folder.

        `force` replaces an older model, `data` is put beside the weights.
        """
        from .folder import save  # it imports this file

        save(self, path, force=force, data=data)

    def recall(self, tokens: Sequence[Token]) -> Label | list[Label]:
        """The label of one sequence (or of its tokens); None where the network gives no label."""
        return self.answers([tokens])[0].label

    def answers(self, sequences: Sequence[Sequence[Token]]) -> list[Answer]:
        """Ask many at once. A word outside the vocabulary gives no label and known = False."""
        rows = enumerate(map(self.numbers, sequences))
        known = {i: row for i, row in rows if row is not None}
        found = iter(evaluate(self.network, self.batch_of(list(known.values()))) if known else ())
        answers = {}
        for i, row in known.items():
            outputs = list(islice(found, len(row) if self.network.every else 1))
            answers[i] = self.meaning(sequences[i], outputs)
        return [answers.get(i, Answer(x, None, False)) for i, x in enumerate(sequences)]

    def meaning(self, tokens: Sequence[Token], outputs: Sequence[Fraction | int]) -> Answer:
        """The answer that the outputs of the network for one sequence stand for."""
        labels = [self.label(output) for output in outputs]
        known = None if self.unknown is None else None not in labels
        return Answer(tokens, labels if self.network.every else labels[0], known)

    def label(self, output: Fraction | int) -> Label:
        """The label that one output stands for."""
        whole = int(output) if output == int(output) else -1
        return self.labels[whole] if 0 <= whole < len(self.labels) else None

    def numbers(self, tokens: Sequence[Token]) -> list | None:
        """The vectors of a sequence, or None if a word is outside the vocabulary.

        ByheartError if the sequence cannot be read.
        """
        fewest = 0 if self.network.input.padding is None else 1
        if not fewest <= len(tokens) <= self.network.input.length:
            raise ByheartError(
                f"the model reads {fewest} to {self.network.input.length} tokens, not {len(tokens)}"
            )
        if self.kind == "string":
            places = [self._place(token) for token in tokens]
            return None if None in places else [[place] for place in places]
        rows = [[token] if self.kind == "number" else list(token) for token in tokens]  # type: ignore[arg-type]
        for row in rows:
            if len(row) != self.network.input.dimension:
                raise ByheartError(
                    f"a token must have {self.network.input.dimension} coordinates: {row}"
                )
            if not all(isinstance(x, int | float) and np.isfinite(x) for x in row):
                raise ByheartError(f"a token must be made of finite numbers: {row}")
        vectors = np.array(rows).reshape(len(rows), self.network.input.dimension)
        return None if self._no_ids(vectors).any() else rows

    def _place(self, token: Token) -> int | None:
        if not isinstance(token, str):
            raise ByheartError(f"this model reads words, not {token!r}")
        return self._places.get(token)

    @property
    def _places(self) -> dict[str, int]:
        found = self.__dict__.get("_index")
        if found is None:
            found = {word: i + 1 for i, word in enumerate(self.tokens or ())}
            self.__dict__["_index"] = found
        return found

    def batch_of(self, rows: Sequence[Sequence]) -> Batch:
        """Rows of vectors as a batch, token numbers not shared."""
        flat = [vector for row in rows for vector in row]
        whole = all(isinstance(x, int) for vector in flat for x in vector)
        starts = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
        vectors = np.array(flat, dtype=np.int64 if whole else np.float64)
        vectors = vectors.reshape(len(flat), self.network.input.dimension)
        return Batch(vectors, np.arange(len(flat)), starts)

    def batch(self, dataset: Dataset) -> tuple[Batch, np.ndarray]:
        """The sequences of a dataset as the network reads them, and the outputs it must give.

        -1: there is none, because the model does not know the label or a word.
        """
        if dataset.kind != self.kind or dataset.vectors.shape[1] != self.network.input.dimension:
            raise ByheartError(
                f"the model reads {self.kind} tokens with {self.network.input.dimension} "
                f"coordinates, the data holds {dataset.kind} tokens with {dataset.vectors.shape[1]}"
            )
        vectors = dataset.vectors
        if self.kind == "string":
            places = self._places
            vectors = np.array([[places.get(word, 0)] for word in dataset.tokens], dtype=np.int64)
        strange = vectors[:, 0] == 0 if self.kind == "string" else self._no_ids(vectors)
        if self.kind != "string" and strange.any():
            vectors = np.where(strange[:, None], 0, vectors)
        outputs = {label: i for i, label in enumerate(self.labels)}
        wanted = np.array([outputs.get(name, -1) for name in dataset.label_names], dtype=np.int64)
        wanted = wanted[dataset.labels]
        unread = np.zeros(len(dataset), bool)
        unread[np.repeat(np.arange(len(dataset)), dataset.lengths)[strange[dataset.ids]]] = True
        wanted[unread[dataset.owner]] = -1
        return Batch(vectors, dataset.ids, dataset.starts), wanted

    def _no_ids(self, vectors: np.ndarray) -> np.ndarray:
        """Which tokens an embedding does not know."""
        first = self.network.layers[0]
        if not isinstance(first, Embedding):
            return np.zeros(len(vectors), bool)
        x = vectors[:, 0]
        return (x != np.floor(x)) | (x < 0) | (x >= first.weight.columns)
