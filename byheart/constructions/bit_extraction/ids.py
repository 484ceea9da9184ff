"""Theorem E.1: an embedding matrix in place of F_1 (eq. (132)).

Departures   D1  The theorem's R contains r and delta, which ids do not have: both are 1.
             D2  Eq. (132) lacks its right-hand side, the label.
             D3  W_O is n and the third lane the sum (see bit_extraction, D9).
             D4  Positions are refused: eq. (135) gives an id one column, whatever its place.
"""

from fractions import Fraction
from random import Random
from typing import TYPE_CHECKING

import numpy as np

from ...data.contexts import Contexts
from ...data.dataset import Dataset
from ...errors import AssumptionError
from ...exact.network import Embedding, Network, matrix, vector
from ...gadgets.key_values import lookup, table
from ...gadgets.multisets import identified
from ...gadgets.projection import Projection, project
from ...theory.kajitsuka2025.sizes import embedded_key_bits, embedding_size, largest_value
from ..base import Built, Predicted, input_of
from .known import Known, known_columns
from .transformer import built, context_points, label_bits, predicted, rest

if TYPE_CHECKING:
    from ..families import Extraction

MOST = 1 << 20  # columns of an embedding matrix


def build(dataset: Dataset, contexts: Contexts, options: "Extraction") -> Built:
    """The network of Theorem E.1."""
    seen, ids, omega = embedded(dataset, contexts, options)
    spec = input_of(dataset, positions=False)
    random, N, n = Random(options.seed), len(contexts), spec.length
    _, phi = identified(seen.rows, largest_value(N, min(omega, N)), random)
    same = Projection((Fraction(1),), 0, np.array(ids, dtype=object), 0, 0)  # F(x) = x
    places = project(*context_points(seen, same, phi), N, Fraction(1), random)
    columns = {(0, x): int(phi[i]) for i, x in enumerate(ids)}  # eq. (135)
    columns |= {(1, x): x for x in ids}
    embedding = Embedding(matrix(3, omega, columns), vector({}, 3))
    second = table(places.keys(), seen.labels, embedded_key_bits(N, n, omega), label_bits(dataset))
    layers = (embedding, *rest(n, options, places, lookup("x", second, "label")))
    return built(Network(spec, layers, dataset.every), dataset, places.tries)


def predict(dataset: Dataset, contexts: Contexts, options: "Extraction") -> Predicted:
    """Its size: the matrix holds the values of marked tokens, and ids that are not 0."""
    seen, ids, columns = embedded(dataset, contexts, options)
    labels = len(dataset.label_names)
    size = embedding_size(len(contexts), seen.rows.shape[1], columns, labels)
    return predicted(size, len(seen.marked) + sum(map(bool, ids)))


def embedded(
    dataset: Dataset, contexts: Contexts, options: "Extraction"
) -> tuple[Known, list[int], int]:
    """The known points, their ids, and the columns of the matrix; padding is an id too."""
    spec = input_of(dataset, positions=False)
    seen = known_columns(dataset, contexts, spec, options)
    ids = [int(x) for x in seen.points[:, 0]]
    if seen.points.shape[1] > 1 or seen.exponent or min(ids) < 0 or max(ids) >= MOST:
        raise AssumptionError(
            f"A2 fails: an embedding reads ids, integers from 0 to {MOST - 1}, or words; "
            "use `method='bit-extraction'` for other tokens."
        )
    return seen, ids, max(*ids, *(int(x.fraction) for x in spec.padding or ())) + 1
