"""The bound of the divergence: above the truth for every logit within the radius, and near it."""

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given
from hypothesis import strategies as st

from byheart.softmax.enclose.bound import divergence


def case(seed: int, spread: float, floor: float):
    """Random counts, and logits that are about right on the support and low off it."""
    random = np.random.default_rng(seed)
    vocabulary = int(random.integers(2, 30))
    size = int(random.integers(1, vocabulary + 1))
    following = np.sort(random.choice(vocabulary, size, replace=False)).astype(np.int32)
    counts = np.exp(random.uniform(0, 36.7, size)).astype(np.int64)  # up to about 2^53
    logits = random.normal(0, 3, vocabulary) - floor
    logits[following] = np.log(counts) + random.normal(0, spread, size)
    return random, logits + random.normal(0, 50), following, counts


def truth(balls, logits, following, counts):
    return balls.divergence([arb(x) for x in logits.tolist()], following.tolist(), counts.tolist())


@given(st.integers(0, 10**6), st.sampled_from([0, 1e-9, 1e-4, 0.1, 3]), st.floats(-5, 300))
def test_never_below_the_truth(balls, seed, spread, floor):
    _, logits, following, counts = case(seed, spread, floor)
    bound, likeliest = divergence(logits, 0.0, following, counts)
    with ctx.workprec(256):
        assert arb(bound) >= truth(balls, logits, following, counts)
    assert likeliest == logits.argmax()


@given(st.integers(0, 10**6), st.floats(-20, 2), st.floats(-5, 60))
def test_never_below_what_a_radius_allows(balls, seed, magnitude, floor):
    random, logits, following, counts = case(seed, 1e-3, floor)
    radius = 10.0**magnitude
    bound, _ = divergence(logits, radius, following, counts)
    worst = np.full(len(logits), radius)
    worst[following] = -radius
    with ctx.workprec(256):
        for moved in (worst, radius * random.choice([-1, 1], len(logits))):
            exact = [arb(x) + arb(y) for x, y in zip(logits.tolist(), moved.tolist(), strict=True)]
            true = balls.divergence(exact, following.tolist(), counts.tolist())
            assert arb(bound) >= true


@given(st.integers(0, 10**6), st.floats(8, 30))
def test_near_the_truth_where_only_the_rest_counts(balls, seed, floor):
    random = np.random.default_rng(seed)
    counts = 1 << random.integers(0, 50, 3)
    following = np.array([1, 4, 7], np.int32)
    logits = np.zeros(20)
    logits[following] = floor + np.log(counts) - np.log(counts.max())
    bound, _ = divergence(logits, 0.0, following, counts)
    with ctx.workprec(256):
        true = truth(balls, logits, following, counts)
        assert true <= arb(bound) <= true * (1 + arb(1e-6))


ONE = np.array([0], np.int32), np.array([1])


@given(st.floats(-12, -1), st.floats(-9, -1))
def test_a_radius_counts_twice_off_the_support(balls, logit, magnitude):
    radius = 10.0**magnitude
    bound, _ = divergence(np.array([0.0, logit, logit]), radius, *ONE)
    with ctx.workprec(256):
        off = arb(logit) + arb(radius)
        true = balls.divergence([-arb(radius), off, off], [0], [1])
        assert true <= arb(bound) <= true * 1.3 + arb(radius) ** 2


@pytest.mark.parametrize(
    "logits, radius",
    [
        ([np.nan, 0.0], 0.0),
        ([0.0, np.nan], 0.0),
        ([np.inf, 0.0], 0.0),
        ([-np.inf, 0.0], 0.0),
        ([0.0, np.inf], 0.0),
        ([0.0, 701.0], 0.0),
        ([0.0, -1.0], np.nan),
        ([0.0, -1.0], np.inf),
        ([0.0, -1.0], 200.0),
    ],
)
def test_infinite_where_nothing_is_known(logits, radius):
    assert divergence(np.array(logits), radius, *ONE)[0] == np.inf


def test_infinite_if_the_support_is_too_far_apart():
    both = np.array([0, 1], np.int32), np.array([1, 1])
    assert divergence(np.array([0.0, -701.0]), 0.0, *both)[0] == np.inf
    assert divergence(np.array([0.0, -350.0]), 0.0, *both)[0] < np.inf


def test_the_first_of_equal_logits_is_likeliest():
    assert divergence(np.array([1.0, 3.0, 3.0]), 0.0, *ONE)[1] == 1
