"""Decoders of steps: bounds are never below the truth, near it, and refused where they must be."""

import time
from dataclasses import replace

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given, settings
from hypothesis import strategies as st

from byheart.constructions.one_layer import OneLayer
from byheart.machine.watch import SILENT
from byheart.softmax.decoder import Decoder
from byheart.softmax.enclose import ramps, scalar, switches, thermometer

STEPS = ("logistic", "tanh", "erf")
GAP = 1e-9
NOISES = [0, 1e-12, 1e-7, 1e-3, 1.0]


@settings(max_examples=100)
@given(st.data())
def test_never_below_the_truth(balls, data):
    recipe = data.draw(balls.recipes(STEPS, NOISES))
    decoder, targets = balls.build(recipe)
    if not thermometer.applies(decoder):  # noise can turn a slope
        assert (decoder["hidden"] <= 0).any()
        return
    if data.draw(st.booleans()):
        targets = balls.some(np.random.default_rng(recipe.seed), targets)
    found = thermometer.enclose(decoder, targets, GAP)
    assert found.rigorous and not balls.below(found.values, balls.truth(decoder, targets))


@settings(max_examples=30)
@given(st.data())
def test_near_the_truth_if_steep(balls, data):
    recipe = replace(data.draw(balls.recipes(STEPS, NOISES)), steepness=40, noise=0, floor=24)
    decoder, targets = balls.build(recipe)
    targets = balls.some(np.random.default_rng(recipe.seed), targets)
    counts: list[int] = []
    found = thermometer.enclose(decoder, targets, GAP, counts.append)
    assert sum(counts) == len(targets)
    for value, true in zip(found.values.tolist(), balls.truth(decoder, targets), strict=True):
        assert value <= float(true) * (1 + 1e-6) + 1e-22
    assert targets.accuracy(found.likeliest) == targets.accuracy(_best(targets))


def _best(targets):
    """The most frequent token of each context, the lowest of equals."""
    pieces = np.split(np.arange(len(targets.counts)), targets.ends[1:-1])
    return np.array([targets.following[p[targets.counts[p].argmax()]] for p in pieces])


def test_either_layout_of_the_output_weights(balls):
    decoder, targets = balls.build(balls.Recipe(activation="tanh", contexts=200, vocabulary=12))
    other = balls.change(decoder, output_weight=np.asfortranarray(decoder["output"]))
    one, two = (thermometer.enclose(d, targets, GAP) for d in (decoder, other))
    assert np.array_equal(one.values, two.values) and one.values.max() < 1e-11


def test_several_tiles_give_the_same(balls, monkeypatch):
    decoder, targets = balls.build(balls.Recipe(contexts=200, vocabulary=12))
    whole = thermometer.enclose(decoder, targets, GAP)
    monkeypatch.setattr("byheart.softmax.enclose.sweep.TILE", 1)
    counts: list[int] = []
    tiled = thermometer.enclose(decoder, targets, GAP, counts.append)
    assert counts == [64, 64, 64, 8]
    assert np.array_equal(whole.values, tiled.values)
    assert np.array_equal(whole.likeliest, tiled.likeliest)


def test_balls_where_doubles_do_not_separate(balls):
    decoder, targets = balls.build(balls.Recipe(near=3e-15))
    neurons = switches.neurons(decoder)
    assert switches.from_doubles(neurons, targets).margins.min() < 10
    found = thermometer.enclose(decoder, targets, GAP)
    assert found.values.max() < 1e-11
    assert not balls.below(found.values, balls.truth(decoder, targets))


@pytest.mark.parametrize("activation", [*STEPS])
def test_margins_and_tails_hold_at_every_context(balls, activation):
    recipe = balls.Recipe(activation=activation, steepness=6, noise=0.002, contexts=20)
    decoder, targets = balls.build(recipe)
    neurons = switches.neurons(decoder)
    enclosed = scalar.enclosures(neurons.scalars, targets, 192)
    for found in (switches.from_doubles(neurons, targets), switches.from_balls(neurons, enclosed)):
        tails = thermometer._tails(activation, found.margins).tolist()
        place = np.empty(len(found.neurons), np.int64)
        place[found.neurons] = np.searchsorted(found.first, np.arange(len(place)), "right") - 1
        lowest = 1.0 - thermometer.HEIGHTS[activation]
        for k, (w, b) in enumerate(zip(neurons.slopes, neurons.biases, strict=True)):
            for rank, context in enumerate(found.contexts.tolist()):
                with ctx.workprec(256):
                    argument = arb(w) * enclosed[context] + arb(b)
                    on = rank >= place[k]
                    if found.margins[k] > 0:
                        assert (argument if on else -argument) >= arb(found.margins[k])
                    off = balls.activations[activation](argument) - (1.0 if on else lowest)
                    assert abs(off) <= arb(tails[k])


def mutations(decoder, change):
    """Decoders that do not store the targets any more."""
    z, output = decoder["embedding"].copy(), decoder["output"].copy()
    z[[0, 1]] = z[[1, 0]]
    yield "swapped embeddings", change(decoder, embedding_weight=z)
    same = decoder["embedding"].copy()
    same[1] = same[0]
    yield "equal embeddings", change(decoder, embedding_weight=same)
    output[np.unravel_index(np.abs(output).argmax(), output.shape)] += 1e-3
    yield "an output weight", change(decoder, output_weight=output)
    bias = decoder["hidden.bias"].copy()
    bias[3] = -bias[3]
    yield "a bias", change(decoder, hidden_bias=bias)


