"""Prefix codes: complete, optimal, ordered, and decoded by the broken line `kinks`."""

import heapq
from fractions import Fraction
from itertools import pairwise, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byheart.gadgets.prefix_code import PrefixCode, interval_code, prefix_code

decreasing = st.lists(st.integers(1, 1000), min_size=1, max_size=40).map(
    lambda counts: sorted(counts, reverse=True)
)


@st.composite
def limited(draw, counts=decreasing):
    """Counts, and a limit between the shortest possible and one that does not bind."""
    found = draw(counts)
    shortest = (len(found) - 1).bit_length()
    return found, draw(st.integers(shortest, max(shortest, len(found))))


def weight(counts, lengths):
    return sum(count * length for count, length in zip(counts, lengths, strict=True))


def huffman(counts):
    """The weight of Huffman's code: the sum of all merged counts."""
    heap, total = list(counts), 0
    heapq.heapify(heap)
    while len(heap) > 1:
        merged = heapq.heappop(heap) + heapq.heappop(heap)
        total += merged
        heapq.heappush(heap, merged)
    return total


def best_weight(counts, limit):
    """The weight of the best code within the limit, by trying all lengths."""
    return min(
        weight(counts, lengths)
        for lengths in product(range(limit + 1), repeat=len(counts))
        if sum(Fraction(1, 1 << length) for length in lengths) <= 1
    )


def test_by_hand():
    # 5, 2, 1, 1: merge 1 + 1, 2 + 2, 4 + 5; words 0, 10, 110, 111.
    code = prefix_code([5, 2, 1, 1], 4)
    assert code.lengths == (1, 2, 3, 3)
    assert code.words(3) == [0b000, 0b100, 0b110, 0b111]
    # slope 2 up to 1/2, then 4 up to 3/4, then 8
    assert code.kinks == [(0, 2), (Fraction(1, 2), 2), (Fraction(3, 4), 4)]
    assert prefix_code([5, 2, 1, 1], 2).lengths == (2, 2, 2, 2)
    assert prefix_code([7], 0).lengths == (0,)
    assert prefix_code([7], 3) == PrefixCode((0,))


@given(limited())
def test_complete_and_within_the_limit(case):
    counts, limit = case
    lengths = prefix_code(counts, limit).lengths
    assert len(lengths) == len(counts)
    assert sum(Fraction(1, 1 << length) for length in lengths) == 1  # Kraft, with equality
    assert max(lengths) <= limit
    assert list(lengths) == sorted(lengths)  # frequent labels have short words


@given(decreasing)
def test_as_short_as_huffman(counts):
    assert weight(counts, prefix_code(counts, len(counts)).lengths) == huffman(counts)


@given(limited(st.lists(st.integers(1, 30), min_size=1, max_size=5).map(sorted)))
def test_no_code_within_the_limit_is_shorter(case):
    counts, limit = sorted(case[0], reverse=True), case[1]
    assert weight(counts, prefix_code(counts, limit).lengths) == best_weight(counts, limit)


@given(limited(), st.integers(0, 3))
def test_words_are_ordered_and_free_of_prefixes(case, more):
    code = prefix_code(*case)
    width = code.longest + more
    words = code.words(width)
    ends = [w + (1 << (width - length)) for w, length in zip(words, code.lengths, strict=True)]
    assert words[0] == 0 and ends[-1] == 1 << width
    # a word's continuations are an interval; disjoint ones mean that none begins another
    assert all(end == start for end, (_, start) in zip(ends[:-1], pairwise(words), strict=True))


@given(limited(), st.data())
def test_kinks_decode(case, data):
    """floor(g(x)) is the rank for every x that begins with the word."""
    code = prefix_code(*case)

    def g(x):
        return sum(change * max(x - start, Fraction(0)) for start, change in code.kinks)

    width = code.longest
    for rank, (word, length) in enumerate(zip(code.words(width), code.lengths, strict=True)):
        start, size = Fraction(word, 1 << width), Fraction(1, 1 << length)
        inside = data.draw(st.fractions(0, 1).filter(lambda x: x < 1))
        for share in (Fraction(0), inside, 1 - Fraction(1, 1 << 80)):
            assert g(start + share * size) // 1 == rank
    assert all(change > 0 for _, change in code.kinks)  # convex, so relus with positive weights


def test_impossible_limits_and_unsorted_counts_are_refused():
    for counts, limit in (([1, 1, 1], 1), ([1, 2], 3), ([], 3)):
        with pytest.raises(AssertionError):
            prefix_code(counts, limit)


def test_an_interval_by_hand():
    # label 0 has [0, 3/4); the others share [3/4, 1): words 110, 1110, 1111
    code = interval_code([80, 10, 5, 5], 2, 4)
    assert code.lengths == (0, 3, 4, 4)
    assert code.words(4) == [0b0000, 0b1100, 0b1110, 0b1111]
    assert code.kinks == [(0, 1), (Fraction(3, 4), 7), (Fraction(7, 8), 8)]
    assert (code.rise, code.share) == (Fraction(1, 4), 0.5)
    assert code.equations([80, 10, 5, 5]) == 80 / 2 + 10 * 3 + 5 * 4 + 5 * 4
    # one other label: the end of the interval is the threshold of the only digit
    assert interval_code([80, 20], 3, 3) == PrefixCode((0, 3), 3)
    assert PrefixCode((0, 3), 3).kinks == [(0, 1)]


@given(st.lists(st.integers(1, 50), min_size=1, max_size=12), st.integers(2, 6))
def test_every_word_of_an_interval_code_decodes(rest, ones):
    counts = [1000, *sorted(rest, reverse=True)]
    code = interval_code(counts, ones, ones + len(counts))
    width = code.longest + 1
    starts = [*code.words(width), 1 << width]
    for label, (start, end) in enumerate(pairwise(starts)):
        for word in {start, (start + end) // 2, end - 1}:
            x = Fraction(2 * word + 1, 2 << width)
            value, slope = code.rise, 0
            for kink, change in code.kinks:
                value += max(Fraction(0), x - kink) * change
                slope += change
            reached = min(int(value), 1) if len(counts) == 2 else int(value)
            assert reached == label
    assert starts[1] == (1 << width) - (1 << width - ones)
