"""Documents to predictions: every token but a document's first, after the tokens before it."""

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...errors import ByheartError
from ...machine.memory import require
from ..arrays import number, offsets, take
from ..dataset import Dataset, Ints
from ..documents import Documents
from . import text
from .window import Corpus, smallest_window

LARGEST = 1 << 30  # token numbers of all contexts together
AUTO_BYTES = 100  # of memory a token, to find the smallest window
SHOWN = 8


def read_text(path: Path, **options) -> Dataset:
    """The predictions of a .txt file."""
    return _predictions(text_documents(path, **options))


def read_ids(path: Path, **options) -> Dataset:
    """The predictions of a .bin file."""
    return _predictions(id_documents(path, **options))


def text_documents(
    path: Path,
    unit: str,
    tokenizer: str | Path | None,
    documents: str,
    length: int | None,
    window: int | str | None,
) -> Documents:
    """The documents of a .txt file."""
    content = text.read_text(path)
    rule = text.document_rule(content) if documents == "auto" else documents
    if rule == "separator" and text.SEPARATOR not in content:
        raise ByheartError(f"{path} has no {text.SEPARATOR} line; use --documents auto.")
    cut = text.tokenize(unit, tokenizer)
    parts = (cut(document)[:length] for document in text.split(content, rule))
    words, ids, empty = _numbered(parts)
    unit_options = {"unit": unit} if tokenizer is None else {"tokenizer": str(tokenizer)}
    loading = {**unit_options, "documents": rule, "length": length, "window": window}
    return _windowed(
        Documents(str(path), ids, len(words), words, length, None, empty, loading), window
    )


def _numbered(parts: Iterable[list[str]]) -> tuple[tuple[str, ...], NDArray[np.uint32], int]:
    """The sorted words, the documents in their numbers, and how many documents have no word.

    Each document is followed by one number more than there are words.
    """
    numbers: dict[str, int] = {}
    ids, empty = array("I"), 0
    for part in parts:
        empty += not part
        ids.extend(numbers.setdefault(word, len(numbers) + 1) for word in part)
        ids.append(0)
    words = tuple(sorted(numbers))
    place = np.empty(len(words) + 1, np.uint32)
    place[0] = len(words)
    place[[numbers[word] for word in words]] = np.arange(len(words))
    return words, place[np.frombuffer(ids, np.uint32)], empty


def id_documents(
    path: Path, dtype: str, separator: int | None, length: int | None, window: int | str | None
) -> Documents:
    """The documents of a .bin file; the separator ends a document and belongs to none."""
    size = np.dtype(dtype).itemsize
    if path.stat().st_size % size:
        raise ByheartError(
            f"{path} has {path.stat().st_size} bytes, which is no multiple of the {size} bytes of "
            f"a {dtype}; give the right --dtype or the whole file."
        )
    if separator is not None and separator > np.iinfo(dtype).max:
        raise ByheartError(
            f"{path}: no {dtype} is the --separator {separator}; give one that fits."
        )
    ids = np.memmap(path, np.dtype(dtype).newbyteorder("<"), "r")
    loading = {"dtype": dtype, "separator": separator, "length": length, "window": window}
    return _windowed(Documents(str(path), ids, separator, None, length, None, 0, loading), window)


def _windowed(documents: Documents, window: int | str | None) -> Documents:
    """The documents with their window; auto is the smallest without conflicts."""
    if window == "auto":
        require(AUTO_BYTES * len(documents.ids), documents.source, "--window auto")
        window = _smallest(documents.source, *_corpus(documents)[:2])
    assert not isinstance(window, str)
    options = documents.loading | {"window": window}  # type: ignore[operator]
    options = {name: value for name, value in options.items() if value is not None}
    return replace(documents, window=window, loading=options)


def _between(values: NDArray, separator: int | None) -> tuple[Ints, Ints]:
    """Start and length of every stretch between separators that is not empty."""
    marks = np.flatnonzero(values == separator) if separator is not None else np.zeros(0, np.int64)
    starts = np.concatenate([[0], marks + 1])
    lengths = np.concatenate([marks, [len(values)]]) - starts
    return starts[lengths > 0], lengths[lengths > 0]


def _corpus(documents: Documents) -> tuple[Sequence, Corpus, int]:
    """The tokens behind the ids, the documents of two tokens or more, how many are left out."""
    starts, lengths = _between(documents.ids, documents.separator)
    lengths = lengths if documents.length is None else np.minimum(lengths, documents.length)
    kept = lengths >= 2
    if not kept.any():
        raise ByheartError(
            f"{documents.source} holds no document of two tokens or more; nothing follows."
        )
    tokens, ids = number(take(documents.ids, starts[kept], lengths[kept]))
    back = np.arange(len(ids)) - np.repeat(offsets(lengths[kept])[:-1], lengths[kept])
    words = documents.words
    names = tokens.tolist() if words is None else [words[i] for i in tokens]
    return names, Corpus(ids, back), documents.skipped + int((~kept).sum())


def _predictions(documents: Documents) -> Dataset:
    """The dataset of all predictions."""
    names, corpus, skipped = _corpus(documents)
    return _expand(
        documents.source, names, corpus, documents.window, skipped, dict(documents.loading)
    )


def _smallest(path: str, names: Sequence, corpus: Corpus) -> int:
    window = smallest_window(corpus)
    if isinstance(window, int):
        return window
    one, other = window
    context = [names[i] for i in corpus.ids[one - corpus.back[one] : one]]
    shown = f"{'... ' if len(context) > SHOWN else ''}{context[-SHOWN:]}"
    raise ByheartError(
        f"{path}: no window is without conflicts, since even the whole beginning {shown} of a "
        f"document is followed by {names[corpus.ids[one]]!r} and by {names[corpus.ids[other]]!r}; "
        "give --window a number and use --on-conflict, or --method one-layer, which stores "
        "distributions."
    )


def _expand(
    path: str, names: Sequence, corpus: Corpus, window: int | None, skipped: int, loading: dict
) -> Dataset:
    """Every place with its context written out."""
    places = np.flatnonzero(corpus.back > 0)
    lengths = corpus.back[places]
    lengths = lengths if window is None else np.minimum(lengths, window)
    if int(lengths.sum()) > LARGEST:
        raise ByheartError(
            f"{path}: the contexts would hold {int(lengths.sum())} tokens, more than {LARGEST}; "
            "use --window or --length."
        )
    used = np.zeros(len(names), bool)  # a document's last token may be in no context
    used[corpus.ids[places - 1]] = True
    label_numbers, labels = number(corpus.ids[places])
    ids = (np.cumsum(used, dtype=np.int32) - np.int32(1))[corpus.ids]
    return _dataset(
        tokens=[names[i] for i in np.flatnonzero(used).tolist()],
        ids=take(ids, places - lengths, lengths),
        starts=offsets(lengths),
        labels=labels.astype(np.int32),
        label_names=tuple(names[i] for i in label_numbers),
        counts=np.ones(len(places), np.int64),
        skipped=skipped,
        loading=loading,
    )


def _dataset(tokens: list, **fields) -> Dataset:
    if isinstance(tokens[0], str):
        return Dataset(kind="string", tokens=tuple(tokens), **fields)
    return Dataset(kind="number", tokens=np.array(tokens, np.int64)[:, None], **fields)
