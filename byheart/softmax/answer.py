"""Answers of a decoder: the distribution of the next token."""

import math
from collections.abc import Iterator, Sequence

import numpy as np

from ..claims.answer import Answer, Token
from ..claims.claim import Distributions
from ..claims.model import ModelData
from ..data.arrays import offsets
from ..data.targets import Floats
from ..errors import ByheartError
from ..machine.tables import upto
from .decoder import Decoder

BLOCK = 1 << 8  # questions asked at once
SHOWN = 1e-6  # the least probability that an answer lists

DecoderModel = ModelData[Decoder, Distributions]


def answers(model: DecoderModel, sequences: Sequence[Sequence[Token]]) -> list[Answer]:
    """The likeliest token after each; of several, the first."""
    assert model.tokens is not None
    rows = [numbers(model, tokens) for tokens in sequences]
    found = distributions(model, [row for row in rows if row is not None])
    result = []
    for tokens, row in zip(sequences, rows, strict=True):
        if row is None:
            result.append(Answer(tokens, None, False))
            continue
        shares = next(found)
        listed = np.flatnonzero(shares >= SHOWN)
        listed = listed[np.argsort(-shares[listed], kind="stable")]
        pairs = [(model.tokens[i], float(shares[i])) for i in listed]
        result.append(Answer(tokens, model.tokens[int(shares.argmax())], None, pairs))
    return result


def distributions(model: DecoderModel, rows: Sequence[Sequence[int]]) -> Iterator[Floats]:
    """The probabilities of all tokens as doubles, from balls where a float run may be rounded."""
    from . import doubles
    from .rounding import doubtful

    network = model.network
    for first in range(0, len(rows), BLOCK):
        part = rows[first : first + BLOCK]
        starts = offsets(np.array([len(row) for row in part]))
        tokens = np.concatenate(part)
        if network.number == "dyadic":  # it runs in balls anyway
            yield from doubles.distributions(network, tokens, starts)
            continue
        with np.errstate(all="ignore"):  # what overflows is in doubt
            found = doubles.distributions(network, tokens, starts)
        doubt = np.flatnonzero(doubtful(network, tokens, starts))
        if len(doubt):
            from . import arb  # flint is slow to import

            again = [part[i] for i in doubt.tolist()]
            starts = offsets(np.array([len(row) for row in again]))
            found[doubt] = arb.distributions(network, np.concatenate(again), starts)
        yield from found


def numbers(model: DecoderModel, tokens: Sequence[Token]) -> list[int] | None:
    """The numbers of a sequence's tokens, with the padding in front if the decoder has one."""
    if not 1 <= len(tokens) <= model.length:
        raise ByheartError(f"the model reads {upto(1, model.length, 'token')}, not {len(tokens)}.")
    padding = model.network.shape.padding
    found: list[int | None] = []
    for token in tokens:
        finite = isinstance(token, int | float) and abs(token) < math.inf
        whole = finite and type(token) is not bool and token == int(token)  # type: ignore[arg-type]
        if not (isinstance(token, str) if model.kind == "string" else whole):
            reads = "words" if model.kind == "string" else "integers"
            raise ByheartError(f"this model reads {reads}, not {token!r}.")
        place = model.places.get(token if model.kind == "string" else int(token))  # type: ignore[arg-type]
        found.append(None if place == padding else place)
    if None in found:
        return None
    filled = [] if padding is None else [padding] * (model.length - len(found))
    return [*filled, *found]  # type: ignore[list-item]


def continues(model: DecoderModel, label: str | int) -> bool:
    """The vocabulary has the tokens of the data in front of its labels."""
    read = model.record.data.vocabulary
    return read is None or model.places[label] < read
