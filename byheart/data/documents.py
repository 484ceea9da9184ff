"""Documents: a corpus as it is stored, token numbers one after another."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Tokens = NDArray[np.uint16] | NDArray[np.uint32]


@dataclass(frozen=True, eq=False)
class Documents:
    """Documents whose tokens are predicted from the tokens before them.

    source     where they come from, for messages.
    ids        token numbers of all documents; a memory map where the file holds just that.
    separator  the number that ends a document and belongs to none; None: all is one document.
    words      the sorted words that the numbers stand for; None: the numbers are the tokens.
    length     every document ends after so many tokens; None: with its last token.
    window     a context is at most the last so many tokens; None: all tokens before.
    skipped    documents that held no token at all, which the ids do not show.
    loading    the options that turned a file into this.
    """

    source: str
    ids: Tokens
    separator: int | None
    words: tuple[str, ...] | None = None
    length: int | None = None
    window: int | None = None
    skipped: int = 0
    loading: Mapping[str, object] = field(default_factory=dict)
