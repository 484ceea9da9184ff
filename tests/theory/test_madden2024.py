"""The numbers of madden2024: displayed equations with exact fractions, and counted sets."""

import math
from fractions import Fraction
from itertools import islice, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byheart.errors import AssumptionError
from byheart.softmax.decoder import Shape
from byheart.theory.madden2024.capacity import (
    fixed_point,
    lemma_1,
    lemma_1_parameters,
    parameters,
    ratio,
    theorem_1,
    theorem_1_limit,
    theorem_1_parameters,
    theorem_5_parameters,
    theorem_7_parameters,
)

sizes = st.integers(1, 60)
outputs = st.integers(2, 40)
counts = st.integers(0, 10**9)


@given(counts, outputs)
def test_lemma_1(k, omega):
    n = lemma_1(k, omega)
    assert n == math.floor(Fraction(k, omega - 1))
    assert lemma_1_parameters(n + 1, omega) > k >= n * (omega - 1)


@given(counts, outputs)
def test_the_displayed_inequalities_of_theorem_1(k, omega):
    """n' + sum of omega^t <= n' + omega (n' - 1) / (omega - 1) <= the limit; T is ceil(log n')."""
    n, T, contexts, limit = theorem_1(k, omega)
    assert n == k // (omega - 1) + 1
    assert omega**T >= n and (T == 1 or omega ** (T - 1) < n)
    every_prefix = n + sum(omega**t for t in range(1, T))
    middle = n + Fraction(omega * (n - 1), omega - 1)
    last = (2 + Fraction(1, omega - 1)) * Fraction(k, omega - 1) + 1
    assert contexts <= every_prefix <= middle <= last or n == 1
    assert limit == math.floor(last) and contexts <= limit


@given(st.integers(0, 3000), st.integers(2, 6))
def test_contexts_are_those_of_the_first_words(k, omega):
    n, T, contexts, _ = theorem_1(k, omega)
    words = list(islice(product(range(omega), repeat=T), n))
    assert contexts == len({word[:t] for word in words for t in range(1, T + 1)})


@given(st.integers(1, 10**6), outputs)
def test_theorem_1_for_data_is_the_limit_turned_round(n, omega):
    k = theorem_1_parameters(n, omega)
    assert theorem_1_limit(k, omega) > n
    assert k == 0 or theorem_1_limit(k - 1, omega) <= n
    assert k <= lemma_1_parameters(n, omega)


@given(st.integers(0, 10**5), sizes, outputs)
def test_the_fixed_point(constant, each, omega):
    """The least T with data that is not longer, for a count that contains T."""

    def count(T):
        return constant + each * T

    found = fixed_point(count, omega)
    assert found == theorem_1(count(found.length), omega)
    assert all(theorem_1(count(T), omega).length > T for T in range(1, found.length))


@given(outputs, sizes, sizes, sizes, sizes, sizes)
def test_eq_3(omega, T, d, m_0, d_h, m):
    k = parameters(omega, T, d, m_0, d_h, m)
    shape = Shape(omega, T, d, "attention", m_0, d_h, d_h, False, m, "tanh")
    assert shape.parameters == k
    displayed = (
        1
        + Fraction(d + 2, omega - 1)
        + Fraction(2 * m_0 * (d_h + d_h) * d, (omega - 1) * m)
        + Fraction((omega + T) * d, (omega - 1) * m)
    )
    assert ratio(k, omega, m) == pytest.approx(float(displayed), rel=1e-14)
    assert lemma_1(k, omega) >= m  # Lemma 1 is above Theorem 5


@given(sizes, outputs, sizes)
def test_sizes_for_data(n, omega, T):
    """d = 1, one head of dimension 1, as many neurons as contexts; T weights instead of a head."""
    assert theorem_5_parameters(n, omega, T) == parameters(omega, T, 1, 1, 1, n)
    shape = Shape(omega, T, 1, "token_sum", 0, 0, 0, False, n, "tanh")
    assert theorem_7_parameters(n, omega, T) == shape.parameters
    assert lemma_1_parameters(n, omega) <= theorem_7_parameters(n, omega, T)


@pytest.mark.parametrize(
    "refused",
    [
        lambda: lemma_1(10, 1),
        lambda: lemma_1_parameters(0, 5),
        lambda: theorem_1(10, 1),
        lambda: theorem_1_parameters(4, 0),
        lambda: ratio(10, 5, 0),
        lambda: parameters(5, 1, 0, 1, 1, 1),
        lambda: parameters(5, 1, 1, 0, 1, 1),
        lambda: theorem_7_parameters(1, 5, 0),
    ],
)
def test_bad_sizes_name_the_assumption(refused):
    with pytest.raises(AssumptionError, match="A1 fails"):
        refused()
