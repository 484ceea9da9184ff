"""The places of documents and windows in a corpus: passes from the first token to the last."""

from typing import NamedTuple

import numpy as np

from .multisets import key_of
from .pairs import compiled, inlined

ENDLESS = 1 << 62  # a length or a window that no document reaches


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
    """Where the documents of two tokens or more begin."""
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
