"""How the sizes of the constructions grow with the number of contexts, in closed form, to 10^9.

For N random contexts of n tokens with C equally frequent labels, nonzero parameters of all weights.
Keys are below K = N^2 / 2, what random contexts need to differ. Neighbouring keys have different
labels with probability p = 1 - 1 / C, so that a step function has S = p N steps.

At the sizes that can be built the order of these lines is nearly the reverse of the asymptotic one.
"""

import math
from collections.abc import Mapping
from typing import NamedTuple

from .kajitsuka2025.sizes import bit_extraction_size, lookup_size, token_key_bits


class Shape(NamedTuple):
    """What does not grow: the length of sequences, coordinates and number of tokens, labels."""

    length: int
    dimension: int
    labels: int
    vocabulary: int


def sizes(shape: Shape, contexts: float) -> dict[str, float]:
    n, dimension, C, vocabulary = shape
    N, count, p = contexts, round(contexts), 1 - 1 / C
    d = dimension if n == 1 else 1  # coordinates of a point: a sequence is one number
    folds = 0 if n == 1 else 3 * (1.2 * math.log2(N) + 2) + 2
    reader = dimension + 1 + folds  # E_in; for sequences folds and attention as well
    root = math.sqrt(p * N)
    four_layer = 2 * root**2 + 12 * root + reader
    # 3.46 sqrt(N log2 C), and a term in log N that is fitted to networks of 100 to 10^6
    ours = 3.46 * math.sqrt(N * math.log2(C)) + math.log2(N) ** 2 + dimension + 1
    # 6 T = (6 + 2 c) W = (7 c + 3) L with T W L = 2 K
    c = max(1, (C - 1).bit_length())
    park = 3 * (N**2 * 6 * (6 + 2 * c) * (7 * c + 3)) ** (1 / 3)
    key_bits = 2 * math.ceil(math.log2(N)) + 1, token_key_bits(count, 1, N**2 / 2, 1)
    vardi, vardi_faithful = (
        lookup_size(count, bits, C.bit_length()).parameters + 5 + reader for bits in key_bits
    )
    bits = bit_extraction_size(count, n, dimension, C, max(1.0, float(vocabulary)))
    return {
        "hash-fold-retrieve": ours,
        # two numbers per token id, and 2.3 (fitted) parameters for each of ours
        "attention-neurons": 2.3 * ours + 2 * vocabulary,
        "bit-extraction": bits.parameters,
        # three per kink; of r changes in a row every second one shares a kink: p^2 / (1 + p) N
        "staircase": 3 * N * (2 * p - p**2 / (1 + p)) + reader,
        "three-layer (small)": four_layer,
        "three-layer (faithful)": 4 * root**2 + 10 * root + reader,
        "park2021": park + reader,
        "vardi2022 (small)": vardi,
        "vardi2022 (faithful)": vardi_faithful,
        "baum1988": 3 * (d + 2) * p * N / d + reader,
        "bubeck2020": 4 * (d + 2) * N / d + 6 * C + reader,
        "kim2023 (small)": four_layer + 10 * n,
        "kim2023 (faithful)": vardi + 10 * n,
        "yun2020": four_layer + 10 * vocabulary,
    }


def crossing(
    one: str, other: str, shape: Shape, shifts: Mapping[str, float] = {}, most: float = 1e15
) -> float | None:
    """The number of contexts from which on `one`, moved by its shift, is smaller; or None."""

    def ahead(contexts: float) -> float:
        forms = sizes(shape, contexts)
        return forms[other] + shifts.get(other, 0) - forms[one] - shifts.get(one, 0)

    low, high = 16.0, most
    if ahead(low) >= 0 or ahead(high) <= 0:
        return None
    while high / low > 1.001:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if ahead(middle) > 0 else (middle, high)
    return high
