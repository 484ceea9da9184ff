"""The tokens of a model from what a person types or a file holds."""

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from ..claims.answer import Question
from ..claims.model import ModelData
from ..data.columns import cell_tokens, joined, keeps_numbers
from ..data.readers import text
from ..data.readers.jsonl import decoder
from ..data.readers.raw import opened as opened_file
from ..data.readers.tokenizers import Tokenizer, opened
from ..data.records import plain
from ..data.values import Fault
from ..errors import ByheartError
from .source import KEPT, stored

TYPED = 80  # letters of a question that a person types
EXAMPLE = '{"input": ["a", "b"]}'


def tokens_of(model: ModelData, question: Question) -> list:
    """The tokens of a question: of text, as a line; anything else is a list of them."""
    if isinstance(question, str):
        return from_line(model, question)
    if not isinstance(question, Sequence | np.ndarray) or isinstance(question, bytes):
        raise ByheartError(
            f"a question is text or a list of tokens, such as ['a', 'b'], not {question!r}."
        )
    return list(map(plain, question))


def typed(model: ModelData, tokens: Sequence, lines: bool = False) -> str | None:
    """Text that the model reads as these tokens, if a person can type it; perhaps of lines."""
    words = [*map(str, tokens)] if model.kind == "string" else []
    for line in (" ".join(words), "".join(words), spelled(model, tokens)):
        with suppress(ByheartError):
            same = 0 < len(line) <= TYPED and tokens_of(model, line) == list(tokens)
            plain = line.replace("\n", "") if lines else line
            if same and plain.isprintable() and line.strip() == line:
                return line
    return None


def spelled(model: ModelData, tokens: Sequence) -> str:
    """What the model's own tokenizer makes of tokens; nothing without one."""
    content = model.record.tokenizer
    join = None if content is None else opened(content, "the model's tokenizer").text
    return "" if join is None else join([*map(str, tokens)])


def from_words(model: ModelData, words: Sequence[str]) -> list:
    if model.kind != "string" or _cut(model) is not None:
        return from_line(model, " ".join(words))
    known = set(model.tokens or ())
    return [token for word in words for token in ([word] if word in known else word.split())]


def from_line(model: ModelData, line: str) -> list:
    """Text as the model's data was cut, or tokens apart, or JSON lists; numbers may be vectors."""
    cut = _cut(model)
    if model.kind == "string" and cut is not None:
        return cut(line)
    tokens = _json_tokens(line, model.kind) if line.lstrip().startswith("[") else None
    if tokens is None:
        words = line.split() if model.kind == "string" else re.split(r"[\s,]+", line.strip())
        tokens = words if model.kind == "string" else [_number(word) for word in words]
        size = model.network.input.dimension if model.kind == "vector" else 0
        if size and len(tokens) % size == 0:
            tokens = [tokens[i : i + size] for i in range(0, len(tokens), size)]
    return checked(model, tokens)


def _cut(model: ModelData) -> text.Tokenize | None:
    """How the model's text was cut into tokens; None if it came from a file of tokens."""
    loading = stored(model)
    unit, tokenizer = loading.get("unit", "word"), loading.get("tokenizer")
    if model.claim.texts:
        tokenizer = tokenizer or KEPT  # whatever the folder says
    elif not {"unit", "tokenizer"} & loading.keys():
        return None
    split = text.tokenize(unit) if tokenizer is None else tokenizer_of(model).split
    if "numeric" not in loading:
        return split
    whole = keeps_numbers(loading["numeric"], unit, tokenizer)
    mark = loading.get("between")

    def cells(line: str) -> list[str]:
        """The tokens of a row; the mark between its columns stands alone."""
        parts = re.split(rf"(?<!\S){re.escape(mark)}(?!\S)", line) if mark else [line]
        return joined((cell_tokens(cell, split, whole) for cell in parts), mark)

    return cells


def tokenizer_of(model: ModelData) -> Tokenizer:
    """The tokenizer that split the model's text. Its folder holds it; no other path is opened."""
    content = model.record.tokenizer
    if content is None:
        raise ByheartError(
            "the model's text was split by a tokenizer, which its folder does not hold; "
            "copy that tokenizer.json into the folder."
        )
    return opened(content, "the model's tokenizer.json")


