"""Every term of the bounds of byheart and of the checker is needed.

In each checkpoint one term is larger than all others, so that nothing but this term can cover what
the adversary does; and single stages are pushed as far as the rules allow.
"""

import itertools
from fractions import Fraction

import numpy as np
import pytest

import enclose as checker_enclose
import enclose_blocks
from byheart.stock import arithmetic, enclose, forward
from byheart.stock.arithmetic import Stream

torch = pytest.importorskip("torch")
from tests.stock.adversary import UNIT, attacked, pushed  # noqa: E402
from tests.stock.made import checked, gpt2, llama, proved, rebuilt, shares  # noqa: E402


def assert_tight(network, tokens, answer, least=0.3):
    """The adversary stays within both bounds, and uses this share of byheart's: if the bound lost
    the term that dominates it, the adversary would be outside."""
    ours, *theirs = shares(network, tokens, answer)
    assert proved(network, tokens, answer) > 0
    assert least < ours <= 1
    assert all(share <= 1 for share in theirs)


@pytest.mark.parametrize("family", [gpt2, llama])
def test_the_factor_of_the_last_norm(family):
    """Of many lanes the variance is uncertain, and the answer reads one of them."""
    embedding, gain = np.zeros((3, 600)), np.zeros(600)
    embedding[0], embedding[1, 0], gain[0] = np.resize([1, -1], 600), 8, 1
    names = ("wte_weight", "ln_f_weight")
    if family is llama:
        names = ("embed_tokens_weight", "model_norm_weight")
    assert_tight(family(600, 3, **dict(zip(names, (embedding, gain), strict=True))), [0], 1, 0.7)


def reading(stream, answer, rival, bias):
    """A GPT-2 whose first place has this stream, with two tokens that read its last norm."""
    lanes = len(stream)
    embedding = np.stack([np.zeros(lanes), answer, rival])
    return gpt2(lanes, 3, wte_weight=embedding, wpe_weight=[stream] * 4, ln_f_bias=bias)


@pytest.mark.parametrize("winner", [False, True])
def test_the_rounding_of_the_answer_and_of_its_rival(winner):
    """One of both logits is a sum of large numbers that cancel."""
    large, small = [1000, -1000, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0 if winner else -2]
    pair, bias = (large, small) if winner else (small, large), [0.001, 0, 0, 0, 0, 0]
    assert_tight(reading([1, 1, 1, -1, -1, -1], *pair, bias), [0], 1, 0.5)


def test_the_rounding_of_the_lanes_of_a_norm():
    """Lanes far from 0 with a small variance; a mean that is off moves both lanes alike."""
    network = reading([101, 101, 99, 99], [50, -50, 0, 0], np.zeros(4), [0.01, -0.01, 0, 0])
    assert_tight(network, [0], 1, 0.8)


def test_the_rounding_of_what_a_norm_gives():
    """A large bias that the answer takes off again."""
    network = reading([1, 1, -1, -1], [1, -1, 0, 0], np.zeros(4), [1001, 1000, 0, 0])
    assert_tight(network, [0], 1, 0.9)


def test_the_strength_of_a_neuron():
    """It reads one of many lanes, whose variance is uncertain, and writes to the lane that the
    answer reads."""
    up, down, embedding = np.zeros((600, 1)), np.zeros((1, 600)), np.zeros((2, 600))
    up[0], down[0, 1], embedding[1, 1] = 8, 0.25, 1
    network = gpt2(
        600, 2, wte_weight=embedding, wpe_weight=[np.resize([1, -1], 600)] * 4, c_fc_weight=up,
        mlp_c_proj_weight=down, ln_f_bias=-0.99,
    )  # fmt: skip
    assert_tight(network, [0], 1, 0.6)


def test_the_mean_of_a_norm():
    """The answer reads all lanes alike: their sum is 0, apart from the error of the mean."""
    stream = np.resize([9, 11], 600)
    network = reading(stream, np.ones(600), np.zeros(600), np.full(600, 0.01))
    assert_tight(network, [0], 1, 0.8)


