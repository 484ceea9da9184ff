"""Codes of tokens: balanced, different, and apart."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from byheart.gadgets.reed_muller import lanes, words


@given(st.integers(0, 2**32 - 1), st.sampled_from([(16, 300), (32, 300), (64, 200)]))
@settings(max_examples=4)
def test_words_are_balanced_and_differ_in_a_quarter_of_the_lanes(seed, sizes):
    size, count = sizes
    found = words(count, size, np.random.default_rng(seed))
    assert found.shape == (count, size) and set(np.unique(found)) == {-1.0, 1.0}
    assert not found.sum(axis=1).any()
    products = found @ found.T
    np.fill_diagonal(products, -size)
    assert products.max() <= size / 2  # they differ in size / 4 lanes or more


def test_all_balanced_words_of_16_and_32_lanes():
    """The weight distributions of RM(2, 4) and RM(2, 5), as the tables of coding theory have them."""
    for size, count in ((16, 870), (32, 36_518)):
        found = words(count, size, np.random.default_rng(0))
        assert len(np.unique(found, axis=0)) == count
        with pytest.raises(AssertionError, match=f"only {count}"):
            words(count + 1, size, np.random.default_rng(0))


def test_lanes():
    assert [lanes(x) for x in (2, 870, 871, 36_518, 36_519, 50_257)] == [16, 16, 32, 32, 64, 64]
