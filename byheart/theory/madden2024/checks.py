"""Theorems 2, 3, 4 and 6 of madden2024, checked for given vectors and contexts.

In exact arithmetic or rigorous balls, never in floats. One function per theorem: whether its
conclusion holds, and on what evidence.

Paper        madden2024, Theorems 2, 3, 4 and 6.
Statement    psi(a b^T) has as much rank and Kruskal rank as its size and psi allow, for generic a;
             attention with d = 1 and token averaging map contexts to distinct numbers other than
             zero, for generic weights.
Assumptions  A1  The entries of b are distinct and not zero.
             A2  Contexts are distinct, and their tokens and positions have weights.
Guarantee    G1  "proved" is exact: ranks over the rationals, or balls that exclude zero. A minor is
                 a polynomial or an analytic function of a, so that one a where it is not zero
                 proves it for generic a and this b.
             G2  "refuted" is exact as well: a rank over the rationals, columns that are dependent
                 for every a, or two contexts with equal values.
Departures   D1  Theorem 2 is false for b of both signs: psi = 1 + x^2, b = (1, -1) has rank 1. Its
                 proof takes a minor of a Vandermonde matrix for a Vandermonde determinant: such a
                 generalised one may be zero. With b > 0 it is not, and the theorem holds.
             D2  Theorem 3 is false for b of both signs, too: the columns of an odd or even psi
                 (tanh, arctan, erf, cos) at b and -b are dependent, and so are the four of
                 logistic or GELU at b, -b, c and -c. With b > 0 it holds. All of these are analytic
                 on the whole line, so that a need not stay within the radius of convergence.
             D3  Token averaging is a weighted sum that nothing normalises.
Notation     psi activation, a in R^m, b in R^n, K support of psi; z token values, u positions.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import product

from flint import fmpq_mat, nmod_mat

from ...errors import AssumptionError, one_of
from ...machine.tables import plural
from .balls import FUNCTIONS, Real, exact
from .exponentials import separated
from .kruskal import PRIME, Minors, Powers, always_dependent, kruskal, spanning

Context = tuple[int, ...]
Contexts = Sequence[Context] | None  # None: all
DECIDED = 60  # rows or columns up to which ranks are computed over the rationals
CONTEXTS = 100_000


@dataclass(frozen=True)
class Check:
    """Whether a theorem's conclusion holds."""

    # "proved": by exact arithmetic or rigorous balls; "sampled": for a sample of the columns;
    # "refuted": it is false, exactly; None: the precision did not decide
    evidence: str | None
    detail: str  # one sentence
    rank: int | None = None  # of the matrix, if known
    # the largest r such that any r columns are linearly independent, if known
    kruskal_rank: int | None = None
    # two contexts with equal values, or one whose value is zero
    pair: tuple[tuple[int, ...], ...] = ()

    @property
    def holds(self) -> bool:
        return self.evidence in ("proved", "sampled")


def theorem_2(
    psi: Mapping[int, Real], a: Sequence[Real], b: Sequence[Real], seed: int = 0
) -> Check:
    """Whether psi(a b^T) has rank and Kruskal rank min(m, n, |K|); psi as {exponent: coefficient}.

    "proved" holds for generic a and this b (G1). The rank is first computed modulo 2^61 - 1, where
    it can only be smaller, and over the rationals if it is. Kruskal ranks are those of all sets of
    columns, or of a sample if there are too many: then the evidence is "sampled".
    """
    left, right = _vectors(a, b)
    terms = {k: c for k, c in zip(psi, exact(psi.values()), strict=True) if c}
    if not terms or min(psi) < 0:
        raise AssumptionError("psi must be a polynomial that is not zero.")
    if not all(x.denominator % PRIME for x in (*left, *right, *terms.values())):
        raise AssumptionError(f"{PRIME} must not divide any denominator.")
    powers = Powers(terms, left, right)
    wanted = min(len(a), len(b), len(powers.support))
    rank = powers.modular().rank()
    if rank < wanted:
        if min(len(a), len(b)) > DECIDED:
            return Check(None, f"the rank modulo {PRIME} is {rank}, and over Q at least that")
        rank = powers.exact().rank()
    if rank < wanted:
        # by Cauchy-Binet the rank for generic a is min(m, rank of [b_j^k])
        generic = min(len(a), powers.vandermonde().rank())
        why = f"for no a is it above {generic}" if generic < wanted else "this a is not generic"
        return Check("refuted", f"the rank is {rank}, not {wanted}: {why}", rank)
    if wanted == len(b):  # all columns are independent
        return _ranks(rank, rank, wanted, True)
    modular, rational = powers.modular().tolist(), cache(lambda: powers.exact().tolist())

    def independent(chosen: Context) -> bool:
        """Whether these columns of psi(a b^T) are linearly independent, over the rationals."""
        entries = [row[j] for row in modular for j in chosen]
        if nmod_mat(len(modular), len(chosen), entries, PRIME).rank() == len(chosen):
            return True
        return fmpq_mat([[row[j] for j in chosen] for row in rational()]).rank() == len(chosen)

    found, complete = kruskal(len(b), wanted, independent, seed)
    return _ranks(rank, found, wanted, complete)


