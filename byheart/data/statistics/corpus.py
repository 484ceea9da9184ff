"""The counts of a corpus, taken in place: no context is written out.

A document of l tokens has l - 1 contexts, its prefixes. With a window of W tokens, prefixes shorter
than W are contexts and so is every stretch of W tokens; the two never are equal, so they are
counted one after the other.

Memory beside the corpus, in bytes per document: 5 for its place and for the length that
distinguishes it; while ordered contexts are counted, 4 for the order of documents and up to 14 more
if all begin alike; then, these forgotten, 8 for a hash and 3 for keys, up to 20 more if most
contexts are equal. Windows are counted in parts, by the hash of their context, as they are many.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import ByheartError
from ...machine.memory import require
from ..documents import Documents
from .multisets import Hashes, key_of, multisets, random_words
from .pairs import compiled, counted, empty, inlined
from .refine import CONFLICTS, IN_CONFLICT, PREDICTIONS, RIGHT, SUMS, Rows, ordered
from .summary import Conflicts, Statistics, derived

PARTS = 16  # of the windows of a large corpus
SMALL = 1 << 20  # windows that are counted all at once
ENDLESS = 1 << 62  # a length or a window that no document reaches
BLOCK = 1 << 22


def statistics(documents: Documents, epsilons: Sequence[float]) -> Statistics:
    """The statistics of the corpus; ByheartError if there is nothing to predict, or no memory."""
    source, (documents, numbers) = documents.source, _dense(documents)
    ids = np.asarray(documents.ids).view()
    ids.flags.writeable = False  # as a memory map's: one compiled version serves both
    vocabulary = int(ids.max()) + 1 if len(ids) else 1
    in_context, as_label = np.zeros(vocabulary, np.bool_), np.zeros(vocabulary, np.int64)
    separator = -1 if documents.separator is None else documents.separator
    length, window = documents.length or ENDLESS, documents.window or ENDLESS
    corpus = survey(ids, separator, length, window, in_context, as_label)
    if not corpus.documents:
        raise ByheartError(
            f"{source} holds no document of two tokens or more, so there is nothing to predict; "
            "give longer documents."
        )
    if np.count_nonzero(in_context | (as_label > 0)) < 2:
        raise ByheartError(
            f"{source} holds one token again and again, so there is nothing to distinguish; give "
            "a corpus of two different tokens or more."
        )
    vectors = np.flatnonzero(in_context)[:, None]
    if documents.words is not None:  # a network reads a word as its number, counted from 1
        vectors = np.arange(1, len(vectors) + 1)[:, None]
    elif numbers is not None:
        vectors = numbers[vectors].astype(np.int64)

    words, longest = random_words(vocabulary), corpus.longest - 1
    parts = PARTS if corpus.predictions > SMALL else 1  # a power of two
    windows, sizes = (ids, separator, length, window, words, parts), np.zeros(parts, np.int64)
    if longest >= window:
        visit_windows(*windows, -1, np.empty(0, np.uint32), np.empty(0, np.uint64), sizes)
    most = min(longest, window - 1)
    rows = max(corpus.documents if most else 0, int(sizes.max()))
    if rows >= 2**31:
        raise ByheartError(f"{source}: {rows} documents are more than 2^31; give a part of them.")
    place = np.dtype(np.uint32 if len(ids) < 2**32 else np.int64)
    row = place.itemsize + _apart_type(most + 1)().itemsize + 28  # see the head of this file
    require(rows * row + vocabulary * 32, source, "counting its contexts")
    sums, pairs, in_sets = np.zeros(SUMS, np.int64), empty(), np.zeros(2, np.int64)

    def count(starts: NDArray, least: int, most: int, hashes: Hashes) -> None:
        """Count the contexts of some rows, from the least to the most tokens."""
        nonlocal sums, pairs, in_sets
        kind = _apart_type(most + 1)
        apart: NDArray = np.full(len(starts), np.iinfo(kind).max, kind)
        rows = Rows(ids, separator, starts, apart, least, most)
        more, pairs = ordered(rows, vocabulary, pairs)
        sums, in_sets = sums + more, in_sets + multisets(rows, words, hashes)

    if most:
        starts: NDArray = np.empty(corpus.documents, place)
        document_starts(ids, separator, starts)
        count(starts, 1, most, np.zeros(len(starts), np.uint64))
    for part in np.flatnonzero(sizes):
        starts, hashes = np.empty(sizes[part], place), np.empty(sizes[part], np.uint64)
        visit_windows(*windows, part, starts, hashes, np.zeros(parts, np.int64))
        count(starts, window, window, hashes)
    once = corpus.predictions - int(sums[PREDICTIONS])  # contexts seen once
    return derived(
        np.concatenate([counted(pairs), [[1, 0, once]]]),
        vectors,
        once + int(sums[RIGHT]),
        as_label[as_label > 0],
        epsilons,
        sequences=corpus.predictions,
        tokens=corpus.tokens,
        multisets=int(in_sets[0]),
        labels=int(np.count_nonzero(as_label)),
        conflicts=Conflicts(int(sums[CONFLICTS]), int(sums[IN_CONFLICT]), int(in_sets[1])),
        skipped=documents.skipped + corpus.skipped,
    )


def _dense(documents: Documents) -> tuple[Documents, NDArray | None]:
    """The documents with ids that can index a table, and the ids behind them if changed."""
    ids = documents.ids
    if ids.itemsize == 2 or int(ids.max()) < len(ids) // 4 + 2**16:
        return documents, None
    numbers = np.unique(ids)
    dense = np.empty(len(ids), np.uint32)
    for a in range(0, len(ids), BLOCK):
        dense[a : a + BLOCK] = np.searchsorted(numbers, ids[a : a + BLOCK])
    mark = np.flatnonzero(numbers == documents.separator)
    return replace(documents, ids=dense, separator=int(mark[0]) if len(mark) else None), numbers


def _apart_type(tokens: int) -> type:
    return np.uint8 if tokens < 255 else np.uint32


class Survey(NamedTuple):
    """Documents of two tokens or more, shorter ones, the longest; predictions and their tokens."""

    documents: int
    skipped: int
    longest: int
    predictions: int
    tokens: int


@inlined
def next_document(ids, separator, at):
    """(begin, end) of the first document that begins at `at` or later; begin = end: none."""
    while at < len(ids) and ids[at] == separator:
        at += 1
    end = at
    while end < len(ids) and ids[end] != separator:
        end += 1
    return at, end


@compiled
def survey(ids, separator, length, window, in_context, as_label):
    """Count a corpus: in_context is set for tokens of contexts, as_label counts predictions."""
    documents, skipped, longest, predictions, tokens = 0, 0, 0, 0, 0
    at, end = next_document(ids, separator, 0)
    while at < end:
        size = min(end - at, length)
        if size < 2:
            skipped += 1
        else:
            documents += 1
            longest = max(longest, size)
            predictions += size - 1
            short = min(size - 1, window)
            tokens += short * (short + 1) // 2 + (size - 1 - short) * window
            for i in range(at + 1, at + size):
                in_context[ids[i - 1]] = True
                as_label[ids[i]] += 1
        at, end = next_document(ids, separator, end)
    return Survey(documents, skipped, longest, predictions, tokens)


@compiled
def document_starts(ids, separator, starts):
    found = 0
    at, end = next_document(ids, separator, 0)
    while at < end:
        if end - at >= 2:
            starts[found] = at
            found += 1
        at, end = next_document(ids, separator, end)


@compiled
def visit_windows(ids, separator, length, window, words, parts, part, starts, sums, sizes):
    """Visit every place with `window` tokens before it, and count the windows of each part.

    The hash of multiset and last token decides the part, so equal contexts share theirs. `starts`
    is where the windows of one part begin, and `sums` the hashes of their tokens but the last.
    """
    found = 0
    at, end = next_document(ids, separator, 0)
    while at < end:
        total, stop = np.uint64(0), min(end, at + length)
        for i in range(at, min(at + window - 1, stop)):
            total += words[ids[i]]
        for label in range(at + window, stop):
            last = ids[label - 1]
            whole = total + words[last]
            own = np.int64(key_of(whole, last) & np.uint64(parts - 1))
            sizes[own] += 1
            if own == part:
                starts[found], sums[found] = label - window, total
                found += 1
            total = whole - words[ids[label - window]]
        at, end = next_document(ids, separator, end)
