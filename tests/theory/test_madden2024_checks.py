"""Theorems 2, 3, 4 and 6: counterexamples, repairs, and judges that share no code with the checks.

The judges eliminate in fractions, or compute with decimal numbers of many digits.
"""

import math
import random
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import combinations, permutations, product

import pytest
from flint import ctx
from hypothesis import given, settings
from hypothesis import strategies as st

from byheart.errors import AssumptionError, ByheartError
from byheart.theory.madden2024.balls import FUNCTIONS, attended, ball, clusters
from byheart.theory.madden2024.checks import theorem_2, theorem_3, theorem_4, theorem_6
from byheart.theory.madden2024.exponentials import same, separated
from byheart.theory.madden2024.kruskal import PRIME, SYMMETRY

some = settings(max_examples=40, deadline=None)
seeds = st.integers(0, 10**9)


# --- judges


def rank(rows):
    """By elimination in fractions."""
    rows, found = [[Fraction(x) for x in row] for row in rows], 0
    for column in range(len(rows[0])):
        pivot = next((i for i in range(found, len(rows)) if rows[i][column]), None)
        if pivot is None:
            continue
        rows[found], rows[pivot] = rows[pivot], rows[found]
        for i in range(found + 1, len(rows)):
            factor = rows[i][column] / rows[found][column]
            rows[i] = [x - factor * y for x, y in zip(rows[i], rows[found], strict=True)]
        found += 1
    return found


def kruskal_rank(rows):
    for size in range(len(rows[0]), 0, -1):
        chosen = combinations(range(len(rows[0])), size)
        if all(rank([[row[j] for j in columns] for row in rows]) == size for columns in chosen):
            return size
    return 0


def applied(psi, a, b):
    return [[sum(c * (x * y) ** k for k, c in psi.items()) for y in b] for x in a]


def attention(x):
    """f of Theorem 4 in decimal numbers."""
    x = [Decimal(v.numerator) / Decimal(v.denominator) for v in map(Fraction, x)]
    weights = [(v * x[-1]).exp() for v in x]
    return sum(v * w for v, w in zip(x, weights, strict=True)) / sum(weights)


# --- Theorem 2


def test_theorem_2_is_false_for_both_signs():
    found = theorem_2({0: 1, 2: 1}, [1, 2], [1, -1])
    assert (found.evidence, found.rank) == ("refuted", 1) and not found.holds
    assert "for no a is it above 1" in found.detail
    found = theorem_2({0: 1, 1: 1, 3: 1}, [1, 2, 5], [1, 2, -3])
    assert (found.evidence, found.rank) == ("refuted", 2)
    assert "for no a is it above 2" in found.detail


@some
@given(st.lists(st.fractions(-5, 5, max_denominator=9), min_size=3, max_size=6), seeds)
def test_its_counterexamples_hold_for_every_a(a, seed):
    assert rank(applied({0: 1, 2: Fraction(seed + 1, 7)}, a, [1, -1])) <= 1
    assert rank(applied({0: 1, 1: seed + 2, 3: -1}, a, [1, 2, -3])) <= 2
    assert not theorem_2({0: 1, 1: seed + 2, 3: -1}, a, [1, 2, -3]).holds


@some
@given(seeds)
def test_theorem_2_holds_with_positive_b(seed):
    draw = random.Random(seed)
    support = draw.sample(range(12), draw.randint(1, 6))
    psi = {k: Fraction(draw.choice([-3, -1, 2, 5]), draw.randint(1, 4)) for k in support}
    a = [Fraction(draw.randint(-(10**9), 10**9), 10**6) for _ in range(draw.randint(1, 6))]
    b = [Fraction(x, 12) for x in draw.sample(range(1, 100), draw.randint(1, 6))]
    found, wanted = theorem_2(psi, a, b), min(len(a), len(b), len(psi))
    assert (found.evidence, found.rank, found.kruskal_rank) == ("proved", wanted, wanted)


@settings(max_examples=60, deadline=None)
@given(seeds)
def test_theorem_2_agrees_with_elimination(seed):
    """Also where the signs are mixed and a is anything."""
    draw = random.Random(seed)
    psi = {k: draw.choice([-2, 1, 3]) for k in draw.sample(range(7), draw.randint(1, 4))}
    a = [draw.randint(-3, 3) for _ in range(draw.randint(1, 4))]
    b = draw.sample([x for x in range(-3, 4) if x], draw.randint(1, 5))
    matrix, found = applied(psi, a, b), theorem_2(psi, a, b)
    wanted = min(len(a), len(b), len(psi))
    ranks = rank(matrix), kruskal_rank(matrix)
    assert found.evidence == ("proved" if ranks == (wanted, wanted) else "refuted")
    assert found.rank == ranks[0]
    assert found.kruskal_rank in (None, ranks[1])
    assert found.kruskal_rank is not None or ranks[0] < wanted


