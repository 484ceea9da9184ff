"""How many contexts a decoder can interpolate next-token distributions for, and how many not.

Paper        madden2024, Definition 1, Lemmas 1 and 2, Theorems 1, 5 and 7, eq. (2) and (3).
Statement    A model of k parameters interpolates all distributions of at most k / (omega - 1)
             contexts, a transformer of one layer and m neurons those of m contexts at least. Some
             data of about twice as many contexts, counted from documents, it cannot memorise.
Assumptions  A1  Sizes are at least 1, and the vocabulary has two tokens or more.
             A2  Lemma 1: outputs are continuously differentiable in the parameters, or definable.
             A3  Theorem 1: they are definable in an o-minimal structure, and the model reads
                 contexts of T tokens.
             A4  Theorems 5 and 7: psi is analytic somewhere and no polynomial there (not ReLU), one
                 layer as in eq. (2), softmax attention (Theorem 7: a weighted sum of tokens).
Guarantee    G1  Integers, computed without rounding.
             G2  The counts of Theorems 5 and 7 for data are those of the model with d = 1, one
                 head of dimension 1 and as many neurons as contexts.
Departures   D1  Definable maps do not raise dimension, so that Lemma 1 and Theorem 1 need no
                 derivatives: ReLU and hard attention count as well. For Lemma 1 differentiable maps
                 do, too.
             D2  The paper takes definable in (R_an, exp), and counts erf and GELU among these
                 functions. Any o-minimal structure serves; the Pfaffian closure has both.
             D3  T = ceil(log n' / log omega) is 0 for k < omega - 1. It is 1 at least here.
             D4  k contains T, by the positions: T is found as the fixed point.
             D5  "n := n' + sum of omega^t" counts all prefixes. The first n' words in alphabetical
                 order have fewer: `contexts` is their exact number.
Notation     k parameters, omega vocabulary, n contexts, n' interpolated ones, T length, d
             dimension, m_0 heads of dimension d_0 = d_1, m neurons.
"""

from collections.abc import Callable
from typing import NamedTuple

from ..assumptions import check

DEFINITION_1 = (
    "The memory capacity is the largest n such that the model gives any n distinct contexts any "
    "distributions without zeros, by some choice of its parameters (madden2024, Definition 1)."
)


class Adversarial(NamedTuple):
    """The data of Theorem 1, which no choice of k parameters memorises."""

    interpolated: int  # n' contexts of T tokens, with distributions outside the image's closure
    length: int  # T
    contexts: int  # of all documents, with the prefixes: those of the first n' words (D5)
    limit: int  # (2 + 1 / (omega - 1)) k / (omega - 1) + 1, rounded down


def lemma_1(parameters: int, outputs: int) -> int:
    """The most contexts for which all distributions can be reached.

    >>> lemma_1(parameters=100, outputs=5)
    25
    """
    check(vocabulary=(outputs, 2), parameters=(parameters, 0))
    return parameters // (outputs - 1)


def lemma_1_parameters(contexts: int, outputs: int) -> int:
    """The fewest parameters of a model that reaches all distributions of these contexts."""
    check(vocabulary=(outputs, 2), contexts=(contexts, 1))
    return contexts * (outputs - 1)


def theorem_1(parameters: int, outputs: int) -> Adversarial:
    """The size of the data that k parameters cannot memorise.

    >>> theorem_1(parameters=100, outputs=5)
    Adversarial(interpolated=26, length=3, contexts=34, limit=57)
    """
    n = lemma_1(parameters, outputs) + 1
    T = 1
    while outputs**T < n:
        T += 1
    prefixes = sum(-(-n // outputs ** (T - t)) for t in range(1, T))
    return Adversarial(n, T, n + prefixes, theorem_1_limit(parameters, outputs))


def theorem_1_limit(parameters: int, outputs: int) -> int:
    """floor((2 + 1 / (omega - 1)) k / (omega - 1)) + 1, exactly."""
    check(vocabulary=(outputs, 2), parameters=(parameters, 0))
    return (2 * outputs - 1) * parameters // (outputs - 1) ** 2 + 1


def theorem_1_parameters(contexts: int, outputs: int) -> int:
    """The least k with theorem_1_limit(k) > n: fewer fail on some data of n contexts or less."""
    check(vocabulary=(outputs, 2), contexts=(contexts, 1))
    return -(-contexts * (outputs - 1) ** 2 // (2 * outputs - 1))


def fixed_point(count: Callable[[int], int], outputs: int) -> Adversarial:
    """Theorem 1 for a model whose parameters grow with T (D4).

    T is raised until the data of count(T) parameters is no longer. Both grow with T, so that this
    is the least fixed point. There is one, as outputs^T outgrows any polynomial.

    >>> fixed_point(lambda T: 100 + 300 * T, outputs=5).length
    4
    """
    length = 1
    while (found := theorem_1(count(length), outputs)).length > length:
        length = found.length
    return found


def parameters(
    vocabulary: int, length: int, dimension: int, heads: int, head_dimension: int, width: int
) -> int:
    """omega m + m (d + 1) + 2 m_0 (d_0 + d_1) d + (omega + T) d: the model of eq. (2).

    >>> parameters(vocabulary=10, length=4, dimension=3, heads=2, head_dimension=1, width=20)
    346
    """
    check(vocabulary=(vocabulary, 2), length=(length, 1), dimension=(dimension, 1))
    check(width=(width, 1), heads=(heads, 1), head_dimension=(head_dimension, 1))
    omega, T, d, m = vocabulary, length, dimension, width
    return omega * m + m * (d + 1) + 4 * heads * head_dimension * d + (omega + T) * d


def theorem_5_parameters(contexts: int, union: int, length: int) -> int:
    """Enough for any distributions: m = n, d = 1, one head, the union of both vocabularies (G2)."""
    return theorem_7_parameters(contexts, union, length) + 4


def theorem_7_parameters(contexts: int, union: int, length: int) -> int:
    """The same with a weighted sum of tokens, of T weights, in place of attention."""
    check(vocabulary=(union, 2), contexts=(contexts, 1), length=(length, 1))
    return contexts * (union + 2) + union + length


def ratio(parameters: int, outputs: int, width: int) -> float:
    """Lemma 1 over Theorem 5, k / ((omega - 1) m): eq. (3) if k is that of eq. (2)."""
    check(vocabulary=(outputs, 2), parameters=(parameters, 0), width=(width, 1))
    return parameters / ((outputs - 1) * width)
