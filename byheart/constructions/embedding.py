"""A transformer that reads token ids through an embedding matrix.

Paper        kajitsuka2025, Theorem E.1.
Statement    With an embedding matrix for the omega token ids, no token-wise network before the
             attention layer is needed: the matrix holds what it would compute. Beside the matrix,
             about sqrt(N) parameters up to logarithms.
Assumptions  A1  CONSISTENT
             A2  Tokens are ids: words, or integers from 0 to 2^20 - 2.
             A3  Sequences are no longer than the network's length; shorter ones are padded at the
                 front with an id of its own.
Guarantee    G1  The output is the number of the sequence's label, exactly (checked, not only
                 argued).
             G2  Without the matrix, no more parameters than hash-fold-retrieve. The matrix is
                 counted as outside (Remark 4.2).
Departures   D1  Small form: one lane of the matrix holds a random number for each id. With
                 positions the position enters the same lane, and folds mix the two.
             D2  The paper's R contains r and delta, which do not exist for ids; the faithful form
                 takes ids as points 1 apart.
             D3  The small form is not the paper's proof: see hash-fold-retrieve.
Notation     N sequences, omega ids.
"""

from dataclasses import dataclass

from ..data.contexts import Contexts
from ..data.dataset import Dataset
from ..errors import AssumptionError
from ..machine.watch import Watch
from .base import Built, Predicted, fixed
from .families import Extraction
from .retrieval import Retrieval

MOST = 1 << 20  # columns of the matrix, with one for padding


def check_ids(dataset: Dataset) -> None:
    """A2."""
    if dataset.kind == "vector":
        raise AssumptionError("A2 fails: tokens are vectors; an embedding needs words or ids.")
    vectors = dataset.vectors[:, 0]
    wrong = (vectors < 0) | (vectors >= MOST - 1) | (vectors != vectors.round())
    if wrong.any():
        token = vectors[wrong][0].item()
        raise AssumptionError(
            f"A2 fails: the token {token} is not an id; ids are integers from 0 to 2^20 - 2."
        )


@dataclass(frozen=True)
class SmallEmbedding(Retrieval):
    name = "embedding"
    form = "small"
    embeds = True

    def build(self, dataset: Dataset, contexts: Contexts, watch: Watch) -> Built:
        check_ids(dataset)
        return super().build(dataset, contexts, watch)

    def predict(self, dataset: Dataset, contexts: Contexts) -> None:
        check_ids(dataset)


@dataclass(frozen=True)
class FaithfulEmbedding(Extraction):
    name = "embedding"
    form = "faithful"
    positions: bool | None = fixed(False)
    separation: float | None = fixed(None)

    def build(self, dataset: Dataset, contexts: Contexts, watch: Watch) -> Built:
        from .bit_extraction import ids

        check_ids(dataset)
        return ids.build(dataset, contexts, self)

    def predict(self, dataset: Dataset, contexts: Contexts) -> Predicted:
        from .bit_extraction import ids

        check_ids(dataset)
        return ids.predict(dataset, contexts, self)
