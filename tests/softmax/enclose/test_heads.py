"""Decoders without neurons: logits are inside their balls, and bounds never below the truth."""

import math
from functools import cache

import numpy as np
import pytest
from flint import arb, arb_mat, ctx
from hypothesis import example, given, settings
from hypothesis import strategies as st

from byheart.data.arrays import offsets
from byheart.data.targets import Targets
from byheart.exact.network import dyadic
from byheart.softmax import doubles as softmax
from byheart.softmax.decoder import Decoder, Shape
from byheart.softmax.enclose import attention, dense, enclose, heads
from byheart.softmax.enclose.exponential import LIMIT

GAP = 1e-9


def make_targets(random, rows, vocabulary, several=True):
    """What follows these contexts: one to three random tokens, or one."""
    sizes = random.integers(1, min(4, vocabulary + 1) if several else 2, len(rows))
    follows = [np.sort(random.choice(vocabulary, size, replace=False)) for size in sizes]
    return Targets(
        tuple(range(vocabulary)),
        np.concatenate(rows).astype(np.int32),
        offsets(np.array([len(row) for row in rows])),
        np.concatenate(follows).astype(np.int32),
        offsets(sizes),
        random.integers(1, 9, int(sizes.sum())),
    )


def random_rows(random, count, length, vocabulary):
    lengths = random.integers(1, length + 1, count)
    rows = {tuple(random.integers(vocabulary, size=size).tolist()) for size in lengths}
    return [np.array(row) for row in sorted(rows)]


@st.composite
def cases(draw, output=6.0):
    """A random decoder without neurons, and targets over its vocabulary."""
    random = np.random.default_rng(draw(st.integers(0, 10**6)))
    vocabulary, length = draw(st.integers(2, 6)), draw(st.integers(1, 8))
    small = st.integers(1, 6)
    shape = Shape(
        vocabulary, length, draw(st.integers(1, 12)), "attention", draw(small), draw(small),
        draw(small), draw(st.booleans()), 0, "none", draw(st.sampled_from([None, None, 0, 1])),
    )  # fmt: skip
    scale = 10 ** draw(st.floats(-1, 1.5))
    tensors = {name: random.normal(size=size) * scale for name, size in shape.tensors.items()}
    tensors["output.weight"] *= 10 ** draw(st.floats(-3, output)) / scale
    for name in ("query", "key"):  # so that not all shares are 0 and 1
        tensors[f"attention.{name}.weight"] /= scale ** draw(st.sampled_from([0, 1, 2]))
    rows = random_rows(random, draw(st.integers(1, 8)), length, vocabulary)
    return Decoder(shape, tensors), make_targets(random, rows, vocabulary)


def exact(array):
    return arb_mat([[arb(x) for x in row] for row in array.tolist()])


def true_logits(decoder, targets):
    """Vector by vector, in balls of many digits: the padding is put in here."""
    shape, result = decoder.shape, []
    for tokens in np.split(targets.tokens, targets.starts[1:-1]):
        if shape.padding is not None:
            tokens = [*[shape.padding] * (shape.length - len(tokens)), *tokens]
        x = [
            (exact(decoder["embedding"][[a]]) + exact(decoder["positions"][[t]])).transpose()
            for t, a in enumerate(tokens)
        ]
        said = sum((true_head(decoder, r, x) for r in range(shape.heads)), 0 * x[-1])
        said = said + x[-1] if shape.skip else said
        result.append((exact(decoder["output"]) * said).entries())
    return result


def true_head(decoder, head, x):
    size = decoder.shape.key_dimension
    query, key = (
        exact(decoder[f"attention.{name}"][head * size : (head + 1) * size])
        for name in ("query", "key")
    )
    size = decoder.shape.value_dimension
    value = exact(decoder["attention.value"][head * size : (head + 1) * size])
    out = exact(decoder["attention.out"][:, head * size : (head + 1) * size])
    scores = [((key * c).transpose() * (query * x[-1]))[0, 0] for c in x]
    top = max(scores, key=lambda score: float(score.mid()))
    weights = [(score - top).exp() for score in scores]
    mean = sum((c * w for c, w in zip(x, weights, strict=True)), 0 * x[0])
    return out * (value * mean) * (1 / sum(weights, arb(0)))


