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
from fractions import Fraction
from random import Random

import numpy as np

from ..data.contexts import Contexts
from ..data.dataset import Dataset
from ..errors import AssumptionError
from ..exact.network import Embedding, Network, matrix, vector
from ..gadgets.key_values import lookup, table
from ..gadgets.multisets import identified
from ..gadgets.projection import Projection, project
from ..machine.watch import Watch
from ..theory.kajitsuka2025.sizes import embedded_key_bits, embedding_size, largest_value
from .base import Built, Predicted, fixed, input_of
from .bit_extraction import Extraction, transformer
from .bit_extraction.known import Known, known_columns
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
    """Theorem E.1: an embedding matrix in place of F_1 (eq. (132)).

    Departures   D1  The theorem's R contains r and delta, which ids do not have: both are 1.
                 D2  Eq. (132) lacks its right-hand side, the label.
                 D3  W_O is n and the third lane the sum (see bit_extraction, D9).
                 D4  Positions are refused: eq. (135) gives an id one column, whatever its place.
    """

    name = "embedding"
    form = "faithful"
    positions: bool | None = fixed(False)
    separation: float | None = fixed(None)

    def build(self, dataset: Dataset, contexts: Contexts, watch: Watch) -> Built:
        seen, ids, omega = embedded(dataset, contexts)
        spec = input_of(dataset, positions=False)
        random, N, n = Random(self.seed), len(contexts), spec.length
        _, phi = identified(seen.rows, largest_value(N, min(omega, N)), random)
        same = Projection((Fraction(1),), 0, np.array(ids, dtype=object), 0, 0)  # F(x) = x
        places = project(*transformer.context_points(seen, same, phi), N, Fraction(1), random)
        columns = {(transformer.PHI, x): int(phi[i]) for i, x in enumerate(ids)}  # eq. (135)
        columns |= {(transformer.X, x): x for x in ids}
        width = len(transformer.LANES)
        embedding = Embedding(matrix(width, omega, columns), vector({}, width))
        key_bits = embedded_key_bits(N, n, omega)
        second = table(places.keys(), seen.labels, key_bits, transformer.label_bits(dataset))
        end = transformer.rest(n, self.attention, places, lookup("x", second, "label"))
        network = Network(spec, (embedding, *end), dataset.every)
        return transformer.built(network, dataset, places.tries)

    def predict(self, dataset: Dataset, contexts: Contexts) -> Predicted:
        """The matrix holds the values of marked tokens, and ids that are not 0."""
        seen, ids, columns = embedded(dataset, contexts)
        labels = len(dataset.label_names)
        size = embedding_size(len(contexts), seen.rows.shape[1], columns, labels)
        return transformer.predicted(size, len(seen.marked) + sum(map(bool, ids)))


def embedded(dataset: Dataset, contexts: Contexts) -> tuple[Known, list[int], int]:
    """The known points, their ids, and the columns of the matrix; padding is an id too."""
    check_ids(dataset)
    spec = input_of(dataset, positions=False)
    seen = known_columns(dataset, contexts, spec, None)
    ids = [int(x) for x in seen.points[:, 0]]
    return seen, ids, max(*ids, *(int(x.fraction) for x in spec.padding or ())) + 1