@pytest.mark.parametrize("activation", STEPS)
def test_mutations_are_never_proved(balls, activation):
    recipe = balls.Recipe(activation=activation, contexts=20, extra=3, seed=4)
    decoder, targets = balls.build(recipe)
    assert thermometer.enclose(decoder, targets, GAP).values.max() < 1e-11
    for name, broken in mutations(decoder, balls.change):
        found, true = thermometer.enclose(broken, targets, GAP), balls.truth(broken, targets)
        assert not balls.below(found.values, true), name
        assert max(true) > GAP and found.values.max() > GAP, name


def test_a_wrong_target_is_never_proved(balls):
    decoder, targets = balls.build(balls.Recipe(contexts=20))
    following = targets.following.copy()
    sole = np.flatnonzero(targets.support == 1)[0]
    following[targets.ends[sole]] = (following[targets.ends[sole]] + 1) % 6
    wrong = replace(targets, following=following)
    found = thermometer.enclose(decoder, wrong, GAP)
    assert not balls.below(found.values, balls.truth(decoder, wrong))
    assert found.values[sole] > 1 and np.delete(found.values, sole).max() < 1e-11


def test_a_context_twice(balls):
    """The same targets twice are right twice; with another target, one of them is wrong."""
    decoder, targets = balls.build(balls.Recipe(contexts=20))
    twice = targets.subset(np.array([0, 1, 2, 1]))
    assert thermometer.enclose(decoder, twice, GAP).values.max() < 1e-11
    counts = twice.counts.copy()
    counts[-1] += 5
    following = twice.following.copy()
    following[twice.ends[3] :] = np.arange(twice.support[3]) + 2 - (following[twice.ends[1]] == 2)
    other = replace(twice, counts=counts, following=following)
    found = thermometer.enclose(decoder, other, GAP)
    assert not balls.below(found.values, balls.truth(decoder, other))
    assert found.values[3] > 0.01


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e308])
@pytest.mark.parametrize("activation", STEPS)
def test_infinite_if_an_output_weight_is(balls, activation, value):
    decoder, targets = balls.build(balls.Recipe(activation=activation))
    output = decoder["output"].copy()
    output[2, 3:6] = value
    found = thermometer.enclose(balls.change(decoder, output_weight=output), targets, GAP)
    assert (found.values[3:] == np.inf).any() and not (found.values < 0).any()
    if not np.isfinite(value):
        assert (found.values == np.inf).all()


@pytest.mark.parametrize("name", ["hidden.weight", "hidden.bias", "embedding.weight"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_refuses_what_is_not_finite(balls, name, value):
    decoder, targets = balls.build(balls.Recipe(dimension=2))
    tensor = decoder[name].copy()
    tensor[1] = value
    broken = Decoder(decoder.shape, {**decoder.tensors, name: tensor})
    assert not thermometer.applies(broken) and thermometer.enclose(broken, targets, GAP) is None


@pytest.mark.parametrize("slope", [0.0, -1.0])
def test_refuses_slopes_that_are_not_positive(balls, slope):
    decoder, targets = balls.build(balls.Recipe(dimension=2))
    hidden = decoder["hidden"].copy()
    hidden[1] = slope
    broken = balls.change(decoder, hidden_weight=hidden)
    assert not thermometer.applies(broken) and thermometer.enclose(broken, targets, GAP) is None


def test_refuses_other_decoders(balls):
    decoder, targets = balls.build(balls.Recipe(dimension=2))
    hidden = decoder["hidden"].copy()
    hidden[1, 1] *= 1 + 2**-50
    for broken in (
        balls.change(decoder, hidden_weight=hidden),
        Decoder(decoder.shape._replace(activation="arctan"), decoder.tensors),
        Decoder(decoder.shape._replace(activation="gelu"), decoder.tensors),
    ):
        assert not thermometer.applies(broken)
        assert thermometer.enclose(broken, targets, GAP) is None


@pytest.mark.slow
@pytest.mark.parametrize("activation", [*STEPS, "gelu"])
def test_thousands_of_contexts_as_compiled(balls, activation):
    recipe = balls.Recipe(contexts=3_000, vocabulary=200)
    targets = balls.targets(np.random.default_rng(0), recipe, length=5)
    made = OneLayer(activation=activation).interpolate(targets, SILENT)
    engine = ramps if activation == "gelu" else thermometer
    begun = time.perf_counter()
    found = engine.enclose(made.network, targets, made.gap)
    # compiling the loops for the first time is not part of the estimate
    assert time.perf_counter() - begun < engine.seconds(made.network, targets) + 10
    assert (found.values <= made.gap).all()
    some = np.unique(np.append(np.argsort(found.values)[-3:], [0, 1_500, 2_999]))
    true = balls.truth(made.network, targets.subset(some))
    assert not balls.below(found.values[some], true)
    assert found.values[some] == pytest.approx([float(x) for x in true], rel=1e-6)