def true_divergences(decoder, targets):
    result = []
    for i, row in enumerate(true_logits(decoder, targets)):
        part = slice(targets.ends[i], targets.ends[i + 1])
        counts = targets.counts[part].tolist()
        total = sum((logit.exp() for logit in row), arb(0)).log()
        shares = [arb(count) / sum(counts) for count in counts]
        pairs = zip(shares, targets.following[part], strict=True)
        result.append(sum((p * (p.log() - row[j] + total) for p, j in pairs), arb(0)))
    return result


def outside(found, true):
    """The logits that are not certainly inside their balls."""
    return [
        (i, j)
        for i, row in enumerate(true)
        for j, logit in enumerate(row)
        if not abs(logit - arb(found.middle[i, j])) <= arb(found.radius[i, j])
    ]


@settings(max_examples=150)
@given(cases())
def test_logits_are_inside_their_balls(case):
    decoder, targets = case
    found = heads.logits(decoder, targets)
    with ctx.workprec(512):
        assert not outside(found, true_logits(decoder, targets))


@settings(max_examples=60)
@given(cases(output=0.5))
def test_bounds_are_never_below_the_truth_and_near_it(case):
    decoder, targets = case
    found, radius = heads.bounds(decoder, targets), heads.logits(decoder, targets).radius
    with ctx.workprec(2048):  # a divergence may be e^-1000
        for i, true in enumerate(true_divergences(decoder, targets)):
            assert arb(found.above[i]) >= true
            if radius[i].max() < 1e-9 and true < 600:
                assert arb(found.above[i]) <= true * (1 + arb("1e-6")) + arb("1e-7")


def test_the_radius_is_a_few_units_in_the_last_place():
    """Not only right: of the size of the roundings of one head, however many heads there are."""
    random = np.random.default_rng(0)
    for count in (1, 10, 300):
        shape = Shape(8, 3, 6, "attention", count, 4, 4, True, 0, "none")
        decoder = Decoder(shape, {n: random.normal(size=s) / 3 for n, s in shape.tensors.items()})
        targets = make_targets(random, random_rows(random, 30, 3, 8), 8)
        says = heads.logits(absolute(decoder), targets).middle
        assert (heads.logits(decoder, targets).radius < 200 * 2.0**-53 * says).all()


def absolute(decoder):
    """What the heads say adds up here instead of cancelling."""
    names = ("embedding", "positions", "attention.value", "attention.out", "output")
    changed = {f"{name}.weight": np.abs(decoder[name]) for name in names}
    return Decoder(decoder.shape, {**decoder.tensors, **changed})


def test_scores_far_below_the_largest():
    """Shares too small for a double, and scores of which doubles know nothing."""
    shape = Shape(3, 3, 1, "attention", 1, 1, 1, False, 0, "none")
    tensors = {name: np.ones(size) for name, size in shape.tensors.items()}
    tensors["positions.weight"][:] = 0
    tensors["embedding.weight"][:, 0] = [3.0, -2.0, 0.5]
    tensors["output.weight"][:, 0] = [1.0, 2.0, 1e12]
    rows = [np.array(row) for row in ((0, 1, 2), (1, 0), (1, 2, 0), (2,))]
    targets = make_targets(np.random.default_rng(0), rows, 3)
    for steep, known in ((1, True), (LIMIT, True), (1e4, True), (1e14, False)):
        tensors["attention.query.weight"] = np.array([[float(steep)]])
        decoder = Decoder(shape, dict(tensors))
        found = heads.logits(decoder, targets)
        with ctx.workprec(512):
            assert not outside(found, true_logits(decoder, targets))
        assert np.isfinite(found.radius[:3]).all() == known


