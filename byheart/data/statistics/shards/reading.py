"""The shards of a folder: which they are, and their tokens as numbers that all shards share.

A .bin file holds numbers and is used where it lies. The documents of a .txt or .parquet file are
split into tokens and numbered by the words of the shard; when all shards are read, their words are
sorted together, and every shard gets the numbers of that order.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....errors import ByheartError
from ....machine.files import replacing
from ...load import LOADING
from ...readers import raw, text
from ...readers.corpus import count_ids, numbers_of
from ...readers.tokenizers import tokenizer_of

TAKEN = {  # options of `load` that say how shards are read
    ".bin": ("dtype", "separator", "length", "window"),
    ".parquet": ("input", "unit", "tokenizer", "length", "window"),
    ".txt": ("unit", "tokenizer", "documents", "length", "window"),
}
ROWS = 1 << 13  # of a .parquet file that are read at once


@dataclass(frozen=True)
class Shard:
    """A file; `changed` is when, in nanoseconds, so that a run is not resumed on other data."""

    name: str
    path: str
    bytes: int
    changed: int
    tokens: int  # of a .bin file; 0 where it is not known yet


@dataclass(frozen=True)
class Reading:
    """How all shards are read; the options are those of `load`."""

    kind: str
    dtype: str = "uint16"
    separator: int | None = None
    length: int | None = None
    window: int | None = None
    unit: str = "word"
    tokenizer: str | None = None
    documents: str = "whole"
    input: str | None = None

    @property
    def in_place(self) -> bool:
        return self.kind == ".bin"


def listed(folder: Path, loading: Mapping[str, Any]) -> tuple[tuple[Shard, ...], Reading]:
    """The shards of a folder and of the folders in it, by name, and how they are read."""
    if not folder.is_dir():
        raise ByheartError(f"{folder} is not a directory; give a folder of shards.")
    paths = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    endings = {raw.ending(path) for path in paths}
    kinds = [kind for kind in TAKEN if kind in endings]
    if len(kinds) != 1:
        has = f"both {' and '.join(kinds)} files" if kinds else f"no {', '.join(TAKEN)} files"
        raise ByheartError(f"{folder} has {has}; give a folder of shards of one kind.")
    reading, shards = _reading(kinds[0], loading), []
    for path in paths:
        if raw.ending(path) != reading.kind:
            continue
        facts, tokens = path.stat(), 0
        if reading.in_place:
            if path.suffix.lower() != ".bin":
                raise ByheartError(
                    f"{path} is compressed; decompress .bin shards, which are mapped."
                )
            tokens = count_ids(path, facts.st_size, reading.dtype)
        name = path.relative_to(folder).as_posix()
        shards.append(Shard(name, str(path.resolve()), facts.st_size, facts.st_mtime_ns, tokens))
    return tuple(shards), reading


def _reading(kind: str, loading: Mapping[str, Any]) -> Reading:
    """The options, checked as `load` does; ByheartError if one does not apply."""
    chosen: dict[str, Any] = {}
    for option in LOADING:
        value = loading.get(option.name, option.default)
        if value == option.default or option.several and not value:
            continue
        if option.name not in TAKEN[kind]:
            takes = ", ".join(f"`{x}=...`" for x in TAKEN[kind])
            raise ByheartError(
                f"`{option.name}=...` does not apply here; {kind} shards take {takes}."
            )
        least = 2 if option.name == "length" else option.least
        chosen[option.name] = option.checked(value, least)
    if chosen.get("window") == "auto":
        raise ByheartError("`window='auto'` needs the corpus in one memory; give window a number.")
    if "tokenizer" in chosen:
        if str(chosen["tokenizer"]).startswith(("bpe:", "phrases")):
            raise ByheartError(
                "`tokenizer='bpe:...'` is trained on a whole text; give shards a tokenizer.json."
            )
        if "unit" in chosen:
            raise ByheartError(
                "`tokenizer=...` and `unit=...` exclude each other; give one of them."
            )
        chosen["tokenizer"] = str(Path(chosen["tokenizer"]).resolve())
    if kind == ".parquet":
        columns = chosen.pop("input", ())
        columns = (columns,) if isinstance(columns, str) else tuple(columns)
        if len(columns) != 1:
            raise ByheartError(
                "`input=...` must name the one column of .parquet shards that holds documents: "
                "texts, or lists of token numbers."
            )
        chosen["input"] = columns[0]
    return Reading(kind, **chosen)


def tokens_of(shard: Shard, reading: Reading) -> tuple[NDArray, tuple[str, ...] | None, int]:
    """The tokens of a .txt or .parquet shard: numbers with a mark after each document,

    the words that they number (None: they are the tokens, plus 1, and 0 is the mark), and how many
    documents have no token. The mark of words is how many there are.
    """
    if reading.kind == ".txt":
        with raw.opened(Path(shard.path), ".txt") as file:
            cells: Iterator[Any] = iter(text.split(text.read_text(file), reading.documents))
    else:
        cells = _cells(shard, str(reading.input))
    first = next(cells, "")
    documents, empty = chain([first], cells), 0
    if isinstance(first, list):  # each number plus 1, and 0 after each list
        parts = []
        for cell in documents:
            if not isinstance(cell, list) or not all(
                type(x) is int and 0 <= x < 2**32 - 1 for x in cell
            ):
                raise ByheartError(
                    f"{shard.name}: a document must be a text or a list of token numbers from 0 "
                    f"to 4294967294, and one is {str(cell)[:60]!r}."
                )
            empty += not cell
            parts.append(np.array([*cell[: reading.length], -1], np.int64) + 1)
        return np.concatenate(parts).astype(np.uint32), None, empty
    cut = text.tokenize(reading.unit)
    if reading.tokenizer is not None:
        cut = tokenizer_of(reading.tokenizer, lambda: []).split

    def texts() -> Iterator[str]:
        for cell in documents:
            if not isinstance(cell, str):
                raise ByheartError(
                    f"{shard.name}: column {reading.input!r} must hold texts, or lists of token "
                    f"numbers, and one cell is {str(cell)[:60]!r}."
                )
            if cell.strip():  # as .txt files have no document of white space
                yield cell

    ids, words, empty, _ = numbers_of(texts(), cut, reading.length)
    return ids, words, empty


def _cells(shard: Shard, column: str) -> Iterator[Any]:
    """The documents of a .parquet file, a few thousand at a time in memory; null ones are not."""
    library = raw.arrow(shard.path)
    from pyarrow import parquet

    with raw.readable(shard.name, errors=(library.ArrowException, OSError)):
        file = parquet.ParquetFile(shard.path)
        names = file.schema_arrow.names
        if column not in names:
            raise ByheartError(f"{shard.name} has no column {column!r}; it has {', '.join(names)}.")
        for batch in file.iter_batches(ROWS, columns=[column]):
            batch.validate(full=True)
            yield from (cell for cell in batch.column(0).to_pylist() if cell is not None)


def numbered(work: Path, answers: Sequence[Mapping[str, Any]]) -> int | None:
    """How many words the shards have, sorted in words.json; None if they all hold numbers."""
    kinds = {answer["words"] for answer in answers if answer["tokens"]}
    if len(kinds) > 1:
        raise ByheartError("some shards hold texts and others token numbers; give one kind.")
    if kinds != {True}:
        return None
    words: set[str] = set()
    for i in range(len(answers)):
        words.update(json.loads((work / "reading" / f"{i:06}.words.json").read_text()))
    with replacing(work / "words.json") as out:
        out.write(json.dumps(sorted(words)).encode())
    return len(words)
