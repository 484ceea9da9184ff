"""Neurons as a memory: on at their own stream, off at all others."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from byheart.errors import AssumptionError
from byheart.gadgets.key_memory import memory


def streams_of(seed, count, size, sphere):
    found = np.random.default_rng(seed).standard_normal((count, size))
    return found / np.linalg.norm(found, axis=1, keepdims=True) if sphere else found


@given(st.integers(0, 10**6), st.integers(2, 30), st.booleans(), st.sampled_from([None, 0.01]))
@settings(max_examples=40)
def test_each_neuron_is_on_at_its_own_stream_alone(seed, count, sphere, reach):
    streams = streams_of(seed, count, 24, sphere)  # in convex position, as they are few
    stored = np.arange(0, count, 2)
    found = memory(streams, stored, 16.0, reach, sphere)
    arguments = found.weights @ streams.T + found.biases[:, None]
    own = arguments[np.arange(len(stored)), stored]
    np.testing.assert_allclose(own, 16.0, rtol=1e-6)
    arguments[np.arange(len(stored)), stored] = -np.inf
    assert arguments.max() <= -16.0 * (1 - 1e-6)
    assert (found.reach > 0).all() and (reach is None or (found.reach <= reach).all())


def test_by_hand():
    """Two points of a circle, a right angle apart: half way between them is (1 - 0) / 2."""
    found = memory(np.eye(2), np.array([0]), 8.0, None, True)
    assert found.reach.tolist() == [0.5]
    assert found.weights.tolist() == [[16.0, 0.0]] and found.biases.tolist() == [-8.0]


def test_a_stream_inside_the_others_is_refused():
    corners = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0], [0.0, 0.1]])
    with pytest.raises(AssumptionError, match="1 contexts cannot be told"):
        memory(corners, np.array([4]), 8.0, 0.001, False)