@given(st.integers(0, 10**6))
@example(55092)  # a logit beyond the largest double
@settings(max_examples=30)
def test_tiny_numbers_lose_no_more_than_their_radius(seed):
    random = np.random.default_rng(seed)
    shape = Shape(3, 2, 2, "attention", 2, 2, 2, bool(seed % 2), 0, "none")
    tensors = {
        name: random.normal(size=size) * 10.0 ** random.uniform(-320, 100, size)
        for name, size in shape.tensors.items()
    }
    decoder = Decoder(shape, tensors)
    targets = make_targets(random, random_rows(random, 4, 2, 3), 3)
    with ctx.workprec(4096):
        true = true_logits(decoder, targets)
        assert not outside(heads.logits(decoder, targets), true)


# --- what is wrong is noticed


@cache
def solved(contexts, vocabulary, dimension, circle=False, margin=60.0, seed=0):
    """Associations that the heads solve for exactly, as far as doubles go (dana2024, Theorem 1)."""
    random = np.random.default_rng(seed)
    length, count = 2, -(-contexts // dimension)
    sizes = count, dimension, dimension
    shape = Shape(vocabulary, length, dimension, "attention", *sizes, True, 0, "none")
    tensors = {name: random.normal(size=size) for name, size in shape.tensors.items()}
    for name in ("query", "key"):
        tensors[f"attention.{name}.weight"] /= math.sqrt(dimension)
    angle = 2 * np.pi * np.arange(vocabulary) / vocabulary
    unit = random.normal(size=(vocabulary, dimension))
    unit = np.stack([np.cos(angle), np.sin(angle)], 1) if circle else unit
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    numbers = random.permutation(vocabulary**length)[:contexts]
    rows = [number // vocabulary ** np.arange(length) % vocabulary for number in numbers]
    targets = make_targets(random, rows, vocabulary, several=False)
    heard = said_by_each(shape, tensors, targets)
    last = tensors["embedding.weight"][[row[-1] for row in rows]]
    wanted = unit[targets.following] - last - tensors["positions.weight"][-1]
    out = np.linalg.lstsq(heard, wanted, rcond=1e-18)[0]
    tensors["attention.out.weight"] = np.ascontiguousarray(out.T)
    inner = unit @ unit.T - 2 * np.eye(vocabulary)
    tensors["output.weight"] = unit * (margin / (1 - inner.max()))
    return Decoder(shape, tensors), targets


def said_by_each(shape, tensors, targets):
    """What the values of each head say, [contexts, d_0 heads]; d_0 is d here."""
    parts = []
    for head in range(shape.heads):
        out = np.zeros((shape.heads, shape.dimension, shape.dimension))
        out[head] = np.eye(shape.dimension)
        alone = {**tensors, "attention.out.weight": np.concatenate(out, axis=1)}
        parts.append(
            softmax.mixed(shape._replace(skip=False), alone, targets.tokens, targets.starts)
        )
    return np.concatenate(parts, axis=1)


def test_an_interpolant_is_proved_in_doubles(monkeypatch):
    decoder, targets = solved(200, 20, 6)
    monkeypatch.setattr(dense, "enclose", None)
    found = heads.enclose(decoder, targets, GAP)
    assert found.rigorous and found.engine == "heads" and (found.values <= GAP).all()
    assert (found.likeliest == targets.following).all()
    assert enclose(decoder, targets, GAP, 60.0).engine == "heads"


@pytest.mark.parametrize("name", [*Shape(2, 2, 2, "attention", 1, 1, 1, True, 0, "none").tensors])
def test_a_changed_weight_is_noticed(name):
    """A change of 1e-3 of one weight moves logits out of their balls, and a large one refutes."""
    decoder, targets = solved(60, 8, 4)
    place = np.unravel_index(np.abs(decoder[name]).argmax(), decoder[name].shape)
    before = heads.logits(decoder, targets)
    for factor, refuted in ((1.001, False), (3.0, True)):
        tensor = decoder[name].copy()
        tensor[place] *= factor
        changed = Decoder(decoder.shape, {**decoder.tensors, name: tensor})
        after = heads.logits(changed, targets)
        assert (np.abs(after.middle - before.middle) > after.radius + before.radius).any()
        assert not refuted or not (heads.enclose(changed, targets, GAP).values <= GAP).all()


def test_a_wrong_target_is_refuted():
    decoder, targets = solved(60, 8, 4)
    following = targets.following.copy()
    following[7] = (following[7] + 1) % 8
    wrong = Targets(
        targets.vocabulary, targets.tokens, targets.starts, following, targets.ends, targets.counts
    )
    found = heads.enclose(decoder, wrong, GAP)
    assert np.flatnonzero(~(found.values <= GAP)).tolist() == [7] and found.values[7] > 10
    assert found.likeliest[7] == targets.following[7]


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, 1e200, -1e308])
def test_what_is_no_number_has_no_finite_bound(bad):
    """A weight that is not finite, or too large: no bound where a context depends on it."""
    decoder, targets = solved(30, 6, 3)
    for name, tensor in decoder.tensors.items():
        for whole in (True, False):
            changed = np.full_like(tensor, bad) if whole else tensor.copy()
            changed.flat[0] = bad
            found = heads.bounds(
                Decoder(decoder.shape, {**decoder.tensors, name: changed}), targets
            )
            assert not np.isnan(found.above).any()
            assert np.isfinite(bad) or whole <= np.isinf(found.above).all(), name
            if not np.isfinite(bad) and name.startswith("attention"):
                assert np.isinf(found.above).all(), name  # every context depends on it


