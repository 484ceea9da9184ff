"""The closed forms: against the paper's formulas, the measured sizes, and beyond the floats."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byheart.theory.kajitsuka2025.sizes import (
    Size,
    bit_extraction_parameters,
    bit_extraction_size,
    context_key_bits,
    deep_sets_size,
    embedded_key_bits,
    embedding_size,
    largest_value,
    lookup_size,
    sum_key_bits,
    token_key_bits,
)

counts = st.integers(1, 10**4)
radii = st.floats(1, 1e6)
separations = st.floats(1e-6, 1)


def digits(value):
    return math.floor(value).bit_length()


@given(counts, st.integers(1, 50), st.integers(1, 800), radii, separations)
def test_the_paper_s_r(N, n, d, r, delta):
    """R_1, R_2 of Theorem B.1 and R_rho of Theorem D.1, up to the last digit of a float."""
    r1 = 20 * r * (n * N) ** 2 / delta * math.sqrt(math.pi * d)
    r2 = 400 * math.sqrt(3 * d) * n**3 * r * N**5 / delta * math.pi
    found = [
        (token_key_bits(n * N, d, r, delta), r1),
        (context_key_bits(N, n, d, r, delta), r2),
        (sum_key_bits(N, n), 80 * n * N**5 * math.pi),
        (embedded_key_bits(N, n, d), 200 * math.sqrt(3) * n**2 * N**5 * d * math.pi),
    ]
    for bits, paper in found:
        assert bits in (digits(paper * (1 - 1e-12)), digits(paper * (1 + 1e-12)))


@given(counts)
def test_values(N):
    assert largest_value(N, N) == math.ceil(4 * N**3 * math.sqrt(math.pi))


def test_beyond_the_floats():
    assert token_key_bits(1, 1, Fraction(2) ** 5000, Fraction(1, 2**3000)) == 8006
    assert context_key_bits(10**100, 1, 1, 1, 1) > 1500


@pytest.mark.parametrize(
    "sequences, nonzero, depth",
    [(10**2, 7_760, 800), (10**3, 26_396, 2_684), (10**4, 92_504, 9_332)],
)
def test_the_worst_case(sequences, nonzero, depth):
    """As many marked tokens as sequences; attention and projection are 9 more, in 2 layers."""
    radius = 2 * math.sqrt(2 * sequences)
    assert bit_extraction_parameters(sequences, 4, 2, 2, radius) == nonzero
    size = bit_extraction_size(sequences, 4, 2, 2, radius)
    assert (size.parameters, size.depth, size.width) == (nonzero + 9, depth + 2, 12)


def test_one_item_by_hand():
    """Key 3 of two bits, label 1 of one bit: 2 + 1 + (4 + 3) + 1 blocks of 12 lanes."""
    size = lookup_size(1, 2, 1)
    assert size.depth == 11 and size.width == 12
    select, begin, compare, end = 6 + 14, 10, 7 + 10 + 10, 8
    bits = (20 + 3 + 3) + (10 + 5)  # of key and label, then of the key alone
    assert size.parameters == select + begin + bits + compare + end
    units = 2 + 4 + 2 + (8 + 2) + (4 + 2) + (2 + 4 + 4) + 4
    assert size.dense == 25 * units + 12 * size.depth


def test_parts_add_up():
    assert Size(1, 2, 3, 4) + Size(10, 20, 30, 2) == Size(11, 22, 33, 4)


@given(st.integers(2, 300), st.integers(1, 8), st.integers(1, 9))
def test_the_other_theorems_are_smaller(N, n, C):
    """D.1 carries no lane, and its keys are shorter; E.1 has no first part at all."""
    size = bit_extraction_size(N, n, 1, C, 1)
    sets = deep_sets_size(N, n, 1, C, 1)
    assert sets.parameters < size.parameters and sets.width == 12
    assert embedding_size(N, n, 1, C).parameters < size.parameters


@given(st.integers(1, 500))
def test_fewer_marked_tokens_make_it_smaller(N):
    full = bit_extraction_size(N, 4, 2, 2, 10)
    assert bit_extraction_size(N, 4, 2, 2, 10, marked=N) == full
    assert bit_extraction_size(N, 4, 2, 2, 10, marked=max(1, N // 4)).parameters <= full.parameters


def test_parts_that_come_again():
    size = Size(3, 40, 2, 4)
    assert size.times(2) + size == size + size + size
    assert size + size.times(0) == size
