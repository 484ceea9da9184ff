"""Statistics of data: contexts, conflicts, entropy, separation, T_epsilon.

labelled.py counts datasets whose sequences are written out, corpus.py counts documents in place.
The two agree to the last digit on data that both can read, since summary.py derives the statistics.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import ByheartError
from ...machine.engines import Workers
from ...machine.watch import SILENT, Watch
from ..dataset import Dataset
from ..documents import Documents, distinct_tokens
from ..load import dataset_of, read
from ..readers.corpus import predictions
from . import labelled
from .summary import EPSILONS, Conflicts, Entropy, Separation, Statistics

SMALL = 1 << 22  # token numbers
MEMORY = 1 << 30  # bytes of a worker
__all__ = ["EPSILONS", "Conflicts", "Entropy", "Separation", "Statistics", "stats"]


def stats(
    data: Any,
    *,
    epsilons: Sequence[float] = EPSILONS,
    watch: Watch = SILENT,
    workers: Workers | int | None = None,
    work: str | Path | None = None,
    memory: int = MEMORY,
    **loading: Any,
) -> Statistics:
    """How many contexts, conflicts and nats of entropy data has, and how far apart its tokens are.

    Documents, and the files that hold them (.txt, .bin), are counted in place: no context is
    written out, so a corpus may have hundreds of millions of tokens.

    Args:
        data: A dataset, documents, or whatever `load` reads: a path, a data frame, rows.
        epsilons: The numbers from 0 to 1 for which T_epsilon is counted.
        watch: Receives the stages "loading" and "counting".
        workers: Count a folder of shards (.bin, .txt or .parquet) in bounded memory, by
            processes or, with Workers("ray", address=...), on a cluster: the same numbers.
        work: The folder of their intermediate files, from which a count that was stopped resumes.
        memory: How many bytes each of them may take.
        **loading: The options of `load`.

    Returns:
        The counts; `.json()` is what `byheart stats --json` prints.

    Raises:
        ByheartError: The file cannot be read, or the data holds nothing to predict.

    Example:
        >>> data = Dataset.from_rows([(["a", "b"], "x"), (["a", "b"], "y"), (["b", "a"], "x")])
        >>> found = stats(data)
        >>> found.contexts, found.conflicts.contexts, round(found.entropy.total, 4)
        (2, 1, 1.3863)
    """
    if workers is not None:
        from . import shards

        if not isinstance(data, str | Path):
            raise ByheartError("workers=... count a folder of shards; give its path.")
        where = workers if isinstance(workers, Workers) else Workers(jobs=workers)
        place = None if work is None else Path(work)
        return shards.statistics(Path(data), where, place, memory, epsilons, watch, **loading)[0]
    if not isinstance(data, Dataset | Documents):
        watch.stage("loading")
        data = written_out(read(data, **loading))
    elif loading:
        raise ByheartError(
            f"{', '.join(loading)} must go with the path of a file, not with a Dataset."
        )
    watch.stage("counting")
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