def test_the_sums_of_a_softmax():
    """Two lanes of a head hold the same value, and the answer reads their difference."""
    weights, out, embedding = np.zeros((8, 24)), np.zeros((8, 8)), np.zeros((2, 8))
    weights[0, 16:18], out[[0, 1], [2, 3]], embedding[1, 2:4] = 1, 1, (50, -50)
    network = gpt2(
        8, 2, wte_weight=embedding, wpe_weight=[[1, -1, 0, 0, 0, 0, 0, 0]] * 4,
        c_attn_weight=weights, attn_c_proj_weight=out, ln_f_bias=[0, 0, 0.01, -0.01, 0, 0, 0, 0],
    )  # fmt: skip
    assert_tight(network, [0], 1, 0.6)


def assert_within(network, tokens, answer):
    """Both bounds are below the worst execution; byheart's is of use."""
    bound, other = proved(network, tokens, answer), checked(network, tokens, answer)
    _, worst = attacked(network, tokens, answer)
    assert 0 < bound <= worst
    assert other is None or other <= worst


def cancelling(first, layers=1, neurons=1, **given):
    """A GPT-2 whose stream is 2,000 in two lanes for a while, and whose answer reads how they
    differ in the end: only roundings of the long stream, and of what made it, are left."""
    bias = -20 if neurons == 1 else 10  # off, or on and bounded together
    given = {x: y if np.ndim(y) else [0, 0, y, y] for x, y in given.items()}
    return gpt2(
        4, 2, layers=layers, neurons=neurons, wte_weight=[[0] * 4, [0, 0, 8, -8]],
        wpe_weight=[[1, -1, first, first]] * 4, c_fc_bias=bias,
        ln_f_weight=[0, 0, 1, 1], ln_f_bias=[0, 0, 0.1, -0.1], **given,
    )  # fmt: skip


def test_the_sum_of_token_and_place():
    assert_tight(cancelling(2000, attn_c_proj_bias=-2000.0), [0], 1, 0.9)


@pytest.mark.parametrize("written", [0, 0.001])
def test_the_sum_of_stream_and_attention(written):
    """With heads that write a little, or nothing."""
    value, out = np.zeros(12), np.zeros((4, 4))
    value[8], out[0, 2:] = 1, written
    given = {"c_attn_bias": value, "attn_c_proj_weight": out}
    network = cancelling(0, attn_c_proj_bias=2000.0, mlp_c_proj_bias=-2000.0, **given)
    assert_tight(network, [0], 1, 0.9)


@pytest.mark.parametrize("neurons", [1, 9])
def test_the_sums_of_stream_and_mlp(neurons):
    """Five blocks add next to nothing, and the sixth one takes the long stream off again."""
    biases = {f"{i}_mlp_c_proj_bias": 0.001 for i in range(5)}
    network = cancelling(
        2000, layers=6, neurons=neurons, **biases, **{"5_mlp_c_proj_bias": -2000.0}
    )
    assert_tight(network, [0], 1, 0.9)


def test_the_product_after_the_heads():
    """4,096 lanes of a head hold the same value, with signs that cancel."""
    lanes, value, out = 4096, np.zeros((4096, 4)), np.zeros((4, 4096))
    value[:, 0], out[2] = 2.0**-12, np.resize([1, -1], lanes)
    network = llama(
        4, 2, size=lanes, embed_tokens_weight=[[1, 1, 0.5, 0], [0, 0, 16, 0]],
        v_proj_weight=value, o_proj_weight=out,
    )  # fmt: skip
    assert_tight(network, [0], 1, 0.7)


@pytest.mark.parametrize("others", [1, 12])
def test_the_places_that_lose(others):
    """The last token attends to itself, the others have the opposite value and lose by 6 nats."""
    embedding = np.zeros((4, 8))
    embedding[0, :2], embedding[3, :2], embedding[1, 2:4] = (1, -1), (-1, 1), (1, -1)
    value, weights, bias = np.zeros((8, 8)), np.zeros((8, 24)), np.zeros(24)
    bias[0] = 3 * np.sqrt(8) / 2  # lane 0 after the norm is 2 or -2
    weights[0, 8] = weights[0, 16] = 1
    value[0, 2:4] = 1, -1
    network = gpt2(
        8, 4, places=16, wte_weight=embedding, c_attn_weight=weights, c_attn_bias=bias,
        attn_c_proj_weight=value, ln_f_weight=[0, 0, 1, 1, 0, 0, 0, 0],
    )  # fmt: skip
    assert_within(network, [3] * others + [0], 1)


