"""Codes of tokens: balanced words of the Reed-Muller code of order 2, as rows of +1 and -1.

A word is the table of values of a polynomial of degree at most 2 in m variables over GF(2), so it
has 2^m lanes. Two different words differ in at least 2^(m - 2) lanes (Muller 1954, Reed 1954): the
difference is a nonzero polynomial p of degree at most 2, and by induction on m such a polynomial is
1 on at least 2^(m - 2) points. (Split at the last variable: p = q + x_m l with deg l <= 1. Where
l = 0, both halves are q, with 2^(m - 3) points each. Otherwise q and q + l are not both 0: if one
of them is, the other is l, a polynomial of degree 1, which is 1 on 2^(m - 2) of 2^(m - 1) points
unless it is constant, and then on all; else each half has 2^(m - 3) points.) So the inner product
of two words of +-1 is at most 2^(m - 1), half of a word's with itself.

Balanced words have as many +1 as -1. Their sum is 0 and their length is fixed, so that a layer norm
treats all of them alike. For m = 5 there are 36,518 of 65,536.
"""

import numpy as np
from numpy.typing import NDArray

DRAWN = 1 << 14  # words made at once


def lanes(count: int) -> int:
    """The fewest lanes in which there are `count` balanced words: 2^m with m at least 4."""
    known = {16: 870, 32: 36_518, 64: 1 << 20}
    return next(size for size, words in known.items() if words >= count)


def words(count: int, size: int, random: np.random.Generator) -> NDArray[np.float64]:
    """`count` different balanced words of `size` = 2^m lanes, drawn at random, [count, size]."""
    m = size.bit_length() - 1
    points = (np.arange(size)[:, None] >> np.arange(m)) & 1  # [2^m, m]
    pairs = [points[:, i] & points[:, j] for i in range(m) for j in range(i)]
    monomials = np.stack([np.ones(size, int), *points.T, *pairs]).astype(np.int64)
    bits = len(monomials)
    order = random.permutation(1 << bits)  # of the coefficients of all polynomials
    found: list[NDArray] = []
    have = 0
    for first in range(0, len(order), DRAWN):
        drawn = (order[first : first + DRAWN, None] >> np.arange(bits)) & 1
        table = drawn @ monomials & 1
        balanced = table[table.sum(axis=1) == size // 2]
        found.append(balanced)
        have += len(balanced)
        if have >= count:
            return 1.0 - 2.0 * np.concatenate(found)[:count]
    raise AssertionError(f"there are only {have} balanced words of {size} lanes")
