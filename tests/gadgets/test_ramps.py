"""GELU neurons give the logits that are wanted; judged in exact arithmetic."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from byheart.gadgets.logits import Logits
from byheart.gadgets.ramps import ramps


def exact(neurons, point):
    """The logits at a point with max(0, a) for GELU, exactly."""
    slopes, biases = map(Fraction, neurons.slope.tolist()), map(Fraction, neurons.bias.tolist())
    on = [max(Fraction(0), point * w + b) for w, b in zip(slopes, biases, strict=True)]
    return [
        float(sum(a * Fraction(v) for a, v in zip(on, row.tolist(), strict=True) if v))
        for row in neurons.output
    ]


def made(x, rest, wanted):
    row, token = np.nonzero(wanted)
    return ramps(x, rest, Logits(row, token, wanted[row, token]), wanted.shape[1])


def test_by_hand():
    """Points 0 and 1: kinks at -0.85 and 0.15, where the argument 60 (x + 0.85) is 51 at 0."""
    neurons = made(np.array([0.0, 1.0]), np.zeros(2), np.array([[5.1], [0.0]]))
    assert neurons.slope.tolist() == [60, 60]
    assert neurons.bias.tolist() == [51, -9]
    assert neurons.output[0, 0] == pytest.approx(0.1)
    assert neurons.output[0, 1] == pytest.approx(-0.1 * 111 / 51)


@given(
    st.lists(st.floats(1e-7, 1), min_size=1, max_size=25),
    st.integers(0, 2**32),
)
def test_it_gives_the_logits(steps, seed):
    random = np.random.default_rng(seed)
    x = 1 + np.cumsum(steps)
    rest = x * 2.0**-54 * random.uniform(-1, 1, len(x))
    wanted = np.where(random.random((len(x), 4)) < 0.4, random.uniform(0, 40, (len(x), 4)), 0)
    neurons = made(x, rest, wanted)
    for i in range(len(x)):
        point = Fraction(x[i]) + Fraction(rest[i])
        # an output weight's own rounding at the step that it makes, at most 40 * 1e7 times 2^-53
        assert exact(neurons, point) == pytest.approx(wanted[i], abs=1e-6)
        arguments = [
            float(point * Fraction(w) + Fraction(b))
            for w, b in zip(neurons.slope, neurons.bias, strict=True)
        ]
        assert (np.abs(arguments) > 8.9).all()


def test_rest_matters():
    """Without the second double, a steep slope misses by what the point was rounded by."""
    x = np.array([1.0, 1 + 1e-9, 2.0, 2.5])
    rest = np.array([0, 1e-16, -1e-16, 0])
    wanted = np.array([[0.0], [30.0], [0.0], [0.0]])
    points = [Fraction(a) + Fraction(b) for a, b in zip(x, rest, strict=True)]

    def miss(neurons):
        return max(abs(exact(neurons, p)[0] - y[0]) for p, y in zip(points, wanted, strict=True))

    assert miss(made(x, rest, wanted)) < 1e-6
    assert miss(made(x, 0 * rest, wanted)) > 1e-6