@pytest.mark.parametrize("kind", ["gelu_new", "gelu", "silu"])
def test_activations(kind):
    """The worst execution of every activation is within both radii, and uses a part of them."""
    network = llama(2, 2) if kind == "silu" else gpt2(2, 2)
    network.config["activation_function"] = kind
    z = np.concatenate([np.linspace(-15.9 if kind == "silu" else -7.9, 8, 400), [20.0, 60.0]])
    value, radius = enclose._activated(kind, z, np.zeros_like(z))
    other, used = enclose_blocks.Activation(kind), []
    found = [other.enclose(at, at) for at in map(checker_enclose.fixed, z.tolist())]
    middles, radii = (np.array(x) / 2**60 for x in zip(*found, strict=True))
    for sign in (1, -1):
        worst = pushed(lambda e: e.activated("f", torch.tensor(z)), network, sign)
        assert (np.abs(worst - value) <= radius).all()
        assert (np.abs(worst - middles) <= radii + 1e-15).all()
        used.append(np.abs(worst - value) / radius)
    assert np.max(used) > 0.25


@pytest.mark.parametrize("errors", [(0, 0), (0.5, 0), (0, 0.25), (1, 1)])
def test_products_of_two_numbers(errors):
    """All corners, rounded: the worst one is what both radii are, but for the last digits."""
    corners = [
        abs((3 + a * errors[0]) * (5 + b * errors[1]) * (1 + c * UNIT) - 15)
        for a, b, c in itertools.product((-1, 1), repeat=3)
    ]
    given = [np.float64(x) for x in (3, errors[0], 5, errors[1])]
    value, radius = arithmetic.multiplied(*given)
    assert value == 15 and max(corners) <= radius <= max(corners) * (1 + 1e-5)
    middle, wide = enclose_blocks.multiplied(*map(checker_enclose.fixed, given))
    assert middle == 15 << 60
    assert max(corners) <= wide / 2**60 + 1e-15 and wide / 2**60 <= max(corners) * (1 + 1e-5)


def test_a_rounding_is_of_all_that_is_uncertain():
    radius = arithmetic.rounded(*np.array([[1.0], [2.0], [3.0]]))
    assert 2 + 6 * UNIT <= radius[0] <= 2 + 7 * UNIT


def test_neurons_that_are_off_are_terms_of_the_sum():
    """One neuron is on; each of 3,000 others adds 1e-8, and each addition may be rounded."""
    one, count = 2**0.5, 3000  # what a lane of 1 is after the norm
    gate, embedding = np.zeros((count, 4)), [[1, 1, 0, 0], [0, 50, -50, 0]]
    gate[:, 0] = -20 / one
    gate[0, 0] = 20 / one
    network = llama(
        4, 2, neurons=count, embed_tokens_weight=embedding, model_norm_weight=[0, 1, 1, 0],
        gate_proj_weight=gate, up_proj_weight=[1 / one, 0, 0, 0],
        down_proj_weight=[[0], [0.03], [0.03], [0]],
    )  # fmt: skip
    assert_tight(network, [0], 1)


def test_rotary_angles():
    """A key far away, turned by 90 degrees against the query and very long: a small error of the
    angle moves its score by 10 nats. The last token attends to itself, by 20 nats."""
    far, one = 50, 6**0.5  # places, and what a lane of 1 is after the norm
    embedding, query, key = np.zeros((4, 6)), np.zeros((2, 6)), np.zeros((2, 6))
    embedding[[0, 1, 2, 3], [0, 1, 2, 3]] = 1
    query[0, 0], key[0, 0] = 1 / one, 20 * 2**0.5 / one
    length = 10 / (17 * far * 2.0**-24) * 2**0.5 / one
    key[:, 1] = length * np.cos(far + np.pi / 2), length * np.sin(far + np.pi / 2)
    value, out = np.zeros((2, 6)), np.zeros((6, 2))
    value[0, :2], out[3, 0] = (1 / one, -1 / one), 1
    network = llama(
        6, 4, places=64, embed_tokens_weight=embedding, model_norm_weight=[0, 0, 0, 1, 0, 0],
        q_proj_weight=query, k_proj_weight=key, v_proj_weight=value, o_proj_weight=out,
    )  # fmt: skip
    assert_within(network, [1] + [2] * (far - 1) + [0], 3)