def _ranks(rank: int, kruskal_rank: int, wanted: int, complete: bool) -> Check:
    if kruskal_rank < wanted:
        known = kruskal_rank if complete else None
        return Check("refuted", f"the Kruskal rank is below {wanted}", rank, known)
    if complete:
        return Check("proved", f"rank and Kruskal rank are {wanted}", rank, kruskal_rank)
    detail = f"the rank is {wanted}; so is the Kruskal rank of a sample of the columns"
    return Check("sampled", detail, rank, kruskal_rank)


def theorem_3(activation: str, a: Sequence[Real], b: Sequence[Real], seed: int = 0) -> Check:
    """Whether psi(a b^T) has rank and Kruskal rank min(m, n), psi a name of balls.FUNCTIONS.

    "proved": determinants of balls that exclude zero; it then holds for generic a and this b (G1).
    "refuted": some columns are dependent whatever a is (D2).
    """
    one_of(FUNCTIONS, activation=activation)
    a, b = _vectors(a, b)
    wanted = min(len(a), len(b))
    minors = Minors(activation, a, b, seed)
    columns = spanning(activation, b)
    rank = min(len(columns), len(a)) if minors.nonzero(columns) else None
    few = always_dependent(activation, b)
    if few is not None and few <= wanted:
        return Check("refuted", f"{few} of the columns are dependent for every a", rank)
    if rank is None:
        return Check(None, f"no minor of size {wanted} is proved to be other than zero")
    if wanted == len(b):  # all columns are independent
        return _ranks(wanted, wanted, wanted, True)
    reached, complete = kruskal(len(b), wanted, minors.nonzero, seed)
    if reached < wanted:
        return Check(None, f"the Kruskal rank is not proved to be {wanted}", rank)
    return _ranks(wanted, reached, wanted, complete)


def theorem_4(z: Sequence[Real], u: Sequence[Real], contexts: Contexts = None) -> Check:
    """Whether attention with d = 1 gives distinct numbers, none zero, to these contexts.

    Default: to all contexts of 1 to len(u) tokens. f(z, u, alpha) = <x, softmax(x x_t)> with
    x = z[alpha] + u[1 : t]. Balls separate values; where they do not, the argument of the paper
    decides whether two values are equal (see exponentials.py). So it is proved or refuted.
    """
    z, u = exact(z), exact(u)
    chosen = _contexts(z, u, contexts)
    values = [[z[g] + u[t] for t, g in enumerate(alpha)] for alpha in chosen]
    return _injective(chosen, separated(values))


def theorem_6(z: Sequence[Real], u: Sequence[Real], contexts: Contexts = None) -> Check:
    """Whether the weighted sum of token values, sum of u_t z_{alpha_t}, does so; in rationals."""
    z, u = exact(z), exact(u)
    chosen = _contexts(z, u, contexts)
    values = [sum((u[t] * z[g] for t, g in enumerate(c)), Fraction(0)) for c in chosen]
    places: dict[Fraction, int] = {}
    for i, value in enumerate(values):
        if value == 0 or value in places:
            return _injective(chosen, (i,) if value == 0 else (places[value], i))
        places[value] = i
    return _injective(chosen, None)


def _injective(contexts: Sequence[Context], places: tuple[int, ...] | None) -> Check:
    if places is None:
        values = f"the values of {plural(len(contexts), 'context')}"
        return Check("proved", f"{values} are distinct, none zero")
    pair = tuple(contexts[i] for i in places)
    has = "has the value zero" if len(pair) == 1 else "have equal values"
    return Check("refuted", f"{' and '.join(map(str, pair))} {has}", pair=pair)


def _contexts(z: Sequence[Real], u: Sequence[Real], contexts: Contexts) -> list[Context]:
    """The contexts given, if A2 holds, or all of them."""
    count = sum(len(z) ** t for t in range(1, len(u) + 1)) if contexts is None else len(contexts)
    if count > CONTEXTS:
        raise AssumptionError(f"there are more than {CONTEXTS:,} contexts; give fewer.")
    if contexts is None:
        return [c for t in range(1, len(u) + 1) for c in product(range(len(z)), repeat=t)]
    listed = [tuple(context) for context in contexts]
    if len(set(listed)) < len(listed):
        raise AssumptionError("A2 fails: a context occurs twice; give each once.")
    for context in listed:
        if not 1 <= len(context) <= len(u) or not all(0 <= g < len(z) for g in context):
            raise AssumptionError(
                f"A2 fails: {context} is not 1 to {len(u)} tokens from 0 to {len(z) - 1}."
            )
    return listed


def _vectors(a: Sequence[Real], b: Sequence[Real]) -> tuple[list[Fraction], list[Fraction]]:
    left, right = exact(a), exact(b)
    if not left or not right:
        raise AssumptionError("a and b must have at least one entry each.")
    if 0 in right or len(set(right)) < len(right):
        raise AssumptionError("A1 fails: the entries of b must be distinct and not zero.")
    return left, right
