"""Bits needed and held."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byheart.errors import AssumptionError
from byheart.theory.information import (
    ALLENZHU_2024,
    bits_held,
    bits_needed,
    contexts_held,
    parameters_of_bits,
)

counts = st.integers(1, 10**5)


@given(st.integers(1, 12), st.integers(1, 5))
def test_there_are_as_many_labellings(n, C):
    assert 2 ** bits_needed(n, C) == pytest.approx(C**n)


@given(counts, st.integers(1, 64), st.integers(2, 10**5))
def test_contexts_and_bits(k, bits, outputs):
    n = contexts_held(k, bits, outputs)
    assert n == 0 or bits_needed(n, outputs) <= bits_held(k, bits) * (1 + 1e-12)
    assert bits_needed(n + 1, outputs) > bits_held(k, bits) * (1 - 1e-12)


@given(counts, st.integers(2, 10**5), st.integers(1, 64))
def test_parameters_of_some_bits(n, C, bits):
    k = parameters_of_bits(n, C, bits)
    assert bits_held(k, bits) >= bits_needed(n, C) > bits_held(k - 1, bits)


@given(counts, st.integers(2, 10**5))
def test_a_rule_of_thumb_turned_round(n, C):
    k = parameters_of_bits(n, C, ALLENZHU_2024)
    assert bits_held(k, ALLENZHU_2024) >= bits_needed(n, C) > bits_held(k - 1, ALLENZHU_2024)
    assert k == math.ceil(n * math.log2(C) / 2)


def test_sizes_are_checked():
    for refused in (
        lambda: bits_needed(0, 2),
        lambda: bits_held(5, 0),
        lambda: contexts_held(5, 8, 1),
    ):
        with pytest.raises(AssumptionError, match="A1 fails"):
            refused()
