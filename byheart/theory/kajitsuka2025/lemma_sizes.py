"""Sizes of the lookups of kajitsuka2025, counted layer by layer: Lemmas C.1, F.1 and G.3 to G.6.

kajitsuka2025.py has assumptions, departures and notation.
"""

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple


@dataclass(frozen=True)
class Size:
    """Nonzero parameters, parameters of full matrices, layers, and lanes where they are most."""

    parameters: int
    dense: int
    depth: int
    width: int

    def __add__(self, other: "Size") -> "Size":
        """Two parts, one after the other."""
        return Size(
            self.parameters + other.parameters,
            self.dense + other.dense,
            self.depth + other.depth,
            max(self.width, other.width),
        )

    def times(self, count: int) -> "Size":
        """The same part so many times, one after the other."""
        many = self.parameters * count, self.dense * count, self.depth * count
        return Size(*many, self.width if count else 0)


def lookup_size(
    items: int, key_bits: int, label_bits: int, before: int, zeros: int = 0, carried: int = 0
) -> Size:
    """Lemma C.1 from its scalar on: select a group's two numbers, search them.

    before   lanes of the layer before
    zeros    lanes that are added at the end and are 0
    carried  lanes that are kept
    """
    size = _group_size(items)
    end = carried + 2, carried + 1 + zeros
    return _body_size(items, size, key_bits, label_bits, before, carried, end)


def split_lookup_size(items: int, key_bits: int, label_bits: int, bits: int) -> Size:
    """Lemma F.1: the lookup in parts, as large as parameters of so many bits allow; x is kept.

    The first part reads x, the others x and what was found before them.
    """
    longest = max(key_bits, label_bits)
    size = min((bits - 2) // longest, _group_size(items))
    points = size**2 * longest
    whole, rest = divmod(items - 1, points)  # the last part has rest + 1 of them

    def part(count: int, found: int) -> Size:
        end = 3 + found, 2
        return _body_size(count, size, key_bits, label_bits, 1 + found, found, end)

    if not whole:
        return part(items, 0)
    return part(points, 0) + part(points, 1).times(whole - 1) + part(rest + 1, 1)


def _group_size(items: int) -> int:
    """Items of a group: N items in about sqrt(N log N) groups (D1)."""
    return -(-items // max(1, round(math.sqrt(items * math.log2(max(items, 2))))))


def _body_size(
    items: int,
    size: int,
    key_bits: int,
    label_bits: int,
    before: int,
    carried: int,
    end: tuple[int, int],
) -> Size:
    """Select a group and search it; `end` has the nonzeros and lanes of the last layer."""
    groups = -(-items // size)
    q = carried
    widths = Widths(before).then([q + 3]).then([q + 5, q + 5, q + 3], groups).then([q + 6])
    widths = widths.then(_item_widths(key_bits, label_bits, q), size).then([end[1]])
    select = 3 * q + 23  # Lemma G.3, for keys and labels side by side: 7 + 7 + 9
    begin = q + 9  # Lemma G.6: four fractions of the two numbers
    sums = size - 1  # each item but the first adds what the last one found
    item = _item(key_bits, label_bits, q)
    return Size(
        (q + 1) + groups * select + begin + size * item + sums + end[0],
        widths.dense,
        widths.depth,
        widths.most,
    )


class Widths(NamedTuple):
    """Layers one after another, of which only sums are kept: there may be millions.

    last   lanes after the last layer
    dense  full matrices and biases
    depth  layers
    most   lanes where they are most
    """

    last: int
    dense: int = 0
    depth: int = 0
    most: int = 0

    def then(self, lanes: list[int], times: int = 1) -> "Widths":
        """With layers of so many lanes behind, all of them so many times."""
        inside = sum(b * (a + 1) for a, b in pairwise(lanes))
        again = lanes[0] * (lanes[-1] + 1)
        dense = lanes[0] * (self.last + 1) + inside * times + again * (times - 1)
        depth = self.depth + len(lanes) * times
        return Widths(lanes[-1], self.dense + dense, depth, max(self.most, *lanes))


def _item_widths(key_bits: int, label_bits: int, carried: int) -> list[int]:
    """Lanes after each layer that reads one key and one label and compares."""
    widths = []
    for t in range(max(key_bits, label_bits)):
        reading = (t < key_bits) + (t < label_bits)
        widths += [carried + 8 + 2 * reading, carried + 8, carried + 8 + reading]
    return widths + [carried + 9, carried + 9, carried + 7]


def _item(key_bits: int, label_bits: int, carried: int) -> int:
    """Nonzeros that read one key and one label and compare the key with the input."""
    steps = max(key_bits, label_bits)
    bits = sum(
        3 * carried
        + (2 + _reading(t, key_bits, 6) + _reading(t, label_bits, 6))  # tent maps: kinks
        + (4 + _reading(t, key_bits, 4) + _reading(t, label_bits, 4))  # tent maps: sums
        + (8 + 2 * (t < key_bits) + 2 * (t < label_bits))  # Lemma G.4: the bit
        + _gathered(t, key_bits)
        + _gathered(t, label_bits)
        for t in range(steps)
    )
    key, label = _gathered(steps, key_bits), _gathered(steps, label_bits)
    compare = 3 * carried + (9 + label + 2 * key) + 11 + 10  # Lemma G.5, then the gate
    return bits + compare


def _reading(step: int, width: int, active: int) -> int:
    """Two lanes in use cost `active`; once all bits are read they are only carried."""
    return active if step < width else 2


def _gathered(step: int, width: int) -> int:
    """Terms of the accumulator after `step` bits: A <- 2 A + 2^(..) bit."""
    if step > width:
        return 1
    return min(step, 2)
