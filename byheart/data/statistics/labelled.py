"""The counts of a dataset whose sequences are all written out."""

from collections.abc import Sequence

import numpy as np

from ..contexts import contexts, tally
from ..dataset import Dataset
from .summary import Conflicts, Statistics, derived


def statistics(dataset: Dataset, epsilons: Sequence[float]) -> Statistics:
    """The statistics of the dataset."""
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
