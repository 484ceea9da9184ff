"""Tokenizers of the Hugging Face library of that name: from a file, or trained on the data.

Only the content of a tokenizer.json is kept, never where it came from: a model folder holds a copy,
so that questions can be split as the data was.
"""

import json
import math
import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import ByheartError
from .phrases import joined
from .raw import package

TRAINED = re.compile(r"bpe:[0-9]{1,7}(:used)?|word|phrases(:[0-9]{1,7})?")
WORDS, PHRASES, UNKNOWN = "word", "phrases", "<|unknown|>"
# A word with the white space before it, or other characters, or white space alone: every text is
# cut without a rest. The letters are those of the unit "word".
WORD = r"\s*(?:[\p{L}\p{M}\p{N}_]+(?:['\u2019][\p{L}\p{M}]+)*|[^\s\p{L}\p{M}\p{N}_]+)|\s+"
# Unicode's property White_Space, which \s means there; str.isspace adds U+001C to U+001F
SPACES = frozenset("\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000") | frozenset(
    map(chr, range(0x2000, 0x200B))
)
BYTES = 256  # tokens of a single byte, which GPT-2's algorithm begins with


@dataclass(frozen=True)
class Tokenizer:
    """A tokenizer, and the tokenizer.json that it came from."""

    content: str
    split: Callable[[str], list[str]]  # a text to its tokens
    # tokens to the text that they make up; None if the tokenizer cannot say
    text: Callable[[list[str]], str] | None


def spoken(answer: str) -> str:
    """An answer as it stands after its prompt: with the space between words."""
    return answer if answer and answer[0] in SPACES else f" {answer}"


def is_trained(tokenizer: object) -> bool:
    """Whether this names a tokenizer to be trained rather than a file."""
    return isinstance(tokenizer, str | Path) and TRAINED.fullmatch(str(tokenizer)) is not None


def tokenizer_of(name: str | Path, texts: Callable[[], Iterable[str]]) -> Tokenizer:
    """The tokenizer of a file, of a folder, or of these texts ("bpe:8000", "word", "phrases")."""
    if str(name) == WORDS:
        return of_words(texts())
    if is_trained(name):
        kind, size, used = f"{name}::".split(":")[:3]
        if kind == PHRASES:
            return of_phrases(texts(), int(size) if size else None)
        made = trained(int(size), texts())
        return only_used(made.content, texts()) if used else made
    path = Path(name)
    path = path / "tokenizer.json" if path.is_dir() else path
    if not path.is_file():
        raise ByheartError(
            f"{path} is not a file; give a tokenizer.json, a folder that holds one, bpe:8000, word "
            "or phrases."
        )
    try:
        return opened(path.read_text(encoding="utf-8"), str(path))
    except UnicodeDecodeError:
        raise ByheartError(f"{path} is not a tokenizer.json: it is not UTF-8.") from None


def opened(content: str, name: str) -> Tokenizer:
    """The tokenizer of the content of a tokenizer.json."""
    library = _library(name)
    with failing(lambda error: f"{name} is not a tokenizer.json: {error}."):
        check_prefix(content)
        loaded = library.Tokenizer.from_str(content)
    loaded.no_truncation()
    loaded.no_padding()

    def split(text: str) -> list[str]:
        text = well_formed(text)
        with failing(lambda error: f"{name} cannot split {text[:60]!r}: {error}."):
            return loaded.encode(text, add_special_tokens=False).tokens

    return Tokenizer(content, split, getattr(loaded.decoder, "decode", None))


def check_prefix(content: str) -> None:
    """ValueError if a merge lacks the prefix of parts inside words, which the package cuts off.

    It does so by bytes, without looking: half a character ends the process.
    """
    values = json.loads(content)
    model = values.get("model") if isinstance(values, dict) else None
    given = model if isinstance(model, dict) else {}
    prefix, merges = given.get("continuing_subword_prefix"), given.get("merges")
    if isinstance(prefix, str) and isinstance(merges, list):
        for merge in merges:
            parts = merge.split(" ") if isinstance(merge, str) else merge
            if not (isinstance(parts, list) and parts and str(parts[-1]).startswith(prefix)):
                raise ValueError(f"the merge {merge!r} does not go on with {prefix!r}")


@contextmanager
def failing(what: Callable[[BaseException], str]) -> Iterator[None]:
    """ByheartError of this sentence if the package fails: it raises bare Exceptions and, where it
    panics, what is none."""
    try:
        yield
    except BaseException as error:
        if isinstance(error, Exception) or type(error).__name__ == "PanicException":
            raise ByheartError(what(error)) from None
        raise


