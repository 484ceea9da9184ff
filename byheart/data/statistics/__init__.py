"""Statistics of data: contexts, conflicts, entropy, separation, T_epsilon.

labelled.py counts datasets whose sequences are written out, corpus.py counts documents in place.
The two agree to the last digit on data that both can read, since summary.py derives the statistics.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...errors import ByheartError
from ...machine.watch import SILENT, Watch
from ..dataset import Dataset, check_dataset
from ..documents import Documents, distinct_tokens
from ..load import is_corpus, load, load_documents
from ..readers.corpus import predictions
from . import labelled
from .summary import EPSILONS, Conflicts, Entropy, Separation, Statistics

SMALL = 1 << 22  # token numbers
__all__ = ["EPSILONS", "Conflicts", "Entropy", "Separation", "Statistics", "stats"]


def stats(
    data: Dataset | Documents | str | Path,
    *,
    epsilons: Sequence[float] = EPSILONS,
    watch: Watch = SILENT,
    **loading: Any,
) -> Statistics:
    """How many contexts, conflicts and nats of entropy data has, and how far apart its tokens are.

    Documents, and the files that hold them (.txt, .bin), are counted in place: no context is
    written out, so a corpus may have hundreds of millions of tokens.

    Args:
        data: A dataset, documents, or the path of a file.
        epsilons: The numbers from 0 to 1 for which T_epsilon is counted.
        watch: Receives the stages "loading" and "counting".
        **loading: For a path, the options of `load`.

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
    if isinstance(data, str | Path):
        watch.stage("loading")
        if is_corpus(data):
            documents = load_documents(data, **loading)
            data = predictions(documents) if _small(documents) else documents
        else:
            data = load(data, **loading)
    elif loading:
        raise ByheartError(
            f"{', '.join(loading)} must go with the path of a file, not with a Dataset."
        )
    watch.stage("counting")
    if not isinstance(data, Documents):
        check_dataset(data, "stats")
        return labelled.statistics(data, epsilons)
    from . import corpus  # compiled code is loaded only for this

    return corpus.statistics(data, epsilons)


def _small(documents: Documents) -> bool:
    """Whether all contexts can be written out faster than compiled code is loaded."""
    size = len(documents.ids)
    longest = min(x for x in (documents.length, documents.window, size) if x is not None)
    return size * longest <= SMALL and distinct_tokens(documents) > 1
