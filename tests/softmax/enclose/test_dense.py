"""Any decoder: bounds are never below the truth, near it, and more digits come where they must."""

import math

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given, settings
from hypothesis import strategies as st

from byheart.data.arrays import offsets
from byheart.data.targets import Targets
from byheart.exact.network import Dyadic, dyadic
from byheart.softmax import arb as digits
from byheart.softmax import doubles as softmax
from byheart.softmax.decoder import ACTIVATIONS, Decoder, Shape
from byheart.softmax.enclose import balls as doubles
from byheart.softmax.enclose import dense
from byheart.softmax.enclose.taylor import activated, activation

NEAR = 1 + 1e-6


def random_targets(balls, random, contexts, vocabulary):
    """Contexts of up to three tokens, as many as there are or are wanted, with random counts."""
    rows = [random.integers(vocabulary, size=random.integers(1, 4)) for _ in range(4 * contexts)]
    rows = sorted({tuple(row.tolist()) for row in rows})[:contexts]
    return balls.follow(random, rows, vocabulary)


@st.composite
def cases(draw, balls, largest=1):
    """A random decoder, and targets over its vocabulary."""
    seed = draw(st.integers(0, 10**6))
    random = np.random.default_rng(seed)
    contexts, vocabulary = draw(st.integers(1, 12)), draw(st.integers(2, 6))
    targets = random_targets(balls, random, contexts, vocabulary)
    small = st.integers(1, 3)
    mixing = draw(st.sampled_from(["attention", "attention", "token_sum"]))
    attention = mixing == "attention"
    heads = (draw(small), draw(small), draw(small)) if attention else (0, 0, 0)
    skip = attention and draw(st.booleans())
    shape = Shape(
        vocabulary, 3, draw(small), mixing, *heads, skip, draw(st.integers(1, 9)),
        draw(st.sampled_from(ACTIVATIONS)),
    )  # fmt: skip
    scale = {
        "hidden.weight": 10 ** draw(st.floats(-1, 3)),
        "output.weight": 10 ** draw(st.floats(largest - 4, largest)),
    }
    return random_decoder(random, shape, scale), targets


def random_decoder(random, shape, scale=()):
    sizes = dict(scale)
    return Decoder(
        shape,
        {name: random.normal(size=s) * sizes.get(name, 1) for name, s in shape.tensors.items()},
    )


def exactly(decoder):
    """The same decoder with dyadic numbers."""
    tensors = {}
    for name, tensor in decoder.tensors.items():
        tensors[name] = np.empty(tensor.shape, object)
        for place, number in np.ndenumerate(tensor):
            tensors[name][place] = dyadic(float(number))
    return Decoder(decoder.shape, tensors)


def wrong(values, true):
    """Contexts whose bound is certainly below the truth."""
    return [i for i, exact in enumerate(true) if arb(values[i]) < exact]


def too_high(values, true):
    """Contexts whose lower bound is certainly above the truth."""
    return [i for i, exact in enumerate(true) if arb(values[i]) > exact]


def loose(values, true, negligible="1e-60"):
    """Contexts whose bound is certainly not near the truth (beyond 600 nats doubles have none)."""
    return [
        i
        for i, exact in enumerate(true)
        if exact < 600 and arb(values[i]) > NEAR * exact + arb(negligible)
    ]


@settings(max_examples=60)
@given(st.data())
def test_doubles_are_never_below_the_truth_and_near_it(balls, data):
    decoder, targets = data.draw(cases(balls))
    found, true = doubles.Reader(decoder)(targets), balls.truth(decoder, targets)
    assert not wrong(found.above, true)
    assert not loose(found.above, true, "1e-15")
    assert not too_high(found.below, true)
    for i, exact in enumerate(true):  # a lower bound that is always 0 would refute nothing
        assert exact < 0.01 or found.below[i] > 0.9 * min(float(exact), 600)


@settings(max_examples=40)
@given(st.data())
def test_digits_are_never_below_the_truth_and_near_it(balls, data):
    decoder, targets = data.draw(cases(balls))
    exact = exactly(decoder)
    assert exact.number == "dyadic" and not doubles.applies(exact)
    found, true = dense.enclose(exact, targets, 1e-30), balls.truth(decoder, targets)
    assert found.rigorous and not wrong(found.values, true)
    assert not loose(found.values, true, "1e-36")
    assert not too_high(found.below, true)


@settings(max_examples=40)
@given(st.data(), st.sampled_from([1e-9, 1.0]))
def test_large_weights(balls, data, gap):
    """Logits of up to 1e9: never below the truth, and near it if within the gap."""
    decoder, targets = data.draw(cases(balls, largest=8))
    found, true = dense.enclose(decoder, targets, gap), balls.truth(decoder, targets)
    assert not wrong(found.values, true) and not too_high(found.below, true)
    for i, exact in enumerate(true):
        if arb(1e-30) < exact < gap:
            assert found.values[i] <= gap and arb(found.values[i]) <= NEAR * exact


