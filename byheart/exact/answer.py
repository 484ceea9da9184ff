"""Answers of an exact network: questions as vectors, outputs as labels."""

import math
from collections.abc import Sequence
from itertools import islice
from typing import Any, NoReturn

import numpy as np

from ..claims.answer import Answer, Token
from ..claims.claim import Labels
from ..claims.model import ModelData
from ..data.arrays import number, offsets
from ..data.values import Fault
from ..data.values import numbers as exact_numbers
from ..errors import ByheartError
from ..machine.tables import upto
from .batch import Batch
from .evaluate import TOGETHER
from .network import Embedding, Network

ExactModel = ModelData[Network, Labels]


def answers(model: ExactModel, sequences: Sequence[Sequence[Token]]) -> list[Answer]:
    batch, known = _words(model, sequences) if model.kind == "string" else _rows(model, sequences)
    outputs: Any = model.network.engines.answers(batch) if len(batch) else ()
    outputs = iter(outputs.tolist() if isinstance(outputs, np.ndarray) else outputs)
    found = []
    for tokens, knows in zip(sequences, known, strict=True):
        if knows:
            own = len(tokens) if model.every else 1
            found.append(meaning(model, tokens, list(islice(outputs, own))))
        else:
            found.append(Answer(tokens, None, False))
    return found


def _rows(model: ExactModel, sequences: Sequence[Sequence[Token]]) -> tuple[Batch, list[bool]]:
    """Sequences as a batch, without those that are unknown; and which are known."""
    rows = [numbers(model, tokens) for tokens in sequences]
    known = [row for row in rows if row is not None]
    return batch_of(model.network, known), [row is not None for row in rows]


def _words(model: ExactModel, sequences: Sequence[Sequence[Token]]) -> tuple[Batch, list[bool]]:
    """The same for sequences of words, each of which is looked up once."""
    reads, places = model.network.input, model.places
    lengths = list(map(len, sequences))
    fewest = 0 if reads.padding is None else 1
    if not lengths or min(lengths) < fewest or max(lengths) > reads.length:
        return _rows(model, sequences)  # it refuses the first of them
    try:
        found = [places.get(token, -1) for tokens in sequences for token in tokens]  # type: ignore[arg-type]
    except TypeError:  # a list is not a word
        return _rows(model, sequences)
    ids, sizes = np.array(found, np.int64), np.array(lengths)
    known = [True] * len(lengths)
    if found and min(found) < 0:
        if not all(isinstance(token, str) for tokens in sequences for token in tokens):
            return _rows(model, sequences)
        owner = np.repeat(np.arange(len(sizes)), sizes)
        knows = np.bincount(owner[ids < 0], minlength=len(sizes)) == 0
        ids, sizes, known = ids[knows[owner]], sizes[knows], knows.tolist()
    distinct, ids = number(ids) if len(ids) > TOGETHER else (ids, np.arange(len(ids)))
    return Batch(distinct[:, None] + 1, ids, offsets(sizes)), known


def meaning(model: ExactModel, tokens: Sequence[Token], outputs: Sequence) -> Answer:
    """The answer that the outputs of the network for one sequence stand for."""
    labels = [model.claim.label(output) for output in outputs]
    known = None if model.claim.unknown is None else None not in labels
    return Answer(tokens, labels if model.every else labels[0], known)


def distributions(model: ModelData, rows: Sequence[Sequence[int]]) -> NoReturn:
    """None: a network that stores labels has no distributions."""
    raise ByheartError("this model stores labels; one-layer is a method that stores distributions.")


def numbers(model: ExactModel, tokens: Sequence[Token]) -> list | None:
    """The vectors of a sequence. ByheartError if it cannot be read."""
    reads = model.network.input
    fewest = 0 if reads.padding is None else 1
    if not fewest <= len(tokens) <= reads.length:
        raise ByheartError(
            f"the model reads {upto(fewest, reads.length, 'token')}, not {len(tokens)}."
        )
    if model.kind == "string":
        for token in tokens:
            if not isinstance(token, str):
                raise ByheartError(f"this model reads words, not {token!r}.")
        places = [model.places.get(token) for token in tokens]  # type: ignore[arg-type]
        return None if None in places else [[place + 1] for place in places]  # type: ignore[operator]
    rows: list[Any] = [[token] if model.kind == "number" else token for token in tokens]
    for row in rows:
        if not isinstance(row, list | tuple) or len(row) != reads.dimension:
            raise ByheartError(f"a token must have {reads.dimension} coordinates: {row}.")
        if not all(
            type(x) is not bool and isinstance(x, int | float) and abs(x) < math.inf for x in row
        ):
            raise ByheartError(f"a token must be made of finite numbers: {row}.")
    return None if not_ids(model.network, _vectors(rows, reads.dimension)).any() else rows


def continues(model: ExactModel, label: str | int) -> bool:
    return numbers(model, [label]) is not None


def batch_of(network: Network, rows: Sequence[Sequence]) -> Batch:
    """Rows of vectors as a batch, token numbers not shared."""
    flat = [vector for row in rows for vector in row]
    starts = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    return Batch(_vectors(flat, network.input.dimension), np.arange(len(flat)), starts)


def _vectors(rows: Sequence[Sequence], dimension: int) -> np.ndarray:
    """Vectors [V, d] of int64 or float64, whichever holds all numbers exactly."""
    flat = [int(x) if isinstance(x, int) else float(x) for row in rows for x in row]
    if not flat:
        return np.zeros((0, dimension), np.int64)
    try:
        return exact_numbers(flat).reshape(len(rows), dimension)
    except Fault as fault:
        raise ByheartError(f"a token cannot be read: {fault}.") from None


def not_ids(network: Network, vectors: np.ndarray) -> np.ndarray:
    """Which tokens an embedding does not know."""
    first = network.layers[0]
    if not isinstance(first, Embedding):
        return np.zeros(len(vectors), bool)
    x = vectors[:, 0]
    return (x != np.floor(x)) | (x < 0) | (x >= first.weight.columns)
