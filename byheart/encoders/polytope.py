"""From which dimension on the least divergence is 0: twice the most tokens that follow a context.

Paper        dana2024, Propositions 2 and 3 have d >= N - 1 for all targets and d >= 2 for
             associations. This is beyond them, and Proposition 3 is its case s = 1.
Statement    If at most s tokens follow each context, d_KL(pi, L(N, S, d)) = 0 for d >= 2 s.
Proof        Let W_j = (cos t, sin t, ..., cos st, sin st) at t = 2 pi j / N. For a set S of at
             most s tokens, prod_{i in S} (1 - cos(t - t_i)) is a trigonometric polynomial of degree
             at most s: it is b - a . W_j for some a and b, zero on S and positive elsewhere. So S
             is a face of the polytope (the cyclic one). Its corners are affinely independent, so
             c . W_j is log p_j plus a constant on S, for some c. The logits of E = lambda a + c
             have the right differences on S, and the others fall below them as lambda grows.
Departures   D1  It is an infimum, and the margin shrinks as N^{-2 s}: beyond s = 2 doubles do not
                 reach it. So no encoder is built from it; the optimiser finds better ones.
"""

from .encoder import Merged
from .exact import lossless


def vanishing(rows: Merged) -> int:
    """A dimension from which on the infimum over all encoders is 0."""
    return min(lossless(rows), 2 * int(rows.targets.support.max()))