def test_a_that_is_not_generic_is_told_from_a_false_theorem():
    found = theorem_2({0: 1, 1: 1}, [4, 4], [1, 2])
    assert (found.evidence, found.rank) == ("refuted", 1) and "not generic" in found.detail


def test_a_low_kruskal_rank_is_found():
    found = theorem_2({0: 1, 2: 1}, [1, 2], [1, -1, 5])
    assert (found.evidence, found.rank, found.kruskal_rank) == ("refuted", 2, 1)


def test_a_determinant_that_the_prime_divides_is_not_zero():
    """det = (a_2 - a_1)(b_2 - b_1) is the prime itself."""
    assert theorem_2({0: 1, 1: 1}, [1, 2], [1, 1 + PRIME]).evidence == "proved"
    found = theorem_2({0: 1, 1: 1}, [1, 2], [1, 1 + PRIME, 7])
    assert (found.evidence, found.kruskal_rank) == ("proved", 2)


def test_too_many_columns_are_sampled_and_that_is_said():
    a, b = range(1, 6), range(1, 41)
    found = theorem_2(dict.fromkeys(range(9), 1), a, b)
    assert (found.evidence, found.rank, found.kruskal_rank) == ("sampled", 5, 5) and found.holds
    assert "sample" in found.detail


def test_a_kruskal_rank_that_only_a_sample_shows_is_not_named():
    """Four columns are dependent if their b add up to 0; three never are, but not all are tried."""
    b = [x for x in range(-30, 31) if x]
    found = theorem_2(dict.fromkeys([0, 1, 2, 4], 1), [3, 7, 20, 1000], b)
    assert (found.evidence, found.rank, found.kruskal_rank) == ("refuted", 4, None)


def test_large_ranks_modulo_a_prime():
    draw = random.Random(1)
    psi, a = dict.fromkeys(range(200), 1), draw.sample(range(1, 10**6), 200)
    assert theorem_2(psi, a, draw.sample(range(1, 10**6), 200)).rank == 200
    short = theorem_2(psi, [*a[:-1], a[0]], draw.sample(range(1, 10**6), 200))
    assert short.evidence is None and not short.holds  # too large to decide over the rationals


@pytest.mark.slow
def test_a_thousand_rows():
    draw = random.Random(1)
    a, b = (draw.sample(range(1, 10**6), 1000) for _ in range(2))
    assert theorem_2(dict.fromkeys(range(1000), 1), a, b).evidence == "proved"


# --- Theorem 3


@pytest.mark.parametrize("activation", ["tanh", "arctan", "erf", "cos"])
def test_theorem_3_is_false_for_odd_and_even_functions(activation):
    found = theorem_3(activation, [1, Fraction(2, 3)], [1, -1])
    assert (found.evidence, found.rank) == ("refuted", 1)
    found = theorem_3(activation, [1, 2], [1, 2, -2, 3])  # rank 2, but two columns are dependent
    assert (found.evidence, found.rank) == ("refuted", 2)


@pytest.mark.parametrize("activation", ["logistic", "gelu"])
def test_theorem_3_is_false_for_logistic_and_gelu_as_well(activation):
    a = [1, 2, Fraction(7, 2), -5]
    found = theorem_3(activation, a, [1, -1, 2, -2])
    assert (found.evidence, found.rank) == ("refuted", 3)
    assert theorem_3(activation, a, [1, -1, 2, 3]).evidence == "proved"  # one pair does no harm


@some
@given(st.fractions(-6, 6), st.sampled_from(sorted(SYMMETRY)))
def test_the_symmetries_that_refute_it(x, activation):
    """The exact identities: rows of the counterexamples are multiples or sums of each other."""
    psi, plus, minus = FUNCTIONS[activation], ball(x), ball(-x)
    identity = {
        "cos": lambda: psi(plus) - psi(minus),
        "logistic": lambda: psi(plus) + psi(minus) - 1,
        "gelu": lambda: psi(plus) - psi(minus) - plus,
    }.get(activation, lambda: psi(plus) + psi(minus))()
    assert 0 in identity and identity.rad() < 1e-10


def test_only_exp_has_no_symmetry():
    assert set(FUNCTIONS) - set(SYMMETRY) == {"exp"}
    assert theorem_3("exp", [1, 2, 3], [1, -1, 2]).evidence == "proved"