def test_weights_beyond_the_doubles_pass(balls):
    random = np.random.default_rng(0)
    targets = random_targets(balls, random, 5, 3)
    decoder = random_decoder(random, Shape(3, 3, 2, "attention", 1, 1, 1, False, 4, "gelu"))
    for size in (1e-250, 1e250):
        extreme = balls.change(decoder, output_weight=decoder["output"] * size)
        assert not doubles.applies(extreme)
        found = dense.enclose(extreme, targets, 1.0)
        assert not wrong(found.values, balls.truth(extreme, targets))


def test_what_overflows_has_no_bound(balls):
    """A logit beyond the doubles must not look like one that is certain."""
    random = np.random.default_rng(1)
    targets = random_targets(balls, random, 4, 3)
    decoder = random_decoder(random, Shape(3, 3, 1, "token_sum", 0, 0, 0, False, 2, "gelu"))
    large = Decoder(
        decoder.shape, {name: np.abs(tensor) * 1e59 for name, tensor in decoder.tensors.items()}
    )
    assert doubles.applies(large)
    logits = doubles.Reader(large).logits(targets)
    found = doubles.Reader(large)(targets)
    truth = balls.truth(large, targets)
    assert np.abs(logits.middle).max() > 1e200
    assert not wrong(found.above, truth) and not too_high(found.below, truth)
    huge = doubles.Balls(np.zeros((4, 3)), np.ones((4, 3)))
    huge.middle[np.repeat(np.arange(4), targets.support), targets.following] = np.inf
    with np.errstate(invalid="ignore"):
        assert np.isinf(doubles.bounds(huge, targets).above).all()


# --- more digits where doubles are too rough


def cancelling(balls, size):
    """Two equal neurons whose output weights are `size` larger, with opposite signs."""
    random = np.random.default_rng(3)
    targets = random_targets(balls, random, 8, 4)
    decoder = random_decoder(random, Shape(4, 3, 2, "attention", 1, 2, 2, True, 6, "tanh"))
    hidden, bias = decoder["hidden"].copy(), decoder["hidden.bias"].copy()
    hidden[1], bias[1] = hidden[0], bias[0]
    simple = balls.change(decoder, hidden_weight=hidden, hidden_bias=bias)
    output = decoder["output"].copy()
    output[:, 0] += size
    output[:, 1] -= size
    return simple, balls.change(simple, output_weight=output), targets


def test_contexts_above_the_gap_are_read_again_with_more_digits(balls, monkeypatch):
    _, decoder, targets = cancelling(balls, 2.0**40)
    true = balls.truth(decoder, targets)
    gap = float(max(true, key=float)) * NEAR
    read = []
    original = digits.Reader.__call__
    monkeypatch.setattr(
        digits.Reader, "__call__", lambda s, c: read.append(len(c)) or original(s, c)
    )
    rough = doubles.Reader(decoder)(targets).above
    counts: list[int] = []
    found = dense.enclose(decoder, targets, gap, counts.append)
    assert len(targets) >= sum(read) >= (rough > gap).sum() > 0
    assert sum(counts) == len(targets)
    assert not wrong(found.values, true) and (found.values <= gap).all()


def test_precision_grows_until_the_bound_is_near(balls):
    """Weights of 3,000 bits that cancel: 128 bits would say nothing at all."""
    simple, _, targets = cancelling(balls, 0.0)
    exact = exactly(simple)
    output = exact["output"].copy()
    for row in output:
        for column, sign in ((0, 1), (1, -1)):
            number = row[column].fraction + sign * 2**3000
            row[column] = dyadic(number)
    assert isinstance(output[0, 0], Dyadic) and output[0, 0].digits > 3000
    long = balls.change(exact, output_weight=output)
    true = balls.truth(simple, targets)
    found = dense.enclose(long, targets, 100.0)
    assert not wrong(found.values, true) and not loose(found.values, true)
    with ctx.workprec(dense.BITS):
        rows = digits.Reader(long)(digits.contexts_of(targets))
        follows = list(digits.followers(targets))
        assert dense._enclosed(rows[0], *follows[0])[1] > 1e9


def test_more_rounds_follow_until_the_bound_is_small_enough():
    """Two equal logits for two equal counts: the divergence is 0, and 128 bits say 1e-38."""
    one = np.ones(1, np.int64)
    targets = Targets(
        ("a", "b"), 0 * one, offsets(one), np.arange(2), offsets(2 * one), np.ones(2, np.int64)
    )
    shape = Shape(2, 1, 1, "token_sum", 0, 0, 0, False, 1, "tanh")
    decoder = Decoder(shape, {name: np.full(s, 0.1) for name, s in shape.tensors.items()})
    found = dense.enclose(exactly(decoder), targets, 1e-60)
    assert 0 <= found.values[0] <= 1e-66


