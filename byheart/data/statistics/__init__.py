"""Statistics of data: contexts, conflicts, entropy, separation, T_epsilon.

labelled.py counts datasets whose sequences are written out, corpus.py counts documents in place.
The two agree to the last digit on data that both can read, since summary.py derives the statistics.
"""

from collections.abc import Sequence

import numpy as np

from ..dataset import Dataset
from ..documents import Documents, distinct_tokens
from ..load import dataset_of
from ..readers.corpus import predictions
from . import labelled
from .summary import EPSILONS, Conflicts, Entropy, Separation, Statistics

SMALL = 1 << 22  # token numbers
MEMORY = 1 << 30  # bytes that a worker may take to count shards
__all__ = ["EPSILONS", "Conflicts", "Entropy", "Separation", "Statistics", "count"]


def count(data: Dataset | Documents, epsilons: Sequence[float] = EPSILONS) -> Statistics:
    """The statistics of data; documents are counted in place, no context is written out."""
    if not isinstance(data, Documents):
        return labelled.statistics(dataset_of(data), epsilons)
    from . import corpus  # compiled code is loaded only for this

    return corpus.statistics(data, epsilons)


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