def test_scores():
    """The last token attends to itself, by 20 nats. The key of the other one has 2,048 lanes whose
    products with the query cancel, and the roundings of their sum are worth 15 nats."""
    one, size = 2, 2048  # what a lane of 1 is after the norm, and lanes of the head
    sign, embedding, query, key = np.resize([1, -1], size), np.eye(4), np.zeros((size, 4)), None
    query[:, 0] = 1 / one
    key = query * 20 / size**0.5
    key[:, 1] = sign * 15 / (size**1.5 * 2.0**-24) / one
    value, out = np.zeros((size, 4)), np.zeros((4, size))
    value[0, :2], out[3, 0] = (1 / one, -1 / one), 1
    network = llama(
        4, 4, size=size, theta=1.0, embed_tokens_weight=embedding,
        model_norm_weight=[0, 0, 0, 1], q_proj_weight=query, k_proj_weight=key,
        v_proj_weight=value, o_proj_weight=out,
    )  # fmt: skip
    assert_within(network, [1, 0], 3)


@pytest.mark.parametrize("wide", [0.0, 0.1])
@pytest.mark.parametrize("place", [0, 1, 300])
def test_turns(place, wide):
    """The worst turn of every lane is within both radii, and uses a good part of byheart's."""
    y, network = np.array([3.0, -0.5, 1.0, 2.0]), llama(4, 2, size=4, theta=100.0)
    shape = 1, 1, 1, 4
    angle = forward.angles(network, place + 1)[place:]
    found = enclose._rotated(y.reshape(shape), np.full(shape, wide), angle)
    middle, radius = (x.ravel() for x in found)
    given = (list(map(checker_enclose.fixed, x)) for x in (y, [wide] * 4))
    other = enclose_blocks.Rotary(Fraction(100), 4).rotate(enclose_blocks.Box(*given), place)
    used = []
    for lane, sign in itertools.product(range(4), (1, -1)):

        def turned(execution, lane=lane):
            lanes = torch.tensor(y) + execution.wrong("lanes", torch.full((4,), wide).double())
            wheel = execution.wheel(torch.tensor([place]).double())
            return execution.turned("y", lanes.view(1, 1, 4), *wheel)[0, 0, lane]

        worst = pushed(turned, network, sign)
        used.append(abs(worst - middle[lane]) / radius[lane])
        assert abs(worst * 2**60 - other.middle[lane]) <= other.radius[lane] + 2**12
    assert 0.5 < max(used) <= 1


def test_the_curvature_of_many_neurons():
    """Pairs of neurons with opposite arguments: what they write is of second order alone."""
    up, down = np.zeros((8, 16)), np.zeros((16, 8))
    up[0], down[:, 5] = np.resize([3, -3], 16), 1
    network = gpt2(8, 2, neurons=16, c_fc_weight=up, mlp_c_proj_weight=down)
    x, r = np.array([[0, 1, -1, 2, -2, 0, 0, 0.0]]), np.zeros((1, 8))
    r[0, 0] = 0.1
    block = network.block(0)
    at, _, _ = enclose.through(network, block, Stream(x, r, np.zeros_like(x)))
    for moved in (x - r, x + r):
        assert (np.abs(moved + forward.mlp(network, block, moved) - at.x) <= at.r).all()
    assert at.r[0, 5] < 4


# --- one stage at a time

