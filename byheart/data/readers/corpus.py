"""Documents to predictions: every token except a document's first, after the tokens before it.

The smallest window, that is how many tokens of context determine the next one, is found like this.
Let class_k(p) number the last k tokens before place p, padded at a document's beginning. Then
class_{a+b}(p) is the pair (class_a(p), class_b(p - a)), so a window of any size takes only
doublings and additions, each one sort. Equal contexts of k + 1 tokens are equal contexts of k, so
once conflicts are gone they stay gone, and the smallest window is found by bisection.
"""

import os
from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import ByheartError, Message
from ...machine.memory import available, require
from ...machine.tables import plural
from ..arrays import Ints, number, offsets, pieces, take
from ..dataset import Dataset
from ..documents import Documents
from ..layout import LISTED, Layout, file_layout, hashed, no_contexts
from . import text
from .raw import COMPRESSED, Raw, ending, holds_text, opened
from .tokenizers import tokenizer_of

EVERY = "*"
WIDE = ("utf-16", "utf-32")  # encodings in which NUL bytes are usual
LARGEST = 1 << 36  # token numbers of all contexts together
AUTO_BYTES = 100  # of memory per token, to find the smallest window
AUTO = 5  # bytes of memory per token of all contexts, to build and prove, as docs/texts.md measures
ENOUGH = 0.01  # of the places, which a smaller window may leave with several continuations
SHOWN = 8
BEGINNINGS = 10_000  # first tokens of documents that a dataset lists
Joined = Callable[[list[str]], str]


@dataclass(frozen=True)
class Corpus:
    """Documents one after another. back[p] is the number of tokens before p in its document."""

    ids: Ints
    back: Ints

    def nearest(self) -> Ints:
        """class_1; 0 is the class of padding alone."""
        return np.where(self.back > 0, np.roll(self.ids, 1) + 1, 0)

    def longer(self, classes: Ints, size: int, more: Ints) -> Ints:
        """class_{size + b} from class_size and more = class_b.

        A document's first place is all padding: the smallest pair (0, 0), so its number stays 0.
        """
        earlier = np.where(self.back > size, more[np.arange(len(more)) - size], 0)
        return number(classes * (int(more.max()) + 1) + earlier)[1]

    def torn(self, classes: Ints) -> Ints:
        """The places whose contexts are followed by several tokens."""
        places = np.flatnonzero(self.back > 0)
        _, pair = number(classes[places] * (int(self.ids.max()) + 1) + self.ids[places])
        several = np.zeros(int(classes.max()) + 1, np.int64)
        np.add.at(several, classes[places][np.unique(pair, return_index=True)[1]], 1)
        return places[several[classes[places]] > 1]

    def conflict(self, classes: Ints) -> tuple[int, int] | None:
        """Two places with equal contexts and different tokens, if there are any."""
        places = np.flatnonzero(self.back > 0)
        other = np.zeros(int(classes.max()) + 1, np.int64)
        other[classes[places]] = places
        seconds = other[classes[places]]
        unlike = np.flatnonzero(self.ids[places] != self.ids[seconds])
        return (int(places[unlike[0]]), int(seconds[unlike[0]])) if len(unlike) else None


def text_documents(raw: Raw, documents: str, include: Sequence[str] = (), **how: Any) -> Documents:
    """The documents of a file of text or of a folder of them, in numbers of its sorted words.

    Each document is followed by the number of words, which is one more than the largest number.
    The other options are those of `documents_of`.
    """
    if folder := raw.path.is_dir():
        stored, others = folder_texts(raw.path, include, raw.encoding)
    else:
        stored, others = [text.stored(raw)], []
    contents, rule = [text.unix(x.text) for x in stored], documents
    if documents == "auto":
        rule = "whole" if folder else text.document_rule(contents[0])
    if rule == "separator" and not any(text.SEPARATOR in content for content in contents):
        raise ByheartError(f"{raw.name} has no {text.SEPARATOR} line; use `documents='auto'`.")
    own = [text.split(content, rule) for content in contents]
    parts = [*chain.from_iterable(own)]
    files = (stored, [*map(len, own)])
    read = documents_of(raw.name, parts, rule=rule, files=files, **how)
    notes = text.tables(contents)
    if others:
        few = ", ".join(others[:SHOWN]) + (", ..." if len(others) > SHOWN else "")
        notes.append(f"{plural(len(others), 'file')} of the folder not read: {few}")
    elif raw.path.is_file() and ending(raw.path) != ".txt":
        notes.append("read as text, since its name does not say what it holds")
    notes += text.normalised([x.text for x in stored], parts, rule, read.loading.get("unit"))
    which = {"include": list(include) or [EVERY]} if include or others else {}
    loading, notes = {**read.loading, **which}, [*read.notes, *map(Message, notes)]
    return replace(read, loading=loading, notes=tuple(notes), unused=tuple(others))


