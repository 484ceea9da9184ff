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
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...errors import ByheartError
from ...machine.memory import require
from ..documents import Documents
from .multisets import Hashes, multisets, random_words
from .ordered import ordered
from .pairs import Pairs, counted, empty
from .places import ENDLESS, Found, Windows, document_starts, survey, window_sizes, window_starts
from .refine import CONFLICTS, IN_CONFLICT, PREDICTIONS, RIGHT, SUMS, Rows
from .summary import Conflicts, Histogram, Statistics, derived

PARTS = 16  # of the windows of a large corpus
SMALL = 1 << 20  # windows that are counted all at once
BLOCK = 1 << 22


@dataclass(frozen=True, eq=False)
class Corpus:
    """A corpus whose ids are below `vocabulary`, and the findings of a first pass over it."""

    source: str
    ids: NDArray
    separator: int  # -1: none
    length: int
    window: int
    vocabulary: int
    in_context: NDArray[np.bool_]
    as_label: NDArray[np.int64]  # how often each token is predicted
    found: Found


@dataclass
class Count:
    """The counts so far: refine.SUMS, the pairs, multisets and those in conflict."""

    sums: NDArray[np.int64]
    pairs: Pairs
    multisets: NDArray[np.int64]


def statistics(documents: Documents, epsilons: Sequence[float]) -> Statistics:
    """The statistics of the corpus."""
    documents, numbers = _dense(documents)
    corpus = _survey(documents)
    vectors = np.flatnonzero(corpus.in_context)[:, None]
    if documents.words is not None:  # a network reads a word as its number, counted from 1
        vectors = np.arange(1, len(vectors) + 1)[:, None]
    elif numbers is not None:
        vectors = numbers[vectors].astype(np.int64)
    count = _count(corpus)
    once = corpus.found.predictions - int(count.sums[PREDICTIONS])  # contexts seen once
    whole, part, times = counted(count.pairs)
    seen, split = part == 0, part > 0
    histogram = Histogram(
        seen=np.append(whole[seen], 1),
        contexts=np.append(times[seen], once),
        whole=whole[split],
        part=part[split],
        occurrences=times[split],
    )
    return derived(
        histogram,
        vectors,
        once + int(count.sums[RIGHT]),
        corpus.as_label[corpus.as_label > 0],
        epsilons,
        sequences=corpus.found.predictions,
        tokens=corpus.found.tokens,
        multisets=int(count.multisets[0]),
        labels=int(np.count_nonzero(corpus.as_label)),
        conflicts=Conflicts(
            contexts=int(count.sums[CONFLICTS]),
            sequences=int(count.sums[IN_CONFLICT]),
            multisets=int(count.multisets[1]),
        ),
        skipped=documents.skipped + corpus.found.skipped,
    )


def _dense(documents: Documents) -> tuple[Documents, NDArray | None]:
    """The documents with ids that can index a table, and the numbers behind them if they changed.

    A table as large as the largest id is fine unless it would outgrow the corpus itself.
    """
    ids = documents.ids
    if ids.itemsize == 2 or int(ids.max()) < len(ids) // 4 + 2**16:
        return documents, None
    numbers = np.unique(ids)
    dense = np.empty(len(ids), np.uint32)
    for a in range(0, len(ids), BLOCK):
        dense[a : a + BLOCK] = np.searchsorted(numbers, ids[a : a + BLOCK])
    mark = np.flatnonzero(numbers == documents.separator)
    return replace(documents, ids=dense, separator=int(mark[0]) if len(mark) else None), numbers


def _survey(documents: Documents) -> Corpus:
    """The corpus after a first pass; ByheartError if there is nothing to predict."""
    ids = np.asarray(documents.ids).view()
    ids.flags.writeable = False  # as a memory map's: one compiled version serves both
    vocabulary = int(ids.max()) + 1 if len(ids) else 1
    in_context, as_label = np.zeros(vocabulary, np.bool_), np.zeros(vocabulary, np.int64)
    separator = -1 if documents.separator is None else documents.separator
    length, window = documents.length or ENDLESS, documents.window or ENDLESS
    found = Found(*survey(ids, separator, length, window, in_context, as_label))
    if not found.documents:
        raise ByheartError(
            f"{documents.source} holds no document of two tokens or more, so there is nothing to "
            "predict; give longer documents."
        )
    if np.count_nonzero(in_context | (as_label > 0)) < 2:
        raise ByheartError(
            f"{documents.source} holds one token again and again, so there is nothing to "
            "distinguish; give a corpus of two different tokens or more."
        )
    sizes = length, window, vocabulary
    return Corpus(documents.source, ids, separator, *sizes, in_context, as_label, found)


def _count(corpus: Corpus) -> Count:
    """All contexts of the corpus; ByheartError before that if memory does not allow it."""
    words = random_words(corpus.vocabulary)
    longest = corpus.found.longest - 1
    parts = PARTS if corpus.found.predictions > SMALL else 1
    windows = Windows(corpus.ids, corpus.separator, corpus.length, corpus.window, words, parts)
    sizes = window_sizes(windows) if longest >= corpus.window else np.zeros(1, np.int64)
    most = min(longest, corpus.window - 1)
    rows = max(corpus.found.documents if most else 0, int(sizes.max()))
    if rows >= 2**31:
        raise ByheartError(
            f"{corpus.source}: {rows} documents are more than 2^31; give a part of them."
        )
    place = np.dtype(np.uint32 if len(corpus.ids) < 2**32 else np.int64)
    row = place.itemsize + _apart_type(most + 1)().itemsize + 28  # see the head of this file
    require(rows * row + corpus.vocabulary * 32, corpus.source, "counting its contexts")
    count = Count(np.zeros(SUMS, np.int64), empty(), np.zeros(2, np.int64))
    if most:
        starts: NDArray = np.empty(corpus.found.documents, place)
        document_starts(corpus.ids, corpus.separator, starts)
        _count_rows(corpus, words, starts, (1, most), np.zeros(len(starts), np.uint64), count)
    for part in range(len(sizes)):
        if sizes[part]:
            starts = np.empty(sizes[part], place)
            hashes = window_starts(windows, part, starts)
            _count_rows(corpus, words, starts, (corpus.window, corpus.window), hashes, count)
    return count


def _apart_type(tokens: int) -> type:
    return np.uint8 if tokens < 255 else np.uint32


def _count_rows(
    corpus: Corpus,
    words: Hashes,
    starts: NDArray,
    tokens: tuple[int, int],
    hashes: Hashes,
    count: Count,
) -> None:
    """Count the contexts of some rows, from the least to the most tokens."""
    kind = _apart_type(tokens[1] + 1)
    apart: NDArray = np.full(len(starts), np.iinfo(kind).max, kind)
    rows = Rows(corpus.ids, corpus.separator, starts, apart, *tokens)
    sums, count.pairs = ordered(rows, corpus.vocabulary, count.pairs)
    count.sums += sums
    count.multisets += multisets(rows, words, hashes)
