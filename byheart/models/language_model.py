"""LanguageModel: a decoder with the words it reads and says.

What `compile` returns for a method that stores distributions, `open` reads and `recall` asks.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from typing import Any

import numpy as np

from ..data.arrays import offsets
from ..data.contexts import contexts
from ..data.dataset import Dataset
from ..data.targets import Floats, Targets, Word, over
from ..errors import ByheartError
from ..softmax.decoder import Decoder
from .model import Answer, Token

BLOCK = 1 << 8  # questions asked at once
SHOWN = 1e-6  # the least probability that an answer lists


@dataclass(frozen=True, eq=False, repr=False)
class LanguageModel:
    """A decoder and its vocabulary.

    kind    of the tokens: "string" or "number" (integers)
    tokens  every word it reads or says, in the order of their numbers
    gap     the divergence from its target that no context may pass, in nats
    about   everything else that config.json records, as for a Model
    """

    network: Decoder
    kind: str
    tokens: tuple[Word, ...]
    gap: float
    about: dict[str, Any] = field(default_factory=dict)
    unknown: None = None
    every: bool = False

    def __repr__(self) -> str:
        dense = self.network.shape.parameters
        return f"<LanguageModel: {self.about.get('method')}, {dense} parameters>"

    @property
    def labels(self) -> tuple[Word, ...]:
        return self.tokens

    @property
    def words(self) -> tuple[Word, ...]:
        """The tokens that data may hold: all but the padding."""
        padding = self.network.shape.padding
        return tuple(word for i, word in enumerate(self.tokens) if i != padding)

    @property
    def length(self) -> int:
        """The longest input."""
        return self.network.shape.length

    @property
    def number(self) -> str:
        return self.network.number

    def save(
        self, path: str | PathLike[str], *, force: bool = False, data: Dataset | None = None
    ) -> None:
        """Write the model folder, as Model.save does."""
        from .folder import save  # it imports this file

        save(self, path, force=force, data=data)

    def recall(self, tokens: Sequence[Token]) -> Word | None:
        """The likeliest next token; None if a token is not in the vocabulary."""
        label = self.answers([tokens])[0].label
        assert not isinstance(label, list)
        return label

    def answers(self, sequences: Sequence[Sequence[Token]]) -> list[Answer]:
        """Ask many at once. A word outside the vocabulary gives no label and known = False."""
        rows = [self.numbers(tokens) for tokens in sequences]
        spoken = self._spoken([row for row in rows if row is not None])
        return [
            Answer(tokens, None, False) if row is None else self._answer(tokens, next(spoken))
            for tokens, row in zip(sequences, rows, strict=True)
        ]

    def distribution(self, tokens: Sequence[Token]) -> Floats:
        """The probability of every token of the vocabulary to come next, in doubles."""
        row = self.numbers(tokens)
        if row is None:
            raise ByheartError(f"a token of {list(tokens)!r} is not in the model's vocabulary")
        return next(self._spoken([row]))

    def _spoken(self, rows: Sequence[Sequence[int]]) -> Iterator[Floats]:
        from ..softmax.doubles import distributions

        for first in range(0, len(rows), BLOCK):
            part = rows[first : first + BLOCK]
            starts = offsets(np.array([len(row) for row in part]))
            yield from distributions(self.network, np.concatenate(part), starts)

    def _answer(self, tokens: Sequence[Token], probabilities: Floats) -> Answer:
        """The likeliest token; of several, the first."""
        listed = np.flatnonzero(probabilities >= SHOWN)
        listed = listed[np.argsort(-probabilities[listed], kind="stable")]
        pairs = [(self.tokens[i], float(probabilities[i])) for i in listed]
        return Answer(tokens, self.tokens[int(probabilities.argmax())], None, pairs)

    def numbers(self, tokens: Sequence[Token]) -> list[int] | None:
        """The numbers of a sequence's tokens, or None if a word is outside the vocabulary."""
        if not 1 <= len(tokens) <= self.length:
            raise ByheartError(f"the model reads 1 to {self.length} tokens, not {len(tokens)}")
        found = [self._places.get(self._word(token)) for token in tokens]
        padding = self.network.shape.padding
        if padding is not None:
            found = [*[padding] * (self.length - len(found)), *found]
        return None if None in found else found  # type: ignore[return-value]

    def _word(self, token: Token) -> Word:
        if self.kind == "string" and isinstance(token, str):
            return token
        if self.kind == "number" and isinstance(token, int | float):
            if math.isfinite(token) and token == int(token):
                return int(token)
        raise ByheartError(
            f"this model reads {'words' if self.kind == 'string' else 'integers'}, not {token!r}"
        )

    @cached_property
    def _places(self) -> dict[Word, int]:
        number = {word: i for i, word in enumerate(self.tokens)}
        return {word: number[word] for word in self.words}

    def targets(self, dataset: Dataset) -> Targets:
        """What follows the contexts of a dataset, numbered as the decoder has them."""
        if dataset.kind != self.kind:
            raise ByheartError(f"the model reads {self.kind} tokens, the data has {dataset.kind}s")
        try:
            found = over(dataset, contexts(dataset, positions=True), self.tokens)
        except KeyError as error:
            raise ByheartError(f"{error.args[0]!r} is not in the model's vocabulary") from None
        padding = self.network.shape.padding
        if padding is None:
            return found
        if padding in found.tokens or padding in found.following:
            raise ByheartError(f"{self.tokens[padding]!r} is reserved by this model, and no word")
        return found.padded(padding, self.length)
