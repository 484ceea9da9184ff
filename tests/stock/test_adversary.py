"""What is proved holds for the worst execution that an adversary finds, and is not far from it.

The folders that byheart compiles, hostile checkpoints, and checkpoints in which one term of the
bound is larger than all others, so that nothing but this term can cover what the adversary does.
"""

import itertools
import json
from array import array
from types import SimpleNamespace

import numpy as np
import pytest

import check
import check_stock
import enclose as checker_enclose
import enclose_blocks
from byheart.stock import arithmetic, enclose, forward
from byheart.stock.arithmetic import Stream, Unbounded
from byheart.stock.checkpoint import Checkpoint, shapes
from byheart.stock.enclose import margins

torch = pytest.importorskip("torch")
from tests.stock.adversary import UNIT, Execution, attacked  # noqa: E402


def proved(network, tokens, answer):
    """The margin that byheart proves, or None."""
    try:
        found = float(margins(network, [np.array(tokens)], np.array([answer])).margin[0])
    except Unbounded:
        return None
    return found if np.isfinite(found) else None


def checked(network, tokens, answer):
    """The margin that the independent checker shows, or None."""
    content = json.dumps(dict(network.config)).encode()
    shape, _ = check_stock.read_shape(content)
    tensors = {
        name: array("f", x.astype(np.float32).tobytes()) for name, x in network.tensors.items()
    }
    try:
        asked = check_stock.Builder(SimpleNamespace(shape=shape, tensors=tensors)).network()
        return asked.answer([int(x) for x in tokens], int(answer)).margin / 2**60
    except check.Refusal:
        return None


def shares(network, tokens, answer):
    """Which part of each bound the adversary uses: above 1, the bound is wrong."""
    bounds = proved(network, tokens, answer), checked(network, tokens, answer)
    exact, worst = attacked(network, tokens, int(answer))
    return [
        (exact - worst) / (exact - bound) if bound < exact else np.inf
        for bound in bounds
        if bound is not None
    ]


@pytest.mark.parametrize("count", [2, pytest.param(10, marks=pytest.mark.slow)])
def test_compiled_checkpoints_bear_the_adversary(model, items, count):
    sequences, answers = items
    used = []
    for i in np.linspace(0, len(sequences) - 1, count).astype(int):
        found = shares(model.network, sequences[i], answers[i])
        assert len(found) == 2
        used += found
    assert max(used) <= 1
    if model.claim.holders[0].neurons is not None:  # an end, where no neuron is on
        assert max(used) > 0.5


def hostile(network, seed):
    """The checkpoint with tensors scaled, noise, single large weights or another epsilon."""
    random = np.random.default_rng(seed)
    config, tensors = dict(network.config), dict(network.tensors)
    names = sorted(tensors)
    for _ in range(random.integers(1, 4)):
        name = names[random.integers(len(names))]
        tensor = tensors[name].astype(np.float64)
        damage = random.integers(4)
        if damage == 0:
            tensor *= 2.0 ** random.uniform(-6, 6)
        elif damage == 1:
            noise = np.abs(tensor).mean() * 10.0 ** random.uniform(-4, 0)
            tensor += noise * random.standard_normal(tensor.shape)
        elif damage == 2:
            tensor[tuple(random.integers(tensor.shape))] *= 1000
        else:
            config[network.family.epsilon] = float(10.0 ** random.uniform(-12, -3))
        tensors[name] = tensor.astype(np.float32)
    return Checkpoint(config, tensors)


@pytest.mark.parametrize("seeds", [range(3), pytest.param(range(30), marks=pytest.mark.slow)])
def test_hostile_checkpoints_bear_the_adversary(model, items, seeds):
    """Its own likeliest token counts as the answer, whatever it is."""
    sequences, _ = items
    used = []
    for seed in seeds:
        network, tokens = hostile(model.network, seed), sequences[seed * 7 % len(sequences)]
        answer = forward.answers(network, [tokens])[0]
        used += shares(network, tokens, answer)
    assert used and max(used) <= 1


