"""What data asks of a model: contexts, conflicts, entropy, separation, T_epsilon.

labelled.py counts datasets whose sequences are written out, corpus.py counts documents where they
lie. The two agree to the last digit on what both can read, since summary.py makes the answer.
"""

from collections.abc import Sequence

from ..dataset import Dataset
from ..documents import Documents
from . import labelled
from .separation import separation
from .summary import EPSILONS, answer

__all__ = ["EPSILONS", "corpus_statistics", "statistics"]


def statistics(dataset: Dataset, epsilons: Sequence[float] = EPSILONS) -> dict:
    """The answer of `byheart stats` for labelled sequences."""
    summary = labelled.summary(dataset)
    return answer(summary, separation(summary.vectors), epsilons)


def corpus_statistics(documents: Documents, epsilons: Sequence[float] = EPSILONS) -> dict:
    """The answer of `byheart stats` for documents: that of their predictions, written out."""
    from . import corpus  # compiled code is loaded only for this

    summary = corpus.summary(documents)
    return answer(summary, separation(summary.vectors), epsilons)
