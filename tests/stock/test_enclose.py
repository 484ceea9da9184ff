"""The error bounds contain every execution: exact ones, shuffled ones, and hostile ones."""

from dataclasses import replace

import flint
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import byheart
from byheart.stock import enclose, forward
from byheart.stock.arithmetic import Normed, Stream, U, Unbounded, gamma
from byheart.stock.enclose import margins
from byheart.stock.prove import numbered, reads


def margin_of(logits, answers):
    own = logits[np.arange(len(answers)), answers]
    others = logits.copy()
    others[np.arange(len(answers)), answers] = -np.inf
    return own - others.max(axis=1)


def test_every_margin_is_proved_and_below_that_of_a_float_run(model, items):
    sequences, answers = items
    found = margins(model.network, sequences, answers)
    located = model.claim.holders[0].neurons is not None
    assert (found.margin > 1).all() and (found.sure == located).all() and found.gap > 40
    for i in range(0, len(sequences), 7):
        for kind in (np.float64, np.float32):
            logits = forward.last_logits(model.network, sequences[i][None], kind)
            seen = margin_of(logits.astype(np.float64), answers[i : i + 1])[0]
            assert found.margin[i] <= seen <= found.margin[i] + 5  # sound, and not useless


def arb_logits(network, tokens):
    """The logits in 200 binary digits, written from FORMAT.md with balls."""
    flint.ctx.prec = 200
    arb, mat = flint.arb, flint.arb_mat

    def matrix(x):
        return mat([[arb(float(v)) for v in row] for row in np.atleast_2d(x)])

    def norm(row, gain, bias):
        size = len(row)
        mean = arb(0) if network.family.rms else sum(row, arb(0)) / size
        spread = sum(((x - mean) ** 2 for x in row), arb(0)) / size + arb(network.epsilon)
        result = [
            (x - mean) / spread.sqrt() * arb(float(g)) for x, g in zip(row, gain, strict=True)
        ]
        return (
            result
            if bias is None
            else [x + arb(float(b)) for x, b in zip(result, bias, strict=True)]
        )

    def times(row, weights, bias):
        found = (mat([row]) * matrix(weights)).entries()
        return (
            found if bias is None else [x + arb(float(b)) for x, b in zip(found, bias, strict=True)]
        )

    streams = []
    for place, token in enumerate(tokens):
        row = [arb(float(x)) for x in network.embedding[token]]
        if network.places is not None:
            row = [x + arb(float(p)) for x, p in zip(row, network.places[place], strict=True)]
        streams.append(row)
    heads, size = network.size("heads"), network.head_size
    for layer in range(network.depth):
        block = network.block(layer)
        if forward.writes(block):
            weights = np.concatenate([block.query, block.key, block.value], axis=1)
            projected = [
                times(norm(x, block.norm1, block.norm1_bias), weights, block.attention_bias)
                for x in streams
            ]

            def part(which, head, place, projected=projected):
                first = which * heads * size + head * size
                lanes = projected[place][first : first + size]
                if not network.family.rms or which == 2:
                    return lanes
                half, base = size // 2, arb(network.rotary_base)
                turned = list(lanes)
                for f in range(half):
                    angle = arb(place) * base ** (arb(-2 * f) / size)
                    a, b, cos, sin = lanes[f], lanes[f + half], angle.cos(), angle.sin()
                    turned[f], turned[f + half] = a * cos - b * sin, b * cos + a * sin
                return turned

            last, read = len(streams) - 1, []
            for head in range(heads):
                query = part(0, head, last)
                scores = []
                for place in range(len(streams)):
                    key = part(1, head, place)
                    product = sum((a * b for a, b in zip(query, key, strict=True)), arb(0))
                    scores.append((product / arb(size).sqrt()).exp())
                total = sum(scores, arb(0))
                values = [part(2, head, place) for place in range(len(streams))]
                for lane in range(size):
                    read.append(
                        sum((s * v[lane] for s, v in zip(scores, values, strict=True)), arb(0))
                        / total
                    )
            added = times(read, block.out, block.out_bias)
            streams[-1] = [x + y for x, y in zip(streams[-1], added, strict=True)]
        normed = norm(streams[-1], block.norm2, block.norm2_bias)
        if block.gate is None:
            root = (arb(2) / arb.pi()).sqrt()
            hidden = [
                z * (1 + (root * (z + arb(float("0.044715")) * z**3)).tanh()) / 2
                for z in times(normed, block.up, block.up_bias)
            ]
        else:
            ups = times(normed, block.up, None)
            hidden = [
                z / (1 + (-z).exp()) * y
                for z, y in zip(times(normed, block.gate, None), ups, strict=True)
            ]
        streams[-1] = [
            x + y
            for x, y in zip(streams[-1], times(hidden, block.down, block.down_bias), strict=True)
        ]
    return times(norm(streams[-1], *network.final), network.embedding.T, None)