def test_what_is_above_the_gap_anyway_is_not_read_again(balls, monkeypatch):
    simple, _, targets = cancelling(balls, 0.0)
    monkeypatch.setattr(digits, "Reader", None)
    found = dense.enclose(simple, targets, 1e-9)
    assert (found.values > 1e-9).all()
    assert not wrong(found.values, balls.truth(simple, targets))


def test_likeliest_tokens_are_those_of_a_run(balls):
    simple, _, targets = cancelling(balls, 0.0)
    observed = softmax.divergences(simple, targets)
    for decoder in (simple, exactly(simple)):
        found = dense.enclose(decoder, targets, 100.0)
        assert (found.likeliest == observed.likeliest).all()
        assert np.allclose(found.values, observed.values, rtol=1e-6)


# --- changes are noticed


def test_a_changed_weight_changes_the_bound(balls):
    simple, _, targets = cancelling(balls, 0.0)
    output = simple["output"].copy()
    output[1, 2] += 1e-6
    other = balls.change(simple, output_weight=output)
    before, after = (dense.enclose(x, targets, 100.0).values for x in (simple, other))
    assert (before != after).all()
    assert not wrong(after, balls.truth(other, targets))


def test_a_changed_count_changes_the_bound(balls):
    simple, _, targets = cancelling(balls, 0.0)
    several = int(np.argmax(targets.support))
    counts = targets.counts.copy()
    counts[targets.ends[several]] += 1
    other = type(targets)(
        targets.vocabulary, targets.tokens, targets.starts, targets.following, targets.ends, counts
    )
    before, after = (dense.enclose(simple, x, 100.0).values for x in (targets, other))
    assert before[several] != after[several]
    assert not wrong(after, balls.truth(simple, other))


# --- decoders without neurons, and with padding


def test_without_neurons(balls):
    random = np.random.default_rng(5)
    targets = random_targets(balls, random, 9, 4)
    decoder = random_decoder(random, Shape(4, 3, 3, "attention", 2, 2, 2, True, 0, "none"))
    observed = softmax.divergences(decoder, targets).values
    for network in (decoder, exactly(decoder)):
        found = dense.enclose(network, targets, 100.0)
        assert np.allclose(found.values, observed, rtol=1e-6)
        assert dense.seconds(network, targets) > 0


def test_padding_fills_up_the_front(balls):
    random = np.random.default_rng(6)
    shape = Shape(4, 3, 3, "attention", 2, 2, 2, True, 5, "erf")
    decoder = random_decoder(random, shape)
    padded = Decoder(shape._replace(padding=2), decoder.tensors)
    with ctx.workprec(128):
        one = digits.Reader(padded)([[1], [0, 3]])
        other = digits.Reader(decoder)([[2, 2, 1], [2, 0, 3]])
    assert [[str(x) for x in row] for row in one] == [[str(x) for x in row] for row in other]


# --- the parts


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations_are_within_their_error(name):
    """Also at the ends of the table, between its rows and far out."""
    random, table = np.random.default_rng(0), activation(name)
    edges = [0.0, table.end, -table.end, 1 / 128, -1 / 128, 1e-300, 1e200, -1e200]
    x = np.concatenate([
        random.uniform(-table.end - 2, table.end + 2, 4000), random.normal(size=1000),
        10 ** random.uniform(-20, 20, 300), np.nextafter(table.end, [0, 99]), edges,
    ])  # fmt: skip
    middle, radius = x.copy(), np.zeros_like(x)
    activated(*table, middle, radius)
    with ctx.workprec(256):
        for a, y, r in zip(x.tolist(), middle.tolist(), radius.tolist(), strict=True):
            assert abs(digits.ACTIVATIONS[name](arb(a)) - arb(y)) <= arb(r) < 1e-13


@given(st.sampled_from(ACTIVATIONS), st.floats(-60, 60), st.floats(-15, 2), st.floats(-1, 1))
def test_activations_of_balls_hold_those_of_their_points(name, a, magnitude, share):
    r = 10**magnitude
    middle, radius = np.array([a]), np.array([r])
    activated(*activation(name), middle, radius)
    with ctx.workprec(256):
        inside = digits.ACTIVATIONS[name](arb(a) + arb(r) * arb(share))
        assert abs(inside - arb(middle[0])) <= arb(radius[0])


def test_an_argument_that_is_no_number_has_no_bound():
    middle, radius = np.array([math.nan, math.inf, 0.0]), np.array([0.0, 0.0, math.nan])
    activated(*activation("tanh"), middle, radius)
    assert np.isinf(radius).all() and np.isfinite(middle).all()


