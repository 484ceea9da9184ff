"""madden2024: where its statements fail, with counterexamples that are computed and not quoted.

Ranks are those of byheart.theory.madden2024.checks, exact or in balls. Each docstring has a title,
its kind, and the parts of that kind: tools/make_errata.py makes the page of errata of them.
"""

import math
import random
from fractions import Fraction

import pytest
from flint import arb, arb_mat, ctx
from hypothesis import given, settings
from hypothesis import strategies as st

from byheart.softmax.decoder import ATTENTION, Shape
from byheart.theory.madden2024.balls import FUNCTIONS, ball
from byheart.theory.madden2024.checks import theorem_2, theorem_3

some = settings(max_examples=40, deadline=None)
generic = [Fraction(2, 3), Fraction(-7, 5), Fraction(11, 4)]


@some
@given(st.lists(st.fractions(-5, 5, max_denominator=9), min_size=3, max_size=3))
def test_theorem_2_for_both_signs(a):
    """Theorem 2 for b of both signs

    Kind: false as stated
    Statement: for a polynomial psi with |K| terms and distinct b other than 0, psi(a b^T) has the
    rank min(m, n, |K|) for generic a.
    Counterexample: psi = 1 + x^2, b = (1, -1): rank 1 and not 2, for every a. psi = 1 + x + x^3,
    b = (1, 2, -3): rank 2 and not 3. A Vandermonde determinant with powers left out may be zero.
    Repair: b > 0: generalised Vandermonde determinants of positive numbers are not zero.
    Still holds: with b > 0, and for K = {0, ..., k}.
    Later version: not seen.
    """
    assert not theorem_2({0: 1, 2: 1}, a, [1, -1]).holds
    assert not theorem_2({0: 1, 1: 1, 3: 1}, a, [1, 2, -3]).holds
    assert theorem_2({0: 1, 2: 1}, generic, [1, -1]).rank == 1
    assert theorem_2({0: 1, 1: 1, 3: 1}, generic, [1, 2, -3]).rank == 2
    assert theorem_2({0: 1, 1: 1, 3: 1}, generic, [1, 2, 3]).evidence == "proved"
    assert theorem_2({0: 1, 1: 1, 2: 1}, generic, [1, 2, -3]).evidence == "proved"


@pytest.mark.parametrize("psi", ["tanh", "arctan", "erf", "cos", "logistic", "gelu"])
def test_theorem_3_for_both_signs(psi):
    """Theorem 3 for b of both signs

    Kind: false as stated
    Statement: for psi analytic at 0 and no polynomial, psi(a b^T) has the rank min(m, n) for
    generic a, if the entries of b are distinct and not 0.
    Counterexample: tanh, arctan, erf or cos with b = (1, -1): rank 1. Logistic or GELU with
    b = (1, -1, 2, -2): rank 3, as psi(x) + psi(-x) = 1 or psi(x) - psi(-x) = x.
    Repair: b > 0.
    Still holds: with b > 0. Theorems 5 and 7 hold: with positive z and u, attention and the token
    sum are positive.
    Later version: not seen.
    """
    pair, rank = ([1, -1], 1) if psi not in ("logistic", "gelu") else ([1, -1, 2, -2], 3)
    a = [*generic, Fraction(1, 8)]
    found = theorem_3(psi, a, pair)
    assert (found.evidence, found.rank) == ("refuted", rank)
    assert theorem_3(psi, a, [1, 2, 3, 4]).evidence == "proved"


