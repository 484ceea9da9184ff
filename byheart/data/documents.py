"""Documents: a corpus as it is stored, token numbers one after another."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from .arrays import occurs
from .layout import Layout

BLOCK = 1 << 20  # tokens of a document that are looked at
Tokens = NDArray[np.uint16] | NDArray[np.uint32]


@dataclass(frozen=True, eq=False)
class Documents:
    """Documents whose tokens are predicted from the tokens before them."""

    source: str  # where they come from, for messages
    ids: Tokens  # token numbers of all documents; a memory map where the file holds just that
    separator: int | None  # ends a document and belongs to none; None: all is one document
    words: tuple[str, ...] | None = None  # that the ids number; None: the ids are the tokens
    length: int | None = None  # documents are truncated to this many tokens; None: not truncated
    window: int | None = None  # a context is at most this many tokens; None: all tokens before
    skipped: int = 0  # documents without any token, which the ids do not show
    beyond: int = 0  # tokens beyond the length, which the ids do not show
    loading: Mapping[str, object] = field(default_factory=dict)  # options of the file
    unused: tuple[str, ...] = ()  # files of the folder that were not read
    notes: tuple[str, ...] = ()  # what the loader has to say about the file
    tokenizer: str | None = None  # the content of the tokenizer.json that split them, if one did
    texts: tuple[str, ...] | None = None  # what it split
    layout: Layout | None = None  # of the files; None if tokens do not say what stands there


def first_documents(documents: Documents, count: int) -> list[list]:
    """The tokens of the first documents that have any, as the user wrote them."""
    found: list[list] = []
    start, size = 0, len(documents.ids)
    while len(found) < count and start < size:
        block = documents.ids[start : start + BLOCK]
        ends = np.flatnonzero(block == documents.separator)
        end = int(ends[0]) if len(ends) else len(block)  # a longer document is shown as its block
        ids = block[: min(end, documents.length or end)].tolist()
        words = documents.words
        if ids:
            found.append(ids if words is None else [words[i] for i in ids])
        start += end + 1
        if not len(ends):
            break
    return found


def distinct_tokens(documents: Documents) -> int:
    """The number of different tokens, without the separator."""
    seen = occurs(documents.ids)
    if documents.separator is not None and documents.separator < len(seen):
        seen[documents.separator] = False
    return int(seen.sum())
