"""The conflicts of a dataset one by one: contexts with two labels, and where these stand.

`contexts` finds them and `resolve` settles them; this lists them for a person who would rather
mend the file.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import ByheartError
from .contexts import contexts
from .dataset import Dataset
from .load import is_corpus, kind_of
from .readers import jsonl, table
from .readers.raw import STANDARD_INPUT, opened

ROWS = 50  # of one conflict that are listed
PLACES = {".jsonl": jsonl.places, ".csv": table.places, ".tsv": table.places}


@dataclass(frozen=True)
class Conflict:
    """A context with two labels or more."""

    tokens: list  # of the context, where order counts
    labels: tuple[tuple[Any, int], ...]  # (label, how often it was seen), the most frequent first
    # (row of the data counted from 1, its label), the first ROWS of them; empty for texts, whose
    # rows are predictions
    rows: tuple[tuple[int, Any], ...] = ()
    # the line of the file on which each of these rows ends; empty where that is not known
    lines: tuple[int, ...] = ()

    def json(self) -> dict:
        places = [list(row) for row in self.rows]
        labels = [list(pair) for pair in self.labels]
        return {"input": self.tokens, "labels": labels, "rows": places, "lines": list(self.lines)}


def conflicting(
    dataset: Dataset, most: int, source: str | Path | None = None
) -> tuple[Conflict, ...]:
    """The first contexts with two labels, at most this many of them.

    source  the file that the dataset was read from, to say on which lines they stand

    >>> rows = [(["a", "b"], "x"), (["b", "b"], "y"), (["a", "b"], "z")]
    >>> conflicting(Dataset.from_rows(rows), 10)[0].rows
    ((1, 'x'), (3, 'z'))
    """
    grouped = contexts(dataset, positions=True)
    chosen = np.flatnonzero(grouped.conflicts(dataset))[:most]
    if not len(chosen):
        return ()
    members = np.flatnonzero(np.isin(grouped.group, chosen))
    members = members[np.argsort(grouped.group[members], kind="stable")]
    ends = np.cumsum(np.bincount(grouped.group[members])[chosen])
    texts = source is not None and is_corpus(source, dataset.loading.get("format"))  # type: ignore[arg-type]
    lines = [] if source is None or texts else lines_of(Path(source), dataset)
    found = []
    for own in np.split(members, ends[:-1]):
        labels, place = np.unique(dataset.labels[own], return_inverse=True)
        counts = np.bincount(place, weights=dataset.counts[dataset.owner[own]]).astype(np.int64)
        frequent = np.argsort(-counts, kind="stable")
        named = tuple((dataset.label_names[labels[i]], int(counts[i])) for i in frequent)
        rows = [int(dataset.owner[x]) for x in own[:ROWS]]
        placed = tuple((row + 1, dataset.label(int(x))) for row, x in zip(rows, own, strict=False))
        tokens = dataset.sequence(int(dataset.owner[own[0]]))
        at = tuple(lines[row] for row in rows) if lines else ()
        found.append(Conflict(tokens, named, () if texts else placed, at))
    return tuple(found)


def lines_of(path: Path, dataset: Dataset) -> list[int]:
    """The line of the file on which each row of the dataset ends; empty where it is not known.

    Rows that were skipped leave no trace in a dataset, so that its rows and those of the file are
    the same only if there are equally many.
    """
    kind = kind_of(path, dataset.loading.get("format"))  # type: ignore[arg-type]
    if kind not in PLACES or str(path) == STANDARD_INPUT:  # which is read once
        return []
    try:
        with opened(path, kind, dataset.loading.get("encoding")) as raw:  # type: ignore[arg-type]
            found = PLACES[kind](raw, dataset.loading)
    except (OSError, ByheartError):
        return []
    found = [x for x in found for _ in dataset.loading.get("template") or "1"]  # type: ignore[attr-defined]
    return found if len(found) == len(dataset) else []
