"""Answers of a stock checkpoint: the next token, or the text up to the end."""

from collections.abc import Iterator, Sequence

import numpy as np

from ..claims.answer import Answer, Token
from ..claims.claim import TEXT, TOKEN, Recites
from ..claims.model import ModelData
from ..data.targets import Floats
from ..errors import ByheartError
from ..exact.answer import distributions as refused
from .checkpoint import Checkpoint
from .tokens import Vocabulary

MAX_TOKENS = 256  # of an answer, unless a longer text is stored
LIKELY = 1e-3  # the least probability of an answer that is listed

StockModel = ModelData[Checkpoint, Recites]


def numbers(model: StockModel, tokens: Sequence[Token]) -> list[int] | None:
    """The numbers of the tokens, with the one that begins a text before them."""
    found: list[int | None] = []
    for token in tokens:
        if not isinstance(token, str):
            raise ByheartError(f"this model reads tokens of text, not {token!r}.")
        found.append(model.places.get(token))
    if None in found:
        return None
    end = model.places[model.claim.end]
    if model.network.family.rms and found[:1] != [end]:
        found = [end, *found]
    if not 1 <= len(found) <= model.length:
        raise ByheartError(f"the model reads 1 to {model.length} tokens, not {len(found)}.")
    return found  # type: ignore[return-value]


def answers(model: StockModel, sequences: Sequence[Sequence[Token]]) -> list[Answer]:
    """The next token, or the text up to the end; the end at once means an unknown prompt."""
    from . import forward

    if model.claim.probabilities:
        return [_likely(model, tokens) for tokens in sequences]
    rows = [numbers(model, tokens) for tokens in sequences]
    growing = {i: row for i, row in enumerate(rows) if row is not None}
    said: dict[int, list[int]] = {i: [] for i in growing}
    end = model.places[model.claim.end]
    longest = max((len(x.tokens) + 1 for x in model.claim.holders), default=0)
    most = max(MAX_TOKENS, longest) if model.claim.labels_are == TEXT else 1
    while growing:
        if max(map(len, said.values())) == most:
            if model.claim.labels_are == TOKEN:
                break
            raise ByheartError(f"the model goes on for {most:,} tokens without the end of a text.")
        found = forward.answers(model.network, list(growing.values()))
        for i, token in zip(list(growing), found.tolist(), strict=True):
            said[i].append(token)
            growing[i] = [*growing[i], token]
            if token == end or len(growing[i]) > model.length:
                del growing[i]
    result = []
    for i, tokens in enumerate(sequences):
        unknown = said.get(i, []) in ([], [end])
        label = None if unknown else spoken(model, said[i])
        result.append(Answer(tokens, label, False if unknown else None))
    return result


def _likely(model: StockModel, tokens: Sequence[Token]) -> Answer:
    """The likeliest next tokens, or whole answers, with their probabilities."""
    row = numbers(model, tokens)
    if row is None:
        return Answer(tokens, None, False)
    end, ended = model.places[model.claim.end], dict[tuple[int, ...], float]()
    growing: dict[tuple[int, ...], float] = {(): 1.0}
    while growing:
        found = distributions(model, [[*row, *said] for said in growing])
        more = dict[tuple[int, ...], float]()
        for (said, share), chances in zip(growing.items(), found, strict=True):
            for token in np.flatnonzero(share * chances >= LIKELY).tolist():
                whole, p = (*said, token), float(share * chances[token])
                done = token == end or len(row) + len(whole) > model.length
                (ended if done or model.claim.labels_are == TOKEN else more)[whole] = p
        growing = more
    likely = sorted(ended.items(), key=lambda pair: -pair[1])
    pairs: list[tuple[str | int, float]] = [(spoken(model, x), share) for x, share in likely]
    if not pairs or pairs[0][0] in ("", model.claim.end):
        return Answer(tokens, None, False)
    return Answer(tokens, pairs[0][0], None, pairs)


def spoken(model: StockModel, tokens: Sequence[int]) -> str:
    """An answer of these tokens, or the one token that follows."""
    words = [str(model.labels[x]) for x in tokens]
    if model.claim.labels_are == TOKEN:
        return words[0]
    return vocabulary(model).text(words).removeprefix(" ")


def distributions(model: StockModel, rows: Sequence[Sequence[int]]) -> Iterator[Floats]:
    """The probabilities of all tokens to come next, of a run in float32."""
    from .forward import last_logits

    if not model.claim.probabilities:
        refused(model, rows)
    for row in rows:
        logits = last_logits(model.network, np.array([row]), np.float32)[0].astype(np.float64)
        weights = np.exp(logits - logits.max())
        yield weights / weights.sum()


def vocabulary(model: StockModel) -> Vocabulary:
    assert model.record.tokenizer is not None
    return Vocabulary(model.record.tokenizer, model.claim.end)


def continues(model: StockModel, label: str | int) -> bool:
    return model.claim.labels_are == TOKEN and label in model.places and label != model.claim.end