def written(model: ModelData, tokens: Sequence[str]) -> str | None:
    """The text that these tokens make up; None if they do not say what stands between them."""
    loading = stored(model)
    if "tokenizer" in loading or model.claim.texts:
        decode = tokenizer_of(model).text
        return None if decode is None else decode(list(tokens))
    return "".join(tokens) if loading.get("unit") in text.WHOLE else None


def _json_tokens(line: str, kind: str) -> list | None:
    """JSON values one after another, or the items of one list; None if it is not JSON."""
    decode, values, place = json.JSONDecoder().raw_decode, [], 0
    line = re.sub(r"[\s,]+$", "", line.strip())
    try:
        while place < len(line):
            value, place = decode(line, place)
            values.append(value)
            place += len(line[place:]) - len(line[place:].lstrip(", \t"))
    except (ValueError, RecursionError):
        return None
    whole = len(values) == 1 and (kind != "vector" or any(isinstance(x, list) for x in values[0]))
    return values[0] if whole else values


def _number(word: str) -> int | float:
    for read in (int, float):
        with suppress(ValueError):
            if "_" not in word:  # Python reads 1_0 as 10
                return read(word)
    raise ByheartError(f"this model reads numbers, and {word!r} is not one.")


def checked(model: ModelData, tokens: object) -> list:
    """The tokens, if they are of the kind that the model reads."""
    if not isinstance(tokens, list):
        raise ByheartError(f"an input is a list of tokens, not {_short(tokens)}.")
    for token in tokens:
        if not _fits(model.kind, token):
            wanted = {"string": "strings", "number": "numbers", "vector": "lists of numbers"}
            raise ByheartError(f"this model reads {wanted[model.kind]}, not {_short(token)}.")
    return tokens


def _fits(kind: str, token: object) -> bool:
    if kind == "string":
        return isinstance(token, str)
    if kind == "vector":
        return isinstance(token, list) and all(_fits("number", x) for x in token)
    return isinstance(token, int | float) and not isinstance(token, bool)


def _short(value: object) -> str:
    content = json.dumps(value, default=repr)
    return content if len(content) <= 40 else f"{content[:37]}..."


def lines_of(path: str | Path, encoding: str = "utf-8") -> list[tuple[str, str]]:
    """The lines of a file that are not blank, each after its place."""
    try:
        with opened_file(Path(path), ".jsonl") as raw:
            lines, path = raw.file.read().decode(encoding).split("\n"), raw.name
    except OSError as error:
        raise ByheartError(f"{path} cannot be read: {error.strerror or error}.") from error
    except UnicodeDecodeError:
        raise ByheartError(f"{path} is not UTF-8; save it as UTF-8.") from None
    return [(f"{path}, line {i}", line) for i, line in enumerate(lines, 1) if line.strip()]


def values_of(path: str | Path, example: str, encoding: str = "utf-8") -> Iterator[tuple[str, Any]]:
    """The JSON values of a file, one per line, and where each stands."""
    decode = decoder().decode
    for place, line in lines_of(path, encoding):
        try:
            if line.startswith("\ufeff"):
                raise Fault("a byte order mark stands before the JSON; save the file without")
            yield place, decode(line)
        except Fault as fault:
            raise ByheartError(f"{place}: {fault}.") from None
        except (ValueError, RecursionError):
            raise ByheartError(f"{place}: not JSON; write {example}.") from None


def from_file(model: ModelData, path: str | Path) -> list[list]:
    """The inputs of a .jsonl file: objects with the key "input", or bare lists."""
    inputs = []
    for place, value in values_of(path, EXAMPLE):
        if isinstance(value, dict):
            if "input" not in value:
                raise ByheartError(f'{place}: no key "input"; write {EXAMPLE}.')
            value = value["input"]
        try:
            inputs.append(checked(model, value))
        except ByheartError as error:
            raise ByheartError(f"{place}: {error.message.marked}") from None
    return inputs