# --- more digits


def test_ill_conditioned_heads_are_proved_with_more_digits(monkeypatch):
    """The circle: heads cancel so much that doubles know nothing."""
    decoder, targets = solved(200, 30, 2, circle=True, margin=22.0)
    assert np.abs(decoder["attention.out"]).max() > 1e10
    unsure = np.flatnonzero(~(heads.bounds(decoder, targets).above <= GAP))
    assert 0 < len(unsure) < len(targets) and heads._rough(decoder, targets)
    asked, real = [], dense.enclose

    def spy(network, some, gap, progress=None):
        asked.append(some.tokens.tolist())
        return real(network, some, gap, progress)

    monkeypatch.setattr(dense, "enclose", spy)
    done = []
    found = heads.enclose(decoder, targets, GAP, done.append)
    assert asked == [targets.subset(unsure).tokens.tolist()]
    assert (found.values <= GAP).all() and sum(done) == len(targets)
    assert (found.likeliest == targets.following).all()


def test_only_a_few_may_turn_out_to_need_more_digits(monkeypatch):
    """So that `seconds` is kept: what the sample did not announce is cut off, and not proved."""
    decoder, targets = solved(200, 30, 2, circle=True, margin=22.0)
    monkeypatch.setattr(heads, "WIDE", math.inf)
    monkeypatch.setattr(heads, "FEW", 0.02)
    assert heads.seconds(decoder, targets) < heads._double_seconds(decoder, targets) + 0.03
    unsure = np.flatnonzero(~(heads.bounds(decoder, targets).above <= GAP))
    room = heads._room(decoder, targets)
    assert 0 < room < len(unsure)
    found = heads.enclose(decoder, targets, GAP)
    assert (found.values[unsure[:room]] <= GAP).all()
    assert (found.values[unsure[room:]] > GAP).all() and found.rigorous


def test_distributions_need_narrower_logits():
    """Several tokens follow: the same radius is harmless for one token, and not for several."""
    decoder, targets = solved(200, 20, 6)
    scale = 1e-3 / heads.logits(decoder, targets).radius.max()
    assert heads.SEVERAL < 1e-3 < heads.WIDE
    tensors = {**decoder.tensors, "output.weight": decoder["output"] * scale}
    follows = np.stack([targets.following, (targets.following + 7) % 20], 1)
    several = Targets(
        targets.vocabulary, targets.tokens, targets.starts, np.sort(follows, axis=1).ravel(),
        2 * targets.ends, np.ones(2 * len(targets), np.int64),
    )  # fmt: skip
    rough = Decoder(decoder.shape, tensors)
    assert heads._rough(rough, several) and not heads._rough(rough, targets)
    assert not heads._rough(decoder, several)


# --- parts and sizes