def test_the_algorithm_after_theorem_5():
    """The algorithm after Theorem 5

    Kind: false as stated
    Statement: (1) sample all weights, (2) choose epsilon such that epsilon W^T h + b is where psi
    converges, (3) solve Y = V^T psi(W^T h + b).
    Counterexample: psi(x) = e^x for |x| < 1 and 0 elsewhere, h = (1, 2), W = (10, 20). With b = 0
    the matrix of (3) is zero; with epsilon in it, it is invertible. With b = (5, 5), which (1) may
    sample, no epsilon helps.
    Repair: solve with epsilon W^T h + b, and b = eta or near it.
    Still holds: without epsilon for psi that is analytic on the whole line: logistic, tanh, erf,
    arctan, GELU.
    Later version: not seen.
    """

    def matrix(epsilon, b):
        arguments = [[epsilon * w * h + b for h in (1, 2)] for w in (10, 20)]
        return arb_mat(
            [[ball(x).exp() if abs(x) < 1 else arb(0) for x in row] for row in arguments]
        )

    small = Fraction(1, 100)
    assert matrix(1, 0).tolist() == [[0, 0], [0, 0]] == matrix(small, 5).tolist()
    assert matrix(small, 0).det() != 0
    assert matrix(Fraction(1, 10**9), 5).tolist() == [[0, 0], [0, 0]]


def test_the_reduction_to_one_dimension():
    """The reduction of Theorems 5 and 7 to d = 1 and b = eta 1

    Kind: remark
    Statement: with d = 1 and all biases the same, V can be solved for.
    Remark: this is true, and needs numbers of many digits: twelve contexts with labels take weights
    above 10^15 for logistic neurons, and no double has the digits to make labels of their sums.
    Here: one-layer-literal solves for V in as many digits as it takes. The other methods have
    biases and slopes of their own: steps between sorted contexts, in closed form.
    Later version: not seen.
    """
    draw = random.Random(4)
    w, x = ([Fraction(n, 1000) for n in draw.sample(range(200, 2000), 12)] for _ in range(2))
    with ctx.workprec(600):
        phi = arb_mat([[FUNCTIONS["logistic"](ball(a) * ball(b)) for a in w] for b in x])
        V = phi.solve(arb_mat([[arb(i % 2)] for i in range(12)]))
        assert max(abs(v).lower() for v in V.entries()) > 1e15


def least_length(k, omega):
    """T of Theorem 1: the least with omega^T >= n'."""
    wanted, length = k // (omega - 1) + 1, 0
    while omega**length < wanted:
        length += 1
    return length


def entropy(documents, T):
    """H of Lemma 2: the least loss of any model on documents of T + 1 tokens."""
    following = {}
    for document in documents:
        for t in range(1, T + 1):
            following.setdefault(document[:t], []).append(document[t])
    return math.fsum(
        -math.log(after.count(token) / len(after))
        for after in following.values()
        for token in after
    )


def loss(documents, T, probabilities):
    """L of a model that gives every context the same distribution."""
    return math.fsum(-math.log(probabilities[x]) for d in documents for x in d[1 : T + 1])


@some
@given(st.floats(-20, 20), st.lists(st.integers(0, 2), min_size=1, max_size=9))
def test_theorem_1_for_few_parameters(theta, tokens):
    """Theorem 1 for k < omega - 1

    Kind: false as stated
    Statement: with n' = floor(k / (omega - 1)) + 1 and T = ceil(log n' / log omega), documents of
    T + 1 tokens exist whose loss stays above the entropy for all k parameters.
    Counterexample: k = 1, omega = 3: n' = 1 and T = 0. Documents are single tokens and have no
    contexts, so that loss and entropy are empty sums: both are 0, for every model and all
    documents.
    Repair: T = 1 at least.
    Still holds: for k >= omega - 1, and for all k with that T. Here the documents (0, 0) and (0, 1)
    show it for the logits (theta, 0, 0): the loss is 3 log 2 at least, the entropy 2 log 2.
    Later version: not seen.
    """
    assert least_length(k=1, omega=3) == 0 and 1 // 2 + 1 == 1
    total = math.exp(theta) + 2
    probabilities = [math.exp(theta) / total, 1 / total, 1 / total]
    documents = [(token,) for token in tokens]
    assert loss(documents, 0, probabilities) == entropy(documents, 0) == 0
    documents = [(0, 0), (0, 1)]
    assert entropy(documents, 1) == pytest.approx(2 * math.log(2))
    assert (
        loss(documents, 1, probabilities) >= 3 * math.log(2) - 1e-12
    )  # least at p = (2, 1, 1) / 4
    assert loss(documents, 1, [1 / 2, 1 / 4, 1 / 4]) == pytest.approx(3 * math.log(2))