# --- one term at a time


def gpt2(lanes, vocabulary, neurons=1, heads=1, places=4, epsilon=1e-5, layers=1, **tensors):
    """A GPT-2 in which all tensors but these and the gains are 0."""
    config = {
        "model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "tie_word_embeddings": True,
        "vocab_size": vocabulary, "n_positions": places, "n_embd": lanes, "n_layer": layers,
        "n_head": heads, "n_inner": neurons, "activation_function": "gelu_new",
        "layer_norm_epsilon": epsilon, "bos_token_id": 0, "eos_token_id": 0, "dtype": "float32",
    }  # fmt: skip
    return filled(config, tensors)


def llama(lanes, vocabulary, neurons=1, heads=1, size=2, places=4, epsilon=1e-5, **tensors):
    """A Llama of one block in which all tensors but these and the gains are 0."""
    config = {
        "model_type": "llama", "architectures": ["LlamaForCausalLM"], "tie_word_embeddings": True,
        "vocab_size": vocabulary, "max_position_embeddings": places, "hidden_size": lanes,
        "num_hidden_layers": 1, "num_attention_heads": heads, "num_key_value_heads": heads,
        "head_dim": size, "intermediate_size": neurons, "hidden_act": "silu",
        "rms_norm_eps": epsilon, "rope_parameters": {"rope_type": "default", "rope_theta": 1e4},
        "bos_token_id": 0, "eos_token_id": 0, "dtype": "float32",
    }  # fmt: skip
    return filled(config, tensors)


def filled(config, tensors):
    """tensors  by the last words of their names, with _ for the points"""
    given, used = {}, set()
    for name, shape in shapes(config).items():
        gain = len(shape) == 1 and name.endswith("weight")
        own = next((x for x in tensors if name.replace(".", "_").endswith(x)), None)
        value = tensors[own] if own else float(gain)
        given[name] = np.broadcast_to(np.asarray(value, np.float32), shape).copy()
        used.add(own)
    assert used >= tensors.keys()
    return Checkpoint(config, given)


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


def cancelling(first, layers=1, **given):
    """A GPT-2 whose stream is 2,000 in two lanes for a while, and whose answer reads how they
    differ in the end: only roundings of the long stream, and of what made it, are left."""
    given = {x: y if np.ndim(y) else [0, 0, y, y] for x, y in given.items()}
    return gpt2(
        4, 2, layers=layers, wte_weight=[[0] * 4, [0, 0, 8, -8]],
        wpe_weight=[[1, -1, first, first]] * 4, c_fc_bias=-20,  # the neuron is off
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


def test_the_sums_of_stream_and_mlp():
    """Five blocks add next to nothing, and the sixth one takes the long stream off again."""
    biases = {f"{i}_mlp_c_proj_bias": 0.001 for i in range(5)}
    network = cancelling(2000, layers=6, **biases, **{"5_mlp_c_proj_bias": -2000.0})
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


def pushed(operation, network, sign):
    """What an operation gives, lane by lane as large (or as small) as it may be."""
    execution = Execution(network)
    for _ in range(3):
        found = operation(execution)
        slopes = torch.autograd.grad(found.sum(), list(execution.off.values()))
        for variable, slope in zip(execution.off.values(), slopes, strict=True):
            variable.data = torch.where(slope == 0, variable.data, sign * slope.sign())
    return operation(execution).detach().numpy()


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


def test_neurons_that_are_off_leak():
    """64 neurons with the argument -17 write 0.05 together."""
    network = llama(
        4, 2, neurons=64, embed_tokens_weight=[[1, 1, 0, 0], [0, 2, 0, 0]],
        model_norm_weight=[0, 1, 0, 0],
        gate_proj_weight=[-17 / 2**0.5, 0, 0, 0], up_proj_weight=[1000 / 2**0.5, 0, 0, 0],
        down_proj_weight=[[0], [1], [0], [0]],
    )  # fmt: skip
    assert_within(network, [0], 1)


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