def documents_of(
    source: str,
    parts: Sequence[str],
    unit: str,
    tokenizer: str | Path | None,
    length: int | None,
    window: int | str | None,
    rule: str = "whole",
    files: tuple[Sequence[text.Stored], Sequence[int]] | None = None,
) -> Documents:
    """The documents of these texts; `files`, if they stand in any, with how many are in each."""
    splitter = None if tokenizer is None else tokenizer_of(tokenizer, lambda: parts)
    cut = text.tokenize(unit) if splitter is None else splitter.split
    ids, words, empty, beyond = numbers_of(parts, cut, length)
    given = {"documents": rule, "length": length, "window": window}
    if splitter is None:
        unit = text.UNITS.get(unit, unit)
        notes = text.clauses(parts) if unit in text.OF_WORDS else []
        joined: Joined | None = "".join if unit in text.WHOLE else None
        own: dict[str, Any] = {
            "loading": {"unit": unit, **given},
            "notes": tuple(map(Message, notes)),
        }
    else:
        joined = splitter.text
        own = {"loading": {"tokenizer": str(tokenizer), **given}, "texts": tuple(parts)}
        own["tokenizer"] = splitter.content
    if files is not None and not beyond:
        own["layout"] = _layout(*files, ids, words, joined)
    own |= {"length": length, "skipped": empty, "beyond": beyond}
    return _windowed(Documents(source, ids, len(words), words, **own), window)


def _layout(
    stored: Sequence[text.Stored],
    counts: Sequence[int],
    ids: NDArray[np.uint32],
    words: Sequence[str],
    joined: Joined | None,
) -> Layout | None:
    """The layout of files without their documents' tokens; None if these do not stand there.

    counts  the documents of each file
    joined  tokens to the text that they make up; None if they leave out what stands between them
    """
    documents = iter(np.split(ids, np.flatnonzero(ids == len(words)) + 1))
    files = []
    for file, count in zip(stored, counts, strict=True):
        whole = [x[:-1].tolist() for x in islice(documents, count)]
        own = [[words[i] for i in x] for x in whole if len(x) > 1]
        pieces = own if joined is None else [[joined(x)] for x in own]
        found = file_layout(file.name, file.content, file.text, file.encoding, pieces)
        if found is None:
            return None
        files.append(found)
    return Layout(tuple(files))


def numbers_of(
    documents: Iterable[str], cut: text.Tokenize, length: int | None
) -> tuple[NDArray[np.uint32], tuple[str, ...], int, int]:
    """The tokens of documents in numbers of their sorted words, with one more after each document;

    the words, how many documents have no token, and how many tokens are beyond the length.
    """
    numbers: dict[str, int] = {}  # in the order of first appearance, from 1; 0 ends a document
    provisional, empty, beyond = array("I"), 0, 0
    for document in documents:
        whole = cut(document)
        tokens = whole[:length]
        empty += not tokens
        beyond += len(whole) - len(tokens)
        provisional.extend(numbers.setdefault(word, len(numbers) + 1) for word in tokens)
        provisional.append(0)
    words = tuple(sorted(numbers))
    place = np.empty(len(words) + 1, np.uint32)
    place[0] = len(words)
    place[[numbers[word] for word in words]] = np.arange(len(words))
    return place[np.frombuffer(provisional, np.uint32)], words, empty, beyond


def folder_files(
    folder: Path, include: Sequence[str] = (), encoding: str | None = None
) -> tuple[list[str], list[str]]:
    """The names of the files that are read in a folder and in those inside it, and of all others.

    The patterns are compared with the name in the folder, in lower case, with and without the
    ending of a compression. Others, whatever their names, are hidden files and those in hidden
    folders, links to folders, to nothing and to what is outside, and files with a NUL byte.
    """

    def refuse(error: OSError) -> None:
        raise error

    patterns, home = [x.lower() for x in include or [EVERY]], folder.resolve()
    wide = (encoding or "").lower().replace("_", "-").startswith(WIDE)

    def wanted(name: str) -> bool:
        stem, last = os.path.splitext(name.lower())
        names = (name.lower(), *([stem] if last in COMPRESSED else []))
        shown = not any(part.startswith(".") for part in name.split("/"))
        return shown and any(fnmatchcase(x, y) for x in names for y in patterns)

    def inside(path: Path) -> bool:
        return path.is_file() and (not path.is_symlink() or home in path.resolve().parents)

    files: list[str] = []
    others: list[str] = []
    for place, folders, names in os.walk(folder, onerror=refuse):
        links = [x for x in folders if os.path.islink(os.path.join(place, x))]
        for path in (Path(place, name) for name in (*names, *links)):
            name = path.relative_to(folder).as_posix()
            read = wanted(name) and inside(path) and (wide or holds_text(path))
            (files if read else others).append(name)
    return sorted(files, key=Path), sorted(others, key=Path)


