"""Exact ranks of psi(a b^T) for a polynomial psi, and Kruskal ranks of any matrix of columns."""

import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations

from flint import fmpq, fmpq_mat, nmod, nmod_mat

PRIME = 2**61 - 1
SUBSETS = 20_000  # sets of columns that are all looked at; of more, a sample
SAMPLE = 200


class Powers:
    """[c_k a_i^k] and [b_j^k], k in the support of psi, over a field: psi(a b^T) is left right^T.

    psi(a b^T) = sum over k of c_k a^(k) b^(k)^T (the first line of the proof of Theorem 2).
    """

    def __init__(
        self, psi: Mapping[int, Fraction], a: Sequence[Fraction], b: Sequence[Fraction]
    ) -> None:
        self.support = sorted(psi)
        self.coefficients = [psi[k] for k in self.support]
        self.a, self.b = a, b

    def modular(self) -> nmod_mat:
        """The matrix modulo a prime: its rank is at most the rank over the rationals.

        ZeroDivisionError if the prime divides a denominator.
        """
        left, right = self._factors(lambda x: nmod(x.numerator, PRIME) / nmod(x.denominator, PRIME))
        size = len(self.support)
        first = nmod_mat(len(self.a), size, [x for row in left for x in row], PRIME)
        second = nmod_mat(len(self.b), size, [x for row in right for x in row], PRIME)
        return first * second.transpose()

    def exact(self) -> fmpq_mat:
        """The matrix over the rationals."""
        left, right = self._factors(_rational)
        return fmpq_mat(left) * fmpq_mat(right).transpose()

    def vandermonde(self) -> fmpq_mat:
        """[b_j^k], transposed: a column for each b_j."""
        return fmpq_mat(self._factors(_rational)[1]).transpose()

    def _factors(self, field: Callable) -> tuple[list[list], list[list]]:
        coefficients = [field(c) for c in self.coefficients]
        left = [
            [c * power for c, power in zip(coefficients, self._powers(field(x)), strict=True)]
            for x in self.a
        ]
        return left, [list(self._powers(field(x))) for x in self.b]

    def _powers(self, base) -> Iterator:
        """base^k for k in the support, each from the one before."""
        power, last = base**0, 0
        for k in self.support:
            power, last = power * base ** (k - last), k
            yield power


def _rational(x: Fraction) -> fmpq:
    return fmpq(x.numerator, x.denominator)


def kruskal(
    columns: int, most: int, independent: Callable[[tuple[int, ...]], bool], seed: int
) -> tuple[int, bool]:
    """The largest r <= most such that any r columns are independent, and if all sets were tried.

    If the columns are too many to try every set, no dependent set of a sample was found.
    """
    for size in range(most, 0, -1):
        sets, complete = _subsets(columns, size, seed)
        if all(independent(chosen) for chosen in sets):
            return size, complete
    return 0, True


def _subsets(columns: int, size: int, seed: int) -> tuple[Iterator[tuple[int, ...]], bool]:
    """All sets of so many columns, or a sample of them; and whether that is all."""
    if math.comb(columns, size) <= SUBSETS:
        return combinations(range(columns), size), True
    draw = random.Random(seed)
    return (tuple(draw.sample(range(columns), size)) for _ in range(SAMPLE)), False
