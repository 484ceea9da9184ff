"""Answers of a stock checkpoint: the next token, or the text up to the end."""

from collections.abc import Sequence

from ..claims.answer import Answer, Token
from ..claims.claim import TEXT, TOKEN, Recites
from ..claims.model import ModelData
from ..errors import ByheartError
from ..exact.answer import distributions as distributions
from .checkpoint import Checkpoint
from .tokens import Vocabulary

MAX_TOKENS = 256  # of an answer, unless a longer text is stored

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

    rows = [numbers(model, tokens) for tokens in sequences]
    growing = {i: row for i, row in enumerate(rows) if row is not None}
    spoken: dict[int, list[int]] = {i: [] for i in growing}
    end = model.places[model.claim.end]
    assert model.tokens is not None
    longest = max((len(x.tokens) + 1 for x in model.claim.holders), default=0)
    most = max(MAX_TOKENS, longest) if model.claim.labels_are == TEXT else 1
    while growing:
        if max(map(len, spoken.values())) == most:
            if model.claim.labels_are == TOKEN:
                break
            raise ByheartError(f"the model goes on for {most:,} tokens without the end of a text.")
        found = forward.answers(model.network, list(growing.values()))
        for i, token in zip(list(growing), found.tolist(), strict=True):
            spoken[i].append(token)
            growing[i] = [*growing[i], token]
            if token == end or len(growing[i]) > model.length:
                del growing[i]
    result = []
    for i, tokens in enumerate(sequences):
        words = [str(model.tokens[x]) for x in spoken.get(i, ())]
        if not words or words == [model.claim.end]:
            result.append(Answer(tokens, None, False))
        elif model.claim.labels_are == TOKEN:
            result.append(Answer(tokens, words[0], None))
        else:
            result.append(Answer(tokens, vocabulary(model).text(words).removeprefix(" "), None))
    return result


def vocabulary(model: StockModel) -> Vocabulary:
    assert model.record.tokenizer is not None
    return Vocabulary(model.record.tokenizer, model.claim.end)


def continues(model: StockModel, label: str | int) -> bool:
    return model.claim.labels_are == TOKEN and label in model.places and label != model.claim.end
