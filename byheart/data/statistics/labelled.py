"""The counts of a dataset whose sequences are all written out."""

import numpy as np

from ..arrays import number, number_rows
from ..contexts import Contexts, Tally, contexts, tally
from ..dataset import Dataset, Ints
from .summary import Histogram, Summary


def summary(dataset: Dataset) -> Summary:
    """What the dataset asks of a model, counted."""
    ordered = contexts(dataset, positions=True)
    multisets = contexts(dataset, positions=False)
    table = tally(dataset, ordered)
    return Summary(
        sequences=len(dataset),
        tokens=len(dataset.ids),
        multisets=len(multisets),
        vectors=dataset.vectors,
        labels=len(dataset.label_names),
        conflicts=_conflicts(dataset, ordered, multisets),
        right=_most_seen(table, ordered),
        histogram=_histogram(table, _totals(table, ordered)),
        skipped=dataset.skipped,
    )


def _conflicts(dataset: Dataset, ordered: Contexts, multisets: Contexts) -> dict[str, int]:
    conflicts = ordered.conflicts(dataset)
    return {
        "contexts": int(conflicts.sum()),
        "sequences": int(conflicts[ordered.group].sum()),
        "multisets": int(multisets.conflicts(dataset).sum()),
    }


def _totals(table: Tally, ordered: Contexts) -> Ints:
    """How often each context was seen."""
    totals = np.zeros(len(ordered), np.int64)
    np.add.at(totals, table.context, table.count)
    return totals


def _most_seen(table: Tally, ordered: Contexts) -> int:
    """The most predictions that answering one label a context can get right."""
    most = np.zeros(len(ordered), np.int64)
    np.maximum.at(most, table.context, table.count)
    return int(most.sum())


def _histogram(table: Tally, totals: Ints) -> Histogram:
    seen, places = number(totals)
    whole = totals[table.context]
    split = whole > table.count
    kinds, same = number_rows(np.stack([whole[split], table.count[split]], axis=1))
    return Histogram(
        seen=seen,
        contexts=np.bincount(places, minlength=len(seen)),
        whole=kinds[:, 0],
        part=kinds[:, 1],
        occurrences=np.bincount(same, minlength=len(kinds)),
    )
