"""Ranks of psi(a b^T): exact for a polynomial psi, by minors in balls for others; Kruskal ranks."""

import math
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from typing import NamedTuple

from flint import arb, arb_mat, ctx, fmpq, fmpq_mat, nmod, nmod_mat

from .balls import FUNCTIONS, ball

Rationals = Sequence[Fraction]
PRIME = 2**61 - 1
SUBSETS = 20_000  # sets of columns that are all tried; of more, a sample
SAMPLE = 200
TRIES = 20  # minors computed to find one that is not zero
# by activation, the columns -b beside b that the others do not span (see spanning)
SYMMETRY = {"tanh": 0, "arctan": 0, "erf": 0, "cos": 0, "logistic": 1, "gelu": 1}


class Powers:
    """[c_k a_i^k] and [b_j^k] over a field: psi(a b^T) = left right^T (Theorem 2)."""

    def __init__(self, psi: Mapping[int, Fraction], a: Rationals, b: Rationals) -> None:
        self.support = sorted(psi)
        self.coefficients = [psi[k] for k in self.support]
        self.a, self.b = a, b

    def modular(self) -> nmod_mat:
        """The matrix modulo a prime, of no larger rank; ZeroDivisionError in a denominator."""
        left, right = self._factors(lambda x: nmod(x.numerator, PRIME) / nmod(x.denominator, PRIME))
        size = len(self.support)
        first = nmod_mat(len(self.a), size, [x for row in left for x in row], PRIME)
        second = nmod_mat(len(self.b), size, [x for row in right for x in row], PRIME)
        return first * second.transpose()

    def exact(self) -> fmpq_mat:
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
        power, last = base**0, 0
        for k in self.support:
            power, last = power * base ** (k - last), k
            yield power


def _rational(x: Fraction) -> fmpq:
    return fmpq(x.numerator, x.denominator)


def kruskal(
    columns: int, most: int, independent: Callable[[tuple[int, ...]], bool], seed: int
) -> tuple[int, bool]:
    """The largest r <= most of which no r columns tried depend, and if all were tried."""
    for size in range(most, 0, -1):
        complete = math.comb(columns, size) <= SUBSETS
        sets: Iterable[tuple[int, ...]] = combinations(range(columns), size)
        if not complete:
            draw = random.Random(seed)
            sets = (tuple(draw.sample(range(columns), size)) for _ in range(SAMPLE))
        if all(independent(chosen) for chosen in sets):
            return size, complete
    return 0, True


class Relation(NamedTuple):
    """Columns of a matrix, and what each is multiplied by so that they add up to zero."""

    columns: tuple[int, ...]
    factors: tuple[Fraction, ...]


def smallest_relation(matrix: fmpq_mat, most: int) -> Relation | None:
    """A smallest set of dependent columns, at most this many of them; None if there is none.

    All sets are tried, the smallest first, while there are at most SUBSETS of a size. Beyond that
    it is the first column that those before it span, with as few of them as elimination leaves:
    then no smaller set is a part of it, though another one may be smaller.
    """
    table = matrix.tolist()

    def relation(columns: Sequence[int]) -> Relation | None:
        reduced, rank = fmpq_mat([[row[j] for j in columns] for row in table]).rref()
        if rank == len(columns):
            return None
        entries, pivots = reduced.tolist(), list[int]()
        for j in range(len(columns)):  # the first column that is not a pivot is a sum of those
            if len(pivots) == rank or entries[len(pivots)][j] == 0:
                shares = [(i, entries[k][j]) for k, i in enumerate(pivots) if entries[k][j] != 0]
                chosen = tuple(columns[i] for i, _ in shares)
                factors = (Fraction(int(x.p), int(x.q)) for _, x in shares)
                return Relation((*chosen, columns[j]), (*factors, Fraction(-1)))
            pivots.append(j)
        return None

    for size in range(1, most + 1):
        if math.comb(matrix.ncols(), size) > SUBSETS:
            found = relation(range(matrix.ncols()))
            return found if found is not None and len(found.columns) <= most else None
        for columns in combinations(range(matrix.ncols()), size):
            found = relation(columns)
            if found is not None:
                return found
    return None


def mirrored_relation(activation: str, b: Rationals) -> Relation | None:
    """Columns of psi(a b^T) that are dependent for every a, because of a symmetry of psi.

    psi(-x) = -psi(x) for tanh, arctan and erf, psi(-x) = psi(x) for cos; psi(x) + psi(-x) = 1 for
    logistic and psi(x) - psi(-x) = x for GELU, where two pairs are needed.
    """
    if always_dependent(activation, b) is None:
        return None
    pairs = [(b.index(-y), j) for j, y in enumerate(b) if -y in b[:j]]
    (i, j), one = pairs[0], Fraction(1)
    if not SYMMETRY[activation]:
        return Relation((i, j), (one, -one if activation == "cos" else one))
    k, m = pairs[1]
    if activation == "logistic":
        return Relation((i, j, k, m), (one, one, -one, -one))
    return Relation((i, j, k, m), (b[k], -b[k], -b[i], b[i]))


def spanning(activation: str, b: Rationals) -> list[int]:
    """Columns of psi(a b^T) that span all others, for every a.

    Of a pair b, -b one column is the other up to its sign (tanh, arctan, erf, cos), or up to its
    sign and a multiple of a column that is the same for all pairs: of ones for logistic, as
    psi(x) + psi(-x) = 1, and a for GELU, as psi(x) - psi(-x) = x. There the first pair spans it.
    """
    mirrored = [j for j, y in enumerate(b) if -y in b[:j]] if activation in SYMMETRY else []
    dropped = set(mirrored[SYMMETRY.get(activation, 0) :])
    return [j for j in range(len(b)) if j not in dropped]


def always_dependent(activation: str, b: Rationals) -> int | None:
    """How many columns, at least, are dependent for every a: those of a pair, or of two pairs."""
    return None if len(spanning(activation, b)) == len(b) else 2 + 2 * SYMMETRY[activation]


class Minors:
    """The minors of psi(a b^T), in balls of 16 bits per row or column and 100 more, or of more."""

    def __init__(self, activation: str, a: Rationals, b: Rationals, seed: int) -> None:
        self.function, self.a, self.b = FUNCTIONS[activation], a, b
        self.draw = random.Random(seed)
        bits = 16 * min(len(a), len(b)) + 100
        self.precisions = bits, 2 * bits, 4 * bits
        self.tables: dict[int, list[list[arb]]] = {}

    def nonzero(self, columns: Sequence[int]) -> bool:
        """Whether a largest minor of these columns, the first or a random one, is proved not 0."""
        size = min(len(self.a), len(columns))
        larger = size < len(self.a) or size < len(columns)
        for bits in self.precisions:
            with ctx.workprec(bits):
                if bits not in self.tables:
                    right = [ball(y) for y in self.b]
                    psi = [[self.function(ball(x) * y) for y in right] for x in self.a]
                    self.tables[bits] = psi
                rows: Sequence[int] = range(size)
                places = columns[:size]
                for i in range(1 + TRIES * larger):
                    if i:
                        rows = self.draw.sample(range(len(self.a)), size)
                        places = self.draw.sample(columns, size)
                    minor = [[self.tables[bits][r][c] for c in places] for r in rows]
                    if arb_mat(minor).det() != 0:
                        return True
        return False
