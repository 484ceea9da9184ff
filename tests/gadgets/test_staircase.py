"""Neurons along a line give the logits that are wanted, for every activation that switches."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from byheart.gadgets.logits import Logits
from byheart.gadgets.staircase import STEPS, corrected, gaps, staircase
from byheart.softmax.doubles import activation

SWITCHING = ["logistic", "tanh", "erf"]


def sparse(matrix):
    row, token = np.nonzero(matrix)
    return Logits(row, token, matrix[row, token])


def outputs(neurons, x, name):
    return activation(name)(np.outer(x, neurons.slope) + neurons.bias) @ neurons.output.T


@st.composite
def cases(draw):
    n, vocabulary = draw(st.integers(1, 12)), draw(st.integers(1, 5))
    steps = draw(st.lists(st.floats(1e-6, 1), min_size=n, max_size=n))
    whole = st.lists(st.integers(-40, 40), min_size=vocabulary, max_size=vocabulary)
    rows = draw(st.lists(whole, min_size=n, max_size=n))
    return 1 + np.cumsum(steps), np.array(rows, float) / 2


def test_by_hand():
    """Points 1 and 3, outputs 5 and 2: on from the start with 5, at 2 with -3."""
    neurons = staircase(np.array([1.0, 3.0]), sparse(np.array([[5.0], [2.0]])), 1, "logistic")
    assert neurons.output.tolist() == [[5, -3]]
    assert (-neurons.bias / neurons.slope).tolist() == [0, 2]
    assert neurons.slope.tolist() == [40, 40]
    neurons = staircase(np.array([1.0, 3.0]), sparse(np.array([[5.0], [2.0]])), 1, "tanh")
    assert neurons.output.tolist() == [[3.5, -1.5]]


@pytest.mark.parametrize("name", SWITCHING)
@given(case=cases())
def test_it_gives_the_logits(name, case):
    x, wanted = case
    neurons = staircase(x, sparse(wanted), wanted.shape[1], name)
    assert outputs(neurons, x, name) == pytest.approx(wanted, abs=1e-9)
    assert (neurons.slope > 0).all()
    arguments = np.outer(x, neurons.slope) + neurons.bias
    on = np.arange(len(x))[:, None] >= np.arange(len(x))
    assert ((arguments > 0) == on).all()
    assert abs(arguments).min() > 0.99 * STEPS[name].margin


@settings(max_examples=30)
@given(case=cases())
def test_arctan_is_corrected(case):
    x, wanted = case

    def missing(neurons):
        return wanted - outputs(neurons, x, "arctan")

    first = staircase(x, sparse(wanted), wanted.shape[1], "arctan")
    later = corrected(first, STEPS["arctan"], missing, 3)
    assert abs(missing(first)).max() < 0.02
    assert abs(missing(later)).max() < 1e-9


def test_the_first_point_has_room():
    assert gaps(np.array([5.0])).tolist() == [1]
    assert gaps(np.array([1.0, 2.0, 4.0, 5.0])).tolist() == [1, 1, 2, 1]
