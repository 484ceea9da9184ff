"""The tokenizer of a checkpoint: the numbers of its tokens, and the token that ends a text."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ..data.readers.tokenizers import is_trained, opened
from ..errors import ByheartError
from ..machine.strict import Object
from .listing import BYTES, begin_with, check_tokenizer

END = "<|endoftext|>"
ENDS = (END, "</s>", "<|end_of_text|>", "<eos>", "<|eot_id|>", "<|im_end|>")  # as models name it


@dataclass(frozen=True)
class Vocabulary:
    """A tokenizer.json whose tokens are the rows of an embedding."""

    content: str  # of the tokenizer.json
    end: str  # the token that ends a text

    @cached_property
    def tokens(self) -> tuple[str | int, ...]:
        return ordered(_numbers(json.loads(self.content)))

    @cached_property
    def numbers(self) -> dict[str, int]:
        return {token: i for i, token in enumerate(self.tokens) if isinstance(token, str)}

    @cached_property
    def unknown(self) -> str | None:
        """The token of words that the tokenizer does not have; None if it spells every text."""
        return json.loads(self.content)["model"].get("unk_token")

    def refuse_unknown(self, tokens: Iterable[str], where: str) -> None:
        """ByheartError if one of the tokens stands for a word that the tokenizer does not have."""
        if self.unknown is not None and self.unknown != self.end and self.unknown in tokens:
            raise ByheartError(
                f"{where} has a word that the tokenizer does not have and reads as "
                f"{self.unknown!r}; train one on the data (`tokenizer='word'`), or use a "
                "byte-level BPE, such as `tokenizer='bpe:8000'`, which spells every text."
            )

    @cached_property
    def _opened(self) -> Any:
        return opened(self.content, "the model's tokenizer.json")

    def split(self, text: str) -> list[str]:
        return self._opened.split(text)

    @cached_property
    def _added(self) -> dict[str, bool]:
        added = json.loads(self.content).get("added_tokens") or ()
        return {token["content"]: token["special"] for token in added}

    def spelled(self, tokens: Iterable[str]) -> str | None:
        """What tokens spell, special ones left out; None if that is no text."""
        words = [token for token in tokens if not self._added.get(token)]
        if self.unknown is not None:  # words, and not pairs of bytes
            return "".join(words)
        try:
            return b"".join(map(self._bytes, words)).decode()
        except (KeyError, UnicodeDecodeError):
            return None

    def _bytes(self, token: str) -> bytes:
        return token.encode() if token in self._added else bytes(map(BYTES.__getitem__, token))

    def token(self, number: int) -> str:
        """The token of a number; a number without one is its own digits."""
        return str(self.tokens[number] if number < len(self.tokens) else number)

    def written(self, tokens: Iterable[str]) -> str:
        """What tokens spell, special ones left out and U+FFFD in place of parts of characters."""
        words = [token for token in tokens if not self._added.get(token)]
        if self.unknown is not None:
            return "".join(words)
        return b"".join(map(self._bytes, words)).decode(errors="replace")

    def piece(self, number: int) -> str:
        """A token as a part of a text: a special one is its own name."""
        token = self.token(number)
        return token if self._added.get(token) else self.written([token])

    def text(self, tokens: list[str]) -> str:
        """What tokens spell, without the end."""
        spoken = [token for token in tokens if token != self.end]
        join = self._opened.text
        return join(spoken) if join is not None else " ".join(spoken)


def vocabulary_of(content: str, name: object, begins: bool, end: str | None = None) -> Vocabulary:
    """The tokenizer of the data as a checkpoint needs it: with a token that ends a text.

    name    as it was given: one that was trained on the data gets an end token, any other needs one
    begins  whether the end token also stands before every text (Llama)
    end     the token that ends a text for a model, if the tokenizer has several
    """
    values = Object.parse(content.encode(), "the tokenizer").values  # no key stands twice
    model = values.get("model")
    if not isinstance(model, dict) or not isinstance(model.get("vocab"), dict):
        raise ByheartError(
            "the tokenizer has no list of tokens by name (it may be a Unigram model); use a "
            "byte-level BPE, such as `tokenizer='bpe:8000'`."
        )
    known = {token["content"] for token in values.get("added_tokens") or ()}
    end = next((name for name in (end, *ENDS) if name in known), None)
    if end is None and not is_trained(name):
        raise ByheartError(
            f"the tokenizer has no token that ends a text; add one of {', '.join(ENDS[:3])} to "
            "its added_tokens, or train one with `tokenizer='bpe:8000'`."
        )
    if end is None:
        end = END
        added = {"id": max(_numbers(values).values()) + 1, "content": END, "special": True}
        flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
        values["added_tokens"] = [*(values.get("added_tokens") or ()), added | flags]
    if begins:
        values["post_processor"] = begin_with(end, _numbers(values)[end])
    check_tokenizer(Object(values, "the tokenizer"), "llama" if begins else "gpt2", end)
    return Vocabulary(json.dumps(values), end)


def ordered(numbers: Mapping[str, int]) -> tuple[str | int, ...]:
    """Tokens in the order of their numbers; a number without one stands for itself."""
    tokens = {number: token for token, number in numbers.items()}
    return tuple(tokens.get(i, i) for i in range(max(tokens, default=-1) + 1))


def _numbers(values: dict[str, Any]) -> dict[str, int]:
    """Every token and its number; added tokens count before others of the same text."""
    found = dict(values["model"]["vocab"])
    return found | {token["content"]: token["id"] for token in values.get("added_tokens") or ()}
