"""Prefix codes for labels, and the block that turns a code word back into the label's number.

Frequent labels get short words. Labels are numbered by word length, so the words of one length are
consecutive (a *canonical* code) and decoding is one convex piecewise-linear map followed by reading
binary digits.
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
    """

    lengths: tuple[int, ...]

    @cached_property
    def longest(self) -> int:
        return max(self.lengths)

    def words(self, width: int) -> list[int]:
        """Every word, left-aligned in `width` bits."""
        sizes = [1 << (width - length) for length in self.lengths]
        return [end - size for end, size in zip(accumulate(sizes), sizes, strict=True)]

    @cached_property
    def kinks(self) -> list[tuple[Fraction, int]]:
        """(x, change of slope) of the convex map g that decodes.

        floor(g(x)) = r for every x that begins with word r. On the words of length l the map has
        slope 2**l and takes the next whole number at each word's start. It is continuous because
        word r + 1 starts where word r ends: g rises by 2**l * 2**-l = 1 between them. The first
        entry is (0, slope at 0).
        """
        result: list[tuple[Fraction, int]] = []
        previous = 0
        start = Fraction(0)
        for length in self.lengths:
            if length != previous or not result:
                result.append((start, (1 << length) - (1 << previous) * bool(result)))
                previous = length
            start += Fraction(1, 1 << length)
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
