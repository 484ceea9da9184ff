"""Where neurons switch, with what margin, and the running sums: against exact rationals."""

from fractions import Fraction

import numpy as np
import pytest
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st

from byheart.softmax.enclose import ramps, switches, thermometer
from byheart.softmax.enclose.sweep import tail_sums

magnitudes = st.floats(1e-3, 1e16)


def neurons(slopes, biases):
    return switches.Neurons(None, np.array(slopes, float), np.array(biases, float))


def found(monkeypatch, form, given_neurons, middles, radii):
    """The switches from intervals with these middles and radii."""
    if form == "balls":
        held = [arb(m, r) for m, r in zip(middles, radii, strict=True)]
        return switches.from_balls(given_neurons, held)
    pair = np.array(middles, float), np.array(radii, float)
    monkeypatch.setattr(switches, "intervals", lambda scalars, targets: pair)
    return switches.from_doubles(given_neurons, None)


FORMS = pytest.mark.parametrize("form", ["doubles", "balls"])


@FORMS
def test_places_and_margins(monkeypatch, form):
    three = neurons([2, 1, 4], [-5, 10, -40])  # kinks at 2.5, -10, 10
    result = found(monkeypatch, form, three, [3, 1, 2], [0, 0, 0])
    assert result.contexts.tolist() == [1, 2, 0]
    assert result.neurons.tolist() == [1, 0, 2]
    assert result.first.tolist() == [0, 1, 1, 2, 3]
    assert result.margins == pytest.approx([1, 11, 28], abs=1e-12)
    assert (result.margins <= [1, 11, 28]).all()


@FORMS
@pytest.mark.parametrize("middles, radii", [([0, 1, 2], [2, 0, 0]), ([0, 1, 2], [0, 0, 2])])
def test_a_wide_interval_takes_the_margin_of_neurons_far_away(monkeypatch, form, middles, radii):
    one = neurons([1], [-1.5 if radii[0] else -0.5])
    assert found(monkeypatch, form, one, middles, [0, 0, 0]).margins[0] > 0.4
    assert found(monkeypatch, form, one, middles, radii).margins[0] < 0


@FORMS
def test_no_margin_if_an_interval_is_infinite(monkeypatch, form):
    result = found(monkeypatch, form, neurons([1, 1], [-0.5, -9]), [0, 1], [0, np.inf])
    assert (result.margins < 0).all()


@given(magnitudes, st.floats(-100, 100), st.floats(-1e16, 1e16))
def test_arguments_are_rounded_down(w, s, b):
    bound = switches._argument(np.array([w]), np.array([s]), np.array([b]))[0]
    exact = Fraction(w) * Fraction(s) + Fraction(b)
    assert Fraction(float(bound)) <= exact
    assert exact - Fraction(float(bound)) <= Fraction(2**-50) * (abs(w * s) + abs(b) + 1)


@given(magnitudes, st.floats(-100, 100), st.floats(0, 1e-9), st.floats(-2, 2))
def test_margins_hold_at_both_ends_of_an_interval(w, s, radius, shift):
    b = -w * (s + shift * 1e-9)
    with pytest.MonkeyPatch.context() as patch:
        result = found(patch, "doubles", neurons([w], [b]), [s], [radius])
    ends = [Fraction(w) * (Fraction(s) + sign * Fraction(radius)) + Fraction(b) for sign in (-1, 1)]
    on = result.first.tolist() == [0, 1, 1]
    assert Fraction(float(result.margins[0])) <= (ends[0] if on else -ends[1])


COUNT = 20


def weights(seed):
    """Output weights of very different sizes, which cancel: sums of doubles lose digits."""
    random = np.random.default_rng(seed)
    sizes = random.uniform(-20, 20, (5, COUNT // 2))
    halves = random.normal(0, 1, sizes.shape) * 2.0**sizes
    return random, np.concatenate([halves, random.permuted(-halves, axis=1)], axis=1)


def exactly(array):
    """The same numbers as rationals, which numpy adds and multiplies without rounding."""
    return np.vectorize(Fraction, otypes=[object])(array)


def within(logits, radii, exact):
    return (abs(exactly(logits) - exact) <= exactly(radii)[:, None]).all()


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.sampled_from([1.0, 2.0]))
def test_steps_are_within_the_radius_of_the_exact_sum(seed, height):
    random, output = weights(seed)
    order, first = random.permutation(COUNT), np.arange(COUNT + 1)
    running, lacking = thermometer._base(output, height)
    logits, radii = np.empty((COUNT, 5)), np.zeros(COUNT)
    thermometer._advance(output, height, order, first, running, lacking, np.zeros(5), logits, radii)
    on = np.cumsum(exactly(output)[:, order], axis=1).T
    off = exactly(output).sum(axis=1) - on
    assert within(logits, radii, on - off * int(height - 1))


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.sampled_from([1e-33, 1e-9]), st.booleans())
def test_ramps_are_within_the_radius_of_the_exact_sum(seed, wide, cancels):
    random, output = weights(seed)
    slopes, biases = 2.0 ** random.uniform(0, 40, COUNT), random.normal(0, 1, COUNT) * 2.0**30
    if cancels:  # the last sums are 0, and what is computed is all error
        slopes[:], biases[:] = slopes[0], biases[0]
    order, first = random.permutation(COUNT), np.arange(COUNT + 1)
    middle = random.normal(0, 2, COUNT)
    scalars = np.stack([middle, middle * 1e-17, np.full(COUNT, wide)], axis=1)
    logits, radii = np.empty((COUNT, 5)), np.zeros(COUNT)
    ramps._advance(
        output, slopes, biases, order, first, scalars, np.zeros((5, 6)), np.zeros(5), logits, radii
    )
    slope = np.cumsum((exactly(output) * exactly(slopes))[:, order], axis=1).T
    rest = np.cumsum((exactly(output) * exactly(biases))[:, order], axis=1).T
    high, low, radius = exactly(scalars).T[:, :, None]
    for s in (high + low - radius, high + low + radius):
        assert within(logits, radii, slope * s + rest)


@settings(max_examples=40)
@given(st.integers(0, 10**6))
def test_sums_of_products_lack_no_more_than_they_say(seed):
    random, output = weights(seed)
    high, low, lack, exact = 0.0, 0.0, 0.0, Fraction(0)
    for a, b in zip(
        output.ravel().tolist(), random.normal(0, 1, output.size).tolist(), strict=True
    ):
        high, low, lack = ramps._add(high, low, lack, a, b)
        exact += Fraction(a) * Fraction(b)
        assert abs(exact - Fraction(high) - Fraction(low)) <= Fraction(lack)
    assert lack < 1e-20


@settings(max_examples=40)
@given(st.integers(0, 10**6))
def test_tail_sums_are_above_and_near(seed):
    random, output = weights(seed)
    tails = 10.0 ** random.uniform(-40, 0, COUNT)
    exact = (abs(exactly(output)) * exactly(tails)).sum(axis=1)
    sums = exactly(tail_sums(output, tails))
    assert (exact <= sums).all() and (sums <= exact * (1 + Fraction(1e-12))).all()


def test_tail_sums_where_nothing_is_known():
    output = np.array([[1.0, 0.0], [0.0, 1.0], [np.nan, 0.0], [0.0, np.inf]])
    assert tail_sums(output, np.array([np.inf, 1.0])).tolist() == [
        np.inf,
        pytest.approx(1),
        np.inf,
        np.inf,
    ]
