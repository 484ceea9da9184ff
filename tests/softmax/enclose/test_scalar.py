"""The reduction to a scalar, and enclosures of it, against vectors of balls."""

from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given
from hypothesis import strategies as st

from byheart.softmax.decoder import Shape
from byheart.softmax.enclose import scalar
from byheart.softmax.enclose.scalar import enclosures, intervals, reduce


@st.composite
def recipes(draw, Recipe):
    return Recipe(
        seed=draw(st.integers(0, 10**6)),
        contexts=draw(st.integers(2, 12)),
        dimension=draw(st.integers(1, 3)),
        heads=draw(st.integers(1, 3)),
        skip=draw(st.booleans()),
        mixing=draw(st.sampled_from(["attention", "attention", "token_sum"])),
    )


def sums(balls, decoder, targets):
    """The sum of the coordinates of g of each context."""
    contexts = balls.contexts_of(targets)
    columns = (balls.mixed(decoder.shape, decoder.tensors, tokens) for tokens in contexts)
    return [sum(column.entries(), arb(0)) for column in columns]


@given(st.data(), st.sampled_from([1.0, -1.0, 30.0]))
def test_both_enclosures_hold_the_sum_of_the_vector(balls, data, scale):
    decoder, targets = balls.build(data.draw(recipes(balls.Recipe)))
    tensors = dict(decoder.tensors)
    tensors["embedding.weight"] = tensors["embedding.weight"] * scale
    changed = type(decoder)(decoder.shape, tensors)
    scalars = reduce(changed.shape, tensors)
    with ctx.workprec(256):
        true = sums(balls, changed, targets)
        for narrow, exact in zip(enclosures(scalars, targets, 128), true, strict=True):
            assert narrow.contains(exact) and float(narrow.rad()) < 1e-25
        for middle, radius, exact in zip(*intervals(scalars, targets), true, strict=True):
            assert abs(arb(middle) - exact) <= arb(radius)
            assert scale != 1 or radius < 1e-13 * max(1, abs(middle))


def test_heads_are_exact_and_merged(balls):
    shape = Shape(2, 1, 2, "attention", 3, 2, 1, False, 1, "tanh")
    tensors = {name: np.full(size, 0.1) for name, size in shape.tensors.items()}
    tensors["attention.key.weight"][4] = 0.7
    tenth, other = Fraction(0.1), Fraction(0.7)
    both = 8 * tenth**2, 4 * tenth**2 + 4 * tenth * other
    heads = reduce(shape, tensors).heads
    assert heads == ((both[0], 8 * tenth**2), (both[1], 4 * tenth**2))


@pytest.mark.parametrize("name", ["embedding.weight", "positions.weight"])
@pytest.mark.parametrize("value", [3.0, np.nan, np.inf])
def test_refuses_rows_that_are_not_constant(balls, name, value):
    decoder, _ = balls.build(balls.Recipe(dimension=2))
    tensors = {key: tensor.copy() for key, tensor in decoder.tensors.items()}
    assert reduce(decoder.shape, tensors) is not None
    tensors[name][0, 1] = value
    assert reduce(decoder.shape, tensors) is None


@pytest.mark.parametrize(
    "mixing, name", [("attention", "attention.out"), ("token_sum", "token_sum")]
)
def test_refuses_what_is_not_finite(balls, mixing, name):
    decoder, _ = balls.build(balls.Recipe(mixing=mixing))
    tensors = {key: tensor.copy() for key, tensor in decoder.tensors.items()}
    tensors[f"{name}.weight"][0] = np.nan
    assert reduce(decoder.shape, tensors) is None
    assert reduce(decoder.shape, {k: v.astype(object) for k, v in tensors.items()}) is None


@pytest.mark.parametrize("size", [1e-310, 1e160, 1e300])
def test_infinite_radius_where_doubles_do_not_reach(balls, size):
    decoder, targets = balls.build(balls.Recipe())
    tensors = dict(decoder.tensors) | {"attention.key.weight": np.full((2, 1), size)}
    tensors["attention.query.weight"] = np.full((2, 1), size)
    scalars = reduce(decoder.shape, tensors)
    _, radius = intervals(scalars, targets)
    long = np.diff(targets.starts) > 1
    assert (radius[long] == np.inf).all()


def test_the_error_of_a_mean_covers_that_of_its_weights():
    """Scores of 10^9 that are close to each other: rounding them moves a weight by 10^-7.

    `_mean` gets a spread that is larger than that of the numbers, so that no other part of its
    error can cover for the part that comes from the weights.
    """
    random, spread, moved = np.random.default_rng(0), 1e6, 0.0
    for _ in range(50):
        kappa = 1e9 * random.uniform(1, 2)
        x = 1 + random.uniform(0, 1e-9, 4)
        scores = [kappa * value * x[-1] for value in x]
        exact = [Fraction(kappa) * Fraction(value) * Fraction(x[-1]) for value in x.tolist()]
        top, best = max(scores), max(exact)
        off = max(
            abs(Fraction(score - top) - (true - best))
            for score, true in zip(scores, exact, strict=True)
        )
        _, error = scalar._mean(x, kappa, float(x.max()), spread)
        assert error >= off * spread
        moved = max(moved, float(off))
    assert moved > 1e-8
