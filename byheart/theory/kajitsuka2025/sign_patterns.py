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
             G2  theorem_4_2, goldberg_jerrum and uniform_attention hold for nonzero parameters
                 wherever they stand, in blocks of eq. (3) or in plain layers: dimension, width,
                 number of blocks and heads, and which parameters are zero, may be chosen after the
                 labels have been seen.
             G3  theorem_4_2_points and theorem_4_3 are for one architecture and all of its entries.
             G4  With `failure` = t it holds for all labels but a fraction of less than 2^-t.
Departures   D1  Lemma B.4 needs V <= M. Where it is used in the proof of Theorem 4.3 that follows
                 from W <= nN; and if W > nN there is nothing left to prove. In the other bounds
                 V > M does no harm: there are at most 3^M <= 3^V patterns.
             D2  Eq. (92) counts 2 (m + 1) q parameters of a feed-forward layer, W_2 with a bias of
                 q; by eq. (3) its bias has m: 2 m q + q + m. And E_out has m, not m d, as
                 N(X) is a row of n numbers. The inequalities of the proof hold with these counts.
             D3  Eq. (90) for one token gives sqrt(N / log N), not the sqrt(N) of Theorem 4.2.
                 Lemma B.4 applied once, to the polynomials of all activation patterns, gives it.
             D4  The scale of a unit is not counted, which the paper does: 2 sqrt(N), not sqrt(N).
Notation     W parameters, U hidden units, V = W - U, N inputs, n length, m dimension, s head size,
             H heads, q neurons of a block, L blocks, d inputs of E_in, M polynomials, D degree,
             omega tokens.

A label says whether the output exceeds a fixed number. Logarithms are of base 2.

Lemma (scale). Let c be the first parameter into a unit that is not 0. What goes into the unit is
divided by |c| and what comes out of it multiplied, which changes nothing: |c| relu(x / |c|) =
relu(x). No parameter becomes 0, and c is now 1 or -1. After this has been done for all units only
V = W - U parameters vary, once 2^U signs are chosen.

Lemma (fixed zeros). Let it be fixed which W parameters are not 0, and the signs. Given which units
before are active, the argument of a unit is a polynomial in V variables, of degree V at most, as no
path meets a parameter twice. Over N inputs and all activation patterns these are less than N 2^U,
and N 2^U outputs. Their signs determine the labels, and by Lemma B.4 they have at most
(8e N 2^(U + 1))^V patterns. If all tokens of a sequence are the same, every attention is linear.
Around uniform attention, U_1 units before it see single tokens, with at most (8e omega 2^(U_1))^V
patterns of activation; given one of these, the U_2 units behind it see N sums, and all is as above.

Lemma (free zeros). For nonzero W there are at most W^3 (4e (d + W))^W structures: places of the
parameters and order of the layers. A lane of the stream, a unit or a row of W_V that no nonzero
parameter writes to is 0 and may go, and E_out has a parameter: m + U + s <= W - 1 for m lanes, U
units and s rows in all, W^3 sizes at most. Units and rows stand in the order of their layers; each
is a unit or a row, and begins a layer or not: 4^(W - 1). A block without units adds a bias, which
the layer before can add. Fewer parameters are W with biases of lanes that nothing reads. The
places are m (d + 1) in E_in, U (2 m + 1) in W_1, b_1 and W_2, m (U + s) biases behind layers, 2 m s
in W_V and W_O, and m + 1 in E_out. With r = U + s and m + r <= W - 1,

    K = m (d + 2 + 3 r) + U + 1 <= W d + 3/4 (W - 1)^2 + 2 (W - 1) + 1 <= W (d + W),

and W of K places can be chosen in at most (e K / W)^W <= (e (d + W))^W ways. ReLU layers without
skip connections are blocks that write each unit into a lane of its own, by a weight 1 that is no
parameter; the lane is scaled with the unit. With a other lanes, a + U + s <= W - 1, and z = a + U,

    K = a (d + 1) + U (z + 1) + 2 z s + z + 1 <= W d + (z + s)^2 + 2 (W - 1) + 1 <= W (d + W).

In a network of units alone, each of which may read d inputs, a constant and all units before, there
are at most d W + W (W + 1) / 2 places, and no layers to mark.

