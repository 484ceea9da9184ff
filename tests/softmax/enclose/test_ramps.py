"""Decoders of GELU ramps: bounds never below the truth, near it, and refused if need be."""

from dataclasses import replace

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given, settings
from hypothesis import strategies as st

from byheart.softmax.decoder import Decoder
from byheart.softmax.enclose import ramps
from byheart.softmax.error_free import two_product, two_sum

GAP = 1e-9
NOISES = [0, 1e-14, 1e-9, 1e-3]


@settings(max_examples=100)
@given(st.data())
def test_never_below_the_truth(balls, data):
    recipe = data.draw(balls.recipes(("gelu",), NOISES))
    decoder, targets = balls.build(recipe)
    if data.draw(st.booleans()):
        targets = balls.some(np.random.default_rng(recipe.seed), targets)
    assert ramps.applies(decoder)
    found = ramps.enclose(decoder, targets, GAP)
    assert found.rigorous and not balls.below(found.values, balls.truth(decoder, targets))


@settings(max_examples=25)
@given(st.data())
def test_near_the_truth_if_steep(balls, data):
    recipe = replace(data.draw(balls.recipes(("gelu",), NOISES)), steepness=40, noise=0, floor=24)
    decoder, targets = balls.build(recipe)
    targets = balls.some(np.random.default_rng(recipe.seed), targets)
    counts: list[int] = []
    found = ramps.enclose(decoder, targets, GAP, counts.append)
    assert sum(counts) == len(targets)
    for value, true in zip(found.values.tolist(), balls.truth(decoder, targets), strict=True):
        assert value <= float(true) * (1 + 1e-4) + 1e-18  # how tight: it holds in any case


@pytest.mark.parametrize("margin", [1e-3, 0.3, 1.0, 4.0, 9.0, 30.0, 50.0])
def test_tails_hold_behind_the_margin(balls, margin):
    tail = float(ramps._tails(np.array([margin]))[0])
    with ctx.workprec(256):
        for argument in (margin, -margin, 1.5 * margin, -1.5 * margin, 20 + margin):
            gelu = balls.activations["gelu"](arb(argument))
            assert abs(gelu - max(0.0, argument)) <= arb(tail)
    assert ramps._tails(np.array([0.0, -1.0, np.nan])).tolist() == [np.inf] * 3


numbers = st.floats(-1e100, 1e100).filter(lambda x: x == 0 or abs(x) > 1e-100)


@given(numbers, numbers)
def test_sums_and_products_are_split_exactly(a, b):
    for (high, low), exact in (
        (two_sum(a, b), _exact(a) + _exact(b)),
        (two_product(a, b), _product(a, b)),
    ):
        assert _exact(high) + _exact(low) == exact


SCALE = 2**1100


def _exact(x: float) -> int:
    top, bottom = x.as_integer_ratio()
    return top * (SCALE // bottom)


def _product(a: float, b: float) -> int:
    return _exact(a) * _exact(b) // SCALE


def mutations(decoder):
    """Decoders that do not store the targets any more."""
    for name, place, factor in (
        ("output.weight", None, 1 + 1e-3),
        ("embedding.weight", 1, 1.01),
        ("hidden.bias", 3, 1.001),
    ):
        tensor = decoder[name].copy()
        if place is None:
            place = np.unravel_index(np.abs(tensor).argmax(), tensor.shape)
        tensor[place] *= factor
        yield name, Decoder(decoder.shape, {**decoder.tensors, name: tensor})


def test_mutations_are_never_proved(balls):
    decoder, targets = balls.build(balls.Recipe(activation="gelu", contexts=20, extra=3, seed=4))
    assert ramps.enclose(decoder, targets, GAP).values.max() < 1e-11
    for name, broken in mutations(decoder):
        found, true = ramps.enclose(broken, targets, GAP), balls.truth(broken, targets)
        assert not balls.below(found.values, true), name
        assert max(true) > GAP and found.values.max() > GAP, name


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e308])
def test_infinite_if_an_output_weight_is(balls, value):
    decoder, targets = balls.build(balls.Recipe(activation="gelu"))
    output = decoder["output"].copy()
    output[2, :3] = value
    broken = balls.change(decoder, output_weight=output)
    found = ramps.enclose(broken, targets, GAP)
    assert (found.values == np.inf).sum() >= len(targets) - 1 and not (found.values < 0).any()


@pytest.mark.parametrize("slope", [0.0, -1.0, np.nan, np.inf])
def test_refuses_slopes_that_are_not_positive(balls, slope):
    decoder, targets = balls.build(balls.Recipe(activation="gelu", dimension=2))
    hidden = decoder["hidden"].copy()
    hidden[1] = slope
    broken = balls.change(decoder, hidden_weight=hidden)
    assert not ramps.applies(broken) and ramps.enclose(broken, targets, GAP) is None


def test_refuses_other_activations(balls):
    decoder, targets = balls.build(balls.Recipe(activation="tanh"))
    assert not ramps.applies(decoder) and ramps.enclose(decoder, targets, GAP) is None
