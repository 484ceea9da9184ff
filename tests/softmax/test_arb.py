"""A decoder in balls, against a second evaluation, written vector by vector in conftest.py."""

import numpy as np
import pytest
from flint import arb, ctx

import byheart
from byheart.data.load import from_rows
from byheart.errors import ByheartError
from byheart.exact.network import Dyadic, dyadic
from byheart.softmax import arb as balls_of
from byheart.softmax import doubles
from byheart.softmax.decoder import ACTIVATIONS, ATTENTION, TOKEN_SUM, Decoder, Shape
from byheart.softmax.prove import targets_of
from byheart.theory.madden2024.balls import FUNCTIONS


def drawn(seed, mixing=ATTENTION, neurons=5, activation="tanh", digits=53):
    """A random decoder with skip and two heads; its numbers have `digits` binary digits."""
    random = np.random.default_rng(seed)
    sizes = (2, 2, 3) if mixing == ATTENTION else (0, 0, 0)
    skip = mixing == ATTENTION and seed % 2 == 0
    shape = Shape(6, 3, 2, mixing, *sizes, skip, neurons, activation if neurons else "none")
    tensors = {name: random.normal(size=size) for name, size in shape.tensors.items()}
    if digits > 53:
        for name, tensor in tensors.items():
            tensors[name] = np.empty(tensor.shape, object)
            for place, number in np.ndenumerate(tensor):
                mantissa, exponent = dyadic(float(number))
                low = 2 * int(random.integers(1 << 62)) + 1
                more = digits - abs(mantissa).bit_length()
                tensors[name][place] = Dyadic((mantissa << more) + low, exponent - more)
    return Decoder(shape, tensors)


@pytest.mark.parametrize("digits", [53, 200])
@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("mixing", [ATTENTION, TOKEN_SUM])
def test_two_evaluations_agree(balls, mixing, activation, digits):
    """Both enclose the same logits, and these are the doubles nearest to them."""
    for seed in range(3):
        decoder = drawn(seed, mixing, activation=activation, digits=digits)
        targets = balls.targets(np.random.default_rng(seed), balls.Recipe(seed=seed))
        agree(balls, decoder, targets)


@pytest.mark.parametrize("digits", [53, 200])
def test_two_evaluations_agree_without_neurons(balls, digits):
    targets = balls.targets(np.random.default_rng(0), balls.Recipe())
    agree(balls, drawn(0, neurons=0, digits=digits), targets)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_two_evaluations_agree_on_long_numbers(balls, activation):
    """The logits of a compiled decoder are differences of numbers of many digits."""
    rows = [(list("ab"), "c"), (list("ba"), "a"), (["c"], "b"), (["c"], "a"), (list("cab"), "d")]
    model = byheart.compile(
        from_rows(rows), method="one-layer-literal", activation=activation, dimension=2, heads=2
    )
    agree(balls, model.network, targets_of(model, from_rows(rows)), atol=2.0**-60)


def agree(balls, decoder, targets, atol=0.0):
    with ctx.workprec(600):
        theirs = balls.logits(decoder, targets)
        ours = balls_of.Reader(decoder)(balls.contexts_of(targets))
        pairs = [
            pair for rows in zip(ours, theirs, strict=True) for pair in zip(*rows, strict=True)
        ]
        assert all(one.overlaps(other) for one, other in pairs)
        wanted = np.array([[float(x) for x in row] for row in theirs])
    found = balls_of.logits(decoder, targets.tokens, targets.starts)
    assert np.allclose(found, wanted, rtol=2.0**-52, atol=atol)
    if decoder.number == "dyadic":
        assert (doubles.logits(decoder, targets.tokens, targets.starts) == found).all()
    powers = np.exp(wanted - wanted.max(axis=1, keepdims=True))
    said = balls_of.distributions(decoder, targets.tokens, targets.starts)
    assert np.abs(said - powers / powers.sum(axis=1, keepdims=True)).max() < 1e-12


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_there_is_one_set_of_activations(balls, name):
    """That of the decoders is that of the theorems, and both hold the plain formulas."""
    assert FUNCTIONS[name] is balls_of.ACTIVATIONS[name]
    with ctx.workprec(200):
        for x in (-30.5, -1.0, -1e-9, 0.0, 0.25, 41.0):
            assert balls_of.ACTIVATIONS[name](arb(x)).overlaps(balls.activations[name](arb(x)))


def test_the_logistic_function_does_not_overflow():
    with ctx.workprec(64):
        least, most = (balls_of.ACTIVATIONS["logistic"](arb(x)) for x in (-1e30, 1e30))
    assert least.is_finite() and most.is_finite()
    assert float(least.upper()) == 0 and float(most) == 1


def test_logits_that_no_precision_determines_are_refused(monkeypatch):
    monkeypatch.setattr(balls_of, "MOST", 2 * balls_of.BITS)
    monkeypatch.setattr(balls_of, "ACCURACY", arb((1, -100_000)))
    with pytest.raises(ByheartError, match="so large that 512 bits do not determine"):
        balls_of.logits(drawn(0), np.array([1, 2]), np.array([0, 2]))


def test_weights_that_are_too_large_are_refused_at_once(monkeypatch):
    monkeypatch.setattr(balls_of, "MOST", 2)
    monkeypatch.setattr(balls_of, "Reader", None)  # nothing is computed
    with pytest.raises(ByheartError, match="so large that 2 bits do not determine"):
        balls_of.logits(drawn(0), np.array([1, 2]), np.array([0, 2]))
