"""The facts of a dataset that bounds read, counted as `byheart stats` and `compile` count them."""

from typing import Any

import numpy as np

from ..data.contexts import order_counts
from ..data.dataset import Dataset
from ..data.documents import Documents, distinct_tokens
from ..data.statistics import count
from .information import code_length
from .question import DataFacts


def data_facts(
    data: Dataset | Documents, name: str | None = None, positions: bool | None = None
) -> DataFacts:
    """The facts of data that was read; `positions`: whether order counts (default: by kind)."""
    counted = count(data)
    if isinstance(data, Documents):
        longest = longest_context(data)
        union, dimension, every, padded = distinct_tokens(data), 1, False, longest > 1
    else:
        longest = data.length
        dimension, every = data.vectors.shape[1], data.every
        padded = len(set(data.lengths.tolist())) > 1
        union = counted.vocabulary + counted.labels
        if data.kind != "vector":
            tokens = data.tokens if data.kind == "string" else data.vectors[:, 0].tolist()
            union = len({*tokens, *data.label_names})
    positions = order_counts(data) if positions is None else positions
    same = ("sequences", "multisets", "labels", "vocabulary")
    facts: dict[str, Any] = {fact: getattr(counted, fact) for fact in same}
    entropy, conflicts = counted.entropy, counted.conflicts
    own = counted.contexts if positions else counted.multisets
    sizes = own, counted.labels, conflicts.contexts
    return DataFacts(
        name=name,
        **facts,
        positions=positions,
        contexts=own,
        ordered=counted.contexts,
        length=longest,
        union=union,
        dimension=dimension,
        radius=counted.separation.radius,
        distance=counted.separation.distance,
        entropy=entropy.total,
        code_length=code_length(entropy.total, entropy.labels, *sizes),
        conflicts=conflicts.contexts,
        mixed=conflicts.multisets,
        every=every,
        padded=padded,
    )


def longest_context(documents: Documents) -> int:
    """Tokens before the last one of the longest document, as far as a window reaches."""
    ids = documents.ids
    none = np.zeros(0, np.int64)
    ends = none if documents.separator is None else np.flatnonzero(ids == documents.separator)
    lengths = np.diff(np.concatenate(([-1], ends, [len(ids)]))) - 1
    longest = min(int(lengths.max()), documents.length or len(ids)) - 1
    return max(1, min(longest, documents.window or longest))