@some
@given(seeds, st.sampled_from(sorted(FUNCTIONS)))
def test_theorem_3_holds_with_positive_b(seed, activation):
    draw = random.Random(seed)
    m, n = draw.randint(1, 6), draw.randint(1, 6)
    a = [Fraction(draw.choice([-1, 1]) * x, 10**6) for x in draw.sample(range(1, 10**6), m)]
    b = [Fraction(x, 12) for x in draw.sample(range(1, 40), n)]
    found, wanted = theorem_3(activation, a, b), min(m, n)
    assert (found.evidence, found.rank, found.kruskal_rank) == ("proved", wanted, wanted)


def test_what_balls_do_not_decide_is_not_called_anything():
    found = theorem_3("logistic", [1, 1], [1, 2])  # equal rows: singular
    assert found.evidence is None and not found.holds
    found = theorem_3("exp", [0, 0], [1, 2, 3])
    assert found.evidence is None


def test_theorem_3_at_the_size_of_a_demonstration():
    draw = random.Random(3)
    a, b = ([Fraction(x, 1000) for x in draw.sample(range(1, 3000), 30)] for _ in range(2))
    found = theorem_3("logistic", a, b)
    assert (found.evidence, found.rank) == ("proved", 30)


# --- Theorem 4


def test_special_points_of_the_proof_of_theorem_4():
    """z = 1, u = 0: every value is 1. z = 0, u = (1, ..., tau): values tell lengths apart."""
    found = theorem_4([1, 1, 1], [0, 0])
    assert found.evidence == "refuted" and len(found.pair) == 2
    with ctx.workprec(100):
        assert attended([ball(1)] * 3) == 1
    same_token = [(0,) * length for length in range(1, 7)]
    assert theorem_4([0], range(1, 7), same_token).evidence == "proved"
    assert theorem_4([0, 0], range(1, 3), [(0, 1), (1, 0)]).evidence == "refuted"


def test_the_other_special_points_tell_tokens_apart():
    """z = (1, ..., omega), u = omega e_s: values differ where the tokens at s do."""
    for s in range(3):
        u = [3 * (t == s) for t in range(3)]
        for one, other in combinations(product(range(3), repeat=3), 2):
            if one[s] != other[s]:
                assert theorem_4([1, 2, 3], u, [one, other]).evidence == "proved"


@settings(max_examples=20, deadline=None)
@given(seeds)
def test_theorem_4_agrees_with_decimal_numbers(seed):
    draw = random.Random(seed)
    fine = draw.choice([3, 5, 1000])  # coarse numbers collide
    z = [Fraction(draw.randint(-2 * fine, 2 * fine), fine) for _ in range(2)]
    u = [Fraction(draw.randint(-2 * fine, 2 * fine), fine) for _ in range(3)]
    contexts = [c for t in range(1, 4) for c in product(range(2), repeat=t)]
    with localcontext() as digits:
        digits.prec = 80
        values = {c: attention([z[g] + u[t] for t, g in enumerate(c)]) for c in contexts}
        equal = {
            (c, d) for c, d in combinations(contexts, 2) if abs(values[c] - values[d]) < 1e-60
        } | {(c,) for c in contexts if abs(values[c]) < Decimal("1e-60")}
    found = theorem_4(z, u)
    assert found.evidence == ("refuted" if equal else "proved")
    assert not equal or tuple(sorted(found.pair, key=contexts.index)) in equal


def test_values_that_no_short_ball_tells_apart_are_compared_exactly():
    """f = 1000 and f = 1000 - 999 / (1 + e^999000)."""
    assert theorem_4([0, 999], [1, 1], [(1,), (0, 1)]).evidence == "proved"
    assert not same([1, 1000], [1000])


@pytest.mark.parametrize("places", list(permutations(range(3))))
def test_equal_values_are_found_behind_others(places):
    """The first two are equal, and the third lies between their balls' ends at any precision."""
    rows = [[1, 1000], [1] * 6 + [1000] * 6, [2] * 3 + [1000] * 3]
    found = separated([rows[i] for i in places])
    assert {places[i] for i in found} == {0, 1}


def test_values_that_are_equal_are_known_to_be():
    assert same([1, 2], [2, 1, 1, 2]) and same([3], [3, 3]) and not same([1, 2], [2, 1])
    assert theorem_4([-1, 1], [0, 0, -1], [(0, 1, 1)]).pair == ((0, 1, 1),)  # x = (-1, 1, 0)
    assert theorem_4([5], [0, 0]).pair == ((0,), (0, 0))


