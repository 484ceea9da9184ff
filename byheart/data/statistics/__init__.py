"""Statistics of data: contexts, conflicts, entropy, separation, T_epsilon.

Sequences that are written out are counted here, documents in place by corpus.py.
The two agree to the last digit on data that both can read, since summary.py derives the statistics.
"""

from collections.abc import Sequence

import numpy as np

from ..contexts import contexts, tally
from ..dataset import Dataset
from ..documents import Documents, distinct_tokens
from ..load import dataset_of
from ..readers.corpus import predictions
from .summary import EPSILONS, Conflicts, Entropy, Separation, Statistics, derived

SMALL = 1 << 22  # token numbers
MEMORY = 1 << 30  # bytes that a worker may take to count shards
__all__ = ["EPSILONS", "Conflicts", "Entropy", "Separation", "Statistics", "count"]


def count(data: Dataset | Documents, epsilons: Sequence[float] = EPSILONS) -> Statistics:
    if not isinstance(data, Documents):
        return _labelled(dataset_of(data), epsilons)
    from . import corpus  # compiled code is loaded only for this

    return corpus.statistics(data, epsilons)


def _labelled(dataset: Dataset, epsilons: Sequence[float]) -> Statistics:
    ordered = contexts(dataset, positions=True)
    multisets = contexts(dataset, positions=False)
    conflicts = ordered.conflicts(dataset)
    table = tally(dataset, ordered)
    totals, most = np.zeros(len(ordered), np.int64), np.zeros(len(ordered), np.int64)
    np.add.at(totals, table.context, table.count)
    np.maximum.at(most, table.context, table.count)
    seen_labels = np.zeros(len(dataset.label_names), np.int64)
    np.add.at(seen_labels, table.label, table.count)
    whole = totals[table.context]
    split = np.stack([whole, table.count, np.ones_like(whole)], axis=1)[whole > table.count]
    alone = np.stack([totals, np.zeros_like(totals), np.ones_like(totals)], axis=1)
    return derived(
        np.concatenate([alone, split]),
        dataset.vectors,
        int(most.sum()),
        seen_labels[seen_labels > 0],
        epsilons,
        sequences=len(dataset),
        tokens=len(dataset.ids),
        multisets=len(multisets),
        labels=len(dataset.label_names),
        conflicts=Conflicts(
            contexts=int(conflicts.sum()),
            sequences=int(conflicts[ordered.group].sum()),
            multisets=int(multisets.conflicts(dataset).sum()),
        ),
        skipped=dataset.skipped,
    )


def written_out(data: Dataset | Documents) -> Dataset | Documents:
    """Documents with all contexts written out, if that takes less than to load compiled code."""
    if isinstance(data, Dataset):
        return data
    size = len(data.ids)
    if size > SMALL:  # not even looked through
        return data
    ends = np.flatnonzero(data.ids == (-1 if data.separator is None else data.separator))
    longest = int(np.diff([-1, *ends, size]).max())  # document
    longest = min(x for x in (data.length, data.window, longest) if x is not None)
    small = size * longest <= SMALL and distinct_tokens(data) > 1
    return predictions(data) if small else data
