"""The fewest parameters that give N inputs any labels: lower bounds by counting sign patterns.

Paper        kajitsuka2025, Theorems 4.2 (B.2) and 4.3 (B.3), Lemma B.4, eq. (90) to (96). Lemma B.4
             is from goldberg1995.
Statement    A ReLU network of W parameters that can give N inputs any labels has at least the order
             of sqrt(N) parameters: fewer have too few sign patterns.
Assumptions  A1  Sizes are at least 1.
             A2  ReLU; attention is hard or uniform, or all tokens of a sequence are the same
                 (Theorem 4.2: softmax is then uniform).
             A3  Any two labels, for each input by itself: the inputs are distinct contexts.
Guarantee    G1  Explicit numbers, rounded down: fewer parameters cannot do it, with any weights.
             G2  theorem_4_2, goldberg_jerrum and uniform_attention hold for nonzero parameters, if
                 it is fixed which are zero. theorem_4_3 is for the full matrices of eq. (4).
Departures   D1  Lemma B.4 needs W <= M. Where it is used in the proof of Theorem 4.3 that follows
                 from W <= nN; and if W > nN there is nothing left to prove. In the other bounds
                 W > M does no harm: there are at most 3^M <= 3^W patterns.
             D2  Eq. (92) counts 2 (m + 1) q parameters of a feed-forward layer, W_2 with a bias of
                 q; by eq. (3) its bias has m: 2 m q + q + m. And E_out has m, not m d, as
                 N(X) is a row of n numbers. The inequalities of the proof hold with these counts.
             D3  Eq. (90) for one token gives sqrt(N / log N), not the sqrt(N) of Theorem 4.2.
                 Lemma B.4 applied once, to the polynomials of all activation patterns, gives it.
Notation     W parameters, U hidden units, N inputs, n length, m dimension, s head size, H heads, q
             neurons of a block, L blocks, d inputs of E_in, M polynomials, D degree.

Proof of theorem_4_2 and goldberg_jerrum. Each unit has parameters of its own, or it does nothing:
one into it; in the blocks of eq. (3) one out of it as well. So U <= (W - 1) / own. Given which
units before are active, the argument of a unit is a polynomial of degree W at most, as no path
meets a parameter twice. Over N inputs and all patterns these are less than N 2^U, and N 2^U
outputs. Their signs determine the labels, and by Lemma B.4 they have at most (8e N 2^(U + 1))^W
patterns:

    N <= W (U + 1 + log2(8e N)).

Unit by unit, as in eq. (90): V_u variables, those up to unit u, have at most (8e N)^(V_u) patterns
of N polynomials, which grows with V_u. V_u <= W - 1 - own (U - u), since later units have theirs:

    N <= (W + the sum of all V_u) log2(8e N).

Proof of uniform_attention. Units before attention see single tokens, of which there are omega, and
on each of their patterns those behind it see N sums: (8e omega 2^(U_1 + 1))^W (8e N 2^(U_2 + 1))^W.

Proof of theorem_4_3. W = m d + L p + m, p = 4 m s H + 2 m q + q + m. In eq. (90) before its last
line, first factor: W >= 4 L + 2. Attention: W_(l-1) + 2 m s H >= (4 l - 2) H, so 16e n^3 N is left
of the base. Neurons: W_(l-1) + 2 m s H + (m + 1) q >= (3 l - 1) q, so 16e n N. The exponents add up
to L (m d + L p / 2) each, and L (q - m) / 2 <= W / 6 for the neurons; with p >= 8 the former is at
most (W - 1)^2 / 16. Without heads p >= 4, and there is one of them: not more. So

    labels <= W log2(8e n N) + (W - 1)^2 / 16 (log2(16e n^3 N) + log2(16e n N))
              + W / 6 log2(16e n N).
"""

import math
from collections.abc import Callable
from typing import NamedTuple

from ..assumptions import check

ROUNDING = 1 + 1e-12  # of a few operations in doubles: limits are never too large
LOG_8E = 3 + math.log2(math.e)


class Blocks(NamedTuple):
    """The sizes of eq. (4): dimension m, heads H of size s, width q, layers L, inputs d."""

    dimension: int
    heads: int
    head_dimension: int
    width: int
    layers: int
    inputs: int

    @property
    def block(self) -> int:
        """4 m s H + 2 m q + q + m: attention, and the feed-forward layer of eq. (3) (D2)."""
        m, H, s, q, _, _ = self
        return 4 * m * s * H + 2 * m * q + q + m

    @property
    def parameters(self) -> int:
        """Of E_in, of all blocks, and of E_out (D2)."""
        return self.dimension * (self.inputs + 1) + self.layers * self.block


