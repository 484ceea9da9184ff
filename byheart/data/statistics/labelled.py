"""The counts of a dataset whose sequences are all written out."""

from collections.abc import Sequence

import numpy as np

from ..arrays import number, number_rows
from ..contexts import contexts, tally
from ..dataset import Dataset
from .summary import Conflicts, Histogram, Statistics, derived


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
    seen, places = number(totals)
    whole = totals[table.context]
    split = whole > table.count
    kinds, same = number_rows(np.stack([whole[split], table.count[split]], axis=1))
    histogram = Histogram(
        seen=seen,
        contexts=np.bincount(places, minlength=len(seen)),
        whole=kinds[:, 0],
        part=kinds[:, 1],
        occurrences=np.bincount(same, minlength=len(kinds)),
    )
    return derived(
        histogram,
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
