"""Documents to predictions: every token but a document's first, after the tokens before it."""

from collections.abc import Sequence
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..dataset import Dataset, Ints
from ..errors import ByheartError
from ..numbering import number
from ..ragged import offsets, take
from . import text
from .window import Corpus, smallest_window

LARGEST = 1 << 30  # token numbers of all contexts together
SHOWN = 8


def read_text(
    path: Path,
    unit: str,
    tokenizer: str | Path | None,
    documents: str,
    length: int | None,
    window: int | str | None,
) -> Dataset:
    """The predictions of a .txt file."""
    content = text.read_text(path)
    rule = text.document_rule(content) if documents == "auto" else documents
    if rule == "separator" and text.SEPARATOR not in content:
        raise ByheartError(f"{path} has no {text.SEPARATOR} line; use --documents auto.")
    cut = text.tokenize(unit, tokenizer)
    parts = [cut(document)[:length] for document in text.split(content, rule)]
    words = sorted(set(chain.from_iterable(parts)))
    place = {word: i for i, word in enumerate(words)}
    ids = np.array([place[word] for word in chain.from_iterable(parts)], np.int64)
    lengths = np.array(list(map(len, parts)), np.int64)
    unit_options = {"unit": unit} if tokenizer is None else {"tokenizer": str(tokenizer)}
    loading = {**unit_options, "documents": rule, "length": length, "window": window}
    return _predictions(path, words, ids, lengths, loading)


def read_ids(
    path: Path, dtype: str, separator: int | None, length: int | None, window: int | str | None
) -> Dataset:
    """The predictions of a .bin file; the separator ends a document and belongs to none."""
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
    values = np.memmap(path, np.dtype(dtype).newbyteorder("<"), "r")
    starts, lengths = _between(values, separator)
    lengths = lengths if length is None else np.minimum(lengths, length)
    tokens, ids = number(take(values, starts, lengths))
    loading = {"dtype": dtype, "separator": separator, "length": length, "window": window}
    return _predictions(path, tokens.tolist(), ids, lengths, loading)


def _between(values: NDArray, separator: int | None) -> tuple[Ints, Ints]:
    """Start and length of every stretch between separators that is not empty."""
    marks = np.flatnonzero(values == separator) if separator is not None else np.zeros(0, np.int64)
    starts = np.concatenate([[0], marks + 1])
    lengths = np.concatenate([marks, [len(values)]]) - starts
    return starts[lengths > 0], lengths[lengths > 0]


def _predictions(path: Path, names: Sequence, ids: Ints, lengths: Ints, loading: dict) -> Dataset:
    """The dataset of all predictions; `names` are the tokens behind the ids."""
    kept = lengths >= 2
    if not kept.any():
        raise ByheartError(f"{path} holds no document of two tokens or more; nothing follows.")
    ids = take(ids, offsets(lengths)[:-1][kept], lengths[kept])
    starts = offsets(lengths[kept])
    back = np.arange(len(ids)) - np.repeat(starts[:-1], lengths[kept])
    window = loading["window"]
    if window == "auto":
        window = _smallest(path, names, Corpus(ids, back))
    options = {name: value for name, value in loading.items() if value is not None}
    options |= {} if window is None else {"window": window}
    return _expand(path, names, Corpus(ids, back), window, int((~kept).sum()), options)


def _smallest(path: Path, names: Sequence, corpus: Corpus) -> int:
    window = smallest_window(corpus)
    if isinstance(window, int):
        return window
    one, other = window
    context = [names[i] for i in corpus.ids[one - corpus.back[one] : one]]
    shown = f"{'... ' if len(context) > SHOWN else ''}{context[-SHOWN:]}"
    raise ByheartError(
        f"{path}: no window is without conflicts, since even the whole beginning {shown} of a "
        f"document is followed by {names[corpus.ids[one]]!r} and by {names[corpus.ids[other]]!r}; "
        "give --window a number and use --on-conflict or a method that stores distributions."
    )


def _expand(
    path: Path, names: Sequence, corpus: Corpus, window: int | None, skipped: int, loading: dict
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