def folder_texts(
    folder: Path, include: Sequence[str] = (), encoding: str | None = None
) -> tuple[list[text.Stored], list[str]]:
    """The texts of a folder and of those in it, by name; and the names of the files left out."""
    names, others = folder_files(folder, include, encoding)
    if not names:
        which = " or ".join(include) if include else "text"
        raise ByheartError(
            f"{folder} is a directory without {which} files; give a file, a folder of texts "
            "(`include=...` says which are read), or one that save_to_disk of Hugging Face "
            "datasets has written."
        )
    contents = []
    for name in names:
        with opened(folder / name, ".txt", encoding) as raw:
            contents.append(text.stored(raw, name))
    return contents, others


def id_documents(
    raw: Raw, dtype: str, separator: int | None, length: int | None, window: int | str | None
) -> Documents:
    """The documents of a .bin file; the separator ends a document and belongs to none."""
    count_ids(raw.name, raw.size(), dtype)
    if separator is not None and separator > np.iinfo(dtype).max:
        raise ByheartError(
            f"{raw.name}: `separator={separator}` is larger than every {dtype}; give one that fits."
        )
    ids = np.memmap(raw.file, np.dtype(dtype).newbyteorder("<"), "r")  # stays when it is closed
    loading = {"dtype": dtype, "separator": separator, "length": length, "window": window}
    return _windowed(Documents(raw.name, ids, separator, length=length, loading=loading), window)


def count_ids(name: str | Path, size: int, dtype: str) -> int:
    """How many token ids a .bin file of this size holds."""
    each = np.dtype(dtype).itemsize
    if size % each:
        raise ByheartError(
            f"{name} has {size} bytes, which is not a multiple of the {each} bytes of a {dtype}; "
            "give the right `dtype=...` or the whole file."
        )
    return size // each


def _windowed(documents: Documents, window: int | str | None) -> Documents:
    """The documents with their window; auto is the smallest without conflicts."""
    if window == "auto":
        require(AUTO_BYTES * len(documents.ids), documents.source, "`window='auto'`")
        names, corpus, _, _ = _corpus(documents)
        smallest = smallest_window(corpus)
        if not isinstance(smallest, int):
            one, other = smallest
            context = [names[i] for i in corpus.ids[one - corpus.back[one] : one]]
            shown = f"{'... ' if len(context) > SHOWN else ''}{context[-SHOWN:]}"
            parted = documents.loading.get("documents", "whole") != "whole"
            whole = "read a file as one text with `documents='whole'`, or " if parted else ""
            raise ByheartError(
                f"{documents.source}: every window has conflicts, since even the whole prefix "
                f"{shown} of a document is followed by {names[corpus.ids[one]]!r} and by "
                f"{names[corpus.ids[other]]!r}; {whole}give `window=...` a number and "
                "use `on_conflict=...`, or `method='one-layer'`, which stores distributions."
            )
        window = smallest
        if AUTO * smallest * len(corpus.ids) > available():
            window, torn = sufficient_window(corpus)
            before = [
                names[i] for i in corpus.ids[torn[0] - min(SHOWN, corpus.back[torn[0]]) : torn[0]]
            ]
            told = (
                f"contexts of {smallest:,} tokens would tell all places apart, and need more "
                f"memory than is available (`window={smallest}` tries it); the window is "
                f"{window}, which leaves {len(torn):,} of {len(corpus.ids):,} places with several "
                f"continuations, the first after {before}"
            )
            documents = replace(documents, notes=(*documents.notes, Message(told)))
    assert not isinstance(window, str)
    options = documents.loading | {"window": window}  # type: ignore[operator]
    options = {name: value for name, value in options.items() if value is not None}
    return replace(documents, window=window, loading=options)