Theorem. If at least a fraction 2^-t of the labels of N inputs (all of them: t = 0) are given by
networks of W nonzero parameters or fewer, then

    N - t <= V (U + see) + U + W log2(4e (d + W)) + 3 log2(W)      for some U,

with see = 1 + log2(8e N), and around one uniform attention layer log2(8e omega) more. The largest U
term is about (W + see)^2 / 4, so that W is 2 sqrt(N) but for logarithms. Hence theorem_4_2,
goldberg_jerrum (units alone) and uniform_attention.

Corollary (frequent labels). Labels of which exactly k of N are 1 are a fraction binom(N, k) / 2^N
of all, and binom(N, k) is at least 2^(N h) / (N + 1) for the entropy h of k / N. If a network gives
all of them, N - t is at least N h - log2(N + 1): W is 2 sqrt(N h) but for logarithms.

Proof of theorem_4_2_points. The places of W parameters are fixed, and some may be 0. The number
that outputs exceed is made a little larger, so that no output equals it; then all parameters can be
changed a little, to be nonzero, without changing a label. That number is one more variable: V + 1.
In blocks of eq. (3) a unit has a parameter into it and one out of it: U <= (W - 1) / 2.

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


def goldberg_jerrum(points: int, inputs: int = 1, failure: int = 0) -> int:
    """The fewest nonzero parameters of any ReLU network for any labels of N points.

    The points have d coordinates, the inputs of the network.

    >>> [goldberg_jerrum(10**k) for k in (2, 4, 6)]
    [6, 162, 1946]
    """
    check(points=(points, 1), inputs=(inputs, 1))
    return _fewest(points - failure, inputs, 1 + LOG_8E + math.log2(points))


def theorem_4_2(points: int, inputs: int | None = None) -> int:
    """The fewest nonzero parameters of eq. (4) for any labels of N sequences of one repeated token.

    E_in reads the tokens as one-hot vectors, or as vectors of d coordinates.

    >>> [theorem_4_2(10**k) for k in (2, 4, 6)]
    [5, 153, 1929]
    """
    return goldberg_jerrum(points, points if inputs is None else inputs)


def uniform_attention(
    contexts: int, vocabulary: int, inputs: int | None = None, failure: int = 0
) -> int:
    """The fewest nonzero parameters around one uniform attention layer for any labels.

    E_in reads the tokens of N contexts as one-hot vectors, or as vectors of d coordinates.

    >>> [uniform_attention(10**k, 10**k) for k in (2, 4, 6)]
    [3, 139, 1905]
    """
    check(contexts=(contexts, 1), vocabulary=(vocabulary, 1))
    d = vocabulary if inputs is None else inputs
    see = 1 + 2 * LOG_8E + math.log2(contexts) + math.log2(vocabulary)
    return _fewest(contexts - failure, d, see)


def structures(parameters: int, inputs: int) -> float:
    """log2 of the limit of structures: which parameters are not 0, and the order of the layers."""
    W = parameters
    return W * (2 + math.log2(math.e * (inputs + W))) + 3 * math.log2(W)


def theorem_4_2_points(parameters: int, units: int | None = None) -> int:
    """The most sequences of one repeated token that W parameters of eq. (4) can shatter."""
    check(parameters=(parameters, 1))
    most = (parameters - 1) // 2
    U = most if units is None else min(units, most)

    def fails(points: int) -> bool:
        return labellings(parameters + 1, U, 1 + LOG_8E + math.log2(points)) * ROUNDING < points

    return _least(fails) - 1


def labellings(parameters: int, units: int, see: float) -> float:
    """The largest (W - U) (U + see) + U of at most so many units: log2 of labels, zeros fixed."""
    U = min(units, max(0.0, (parameters + 1 - see) / 2))
    return (parameters - U) * (U + see) + U


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
    """log2 of the limit of sign patterns in eq. (90), infinite without Lemma B.4 (D1)."""
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


def _fewest(labels: int, inputs: int, see: float) -> int:
    """The least W that the theorem allows, with as many units as it can have."""

    def allowed(W: int) -> bool:
        return labellings(W, W - 1, see) + structures(W, inputs) >= labels / ROUNDING

    return _least(allowed)


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