# what a stream is, what the neurons read, their bias, and what is uncertain about the stream
READ = {
    "the factor of the norm": (np.resize([1, -1], 600), [8, *[0] * 599], 0, 0),
    "the mean of the norm": (np.resize([9, 11], 600), [1] * 600, 5, 0),
    "the lanes of the norm": ([101, 101, 99, 99], [50, -45, 0, 0], 0, 0),
    "the product": (np.resize([1, -1], 300), np.resize([3, 2.9], 300), 0, 0),
    "the activation": ([1, -1, 2, -2], [0] * 4, 10, 0),
    "the lanes of the stream": ([1, -1, 0, 0], [4, -4, 1, -1], 0, [0, 0, 1e-4, 1e-4]),
    "the mean of the stream": ([1, -1, *[0] * 6], [5, 3, *[0] * 6], 0, [0, 0, *[1e-4] * 6]),
    "its direction": ([1, -1, 0, 0], [4, -4, 1, -1], 0, [0, 0, 1e-4, -1e-4]),
}
SECOND = {  # order: the length of the stream alone, and with what it scales
    "its square": ([1, -1, 0, 0], [4, -4, 0, 0], 0, [0, 0, 0.1, -0.1]),
    "its products": ([1, -1, 0, 0], [0.01, -0.01, 4000, -4000], 20, [0.2, 0.2, 1e-3, 1e-3]),
}
MLPS = [(gpt2, 1, name) for name in READ | SECOND] + [(gpt2, 9, name) for name in READ]
MLPS += [(llama, 1, name) for name in READ if name != "the activation"]


@pytest.mark.parametrize(("make", "neurons", "name"), MLPS)
def test_mlps(make, neurons, name):
    """All neurons read the same, and one of them writes to lane 1. Nine that are on are bounded
    together. The factors of Llama's neurons are lane 0; it has no biases."""
    x, read, bias, wide = (np.array(given, float) for given in (READ | SECOND)[name])
    lanes = len(x)
    up, down = np.outer(np.ones(neurons), read), np.zeros((lanes, neurons))
    down[1, 0] = 8
    if make is gpt2:
        given = {"c_fc_weight": up.T, "c_fc_bias": bias, "mlp_c_proj_weight": down.T}
    else:
        factor = np.eye(lanes)[:neurons]
        given = {"gate_proj_weight": up, "up_proj_weight": factor, "down_proj_weight": down}
    network = make(lanes, 2, neurons=neurons, **given)
    least = 0.4 if name == "the activation" else 0.7
    assert_enclosed(network, x, wide, name in ("its direction", "its square"), least)


@pytest.mark.parametrize("off", [0, 140])
def test_sums_of_what_neurons_write(off):
    """60 neurons write 80 each, with signs that cancel; where most neurons are off, those that are
    on are bounded one by one."""
    down, bias = np.zeros((60 + off, 4)), np.full(60 + off, -20)
    down[:, 1], bias[:60] = np.resize([8, -8], 60 + off), 10
    network = gpt2(4, 2, neurons=60 + off, c_fc_bias=bias, mlp_c_proj_weight=down)
    assert_enclosed(network, np.array([1.0, -1, 2, -2]), np.zeros(4), False, 0.6)


@pytest.mark.parametrize(
    ("count", "up"),
    [(64, [[1000, 0, 0, 0], [0] * 4]), (64, [[1e8, -1e8, 0, 0]]), (5000, [[8, 0, 0, 0]])],
)
def test_neurons_that_are_off_leak(count, up):
    """Neurons with the argument -17 write 0.03 together: by their factors, by the errors of these,
    and so many that the roundings of their sum count."""
    one = 2**0.5  # what a lane of 1 is after the norm
    network = llama(
        4, 2, neurons=count, gate_proj_weight=[-17 / one, 0, 0, 0],
        up_proj_weight=np.resize(np.array(up) / one, (count, 4)),
        down_proj_weight=[[0], [1], [0], [0]],
    )  # fmt: skip
    assert_enclosed(network, np.array([1.0, 1, 0, 0]), 0, False, 0.4)


def assert_enclosed(network, x, wide, together, least):
    """What the worst execution of the first MLP makes of lane 1 is within both radii, and uses this
    share of byheart's. The stream is off by `wide`, in every lane or in all lanes together."""
    wide = np.broadcast_to(wide, x.shape)
    rows = x[None], (wide * (not together))[None], (wide * together)[None]
    at, _, _ = enclose.through(network, network.block(0), Stream(*rows))
    other, stream = rebuilt(network).blocks[0], checked_stream(x, wide, together)
    found, _, _ = other.neurons.added(stream, other.second.of(stream))
    used = []
    for sign in (1, -1):

        def written(e):
            off = e.wrong("stream", torch.ones(1 if together else len(x)).double())
            stream = (torch.tensor(x) + torch.tensor(wide) * off)[None]
            return e.added("sum", stream, e.mlp("mlp", e.blocks[0], stream))[0, 1]

        worst = pushed(written, network, sign)
        used.append(abs(worst - at.x[0, 1]) / (at.r + abs(at.c))[0, 1])
        assert abs(worst * 2**60 - found.middle[1]) <= found.bounds()[1] - abs(found.middle[1])
    assert least < max(used) <= 1


