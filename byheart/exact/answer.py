"""Answers of an exact network: questions as vectors, outputs as labels."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice
from typing import Any, NoReturn

import numpy as np

from ..claims.answer import Answer, Token
from ..claims.claim import Labels
from ..claims.model import ModelData
from ..data.values import Fault
from ..data.values import numbers as exact_numbers
from ..errors import ByheartError
from ..machine.tables import upto
from .batch import Batch
from .evaluate import evaluate
from .network import Embedding, Network

ExactModel = ModelData[Network, Labels]


def answers(model: ExactModel, sequences: Sequence[Sequence[Token]]) -> list[Answer]:
    return _answers(model, sequences, partial(evaluate, model.network))


def answering(model: ExactModel) -> Callable[[Sequence[Token]], Answer]:
    """By the compiled kernels, for which the network is translated once."""
    from .limbs.engine import Evaluator, LimbsError

    quick = Evaluator(model.network)

    def answer(tokens: Sequence[Token]) -> Answer:
        try:
            return _answers(model, [tokens], quick)[0]
        except LimbsError:
            return answers(model, [tokens])[0]

    return answer


def _answers(
    model: ExactModel, sequences: Sequence[Sequence[Token]], run: Callable[[Batch], Any]
) -> list[Answer]:
    rows = enumerate(numbers(model, tokens) for tokens in sequences)
    known = {i: row for i, row in rows if row is not None}
    batch = batch_of(model.network, list(known.values()))
    outputs = iter(run(batch) if known else ())
    found = {}
    for i, row in known.items():
        own = list(islice(outputs, len(row) if model.every else 1))
        found[i] = meaning(model, sequences[i], own)
    return [found.get(i, Answer(x, None, False)) for i, x in enumerate(sequences)]


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
