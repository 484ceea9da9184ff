"""Prefix codes for labels, and the block that turns a code word back into the label's number.

Frequent labels get short words. Labels are numbered by word length, so the words of one length are
consecutive (a *canonical* code) and decoding is one convex piecewise-linear map followed by reading
binary digits.

A label that more than two thirds of all contexts have may take less than a bit: it gets the
*interval* [0, 1 - 2**-c), and the words of the others begin with c ones. Whatever digits a context
of this label happens to have are right, unless the first c are all 1.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate


@dataclass(frozen=True)
class PrefixCode:
    """Word lengths, shortest first: label number r has a word of lengths[r] bits.

    Word r, read as a binary fraction, is the sum of 2**-lengths[s] over s < r: the words fill
    [0, 1) in order.

    interval  c, or 0: label 0 has length 0, and its words are all that do not begin with c ones
    """

    lengths: tuple[int, ...]
    interval: int = 0

    @cached_property
    def longest(self) -> int:
        return max(self.lengths)

    @property
    def share(self) -> float:
        """The share of contexts of the interval that need an equation, at their first digit: where
        those that follow make the word one of c ones, once in 2**(c - 1). 0 if there is none.
        """
        return 2.0 ** (1 - self.interval) if self.interval else 0.0

    def equations(self, counts: Sequence[int]) -> float:
        """What contexts of the labels need, as expected."""
        needs = (length or self.share for length in self.lengths)
        return sum(count * need for count, need in zip(counts, needs, strict=True))

    @property
    def rise(self) -> Fraction:
        """The map that decodes at 0."""
        return Fraction(1, 1 << self.interval) if self.interval else Fraction(0)

    def words(self, width: int) -> list[int]:
        """Every word, left-aligned in `width` bits; of an interval the first one."""
        sizes = [1 << (width - length) for length in self.lengths]
        sizes[0] -= int(self.rise * (1 << width))
        return [end - size for end, size in zip(accumulate(sizes), sizes, strict=True)]

    @cached_property
    def kinks(self) -> list[tuple[Fraction, int]]:
        """(x, change of slope) of the convex map g that decodes.

        floor(g(x)) = r for every x that begins with word r. On the words of length l the map has
        slope 2**l and takes the next whole number at each word's start. It is continuous because
        word r + 1 starts where word r ends: g rises by 2**l * 2**-l = 1 between them. The first
        entry is (0, slope at 0). An interval has slope 1 and g begins at 2**-c, so that g is 1 at
        its end; where only one label is left above it, no kink is needed.
        """
        if self.interval and len(self.lengths) == 2:
            return [(Fraction(0), 1)]
        result: list[tuple[Fraction, int]] = []
        previous = 0
        start = Fraction(0)
        for length in self.lengths:
            if length != previous or not result:
                result.append((start, (1 << length) - (1 << previous) * bool(result)))
                previous = length
            start += Fraction(1, 1 << length) - (self.rise if start == 0 else 0)
        return result


def prefix_code(counts: Sequence[int], limit: int) -> PrefixCode:
    """The best prefix code with words of at most `limit` bits for counts in decreasing order.

    Package-merge (Larmore and Hirschberg 1990): at each of `limit` levels the labels, as coins
    worth their count, are merged with pairs of the level before. Buy the cheapest 2C - 2 items of
    the last level; a label's word is as long as the number of levels where it is bought.
    """
    size = len(counts)
    assert 1 <= size <= 1 << limit and list(counts) == sorted(counts, reverse=True)
    coins = [(count, 1) for count in reversed(counts)]
    levels = []
    pairs: list[tuple[int, int]] = []
    for _ in range(limit):
        items = sorted(coins + pairs, key=lambda item: item[0])
        levels.append(items)
        pairs = [(a[0] + b[0], 0) for a, b in zip(items[::2], items[1::2], strict=False)]
    lengths = [0] * size
    bought = 2 * size - 2
    for items in reversed(levels):
        labels = sum(coin for _, coin in items[:bought])
        for place in range(labels):  # the cheapest labels
            lengths[place] += 1
        bought = 2 * (bought - labels)
    return PrefixCode(tuple(reversed(lengths)))


def interval_code(counts: Sequence[int], interval: int, limit: int) -> PrefixCode:
    """The best code whose first label has the interval [0, 1 - 2**-interval)."""
    rest = prefix_code(counts[1:], limit - interval)
    return PrefixCode((0, *(interval + length for length in rest.lengths)), interval)
