"""How the sizes of the constructions grow with the number of contexts, in closed form, to 10^9.

For N random contexts of n tokens with C equally frequent labels, nonzero parameters of all weights.
Keys are below K = N^2 / 2, what random contexts need to differ. Neighbouring keys have different
labels with probability p = 1 - 1 / C, so that a step function has S = p N steps.

At the sizes that can be built the order of these lines is nearly the reverse of the asymptotic one.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

from .kajitsuka2025.sizes import bit_extraction_size, lookup_size, token_key_bits


class Shape(NamedTuple):
    """What does not grow: the length of sequences, coordinates and number of tokens, labels."""

    length: int
    dimension: int
    labels: int
    vocabulary: int

    @property
    def change(self) -> float:
        return 1 - 1 / self.labels

    @property
    def points(self) -> int:
        """Coordinates of what a feed-forward network reads: a sequence is one number."""
        return self.dimension if self.length == 1 else 1

    def reader(self, contexts: float) -> float:
        """E_in; for sequences folds and attention as well."""
        folds = 0 if self.length == 1 else 3 * (1.2 * math.log2(contexts) + 2) + 2
        return self.dimension + 1 + folds


def staircase(shape: Shape, contexts: float) -> float:
    """Three per kink; of r changes in a row every second one shares a kink: p^2 / (1 + p) N."""
    p = shape.change
    return 3 * contexts * (2 * p - p**2 / (1 + p)) + shape.reader(contexts)


def three_layer(shape: Shape, contexts: float) -> float:
    root = math.sqrt(shape.change * contexts)
    return 4 * root**2 + 10 * root + shape.reader(contexts)


def four_layer(shape: Shape, contexts: float) -> float:
    root = math.sqrt(shape.change * contexts)
    return 2 * root**2 + 12 * root + shape.reader(contexts)


def park(shape: Shape, contexts: float) -> float:
    """6 T = (6 + 2 c) W = (7 c + 3) L with T W L = 2 K."""
    c = max(1, (shape.labels - 1).bit_length())
    each = (contexts**2 * 6 * (6 + 2 * c) * (7 * c + 3)) ** (1 / 3)
    return 3 * each + shape.reader(contexts)


def vardi(shape: Shape, contexts: float) -> float:
    bits = 2 * math.ceil(math.log2(contexts)) + 1
    size = lookup_size(round(contexts), bits, shape.labels.bit_length(), before=1)
    return size.parameters + 4 + shape.reader(contexts)


def vardi_faithful(shape: Shape, contexts: float) -> float:
    bits = token_key_bits(round(contexts), 1, contexts**2 / 2, 1)
    size = lookup_size(round(contexts), bits, shape.labels.bit_length(), before=1)
    return size.parameters + 4 + shape.reader(contexts)


def baum(shape: Shape, contexts: float) -> float:
    d = shape.points
    return 3 * (d + 2) * shape.change * contexts / d + shape.reader(contexts)


def bubeck(shape: Shape, contexts: float) -> float:
    d = shape.points
    return 4 * (d + 2) * contexts / d + 6 * shape.labels + shape.reader(contexts)


def kim(shape: Shape, contexts: float) -> float:
    return four_layer(shape, contexts) + 10 * shape.length


def kim_faithful(shape: Shape, contexts: float) -> float:
    return vardi(shape, contexts) + 10 * shape.length


def yun(shape: Shape, contexts: float) -> float:
    return four_layer(shape, contexts) + 10 * shape.vocabulary


def ours(shape: Shape, contexts: float) -> float:
    """3.46 sqrt(N log2 C), and a term in log N that is fitted to networks of 100 to 10^6."""
    stored = contexts * math.log2(shape.labels)
    return 3.46 * math.sqrt(stored) + math.log2(contexts) ** 2 + shape.dimension + 1


def attention_neurons(shape: Shape, contexts: float) -> float:
    """Two numbers per token id, and 2.3 (fitted) parameters for each of ours."""
    return 2.3 * ours(shape, contexts) + 2 * shape.vocabulary


def bit_extraction(shape: Shape, contexts: float) -> float:
    count = round(contexts)
    radius = max(1.0, float(shape.vocabulary))
    return bit_extraction_size(
        count, shape.length, shape.dimension, shape.labels, radius
    ).parameters


LINES: dict[str, Callable[[Shape, float], float]] = {
    "hash-fold-retrieve": ours,
    "attention-neurons": attention_neurons,
    "bit-extraction": bit_extraction,
    "staircase": staircase,
    "three-layer (small)": four_layer,
    "three-layer (faithful)": three_layer,
    "park2021": park,
    "vardi2022 (small)": vardi,
    "vardi2022 (faithful)": vardi_faithful,
    "baum1988": baum,
    "bubeck2020": bubeck,
    "kim2023 (small)": kim,
    "kim2023 (faithful)": kim_faithful,
    "yun2020": yun,
}


def crossing(one: str, other: str, shape: Shape, most: float = 1e15) -> float | None:
    """The number of contexts from which on `one` is smaller than `other`; None if there is none."""
    first, second = LINES[one], LINES[other]
    low, high = 16.0, most
    if first(shape, low) <= second(shape, low) or first(shape, high) >= second(shape, high):
        return None
    while high / low > 1.001:
        middle = math.sqrt(low * high)
        if first(shape, middle) < second(shape, middle):
            high = middle
        else:
            low = middle
    return high