def well_formed(text: str) -> str:
    """The text; ByheartError if it holds half a surrogate pair, which cannot be encoded."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        part = text[max(0, error.start - 20) : error.end]
        raise ByheartError(f"{part!a} ends in half a surrogate pair; repair the text.") from None
    return text


def trained(size: int, texts: Iterable[str]) -> Tokenizer:
    """GPT-2's byte-level byte-pair encoding with at most `size` tokens, made from these texts."""
    if size < BYTES:
        raise ByheartError(
            f"bpe:{size} has fewer tokens than there are bytes; give bpe:{BYTES} or more."
        )
    library = _library(f"bpe:{size}")
    tokenizer = library.Tokenizer(library.models.BPE())
    tokenizer.pre_tokenizer = library.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = library.decoders.ByteLevel()
    alphabet = library.pre_tokenizers.ByteLevel.alphabet()
    trainer = library.trainers.BpeTrainer(
        vocab_size=size, initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(map(well_formed, texts), trainer)
    return opened(tokenizer.to_str(), f"bpe:{size}")


def only_used(content: str, texts: Iterable[str]) -> Tokenizer:
    """A byte-level tokenizer with the tokens of single bytes and those that these texts need.

    A piece of text that is a token as a whole is read without merges. So parts of such tokens are
    needed only where other pieces are merged from them; these are split as before, because all
    merges that they use are kept, in their order.
    """
    values = json.loads(content)
    model = values["model"]
    model["ignore_merges"] = True
    library = _library("bpe").Tokenizer.from_str(json.dumps(values))
    pieces: set[str] = set()
    for text in map(well_formed, texts):
        pieces.update(piece for piece, _ in library.pre_tokenizer.pre_tokenize_str(text))
    split = [[token.value for token in library.model.tokenize(piece)] for piece in pieces]
    merged = {token for tokens in split if len(tokens) > 1 for token in tokens}
    merges = [tuple(x.split(" ") if isinstance(x, str) else x) for x in model["merges"]]
    for first, second in reversed(merges):  # a token is merged from tokens that came before it
        if first + second in merged:
            merged |= {first, second}
    kept = merged.union(*split)
    names = [token for token in model["vocab"] if len(token) == 1 or token in kept]
    names.sort(key=model["vocab"].__getitem__)
    model["vocab"] = {token: i for i, token in enumerate(names)}
    model["merges"] = [x for x in merges if {*x, "".join(x)} <= model["vocab"].keys()]
    return opened(json.dumps(values), "the tokens that are used")


def of_words(texts: Iterable[str]) -> Tokenizer:
    """One token for every word of these texts, with the white space before it, in sorted order.

    The tokens of a text are the text. A word that is not in these texts becomes <|unknown|>.
    """
    library = _library(WORDS)
    cut = library.pre_tokenizers.Split(library.Regex(WORD), "isolated")
    words = sorted(
        {word for text in map(well_formed, texts) for word, _ in cut.pre_tokenize_str(text)}
        - {UNKNOWN}
    )
    numbers = {word: i for i, word in enumerate((UNKNOWN, *words))}
    tokenizer = library.Tokenizer(library.models.WordLevel(numbers, UNKNOWN))
    tokenizer.pre_tokenizer, tokenizer.decoder = cut, library.decoders.Fuse()
    tokenizer.add_special_tokens([UNKNOWN])
    return opened(tokenizer.to_str(), WORDS)


def of_phrases(texts: Iterable[str], most: int | None) -> Tokenizer:
    """Words as in `of_words`, and phrases of several words, at most so many, that save bits.

    A text is cut into the tokens whose code words are shortest in all.
    """
    library = _library(PHRASES)
    cut = library.pre_tokenizers.Split(library.Regex(WORD), "isolated")
    split = ([word for word, _ in cut.pre_tokenize_str(well_formed(text))] for text in texts)
    counts = joined(split, most)
    counts.pop(UNKNOWN, None)
    total = sum(counts.values())
    scores = [(x, math.log(max(n, 0.5) / total)) for x, n in sorted(counts.items())]
    tokenizer = library.Tokenizer(library.models.Unigram([(UNKNOWN, -100.0), *scores], 0, False))
    tokenizer.decoder = library.decoders.Fuse()
    tokenizer.add_special_tokens([UNKNOWN])
    return opened(tokenizer.to_str(), PHRASES)


def _library(name: str) -> Any:
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # else it warns after every fork
    return package("tokenizers", "huggingface", name)
