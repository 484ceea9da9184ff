"""Exact comparison of values of attention at rational arguments, as the proof of Theorem 4 does it.

f = p / q with p = sum of x_t e^(x_t x_last) and q = sum of e^(x_t x_last). Exponentials of distinct
rational numbers are linearly independent over the rationals, because e is transcendental: a sum of
them is zero only if it is zero term by term. So p_alpha q_beta - p_beta q_alpha = 0 is decided by
its coefficients.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import chain, combinations, pairwise

from flint import ctx

from .balls import attended, ball, clusters

Values = Sequence[int | Fraction]  # x = z[alpha] + u[1 : t]
Sum = defaultdict[Fraction, Fraction]  # of exponentials: {exponent: coefficient}
BITS = 128, 512, 2048  # of the balls


def separated(rows: Sequence[Values]) -> tuple[int, ...] | None:
    """None if the values of attention are distinct and not zero; else a place or two where not.

    Balls of more and more bits separate most values. Those that they do not are compared: first
    the neighbours, as equal values are soon among them, and in the end all pairs.
    """
    groups = [list(range(len(rows)))]
    for bits in BITS:
        with ctx.workprec(bits):
            values = [attended([ball(x) for x in row]) for row in rows]
            zero = [i for i, value in enumerate(values) if 0 in value]
            groups = [group for group in clusters(values) if len(group) > 1]
        found = _equal(rows, zero, chain.from_iterable(map(pairwise, groups)))
        if found or not groups:
            return found
    return _equal(rows, [], chain.from_iterable(combinations(group, 2) for group in groups))


def _equal(
    rows: Sequence[Values], zero: Iterable[int], pairs: Iterable[tuple[int, int]]
) -> tuple[int, ...] | None:
    """A row whose value is zero, or two with the same value; None if there is none among these."""
    for i in zero:
        if not any(_terms(rows[i])[0].values()):
            return (i,)
    return next(((i, j) for i, j in pairs if same(rows[i], rows[j])), None)


def same(first: Values, second: Values) -> bool:
    """Whether attention has the same value at both, exactly."""
    (p, q), (r, s) = _terms(first), _terms(second)
    difference = _product(p, s)
    for exponent, coefficient in _product(r, q).items():
        difference[exponent] -= coefficient
    return not any(difference.values())


def _terms(row: Values) -> tuple[Sum, Sum]:
    """p and q."""
    p, q = Sum(Fraction), Sum(Fraction)
    for x in row:
        p[Fraction(x * row[-1])] += x
        q[Fraction(x * row[-1])] += 1
    return p, q


def _product(first: Sum, second: Sum) -> Sum:
    found = Sum(Fraction)
    for exponent, coefficient in first.items():
        for other, factor in second.items():
            found[exponent + other] += coefficient * factor
    return found
