"""Vectors as integers times a power of two: the same as by fractions, entry by entry."""

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from byheart.exact.batch import exact_integers
from byheart.exact.network import dyadic

FLOATS = (
    st.floats(-10, 10)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.integers(-64, 64).map(lambda x: x / 8)
)
INTEGERS = st.integers(-9, 9) | st.integers(-(2**63), 2**63 - 1)


@st.composite
def rows(draw):
    """Vectors, and more rows after them."""
    width = draw(st.integers(1, 3))
    dtype = draw(st.sampled_from([np.float64, np.int64]))
    entries = st.lists(FLOATS if dtype == np.float64 else INTEGERS, min_size=width, max_size=width)
    vectors = np.array(draw(st.lists(entries, max_size=5)), dtype).reshape(-1, width)
    more = draw(st.lists(st.lists(FLOATS, min_size=width, max_size=width), max_size=2))
    return vectors + dtype(0), [tuple(map(dyadic, row)) for row in more]


def test_by_hand():
    whole, exponent = exact_integers(np.array([[0.75, 2.0], [-3.0, 0.0]]), [(dyadic(1), dyadic(0))])
    assert exponent == -2
    assert whole.tolist() == [[3, 8], [-12, 0], [4, 0]]


@given(rows())
def test_the_same_as_by_fractions(given):
    vectors, more = given
    whole, exponent = exact_integers(vectors, more)
    plain = [[Fraction(x) for x in row] for row in vectors.tolist()]
    plain += [[x.fraction for x in row] for row in more]
    unit = Fraction(2) ** exponent
    assert [[x * unit for x in row] for row in whole.tolist()] == plain
    assert all(type(x) is int for row in whole.tolist() for x in row)
    # the coarsest unit of which all are multiples, but not above 1
    assert exponent == min([0, *(1 - x.denominator.bit_length() for row in plain for x in row)])


def test_long_numbers_are_no_int64():
    whole, exponent = exact_integers(np.array([[2.0**-40, 2.0**40]]), [])
    assert (exponent, whole.tolist()) == (-40, [[1, 2**80]])
    assert whole.dtype == object
    assert exact_integers(np.array([[2.0**-40, 2.0**20]]), [])[0].dtype == np.int64
