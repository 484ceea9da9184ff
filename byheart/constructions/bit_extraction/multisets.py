"""Theorem D.1: phi on every element, their sum, rho on it (eq. (112)).

Departures   D1  Lemma B.3 is used with random integers (see bit_extraction, D1).
             D2  The empty multiset has the sum 0. Lemma C.1 wants keys from 2 on, so Stage I of rho
                 shifts: its bias is not 0.
"""

from fractions import Fraction
from random import Random
from typing import TYPE_CHECKING

from ...data.contexts import Contexts
from ...data.dataset import Dataset
from ...exact.network import Input, Layer, Network, Sum
from ...gadgets.key_values import lookup, table
from ...gadgets.multisets import identified
from ...gadgets.projection import project
from ...gadgets.relu_layers import Step, relu_layers, row
from ...theory.kajitsuka2025.sizes import (
    deep_sets_size,
    largest_value,
    sum_key_bits,
    token_key_bits,
)
from ..base import Built, Predicted
from .known import known_multisets
from .transformer import built, embed, label_bits, output, predicted, token_table

if TYPE_CHECKING:
    from ..families import Extraction


def build(dataset: Dataset, contexts: Contexts, options: "Extraction") -> Built:
    """The deep set (phi, rho) of Theorem D.1; contexts are multisets."""
    seen = known_multisets(dataset, contexts, options)
    random, N, M, d = Random(options.seed), len(contexts), seen.rows.shape[1], seen.points.shape[1]
    tokens = project(seen.points, seen.exponent, N * M, seen.separation, random)
    largest = largest_value(N, N)
    chosen, phi = identified(seen.rows, largest, random)
    sums = phi[seen.rows].sum(axis=1).astype(object)
    ids = project(sums[:, None], 0, N, Fraction(1), random)  # eq. (119)
    key_bits = token_key_bits(N * M, d, seen.radius, seen.separation)
    first = token_table(tokens, phi, chosen, key_bits, largest.bit_length())
    second = table(ids.keys(), seen.labels, sum_key_bits(N, M), label_bits(dataset))
    stage = Step("project", (row("x", {"phi": ids.weights[0]}, ids.bias),))
    layers: tuple[Layer, ...] = (
        embed(tokens),
        *relu_layers(["x"], lookup("x", first, "phi")),
        Sum(),
        *relu_layers(["phi"], [stage, *lookup("x", second, "label")]),
        output(),
    )
    return built(Network(Input(d, M, False, None), layers), dataset, tokens.tries + ids.tries)


def predict(dataset: Dataset, contexts: Contexts, options: "Extraction") -> Predicted:
    """The size of the deep set."""
    seen = known_multisets(dataset, contexts, options)
    dimension = seen.points.shape[1]
    size = deep_sets_size(
        len(contexts),
        seen.rows.shape[1],
        dimension,
        len(dataset.label_names),
        seen.radius,
        seen.separation,
        len(seen.marked),
    )
    return predicted(size, dimension + 1)