@pytest.mark.parametrize("block", [1, 100, 1000])
def test_parts_do_not_matter(monkeypatch, block):
    """Contexts and heads in parts of any size: the same bounds, up to what rounding does."""
    random = np.random.default_rng(1)
    shape = Shape(5, 3, 4, "attention", 7, 2, 3, True, 0, "none", 4)
    decoder = Decoder(
        shape, {name: random.normal(size=size) for name, size in shape.tensors.items()}
    )
    targets = make_targets(random, random_rows(random, 25, 3, 4), 5)
    whole, seen = heads.enclose(decoder, targets, 100.0), []
    monkeypatch.setattr(heads, "BLOCK", block)
    monkeypatch.setattr(attention, "BLOCK", block)
    found = heads.enclose(decoder, targets, 100.0, seen.append)
    assert np.allclose(found.values, whole.values, rtol=1e-9, atol=0)
    assert (found.likeliest == whole.likeliest).all()
    assert sum(seen) == len(targets) and len(seen) > (block < 1000)


def test_padding_fills_up_the_front():
    random = np.random.default_rng(2)
    shape = Shape(5, 4, 3, "attention", 2, 2, 2, True, 0, "none", 4)
    decoder = Decoder(
        shape, {name: random.normal(size=size) for name, size in shape.tensors.items()}
    )
    targets = make_targets(random, random_rows(random, 12, 4, 4), 5)
    plain = Decoder(shape._replace(padding=None), decoder.tensors)
    filled = heads.logits(plain, targets.padded(4, 4))
    for contexts in (targets, targets.padded(4, 4)):
        found = heads.logits(decoder, contexts)
        assert (found.middle == filled.middle).all() and (found.radius == filled.radius).all()
    assert (heads.logits(plain, targets).middle != filled.middle).any()
    dense_found = dense.enclose(decoder, targets, 100.0).values
    assert np.allclose(heads.enclose(decoder, targets, 100.0).values, dense_found, rtol=1e-6)


def test_it_applies_to_decoders_without_neurons_in_doubles():
    shape = Shape(4, 2, 3, "attention", 2, 2, 2, True, 0, "none")
    decoder = Decoder(shape, {name: np.ones(size) for name, size in shape.tensors.items()})
    assert heads.applies(decoder)
    neurons = shape._replace(neurons=2, activation="erf")
    for other in (
        exactly(decoder),
        Decoder(neurons, {name: np.ones(size) for name, size in neurons.tensors.items()}),
    ):
        assert not heads.applies(other)
        assert heads.enclose(other, None, GAP) is None


def test_seconds_leave_room_for_ten_thousand_contexts():
    """With a limit of a minute, whatever the sample says; and not for ten times as many."""

    def seconds(contexts, count):
        random = np.random.default_rng(0)
        shape = Shape(100, 2, 10, "attention", count, 10, 10, True, 0, "none")
        tensors = {name: random.normal(size=s) / 9 for name, s in shape.tensors.items()}
        rows = [np.array(divmod(i % 10_000, 100)) for i in range(contexts)]
        targets = make_targets(random, rows, 100, several=False)
        return heads.seconds(Decoder(shape, tensors), targets)

    assert 5 < seconds(1000, 100) < seconds(10_000, 1000) < 30
    assert seconds(20_000, 10_000) > 60


def exactly(decoder):
    """The same decoder with dyadic numbers."""
    tensors = {
        name: np.vectorize(lambda x: dyadic(float(x)), [object])(tensor)
        for name, tensor in decoder.tensors.items()
    }
    return Decoder(decoder.shape, tensors)


@settings(max_examples=25)
@given(cases(output=0.5), st.booleans())
def test_the_dense_engine_reads_decoders_without_neurons(case, long):
    """In doubles and in dyadic numbers, with padding or not."""
    decoder, targets = case
    found = dense.enclose(exactly(decoder) if long else decoder, targets, 1.0)
    with ctx.workprec(2048):
        for value, true in zip(found.values, true_divergences(decoder, targets), strict=True):
            assert arb(value) >= true
            if true < 600 and (long or value <= 1):
                assert arb(value) <= true * (1 + arb("1e-6")) + arb("1e-6")