def test_clusters_do_not_trust_midpoints():
    """A wide ball reaches over its narrow neighbour."""
    values = [ball(0), ball(1), ball(2), ball(5)]
    assert len(clusters(values)) == 4
    values[0] += (ball(1) / 3 - ball(1) / 3) * 2**60  # a radius of many units
    assert sorted(map(len, clusters(values))) == [4]


def test_all_contexts_of_a_small_vocabulary():
    draw = random.Random(1)
    z, u = ([Fraction(x, 2**20) for x in draw.sample(range(2**20), k)] for k in (7, 4))
    found = theorem_4(z, u)
    assert found.evidence == "proved" and f"{7 + 7**2 + 7**3 + 7**4:,} contexts" in found.detail


# --- Theorem 6


@some
@given(
    st.lists(st.integers(-4, 4), min_size=1, max_size=3),
    st.lists(st.fractions(-4, 4, max_denominator=3), min_size=1, max_size=3),
)
def test_theorem_6_agrees_with_a_table(z, u):
    contexts = [c for t in range(1, len(u) + 1) for c in product(range(len(z)), repeat=t)]
    value = {c: math.fsum(float(6 * u[t] * z[g]) for t, g in enumerate(c)) for c in contexts}
    found = theorem_6(z, u)
    assert found.holds == (len(set(value.values()) - {0}) == len(contexts))
    values = [value[c] for c in found.pair]
    assert found.holds or values == [0] or values[0] == values[1]


def test_digits_are_an_explicit_choice():
    """z = (1, ..., omega) as digits in base omega + 1: no two contexts are the same number."""
    assert theorem_6([1, 2, 3], [1, 4, 16, 64]).evidence == "proved"
    assert theorem_6([1, 2, 3], [1, 3, 6]).evidence == "refuted"
    assert theorem_6([0, 1], [1, 2]).pair == ((0,),)  # no digit may be zero


def test_generic_rationals_do_it():
    draw = random.Random(2)
    z, u = ([Fraction(draw.getrandbits(60), 2**60) for _ in range(k)] for k in (9, 5))
    assert theorem_6(z, u).evidence == "proved"


def test_floats_are_taken_for_the_numbers_they_are():
    """1 + 2^-60 is 1 in doubles; and 0.2 is twice 0.1, whatever these doubles are."""
    tiny = 2.0**-60
    assert theorem_6([1.0, tiny], [1.0, 1.0], [(0,), (0, 1)]).evidence == "proved"
    assert theorem_4([1.0, tiny], [0.0, tiny], [(0,), (0, 1)]).evidence == "proved"
    assert theorem_6([1.0, 3.0], [0.1, 0.2], [(1,), (0, 0)]).evidence == "refuted"
    assert theorem_4([0.1, 0.3], [0.0, 0.0], [(0,), (0, 0)]).evidence == "refuted"
    assert theorem_2({0: 1.0, 1: 0.5}, [0.1, 0.2], [0.25, 0.75]).evidence == "proved"


# --- assumptions


@pytest.mark.parametrize("b", [[1, 0], [2, 2]])
def test_b_that_the_theorems_exclude(b):
    with pytest.raises(AssumptionError, match="A1"):
        theorem_2({0: 1, 1: 1}, [1, 2], b)
    with pytest.raises(AssumptionError, match="A1"):
        theorem_3("tanh", [1, 2], b)


@pytest.mark.parametrize("theorem", [theorem_4, theorem_6])
def test_contexts_must_be_distinct_and_known(theorem):
    """Theorem 7 does not say that contexts are distinct: if not, one value has to be two."""
    for contexts in ([(0,), (0,)], [(2,)], [()], [(0, 0, 0)]):
        with pytest.raises(AssumptionError, match="A2"):
            theorem([1, 2], [1, 3], contexts)
    with pytest.raises(AssumptionError, match="give fewer"):
        theorem(range(1, 100), range(1, 100))


def test_nonsense_is_refused():
    for psi in ({}, {1: 0}, {-1: 1}):
        with pytest.raises(AssumptionError, match="polynomial"):
            theorem_2(psi, [1], [1])
    with pytest.raises(AssumptionError, match="denominator"):
        theorem_2({1: 1}, [Fraction(1, PRIME)], [1])
    with pytest.raises(AssumptionError, match="entry"):
        theorem_3("tanh", [], [1])
    for numbers in ([math.nan], [math.inf], ["x"], [None]):
        with pytest.raises(ByheartError, match="finite"):
            theorem_6([1, 2], numbers)
    with pytest.raises(ByheartError, match="one of logistic"):
        theorem_3("relu", [1], [1])
