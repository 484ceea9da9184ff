"""The capacity and the size of a transformer of one attention layer.

Paper        dana2024, Propositions 2 and 3, Theorems 1 to 3, Corollaries 1 and 2; eq. (2), (4) and
             (6).
Statement    One layer of H heads of dimension d_h and a skip connection memorises H d_h + d
             contexts: associations, or distributions as well as any sequence encoder of dimension d
             does. Near look-up tables have such encoders of a small divergence.
Assumptions  A1  Sizes are at least 1, and the vocabulary has two tokens or more.
             A2  d_h <= d.
             A3  The features of attention and skip have the rank H d_h + d. They are limited by
                 more than their number: see ranks.py.
             A4  Theorem 2: C < 1/2, that is d > 128 log(N + 1).
             A5  Theorem 1 with epsilon > 0: the features of the contexts that are kept are linearly
                 independent.
Guarantee    G1  Counts are exact: they are those of the tensors of eq. (2).
             G2  Divergences are upper bounds of the repaired statements, in nats and in doubles.
Departures   D1  A head has the rank min(d_h, d). Appendix B has d = 2, d_h = 5 and H = 20, where
                 the rank is 42 and not 102: we refuse d_h > d.
             D2  Heads needed are ceil((T_0 - d) / d_h), and none if T_0 <= d; the appendix has
                 |(T_0 - d) / d_h|. If d_h does not divide T_0 - d there are features to spare.
             D3  The parameter count is that of W_QK = W_Q^T W_K with W_Q and W_K of d_h rows. A
                 free W_QK of d x d with d_h < d is another model.
             D4  Corollary 2 adds 1 / N for every context that is not memorised: the average over
                 labels drawn uniformly at random. For labels of any kind we give what is
                 proved, the contexts memorised or the most frequent label.
             D5  H is the Shannon entropy, in [0, log N]. Eq. (6) and Theorem 2 have its negative,
                 the appendix both.
             D6  Theorem 2 needs C < 1/2, which is not stated. Its term with d_TV is superfluous:
                 see theorem_2. Its "simpler bound" does not follow and is left out.
             D7  The constant of Theorem 1 lacks the norm of I - 1 Pi^T of eq. (14). That is below
                 sqrt(2), and sqrt(1 + ||V11^-1||^2) can be ||V11^-1||: see theorem_1_approximate.
             D8  Theorem 3 is a rate, and rests on Lemma 4, which is false: (16) does not limit the
                 logits of tokens that never follow. Definition 2 must limit their range.
Notation     N vocabulary, S length, d dimension, d_h head dimension, H heads, T contexts, W
             unembedding, E sequence embeddings, g look-up table, q = 1 - pi(g | t), h entropy.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ...errors import AssumptionError
from ..assumptions import check, check_heads
from .near_tables import theorem_2 as theorem_2


class Accuracy(NamedTuple):
    """Shares of contexts whose likeliest token is correct."""

    proved: float  # whatever the labels are
    average: float  # over labels that are drawn uniformly, independently for each context


def proposition_2(vocabulary: int) -> int:
    """The least dimension in which encoders reach every set of distributions: N - 1.

    Softmax ignores a constant that is added to all logits: centred, the logits of all contexts have
    a rank of at most N - 1, and an encoder of dimension d has any centred logits of rank d. With
    fewer dimensions there are N - 1 distributions of full support whose centred logits are linearly
    independent; their infimum is attained (Lemma 1) and not zero. A distribution with zeros is
    reached in the limit.
    """
    check(vocabulary=(vocabulary, 2))
    return vocabulary - 1


def proposition_3(vocabulary: int, scale: float) -> float:
    """The divergence of the circle encoder for associations: W_i on the circle, E = scale W_g.

    log(1 + sum over j of exp(-scale (1 - cos(2 pi j / N)))), which tends to 0: two dimensions are
    enough for any associations.

    >>> round(proposition_3(50, 1000), 5)
    0.00075
    """
    check(vocabulary=(vocabulary, 2))
    turns = (math.sin(math.pi * j / vocabulary) for j in range(1, vocabulary))
    return math.log1p(math.fsum(math.exp(-2 * scale * turn * turn) for turn in turns))


def theorem_1(heads: int, head_dimension: int, dimension: int) -> int:
    """The contexts T_0 = H d_h + d that are memorised if A3 holds (epsilon = 0).

    F = [W_V A; x_S] is then square and invertible: [W_O, M] F = E has a solution for every E, and M
    is the skip connection once embeddings and heads are written in its basis (if M is invertible).

    >>> theorem_1(heads=99, head_dimension=10, dimension=10)
    1000
    """
    check_heads(heads, head_dimension, dimension)
    return heads * head_dimension + dimension


def heads_needed(contexts: int, head_dimension: int, dimension: int) -> int:
    """The least H with H d_h + d >= T_0 (D2).

    >>> heads_needed(1000, 10, 10), heads_needed(1001, 10, 10), heads_needed(3, 2, 4)
    (99, 100, 0)
    """
    check(contexts=(contexts, 1))
    check_heads(0, head_dimension, dimension)
    return max(0, -(-(contexts - dimension) // head_dimension))


def parameters(
    vocabulary: int, length: int, dimension: int, head_dimension: int, heads: int
) -> int:
    """The dense count d (S + 2 N + 4 d_h H) of eq. (2): embeddings, positions, unembedding, heads.

    >>> parameters(vocabulary=50, length=2, dimension=10, head_dimension=10, heads=99)
    40620
    """
    check(vocabulary=(vocabulary, 2), length=(length, 1))
    check_heads(heads, head_dimension, dimension)
    return dimension * (length + 2 * vocabulary + 4 * head_dimension * heads)


def accuracy(memorised: int, contexts: int, vocabulary: int) -> Accuracy:
    """The transform phi of section 4.2 for the associations memorised out of all contexts, and D4.

    Proved: the contexts that are memorised, or a constant answer, which is correct for the most
    frequent label: at least one context in N.
    """
    check(contexts=(contexts, 1), memorised=(memorised, 0), vocabulary=(vocabulary, 2))
    known, constant = min(memorised, contexts), -(-contexts // vocabulary)
    share = 1 / vocabulary + (1 - 1 / vocabulary) * known / contexts
    return Accuracy(max(known, constant) / contexts, share)


def corollary_2(
    heads: int, head_dimension: int, dimension: int, contexts: int, vocabulary: int
) -> Accuracy:
    """The accuracy that H d_h + d of T contexts give, all of the same probability (D4)."""
    return accuracy(theorem_1(heads, head_dimension, dimension), contexts, vocabulary)


def theorem_1_approximate(features: ArrayLike, kept: int, epsilon: float, norm: float) -> float:
    """How much the divergence may grow if only the first contexts are interpolated (eq. (4)).

    sqrt(2) c epsilon ||W E||_2, where epsilon is the probability of the other contexts and c the
    constant of interpolation_constant. A difference of logits delta changes the divergence of a
    context by at most max over i of |(e_i - Pi) delta|, and |e_i - Pi|^2 = 1 - 2 Pi_i + |Pi|^2 <= 2
    (eq. (14)). The columns of W (W_O F - E) are those of W E [F1^+ F2; -I], at most c ||W E||_2.
    """
    if not 0 <= epsilon <= 1 or not norm >= 0:
        raise AssumptionError("`epsilon` must be a probability, and the norm must not be negative.")
    return math.sqrt(2) * interpolation_constant(features, kept) * epsilon * norm


def interpolation_constant(features: ArrayLike, kept: int) -> float:
    """sqrt(1 + ||F1^+ F2||^2) of F = [F1, F2] with the contexts that are kept in F1 (A5).

    If F1 is square this is ||V11^-1||, with V the orthonormal rows that span those of F and V11 its
    first columns: V11 V11^T + V12 V12^T = I makes ||V11^-1||^2 = 1 + ||V11^-1 V12||^2, and
    V11^-1 V12 = F1^-1 F2.
    """
    matrix = np.asarray(features, np.float64)
    if matrix.ndim != 2 or not 0 < kept <= matrix.shape[1]:
        raise AssumptionError(
            "features must be [rows, contexts], and kept must be from 1 to the number of contexts."
        )
    first, rest = matrix[:, :kept], matrix[:, kept:]
    if np.linalg.matrix_rank(first) < kept:
        raise AssumptionError(f"A5 fails: {kept} contexts have features of a lower rank.")
    found = np.linalg.lstsq(first, rest, rcond=None)[0]
    return math.hypot(1, float(np.linalg.norm(found, 2)) if rest.size else 0.0)
