"""kajitsuka2025 for data and models of which only facts are known.

Theorem 4.1 wants r >= 1 and delta <= 1; larger distances are as good. Where multisets do not
determine the labels, each token also has its position as a coordinate.
"""

import math

from ...errors import AssumptionError
from .sign_patterns import Blocks, theorem_4_2_points, theorem_4_3_tokens
from .sizes import (
    bit_extraction_size,
    context_key_bits,
    deep_sets_size,
    embedding_size,
    largest_value,
    limited_bits_size,
    token_key_bits,
)

Points = tuple[int, int, int, float, float]


def _separated(radius: float, distance: float) -> tuple[float, float]:
    """r and delta of the theorems, which take no tokens that coincide."""
    if not distance > 0:
        raise AssumptionError("A1 fails: two tokens are a distance of 0 apart; merge them.")
    return max(1.0, radius), min(1.0, distance)


def _points(
    contexts: int,
    multisets: int,
    mixed: int,
    length: int,
    dimension: int,
    radius: float,
    distance: float,
) -> Points:
    """N, n, d, r and delta; with positions as a coordinate if multisets are not enough."""
    r, delta = _separated(radius, distance)
    if not mixed:
        return multisets, length, dimension, r, delta
    return contexts, length, dimension + 1, math.hypot(r, length), delta


def theorem_4_1_size(
    contexts: int,
    multisets: int,
    mixed: int,
    length: int,
    dimension: int,
    radius: float,
    distance: float,
    labels: int,
) -> int:
    """With a coordinate for the position where order matters."""
    N, n, d, r, delta = _points(contexts, multisets, mixed, length, dimension, radius, distance)
    return bit_extraction_size(N, n, d, labels, r, delta).parameters


def theorem_d_1_size(
    multisets: int, length: int, dimension: int, radius: float, distance: float, labels: int
) -> int:
    r, delta = _separated(radius, distance)
    return deep_sets_size(multisets, length, dimension, labels, r, delta).parameters


def theorem_e_1_size(multisets: int, length: int, vocabulary: int, labels: int) -> int:
    return embedding_size(multisets, length, vocabulary, labels).parameters


def theorem_f_1_size(
    contexts: int,
    multisets: int,
    mixed: int,
    length: int,
    dimension: int,
    radius: float,
    distance: float,
    labels: int,
    bits: int,
) -> int:
    """With the keys of Theorem 4.1; those that a search finds are shorter."""
    N, n, d, r, delta = _points(contexts, multisets, mixed, length, dimension, radius, distance)
    tokens = N, token_key_bits(n * N, d, r, delta), largest_value(N, N).bit_length()
    ids = N, context_key_bits(N, n, d, r, delta), labels.bit_length()
    least = max(*tokens[1:], *ids[1:]) + 3
    if bits < least:
        raise AssumptionError(f"the keys of the proof take {least} bits a parameter, not {bits}.")
    return limited_bits_size(bits, tokens, ids).parameters


def theorem_4_2_sequences(
    parameters: int, layers: int | None = None, width: int | None = None
) -> int:
    """A model of known sizes has layers x width units."""
    units = None if layers is None or width is None else layers * width
    return theorem_4_2_points(parameters, units)


def theorem_4_3_labels(
    dimension: int,
    heads: int,
    head_dimension: int,
    width: int,
    layers: int,
    vocabulary: int,
    length: int,
) -> int:
    """The embedding of tokens and positions is E_in of one-hot vectors."""
    inputs = vocabulary + length
    sizes = Blocks(dimension, heads, head_dimension, width, layers, inputs)
    return theorem_4_3_tokens(sizes, length)