@given(st.integers(0, 10**6), st.floats(-12, 1), st.floats(-12, 1))
def test_the_root_of_a_divergence_moves_by_half_the_root_of_two(seed, spread, move):
    """(sqrt(K) + e / sqrt(2))^2 bounds the divergence of all logits within e."""
    random = np.random.default_rng(seed)
    size, e = int(random.integers(2, 8)), 10**move
    counts = random.integers(1, 100, size).tolist()
    logits = np.log(counts) + random.normal(0, 10**spread, size)
    with ctx.workprec(256):
        balls = [arb(x) for x in logits.tolist()]
        before = digits.divergence(balls, counts, [])
        for moved in (random.choice([-1, 1], size), random.uniform(-1, 1, size)):
            shifted = [x + arb(e) * arb(y) for x, y in zip(balls, moved.tolist(), strict=True)]
            after = digits.divergence(shifted, counts, [])
            assert after <= (before.sqrt() + arb(e) / arb(2).sqrt()) ** 2 + arb("1e-60")


@given(st.integers(0, 10**6), st.floats(-12, 1), st.floats(-6, 40))
def test_bounds_allow_for_every_logit_within_the_radii(balls, seed, magnitude, floor):
    random = np.random.default_rng(seed)
    targets = random_targets(balls, random, 3, int(random.integers(2, 7)))
    sizes = len(targets), len(targets.vocabulary)
    middle = random.normal(size=sizes) - floor
    places = np.repeat(np.arange(len(targets)), targets.support), targets.following
    middle[places] = np.log(targets.counts) + random.normal(size=len(targets.counts)) * 1e-3
    radius = 10**magnitude * random.uniform(0.1, 1, sizes)
    found = doubles.bounds(doubles.Balls(middle, radius), targets).above
    worst = radius.copy()
    worst[places] *= -1
    with ctx.workprec(256):
        for moved in (worst, -worst, radius * random.choice([-1, 1], sizes)):
            for i, (following, counts) in enumerate(digits.followers(targets)):
                logits = [arb(a) + arb(b) for a, b in zip(middle[i], moved[i], strict=True)]
                assert arb(found[i]) >= balls.divergence(logits, following, counts)


def test_products_hold_the_true_ones():
    """What rounding alone does, and what the radii add."""
    random = np.random.default_rng(0)
    matrix = random.normal(size=(200, 7)) * 10 ** random.uniform(-8, 8, (200, 1))
    middle = random.normal(size=(3, 200))
    wrong = np.abs(random.normal(size=(3, 200))) * 2.0**-20
    for radius in (np.zeros((3, 200)), wrong):
        found = doubles.product(doubles.Balls(middle, radius), matrix)
        with ctx.workprec(256):
            moved = digits.numbers(middle) + digits.numbers(
                radius * random.choice([-1, 1], (3, 200))
            )
            exact = moved * digits.numbers(matrix)
            for i, j in np.ndindex(3, 7):
                apart = abs(exact[i, j] - arb(found.middle[i, j]))
                assert 0 < apart <= arb(found.radius[i, j])


@settings(max_examples=40)
@given(st.data())
def test_logits_hold_the_true_ones(balls, data):
    decoder, targets = data.draw(cases(balls))
    found = doubles.Reader(decoder).logits(targets)
    with ctx.workprec(256):
        true = digits.Reader(decoder)(digits.contexts_of(targets))
        for i, j in np.ndindex(found.middle.shape):
            assert abs(true[i][j] - arb(found.middle[i, j])) <= arb(found.radius[i, j])
    assert (found.radius < 1e-7).all()


def test_an_enclosure_of_wide_logits_is_wide():
    with ctx.workprec(128):
        row = [arb(0, 0.125), arb(-3, 0.125)]
        low, high = dense._enclosed(row, [0], [5])
    assert low <= math.log1p(math.exp(-3.25)) < math.log1p(math.exp(-2.75)) <= high < 0.1


# --- time


def test_seconds_grow_and_leave_room_for_a_thousand_contexts():
    def seconds(contexts, vocabulary, neurons, size=0.0):
        ones = np.ones(contexts, np.int64)
        targets = Targets((0, 1), ones, offsets(ones), ones, offsets(ones), ones)
        shape = Shape(vocabulary, 3, 64, "attention", 1, 64, 64, False, neurons, "tanh")
        tensors = {name: np.zeros(s) for name, s in shape.tensors.items()}
        tensors["output.weight"][:] = size
        return dense.seconds(Decoder(shape, tensors), targets)

    assert dense.applies(None)
    assert seconds(500, 200, 500) < seconds(1000, 1000, 1250) < 60
    assert seconds(1000, 1000, 1250) < seconds(1000, 1000, 1250, 1e9)  # rough: all with digits
    assert seconds(20_000, 200, 25_000) > 60
