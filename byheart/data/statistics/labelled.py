"""The counts of a dataset whose sequences are all written out."""

import numpy as np

from ..arrays import number, number_rows
from ..contexts import contexts, tally
from ..dataset import Dataset
from .summary import Conflicts, Histogram, Summary


def summary(dataset: Dataset) -> Summary:
    """The counts of the dataset."""
    ordered = contexts(dataset, positions=True)
    multisets = contexts(dataset, positions=False)
    conflicts = ordered.conflicts(dataset)
    table = tally(dataset, ordered)
    totals, most = np.zeros(len(ordered), np.int64), np.zeros(len(ordered), np.int64)
    np.add.at(totals, table.context, table.count)
    np.maximum.at(most, table.context, table.count)
    seen, places = number(totals)
    whole = totals[table.context]
    split = whole > table.count
    kinds, same = number_rows(np.stack([whole[split], table.count[split]], axis=1))
    return Summary(
        sequences=len(dataset),
        tokens=len(dataset.ids),
        multisets=len(multisets),
        vectors=dataset.vectors,
        labels=len(dataset.label_names),
        conflicts=Conflicts(
            contexts=int(conflicts.sum()),
            sequences=int(conflicts[ordered.group].sum()),
            multisets=int(multisets.conflicts(dataset).sum()),
        ),
        right=int(most.sum()),
        histogram=Histogram(
            seen=seen,
            contexts=np.bincount(places, minlength=len(seen)),
            whole=kinds[:, 0],
            part=kinds[:, 1],
            occurrences=np.bincount(same, minlength=len(kinds)),
        ),
        skipped=dataset.skipped,
    )
