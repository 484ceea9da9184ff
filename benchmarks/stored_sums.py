"""How few parameters the family of hash-fold-retrieve can have: a bound for random labels.

Paper        None: the family is ours (constructions/retrieval).
Statement    Definition. A network of the family with structure (a, c), U stored numbers n_1, ...,
             n_U and K positions gives context x the label

                 bit c(x) of S(x)  xor  bit c(x) + 1 of S(x),    0 <= c(x) < K,
                 S(x) = a_0(x) + a_1(x) n_1 + ... + a_U(x) n_U,

             with integers a_u(x). Each stored number is a parameter, and K folds of the strip have
             three nonzero parameters each. The structure is all else: hash, plan, order of folds.
Guarantee    G1  Let I contexts have uniform labels. Whatever the s structures among which a search
                 may choose, with the labels before it, a network of fewer than fewest(I, log2 s, t)
                 nonzero parameters exists with probability at most 2^-t.
             G2  fewest is at least 2 sqrt(3 (I - log2 s - t)) - 3.
Departures   D1  That a fold of the strip needs three parameters is a fact about this family: in
                 v + a relu(b v + c) none of a, b and c is 0. Other families may do with fewer.
Notation     I contexts of one bit each, s structures, t bits.

Proof of G1. A label depends on S(x), and so on each stored number, only modulo 2^(K + 1): with a
fixed structure there are at most 2^((K + 1) U) labellings, and some structures have as many. Each
has probability 2^-I, so that one of s structures has the labels with probability at most
s 2^((K + 1) U - I). This is at most 2^-t if (K + 1) U <= I - log2(s) - t; otherwise the network has
U + 3 K parameters or more, at least the fewest with (K + 1) U > I - log2(s) - t.

Proof of G2. By the inequality of the means, 3 (K + 1) + U >= 2 sqrt(3 (K + 1) U).
"""

import math

from byheart.theory.assumptions import check


def labellings(numbers: int, positions: int) -> int:
    """log2 of the most labellings that a structure has: (K + 1) U."""
    return (positions + 1) * numbers


def fewest(information: int, structures: int = 0, failure: int = 0) -> int:
    """The fewest U + 3 K with (K + 1) U > I - log2(s) - t, where `structures` is log2(s).

    >>> fewest(858_365), fewest(858_365, structures=500, failure=100)
    (3207, 3206)
    """
    check(information=(information, 1), structures=(structures, 0), failure=(failure, 0))
    bits = max(0, information - structures - failure)
    positions = range(1, math.isqrt(bits) + 2)
    return min(3 * K + bits // (K + 1) + 1 for K in positions)