def _corpus(documents: Documents) -> tuple[Sequence, Corpus, int, dict[str, int]]:
    """The tokens behind the ids, the documents of two tokens or more, and what is left out:

    how many documents without a prediction, and by which options how many predictions or tokens.
    """
    ids, separator, words = documents.ids, documents.separator, documents.words
    marks = np.flatnonzero(ids == separator) if separator is not None else np.zeros(0, np.int64)
    starts = np.concatenate([[0], marks + 1])
    lengths = np.concatenate([marks, [len(ids)]]) - starts
    starts, lengths = starts[lengths > 0], lengths[lengths > 0]
    uncut = lengths
    lengths = lengths if documents.length is None else np.minimum(lengths, documents.length)
    beyond, files = documents.beyond + int((uncut - lengths).sum()), len(documents.unused)
    separators = len(marks) if words is None else 0  # those of a text are not tokens of it
    left_out = {"length": beyond, "files": files, "separator": separators}
    kept = lengths >= 2
    if not kept.any():
        raise ByheartError(
            f"{documents.source} holds no document of two tokens or more, so there is nothing to "
            "predict; give longer documents."
        )
    tokens, numbers = number(take(ids, starts[kept], lengths[kept]))
    back = np.arange(len(numbers)) - np.repeat(offsets(lengths[kept])[:-1], lengths[kept])
    names = tokens.tolist() if words is None else [words[i] for i in tokens]
    skipped = documents.skipped + int((~kept).sum())
    return names, Corpus(numbers, back), skipped, {k: x for k, x in left_out.items() if x}


def predictions(documents: Documents) -> Dataset:
    """The dataset of all predictions, each with its context written out."""
    names, corpus, skipped, left_out = _corpus(documents)
    places = np.flatnonzero(corpus.back > 0)
    lengths = corpus.back[places]
    lengths = lengths if documents.window is None else np.minimum(lengths, documents.window)
    if int(lengths.sum()) > LARGEST:
        raise ByheartError(
            f"{documents.source}: the contexts would hold {int(lengths.sum())} tokens, more than "
            f"{LARGEST}; a smaller `window=...` or `length=...` shortens them."
        )
    used = np.zeros(len(names), bool)  # a document's last token may be in no context
    used[corpus.ids[places - 1]] = True
    label_numbers, labels = number(corpus.ids[places])
    first = np.unique(corpus.ids[corpus.back == 0])
    ids = (np.cumsum(used, dtype=np.int32) - np.int32(1))[corpus.ids]
    kept = [names[i] for i in np.flatnonzero(used).tolist()]
    words = isinstance(kept[0], str)
    return Dataset(
        kind="string" if words else "number",
        tokens=tuple(kept) if words else np.array(kept, np.int64)[:, None],
        ids=pieces(ids, places - lengths, lengths),
        starts=offsets(lengths),
        labels=labels.astype(np.int32),
        label_names=tuple(names[i] for i in label_numbers),
        counts=np.ones(len(places), np.int64),
        skipped=skipped,
        notes=documents.notes,
        tokenizer=documents.tokenizer,
        texts=documents.texts,
        loading=dict(documents.loading),
        left_out=left_out,
        unused=documents.unused,
        beginnings=tuple(names[i] for i in first) if len(first) <= BEGINNINGS else None,
        layout=_with_documents(documents, names, corpus),
    )


def _with_documents(documents: Documents, names: Sequence, corpus: Corpus) -> Layout:
    """The layout with the documents of two tokens or more: how they begin, and where they end."""
    begin = np.flatnonzero(corpus.back == 0)
    end, window = np.append(begin[1:], len(corpus.ids)), documents.window
    firsts = tuple(names[i] for i in corpus.ids[begin].tolist())
    endings = set()
    if window is not None and len(begin) <= LISTED:
        for i in np.flatnonzero(no_contexts(corpus.ids, corpus.back, window)):
            tokens = corpus.ids[max(begin[i], end[i] - window) : end[i]]
            endings.add(hashed([names[x] for x in tokens.tolist()]))
    layout = documents.layout or Layout(())
    lengths = tuple((end - begin).tolist())
    return replace(layout, firsts=firsts, lengths=lengths, endings=frozenset(endings))


def sufficient_window(corpus: Corpus) -> tuple[int, Ints]:
    """A power of two that leaves few places with several continuations, and these places."""
    size, classes = 1, corpus.nearest()
    while len(torn := corpus.torn(classes)) > ENOUGH * len(corpus.ids):
        if 2 * AUTO * size * len(corpus.ids) > available():
            break
        classes = corpus.longer(classes, size, classes)
        size *= 2
    return size, torn


def smallest_window(corpus: Corpus) -> int | tuple[int, int]:
    """The smallest window without conflicts, or two places with equal prefixes."""
    powers, size = [corpus.nearest()], 1
    while conflict := corpus.conflict(powers[-1]):
        if size >= corpus.back.max():
            return conflict
        powers.append(corpus.longer(powers[-1], size, powers[-1]))
        size *= 2
    if size == 1:
        return 1
    # One more than the largest window with conflicts, which is summed from powers of two, the
    # greatest first, as a binary number is; powers[i] is class_(2^i), and the last has none.
    size, classes = 1 << (len(powers) - 2), powers[-2]
    for i in range(len(powers) - 3, -1, -1):
        longer = corpus.longer(classes, size, powers[i])
        if corpus.conflict(longer):
            size, classes = size + (1 << i), longer
    return size + 1