def test_theorem_1_and_its_number_of_contexts():
    """Theorem 1: the number of contexts, and T

    Kind: remark
    Statement: the number of contexts is bounded by n = n' + the sum of omega^t for t < T, with T
    from n', and n' from the number k of parameters.
    Remark: the bound is not reached. omega = 3, k = 6: n' = 4, T = 2, and n = 7, but the documents
    (0, 0), (0, 1), (0, 2), (1, 0) have six contexts. And a model with learnt positions has k
    depending on T: with omega = 2, d = 1 and m = 1, the k of T = 1 asks for T = 4.
    Here: contexts are counted exactly, and T is a fixed point, the smallest T whose k needs at most
    T.
    Later version: not seen.
    """
    contexts = [(0, 0), (0, 1), (0, 2), (1, 0)]
    prefixes = {c[:t] for c in contexts for t in (1, 2)}
    assert least_length(6, 3) == 2 and 6 // 2 + 1 == len(contexts)
    assert len(prefixes) == 6 < len(contexts) + 3 == 7 <= (2 + 1 / 2) * 6 / 2 + 1

    def parameters(T):
        return Shape(2, T, 1, ATTENTION, 1, 1, 1, False, 1, "tanh").parameters

    assert (parameters(1), least_length(parameters(1), 2)) == (11, 4)
    fixed = next(T for T in range(1, 9) if least_length(parameters(T), 2) <= T)
    assert (fixed, parameters(fixed), least_length(parameters(fixed), 2)) == (4, 14, 4)


@some
@given(st.lists(st.floats(-300, 300), min_size=2, max_size=5))
def test_lemma_2_and_distributions_with_zeros(logits):
    """Definition 1 and Lemma 2 for targets with zeros

    Kind: remark
    Statement: memory capacity is about distributions of full support, and a model that gives all of
    them has the entropy as the infimum of its loss.
    Remark: for data it is an infimum and no minimum. Where a token never follows, every softmax of
    finite logits has a positive divergence.
    Here: a gap: logits L + log p for tokens that follow and 0 for the others leave exactly
    log(1 + (omega - s) e^-L), with s tokens that follow.
    Later version: not seen.
    """
    with ctx.workprec(2000):
        values = [ball(x) for x in logits]
        total = sum((x.exp() for x in values), arb(0))
        assert (total.log() - values[0]) > 0
        gap = (1 + ball(len(logits) - 1) * (-values[0]).exp()).log()
        floor = [values[0], *(arb(0) for _ in logits[1:])]
        found = sum((x.exp() for x in floor), arb(0)).log() - values[0]
        assert abs(found - gap) < arb(10) ** -100


def test_the_ratio_after_theorem_5():
    """The ratio of eq. (3)

    Kind: false as stated
    Statement: the ratio of the bounds reduces to O(m_0 d^2 / (omega m)).
    Counterexample: the ratio is above 1 always, and m_0 d^2 / (omega m) tends to 0 as m grows.
    Repair: O(1 + m_0 d^2 / (omega m)).
    Still holds: that it is O(1) in practice.
    Later version: not seen.
    """

    def ratio(omega, m, d, heads, T):
        rest = Fraction(4 * heads * d * d + (omega + T) * d, (omega - 1) * m)
        return 1 + Fraction(d + 2, omega - 1) + rest

    m = 10**9
    assert ratio(1000, m, 16, 1, 10) > 1 > 10**9 * Fraction(16**2, 1000 * m)
    shape = Shape(1000, 10, 16, ATTENTION, 1, 16, 16, False, m, "gelu")
    assert ratio(1000, m, 16, 1, 10) == Fraction(shape.parameters, 999 * m)
    assert math.isclose(ratio(1000, m, 16, 1, 10), 1 + 18 / 999, rel_tol=1e-6)