def theorem_4_2(points: int) -> int:
    """The fewest parameters of eq. (4) for any labels of N sequences of one repeated token.

    >>> [theorem_4_2(10**k) for k in (2, 4, 6)]
    [7, 125, 1391]
    """
    return _shattering(points, own=2)


def goldberg_jerrum(points: int) -> int:
    """The fewest parameters of any ReLU network for any labels of N points.

    >>> [goldberg_jerrum(10**k) for k in (2, 4, 6)]
    [6, 92, 988]
    """
    return _shattering(points, own=1)


def uniform_attention(contexts: int, vocabulary: int) -> int:
    """The fewest parameters around one uniform attention layer for any labels of N contexts."""
    check(contexts=(contexts, 1), vocabulary=(vocabulary, 1))
    base = 2 * LOG_8E + math.log2(vocabulary) + math.log2(contexts)
    return _least(lambda W: W * (W + 1 + base) >= contexts / ROUNDING)


def theorem_4_2_points(parameters: int, units: int | None = None) -> int:
    """The most sequences of one repeated token that W parameters of eq. (4) can shatter.

    With fewer hidden units than these parameters allow there are fewer.
    """
    check(parameters=(parameters, 1))
    most = (parameters - 1) // 2
    U = most if units is None else min(units, most)
    return _least(lambda points: not _allowed(points, parameters, U, own=2)) - 1


def theorem_4_3(sequences: int, length: int, labels: int | None = None) -> int:
    """The fewest parameters of eq. (4) with hard attention, whatever their sizes.

    For any labels of this many tokens of N sequences; by default of all n N.

    >>> [theorem_4_3(10**k, 10) for k in (2, 4, 6)]
    [19, 175, 1578]
    """
    check(sequences=(sequences, 1), length=(length, 1))
    wanted = sequences * length if labels is None else labels
    one = LOG_8E + math.log2(sequences) + math.log2(length)
    neurons, attention = one + 1, one + 1 + 2 * math.log2(length)

    def patterns(W: int) -> float:
        return W * (one + neurons / 6) + (W - 1) ** 2 / 16 * (attention + neurons)

    return _least(lambda W: patterns(W) >= wanted / ROUNDING)


def eq_90(blocks: Blocks, sequences: int, length: int) -> float:
    """log2 of the limit of sign patterns in eq. (90), the product of its second line.

    If there are as many parameters as labelled tokens, Lemma B.4 does not apply (D1): infinite.
    """
    check(**{name: (size, int(name != "heads")) for name, size in blocks._asdict().items()})
    check(sequences=(sequences, 1), length=(length, 1))
    m, H, s, q, L, d = blocks
    W, nN = blocks.parameters, length * sequences
    if W > nN:
        return math.inf
    total = _patterns(nN * (4 * L + 2), W)
    for layer in range(1, L + 1):
        before = m * d + (layer - 1) * blocks.block + 2 * m * s * H
        total += _patterns(length**2 * nN * H * (8 * layer - 4), before) if H else 0.0
        total += _patterns(nN * q * 4 * layer, before + (m + 1) * q)
    return total


def theorem_4_3_tokens(blocks: Blocks, length: int) -> int:
    """The most labelled tokens n N that these blocks can shatter: eq. (90) solved for N."""
    fails = _least(lambda N: eq_90(blocks, N, length) * ROUNDING < N * length)
    return (fails - 1) * length


def _patterns(numerator: int, variables: int) -> float:
    """log2 of (8e M D / V)^V."""
    return variables * (LOG_8E + math.log2(numerator) - math.log2(variables))


def _shattering(points: int, own: int) -> int:
    """The least W that both inequalities allow, with as many units as it can have."""
    check(points=(points, 1))
    return _least(lambda W: _allowed(points, W, (W - 1) // own, own))


def _allowed(points: int, W: int, U: int, own: int) -> bool:
    """Both inequalities of the proof."""
    log = LOG_8E + math.log2(points)
    seen = W + U * (W - 1) - own * U * (U - 1) // 2
    return min(W * (U + 1 + log), seen * log) >= points / ROUNDING


def _least(holds: Callable[[int], bool]) -> int:
    """The least positive integer from which on it holds."""
    high = 1
    while not holds(high):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