def test_balls_of_200_digits_agree(model, items, request):
    """Real arithmetic is one of the executions, and another program computes it."""
    sequences, answers = items
    found = margins(model.network, sequences, answers)
    before = flint.ctx.prec
    request.addfinalizer(lambda: setattr(flint.ctx, "prec", before))
    for i in (0, len(sequences) // 2, len(sequences) - 1):
        logits = arb_logits(model.network, sequences[i].tolist())
        own = logits.pop(int(answers[i]))
        assert all((own - x - float(found.margin[i])).lower() > 0 for x in logits)
        assert any((own - x - float(found.margin[i])).upper() < 3 for x in logits)


@pytest.mark.parametrize("seed", range(3))
def test_hostile_rounding_stays_within_the_bound(model, items, seed, monkeypatch):
    """Every product of matrices and every norm is off by as much as an execution may be."""
    random = np.random.default_rng(seed)
    sequences, answers = items
    chosen = random.choice(len(sequences), 6, replace=False)
    bound = margins(model.network, [sequences[i] for i in chosen], answers[chosen]).margin

    class Off(np.ndarray):
        """Its products are off by gamma(k + 1) times the sum of absolute values."""

        def __matmul__(self, other):
            a, b = np.asarray(self), np.asarray(other)
            size = np.abs(a) @ np.abs(b)
            terms = (a != 0).astype(float) @ (b != 0) + 1  # products that are not 0
            wrong = random.choice([-1.0, 1.0], size.shape) * gamma(terms) * size * (1 - 1e-3)
            return (a @ b + wrong).view(Off)

    plain = forward.norm

    def off(x, gain, bias, epsilon, rms):
        y = np.asarray(plain(np.asarray(x), gain, None, epsilon, rms))
        y = y * (1 + random.choice([-1.0, 1.0]) * 8 * U)
        y = y * (1 + random.choice([-1.0, 1.0], y.shape) * 4 * U)
        y = y if bias is None else y + bias
        return (y * (1 + random.choice([-1.0, 1.0], y.shape) * U)).view(Off)

    monkeypatch.setattr(forward, "norm", off)
    for i, least in zip(chosen, bound, strict=True):
        logits = np.asarray(forward.last_logits(model.network, sequences[i][None]))
        assert margin_of(logits, answers[i : i + 1])[0] >= least


@pytest.mark.parametrize("largest", [False, True])
def test_float32_sums_in_the_worst_order_stay_within_the_bound(model, items, largest, monkeypatch):
    """Positive terms first and then negative ones, so that partial sums and their roundings are as
    large as they get; the largest terms first, or last. Every sum is sequential, in float32."""
    sequences, answers = items
    chosen = np.arange(0, len(sequences), 11)
    bound = margins(model.network, [sequences[i] for i in chosen], answers[chosen]).margin

    class Sorted(np.ndarray):
        def __matmul__(self, other):
            a, b = np.asarray(self), np.asarray(other)
            terms = a[..., :, None] * b  # [..., k, outputs]
            rank = np.sign(terms) * (1 / (1 + np.abs(terms)) if largest else np.abs(terms) + 1)
            order = np.argsort(-rank, axis=-2)
            found = np.cumsum(np.take_along_axis(terms, order, axis=-2), axis=-2)[..., -1, :]
            return found.astype(np.float32).view(Sorted)

    plain = forward.norm

    def sorted_norm(x, *rest):
        return np.asarray(plain(np.asarray(x), *rest)).astype(np.float32).view(Sorted)

    monkeypatch.setattr(forward, "norm", sorted_norm)
    differs = False
    for i, least in zip(chosen, bound, strict=True):
        logits = np.asarray(forward.last_logits(model.network, sequences[i][None], np.float32))
        exact = np.asarray(forward.last_logits(model.network, sequences[i][None]))
        assert logits.dtype == np.float32
        differs |= bool((logits != exact.astype(np.float32)).any())
        assert margin_of(logits.astype(np.float64), answers[i : i + 1])[0] >= least
    assert differs  # the order does matter


@given(st.integers(0, 10**9))
@settings(max_examples=25)
def test_what_is_proved_of_a_damaged_checkpoint_is_true(request_model, seed):
    """One weight is changed by a little or by much: no wrong answer has a positive margin."""
    model, sequences, answers = request_model
    random = np.random.default_rng(seed)
    names = sorted(name for name, x in model.network.tensors.items() if x.any())
    name = names[random.integers(len(names))]
    tensor = model.network.tensors[name].copy()
    place = tuple(random.integers(tensor.shape))
    tensor[place] = tensor[place] * random.choice([0.0, 0.9, 1.1, -1.0, 3.0]) + random.choice(
        [0.0, 0.5]
    )
    network = replace(model.network, tensors={**model.network.tensors, name: tensor})
    try:
        found = margins(network, sequences, answers).margin
    except Unbounded:
        return
    said = forward.answers(network, sequences)
    assert (said[found > 0] == answers[found > 0]).all()


@pytest.fixture(scope="module")
def request_model(model, items):
    sequences, answers = items
    return model, sequences[::3], answers[::3]


def test_a_swapped_answer_is_not_proved(model, items):
    sequences, answers = items
    wrong = answers.copy()
    wrong[0], wrong[1] = answers[1], answers[0]
    found = margins(model.network, sequences, wrong).margin
    assert (found[:2] < 0).any() and (found[2:] > 0).all()


def test_attention_without_a_winner_is_not_bounded(model, items):
    """Queries a hundred times smaller: no place wins by much."""
    sequences, answers = items
    name = "transformer.h.0.attn.c_attn" if model.network.places is not None else None
    front = "model.layers.0.self_attn.q_proj.weight"
    tensors = dict(model.network.tensors)
    if name is None:
        tensors[front] = tensors[front] / 1000
    else:
        width = model.network.width
        tensors[f"{name}.weight"] = tensors[f"{name}.weight"].copy()
        tensors[f"{name}.bias"] = tensors[f"{name}.bias"].copy()
        tensors[f"{name}.weight"][:, :width] /= 1000
        tensors[f"{name}.bias"][:width] /= 1000
    with pytest.raises(Unbounded, match="no place wins"):
        margins(replace(model.network, tensors=tensors), sequences, answers)


@pytest.mark.parametrize("model", ["gpt2", "llama"], indirect=True)
def test_attention_that_writes_in_a_later_block_is_not_bounded(model, items):
    sequences, answers = items
    network = model.network
    part = "self_attn.o_proj" if network.places is None else "attn.c_proj"
    name = f"{network.family.blocks}.1.{part}.weight"
    tensors = {**network.tensors, name: np.ones_like(network.tensors[name])}
    with pytest.raises(Unbounded, match="more than the first block"):
        margins(replace(network, tensors=tensors), sequences[:2], answers[:2])


@given(st.integers(0, 10**6), st.booleans())
@settings(max_examples=30)
def test_a_norm_contains_float32_runs_in_any_order(seed, rms):
    random = np.random.default_rng(seed)
    x = random.standard_normal((3, 20)) * 10.0 ** random.integers(-2, 3)
    gain, bias = random.standard_normal(20), random.standard_normal(20)
    weights = random.standard_normal((20, 4)) * (random.random((20, 4)) < 0.5)
    single = x.astype(np.float32)
    stream = Stream(single.astype(np.float64), np.zeros((3, 20)), np.zeros((3, 20)))
    g, b, w = (y.astype(np.float32) for y in (gain, bias, weights))
    normed = Normed(stream, g.astype(float), b.astype(float), 1e-5, rms)
    middle, radius = normed.times(w.astype(float), None)
    order = random.permutation(20)
    lanes = single[:, order]
    mean = np.float32(0) if rms else (np.cumsum(lanes, axis=1)[:, -1:] / np.float32(20))
    centred = lanes - mean
    squares = np.cumsum(centred * centred, axis=1)[:, -1:] / np.float32(20)
    scale = np.float32(1) / np.sqrt(squares + np.float32(1e-5))
    y = centred * scale * g[order] + b[order]
    run = np.stack([np.cumsum(y * w[order][:, k], axis=1)[:, -1] for k in range(4)], axis=1)
    assert (np.abs(run - middle) <= radius).all()
    many, wide = normed.many(w.astype(float), None)
    assert (wide >= radius * (1 - 1e-9)).all() and np.allclose(many, middle)
    rows, columns = np.array([0, 2]), np.array([1, 3])
    single_entries, small = normed.pairs(w.astype(float), None, rows, columns)
    assert np.allclose(single_entries, middle[rows, columns])
    np.testing.assert_allclose(small, radius[rows, columns], rtol=1e-6)


def test_silu_far_below_is_bounded_by_its_tail():
    z = np.linspace(-60, -16, 50)
    assert (np.abs(forward.silu(z)) <= -z * np.exp(z) * (1 + 1e-12)).all()
    assert enclose.NEAR == -16.0


@pytest.mark.parametrize("rms", [False, True])
@given(st.integers(0, 2**32 - 1))
def test_a_norm_and_a_product_are_bounded_together(rms, seed):
    """Of errors along the stream the norm takes away what a key that is the stream adds."""
    random = np.random.default_rng(seed)
    lanes, size = 24, 10.0 ** random.integers(-5, -2)
    x, gain = random.standard_normal((1, lanes)), 1 + 0.2 * random.standard_normal(lanes)
    r = size * random.random((1, lanes))
    c = size * random.standard_normal((1, lanes))
    bias = None if rms else 0.1 * random.standard_normal(lanes)
    normed = Normed(Stream(x, r, c), gain, bias, 1e-5, rms)
    middle = x - (0 if rms else x.mean())
    weights = np.stack([500 * middle[0] / gain, random.standard_normal(lanes)], axis=1)
    rows, columns = np.zeros(2, np.int64), np.arange(2)
    value, radius = normed.pairs(weights, None, rows, columns)
    _, coarse = normed.times(weights, None)
    assert radius[0] < coarse[0, 0]
    for _ in range(40):
        e = random.choice([-1.0, 1.0], (1, lanes)) * r + random.choice([-1.0, 1.0]) * c
        moved = x + e - (0 if rms else (x + e).mean())
        y = moved / np.sqrt((moved**2).mean() + 1e-5) * gain + (0 if rms else bias)
        assert (np.abs(y @ weights - value) <= radius).all()


@pytest.mark.parametrize("kind", ["gelu_new", "gelu"])
def test_what_slopes_leave_is_below_the_square(kind):
    """f(z + d) - f(z) - f'(z) d is at most d^2 in absolute value: for small and large steps."""
    random = np.random.default_rng(0)
    z = random.uniform(-9, 9, 20_000)
    d = random.choice([-1.0, 1.0], z.shape) * 10.0 ** random.uniform(-4, 0.5, z.shape)
    f = forward.ACTIVATIONS[kind]
    rest = f(z + d) - f(z) - enclose._slope(kind, z) * d
    assert (np.abs(rest) <= enclose.CURVED * d * d + 1e-13).all()
    assert (np.abs(rest) > 0.3 * d * d).any()  # the bound is not far from the truth
    assert np.abs(enclose._slope(kind, z)).max() < 1.13


@pytest.mark.parametrize("count", [24, 80])
def test_errors_that_move_all_neurons_together_stay_within_the_bound(facts, count):
    """A stream is moved by as much as its radius allows, in the direction that hurts most: that of
    the gradient of the margin. The bound must bear it, and must not be useless."""
    model = byheart.compile(facts, "gpt2", superposed=count)
    network, block = model.network, model.network.block(0)
    sequences, answers = numbered(model, reads(model, facts))
    stream, _ = enclose.attended(network, block, sequences)
    wide = Stream(stream.x, stream.r * 10, stream.c)
    at, _, _ = enclose.through(network, block, wide)
    bound = enclose.differences(network, at, answers).min(axis=1)

    def seen(x):
        y = x + forward.mlp(network, block, x)
        gain, bias = network.final
        normed = forward.norm(y, gain, bias, network.epsilon, False)
        return margin_of(normed @ network.embedding.T.astype(float), answers)

    slopes = np.stack(
        [
            seen(wide.x + 1e-4 * np.eye(network.width)[lane])
            - seen(wide.x - 1e-4 * np.eye(network.width)[lane])
            for lane in range(network.width)
        ],
        axis=1,
    )
    worst = seen(wide.x - np.sign(slopes) * wide.r)
    assert (bound <= worst).all() and (worst < seen(wide.x)).all()
    assert (margins(network, sequences, answers).margin > seen(wide.x) - 1).all()
