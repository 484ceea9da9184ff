"""The rank of a decoder's Jacobian: exact derivatives, and the parameters that do not count."""

import random
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from byheart.errors import AssumptionError
from byheart.softmax.decoder import ACTIVATIONS, ATTENTION, TOKEN_SUM, Decoder, Shape
from byheart.softmax.doubles import logits
from byheart.theory.effective import MOST, drawn, effective_rank
from byheart.theory.jacobian import FUNCTIONS, jacobian

STEP = 1e-5
few = settings(max_examples=25, deadline=None)


@st.composite
def shapes(draw):
    """Small decoders of every kind."""
    vocabulary, length, d = (draw(st.integers(a, 4)) for a in (2, 1, 1))
    neurons, activation = draw(st.integers(1, 3)), draw(st.sampled_from(ACTIVATIONS))
    if draw(st.booleans()):
        return Shape(vocabulary, length, d, TOKEN_SUM, 0, 0, 0, False, neurons, activation)
    heads = [draw(st.integers(1, 2)) for _ in range(3)]
    last = (neurons, activation) if draw(st.booleans()) else (0, "none")
    return Shape(vocabulary, length, d, ATTENTION, *heads, draw(st.booleans()), *last)


def outputs(shape, tensors, contexts):
    """Differences of logits, by the code that runs decoders."""
    tokens = np.array([token for context in contexts for token in context])
    starts = np.cumsum([0, *map(len, contexts)])
    found = logits(Decoder(shape, tensors), tokens, starts)
    return (found[:, :-1] - found[:, -1:]).ravel()


def differences(shape, tensors, contexts):
    """The Jacobian by central differences: good to about 1e-9."""
    columns = []
    for name, tensor in tensors.items():
        for place in np.ndindex(tensor.shape):
            ends = []
            for step in (STEP, -STEP):
                moved = {**tensors, name: tensor.copy()}
                moved[name][place] += step
                ends.append(outputs(shape, moved, contexts))
            columns.append((ends[0] - ends[1]) / (2 * STEP))
    return np.array(columns).T


@few
@given(shapes(), st.integers(0, 10**6))
def test_the_jacobian_is_that_of_the_decoder(shape, seed):
    generator = np.random.default_rng(seed)
    tensors = {name: generator.normal(size=size) for name, size in shape.tensors.items()}
    contexts = drawn(shape, 4, random.Random(seed)) + [(0,)]
    exact = jacobian(shape, tensors, contexts)
    assert exact.shape == (len(contexts) * (shape.vocabulary - 1), shape.parameters)
    assert np.allclose(exact, differences(shape, tensors, contexts), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_slopes(name):
    x = np.linspace(-4, 4, 33)
    value, slope = FUNCTIONS[name](x)
    ahead, behind = (FUNCTIONS[name](x + step)[0] for step in (STEP, -STEP))
    assert np.allclose(slope, (ahead - behind) / (2 * STEP), rtol=1e-7, atol=1e-9)
    assert (np.diff(value) > 0).all() or name == "gelu"


def gauge(shape):
    """Dimensions of parameters that change nothing.

    The output matrix has a row that can be added to all of them (m); a vector can move from
    positions to tokens (d); queries and keys of a head, and its values and outputs, can be changed
    by matrices that undo each other (d_1^2 and d_0^2, where these do not exceed d).
    """
    m = shape.neurons or shape.dimension
    d, d1, d0 = shape.dimension, shape.key_dimension, shape.value_dimension
    heads = sum(x * x if x <= d else 2 * d * x - d * d for x in (d1, d0))
    return m + d + shape.heads * heads


@settings(max_examples=15, deadline=None)
@given(shapes(), st.integers(0, 99))
def test_what_changes_nothing_does_not_count(shape, seed):
    if shape.mixing != ATTENTION:
        return
    found = effective_rank(shape, seed)
    assert found.parameters == shape.parameters
    assert found.rank <= min(
        shape.parameters - gauge(shape), found.contexts * (shape.vocabulary - 1)
    )
    assert found.capacity is None or found.capacity <= found.parameters // (shape.vocabulary - 1)


def test_a_token_sum_by_hand():
    """omega = 2, T = d = m = 1, psi = tanh: h = V tanh(w z_a u + b) for two contexts.

    Two numbers are given, the outputs of (a) and (b): the rank is 2, and all contexts are reached.
    """
    shape = Shape(2, 1, 1, TOKEN_SUM, 0, 0, 0, False, 1, "tanh")
    found = effective_rank(shape, 0)
    assert (found.parameters, found.rank, found.contexts, found.capacity) == (7, 2, 2, 2)
    assert found.tolerance == 1e-10


def test_smaller_than_the_count_and_the_same_for_all_seeds():
    """omega = 3, T = 4, d = 2, one head, m = 4: 54 parameters, of which 32 count.

    What changes nothing: a row added to the output matrix (4), a vector moved from positions to
    tokens (2), invertible matrices between queries and keys, values and outputs, outputs and
    neurons (4 each), and another basis of embeddings (4).
    """
    shape = Shape(3, 4, 2, ATTENTION, 1, 2, 2, False, 4, "tanh")
    found = {effective_rank(shape, seed)[:5] for seed in range(4)}
    assert found == {(54, 54 - 22, 28, 1e-10, 16)}
    assert 16 < 54 // 2 and 16 >= shape.neurons  # Lemma 1; Theorem 5 gives m at least


def test_contexts_are_distinct_and_long_ones_come_first():
    shape = Shape(3, 4, 2, ATTENTION, 1, 2, 2, False, 4, "tanh")
    for count in (1, 20, 81, 100, 120, 10**6):
        found = drawn(shape, count, random.Random(1))
        assert len(found) == len(set(found)) == min(count, 3 + 9 + 27 + 81)
        assert [len(x) for x in found] == sorted(map(len, found), reverse=True)
    every = [x for t in range(1, 5) for x in product(range(3), repeat=t)]
    assert sorted(found) == sorted(every)
    long = Shape(50, 40, 2, ATTENTION, 1, 2, 2, False, 4, "tanh")  # 50^40 contexts
    assert len(set(drawn(long, 30, random.Random(0)))) == 30


def test_where_singular_values_have_no_gap_nothing_is_said():
    """Many neurons on one coordinate: the values fall off through the tolerance."""
    shape = Shape(2, 7, 1, ATTENTION, 1, 1, 1, False, 40, "tanh")
    found = effective_rank(shape, 0)
    assert found.capacity is None and found.kept < 1000 * found.dropped


def test_refusals():
    large = Shape(50, 10, 8, ATTENTION, 1, 8, 8, False, 40, "tanh")
    assert large.parameters > MOST
    with pytest.raises(AssumptionError, match="A1 fails: .* at most 2,000 parameters"):
        effective_rank(large)
    with pytest.raises(AssumptionError, match="vocabulary"):
        effective_rank(large._replace(vocabulary=1))