@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize("name", READ | SECOND)
def test_products_of_a_norm(name, together):
    """The bounds of single products, of some and of all contain every corner of the stream and the
    worst execution, and that of all, which says what is bounded one by one, is no smaller."""
    x, read, bias, wide = (np.array(given, float) for given in (READ | SECOND)[name])
    lanes, place, wide = len(x), np.zeros(1, int), np.broadcast_to(wide, x.shape)
    network = gpt2(lanes, 2, c_fc_weight=read[:, None], c_fc_bias=bias)
    block, hidden = network.block(0), rebuilt(network).blocks[0].neurons.hidden
    stream = Stream(x[None], (abs(wide) * (not together))[None], (wide * together)[None])
    normed = arithmetic.Normed(stream, np.ones(lanes), None, network.epsilon, False)
    given = block.up, block.up_bias
    of_all = normed.many(*given)
    bounds = [normed.times(*given), of_all, normed.pairs(*given, place, place)]
    assert of_all[1] >= bounds[0][1] * (1 - 1e-9)
    seen = checked_stream(x, wide, together)
    (middle,), (radius,) = hidden.enclose(hidden.norm.of(seen))
    theirs = [(middle, radius), hidden.along(seen, hidden.norm.of(seen), 0)]
    bounds += [np.array(pair, float) / 2**60 for pair in theirs if pair is not None]

    def argument(e):
        off = e.wrong("stream", torch.ones(1 if together else lanes).double())
        part = e.blocks[0]
        moved = (torch.tensor(x) + torch.tensor(wide) * off)[None]
        return e.product(
            "up",
            e.norm("norm", moved, part["norm2"], part["norm2_bias"]),
            part["up"],
            part["up_bias"],
        )

    signs = np.array(list(itertools.product((1, -1), repeat=lanes if lanes <= 8 else 1)))
    moved = x + (signs[:, :1] if together else signs) * wide
    found = forward.norm(moved, np.ones(lanes), None, network.epsilon, False) @ read + bias
    worst = [pushed(argument, network, sign).item() for sign in (1, -1)]
    for middle, radius in bounds:
        assert (abs(np.array([*found, *worst]) - middle.item()) <= radius.item()).all()


@pytest.mark.parametrize("uncertain", ["lane", "direction", "mean"])
def test_what_a_norm_gives_is_rounded_with_all_that_is_uncertain(uncertain):
    """A lane of 0 that may be 0.001: 6 u of the lane or the mean, and 1 u of the result."""
    x, wide = np.resize([1.0, -1], (1, 600)), np.zeros((1, 600))
    x[0, :2], wide[0, 0] = 0, 0.001
    if uncertain == "mean":
        wide = 0.001 - wide
    rows = (x, 0 * wide, wide) if uncertain == "direction" else (x, wide, 0 * wide)
    normed = arithmetic.Normed(Stream(*rows), np.ones(600), None, 1e-5, False)
    assert normed.rounding[0, 0] > 6.9 * UNIT * 0.001


def checked_stream(x, wide, together):
    """The stream as the checker has it."""
    middle, wide = ([checker_enclose.fixed(lane) for lane in lanes] for lanes in (x, wide))
    directions, radius = ([wide], [1] * len(x)) if together else ([], [abs(r) + 1 for r in wide])
    return checker_enclose.Stream(middle, directions, [], radius)


@pytest.mark.parametrize("neurons", [1, 9])
def test_a_neuron_at_0_is_neither_on_nor_off(neurons):
    x = np.array([[1.0, -1, 2, -2]])
    for bias, on, sure in ((1, neurons, True), (0, 0, False), (-1, 0, True)):
        network = gpt2(4, 2, neurons=neurons, c_fc_bias=bias)
        _, fired, certain = enclose.through(network, network.block(0), Stream(x, 0 * x, 0 * x))
        assert (len(fired), certain.tolist()) == (on, [sure])
