"""The rank of the features of attention for random weights, exactly modulo a prime.

Paper        dana2024, Lemma 2, and eq. (2) for the features of the skip connection.
Statement    For some embeddings and heads, the features of given contexts have a certain rank.
Assumptions  A1  Contexts are distinct and have one length.
             A2  d_h <= d.
Guarantee    G1  The rank modulo the prime is at most the rank over the reals, of features with real
                 weights: what is found is reached. It need not be the largest rank that there is.
Departures   D1  W_QK = (log 3) M with an integer matrix M of rank d_h, so that softmax weights are
                 powers of 3 over their sum, and all features are rational.
Notation     d dimension, d_h head dimension, H heads, S length, x = e(t_s) + pos_s.
"""

import random
from collections.abc import Sequence
from operator import add

from flint import nmod_mat

from ..assumptions import check_heads

PRIME = 2**61 - 1  # 3 has a large order modulo it, 2 has not
LARGEST = 9  # of random entries


def reached_rank(
    contexts: Sequence[Sequence[int]],
    heads: int,
    head_dimension: int,
    dimension: int,
    skip: bool = True,
    seed: int = 0,
) -> int:
    """A rank that the features of these contexts have for some weights (G1).

    With the skip connection they are W_V A^h of each head and x_S; without it, A^h of each head.

    >>> reached_rank([(0, 1), (1, 0), (1, 1)], heads=2, head_dimension=1, dimension=2, skip=False)
    3
    """
    check_heads(heads, head_dimension, dimension)
    d = dimension
    draw = random.Random(seed)

    def table(rows: int, columns: int) -> list[list[int]]:
        return [[draw.randint(-LARGEST, LARGEST) for _ in range(columns)] for _ in range(rows)]

    e = table(1 + max(token for context in contexts for token in context), d)
    pos = table(len(contexts[0]), d)
    columns = []  # features of each context, [H d_h + d] or [H d]
    drawn = [tuple(table(head_dimension, d) for _ in range(3)) for _ in range(heads)]
    for c in contexts:
        vectors = [list(map(add, e[t], u)) for t, u in zip(c, pos, strict=True)]
        features: list[int] = []
        for query, key, value in drawn:
            q = [_dot(row, vectors[-1]) for row in query]
            keys = [[_dot(row, v) for row in key] for v in vectors]
            weights = [pow(3, _dot(q, k), PRIME) for k in keys]
            whole = pow(sum(weights), -1, PRIME)  # ValueError once in 2^61 draws: sum is 0
            mean = [_dot(weights, row) * whole % PRIME for row in zip(*vectors, strict=True)]
            features += [_dot(row, mean) for row in value] if skip else mean
        columns.append([y % PRIME for y in (*features, *(vectors[-1] if skip else ()))])
    entries = [y for features in columns for y in features]
    return nmod_mat(len(columns), len(columns[0]), entries, PRIME).rank() if entries else 0


def _dot(a: Sequence[int], b: Sequence[int]) -> int:
    return sum(x * y for x, y in zip(a, b, strict=True))
