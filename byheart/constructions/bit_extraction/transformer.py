"""Theorem B.1 and Corollary 4.1: E_in, F_1, uniform attention, F_2, E_out (eq. (43))."""

from collections.abc import Iterable, Mapping
from fractions import Fraction
from random import Random

import numpy as np
from numpy.typing import NDArray

from ...data.contexts import Contexts
from ...data.dataset import Dataset
from ...exact.network import (
    HardAttention,
    Layer,
    Linear,
    Network,
    Number,
    UniformAttention,
    matrix,
    vector,
)
from ...gadgets.bit_reading import erased, together
from ...gadgets.blocks import Block, Unit, Write, feed_forwards
from ...gadgets.key_values import TABLE, Table, lookup, table
from ...gadgets.multisets import identified
from ...gadgets.projection import Projection, project
from ...theory.kajitsuka2025 import sizes
from ..base import Built, Predicted, input_of, labels_of, words_of
from ..families import Labelled
from .known import Known, known_columns

LANES = ("x", "label", "phi", "sum", *TABLE)  # (phi, F, 0) of eq. (50) are phi, x and sum
X, LABEL, PHI, SUM = range(4)


def build(data: Dataset, contexts: Contexts, options: Labelled, separation: float | None) -> Built:
    """The network of Theorem B.1, or of Corollary 4.1: the theorem for each token put last."""
    spec = input_of(data, bool(options.positions))
    seen = known_columns(data, contexts, spec, separation)
    random, N, n = Random(options.seed), len(contexts), spec.length
    # eq. (48), (49)
    tokens = project(seen.points, seen.exponent, n * N, seen.separation, random)
    largest = sizes.largest_value(N, N)
    chosen, phi = identified(seen.rows, largest, random)
    points, exponent = context_points(seen, tokens, phi)
    ids = project(points, exponent, N, Fraction(1), random)  # eq. (55), (56)
    space = spec.coordinates, seen.radius, seen.separation
    key_bits = sizes.token_key_bits(n * N, *space)  # R_1
    first = token_table(tokens, phi, chosen, key_bits, largest.bit_length())
    second = table(ids.keys(), seen.labels, sizes.context_key_bits(N, n, *space), label_bits(data))
    part = feed_forwards(lookup("x", first, "phi"), LANES)  # eq. (50)
    end = rest(n, options.attention, ids, lookup("x", second, "label"))
    network = Network(spec, (embed(tokens), *part, *end), data.every)
    return built(network, data, tokens.tries + ids.tries)


def predict(
    dataset: Dataset, contexts: Contexts, positions: bool, separation: float | None
) -> Predicted:
    spec = input_of(dataset, positions)
    seen = known_columns(dataset, contexts, spec, separation)
    d, labels, marked = spec.coordinates, len(dataset.label_names), len(seen.marked)
    space = seen.radius, seen.separation
    size = sizes.bit_extraction_size(len(contexts), spec.length, d, labels, *space, marked)
    return predicted(size, d + 1)


def predicted(size: sizes.Size, first: int) -> Predicted:
    """A closed form counts what stands between E_in and E_out; here both are added."""
    return Predicted(size.parameters + first + 2, size.depth)


def token_table(
    tokens: Projection, phi: NDArray, chosen: list[int], key_bits: int, value_bits: int
) -> Table:
    """The marked tokens' keys and values; every other known token gives 0 (eq. (37))."""
    keys = tokens.keys()
    return table([keys[i] for i in chosen], [int(phi[i]) for i in chosen], key_bits, value_bits)


def label_bits(dataset: Dataset) -> int:
    return len(dataset.label_names).bit_length()


def built(network: Network, dataset: Dataset, tries: int) -> Built:
    """Labels keep their order; nothing is promised for unknown inputs."""
    return Built(network, labels_of(dataset), words_of(dataset), tries)


def context_points(seen: Known, tokens: Projection, phi: NDArray) -> tuple[NDArray, int]:
    """(phi(own), F(own), sum of phi) of every context, as integers, and their exponent.

    Eq. (53) with the sum in place of the mean: the third coordinate times n. Different contexts
    differ by 2 in F or by 1 in the sum, where eq. (55) has 1/n; lengths are at most n times those
    of eq. (56), so that R_2 stays as it is.
    """
    unit = 1 << -tokens.exponent
    key = tokens.values.astype(object) + tokens.bias * unit
    sums = phi[seen.rows].sum(axis=1).astype(object) * unit
    own = phi[seen.own].astype(object) * unit
    return np.stack([own, key[seen.own], sums[seen.owner]], axis=1), tokens.exponent


def embed(tokens: Projection) -> Linear:
    """Stage I of Lemma C.1, which Lemma C.2's F shares, as E_in (Remark 4.3: not counted)."""
    weights = {(X, i): weight for i, weight in enumerate(tokens.weights)}
    m = len(LANES)
    return Linear(matrix(m, len(tokens.weights), weights), vector({X: tokens.bias}, m), "embed")


def rest(length: int, attention: str, ids: Projection, blocks: Iterable[Block]) -> list[Layer]:
    """From (phi, x, 0) in every column to the label's number: attention, Stage I, `blocks`, E_out.

    Attention is eq. (39), or hard attention whose scores are all 0, which is the same. W_O is n, so
    that W_O W_V mean is the sum: eq. (52) with 1 would need 1/n, which is dyadic for n = 2^a only.
    """
    m = len(LANES)
    value, projection = matrix(1, m, {(0, PHI): 1}), matrix(m, 1, {(SUM, 0): length})
    mixing: Layer = UniformAttention(value, projection)
    if attention == "hard":
        mixing = HardAttention(matrix(1, m, {}), matrix(1, m, {}), value, projection)
    terms = dict(zip(("phi", "x", "sum"), ids.weights, strict=True))
    return [mixing, *feed_forwards([stage_one(terms, ids.bias), *blocks], LANES), output()]


def stage_one(terms: Mapping[str, Number], bias: Number) -> Block:
    """x <- the key, Stage I of Lemma C.1 for contexts: a number that is not negative."""
    key: tuple[list[Unit], list[Write]] = ([(terms, bias)], [("x", 0, 1)])
    return together("project", [key, erased("x")])


def output() -> Linear:
    """E_out: the lane of the label; labels are 1, ..., C inside, 0, ..., C - 1 outside."""
    return Linear(matrix(1, len(LANES), {(0, LABEL): 1}), vector({0: -1}, 1), "output")
