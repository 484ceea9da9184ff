"""Storage (checker/FORMAT.md, section 10): float16 is proved where results are rounded once."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

import byheart
import check
import enclose as checker_enclose
import enclose_blocks
from byheart.stock import enclose
from byheart.stock.arithmetic import STORAGE
from byheart.stock.checkpoint import Checkpoint
from byheart.stock.prove import numbered, reads

torch = pytest.importorskip("torch")
from tests.stock.adversary import UNIT, attacked, gamma, lead, pushed  # noqa: E402
from tests.stock.conftest import FACTS  # noqa: E402
from tests.stock.made import checked, gpt2, proved, shares  # noqa: E402

HALF = 2.0**-11
REAL = Path(__file__).parents[3] / "shared" / "data" / "counterfact.jsonl"


@pytest.fixture(scope="module")
def half(facts):
    return byheart.compile(facts, "gpt2", weights="float16")


def stored(network):
    """The network in float16; its weights are numbers of this type."""
    for x in network.tensors.values():
        assert np.array_equal(x, x.astype(np.float16))
    return Checkpoint(network.config, network.tensors, "float16")


@pytest.mark.parametrize("count", [3, pytest.param(15, marks=pytest.mark.slow)])
def test_compiled_checkpoints_bear_the_adversary(half, facts, count):
    """The margin that worst-case roundings leave is never below the one that is proved."""
    sequences, answers = numbered(half, reads(half, facts))
    for i in np.linspace(0, len(sequences) - 1, count).astype(int):
        network, tokens, answer = half.network, sequences[i], int(answers[i])
        found = [attacked(network, tokens, answer, apart=x)[1] for x in (False, True)]
        bounds = proved(network, tokens, answer), checked(network, tokens, answer)
        assert 0 < max(bounds) <= min(found)


def test_it_is_proved_and_checked_as_float32_is(half, facts, tmp_path, capsys):
    plain = byheart.compile(facts, "gpt2")
    assert half.verification.evidence == "proved"
    assert half.record.parameters.dense <= 2 * plain.record.parameters.dense
    assert 0 < half.verification.margin < plain.verification.margin
    half.save(tmp_path / "model")
    claim = json.loads((tmp_path / "model" / "certificate.json").read_text())
    assert (claim["dtype"], claim["verified"]["evidence"]) == ("float16", "proved")
    assert "within the storage model of FORMAT" in (tmp_path / "model" / "README.md").read_text()
    file = tmp_path / "facts.jsonl"
    file.write_text("".join(json.dumps({"prompt": x, "answer": y}) + "\n" for x, y in FACTS))
    assert check.main([str(tmp_path / "model"), str(file)]) == 0
    assert "execution within the storage model of FORMAT 10" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.skipif(not REAL.exists(), reason="needs data that is not in the repository")
def test_sixty_facts_of_counterfact(tmp_path):
    """With the plan of float32."""
    file = tmp_path / "facts.jsonl"
    file.write_text("".join(REAL.read_text().splitlines(True)[:60]))
    data = byheart.load(file, input="prompt", label="answer", tokenizer="bpe:8000")
    plain, half = (byheart.compile(data, "gpt2", weights=x) for x in ("float32", "float16"))
    assert half.verification.evidence == "proved" and half.verification.margin > 2
    assert half.record.parameters.dense <= 2 * plain.record.parameters.dense
    half.save(tmp_path / "model")
    assert check.main([str(tmp_path / "model"), str(file)]) == 0


@pytest.mark.parametrize(
    ("method", "options"), [("llama", {}), ("gpt2", {"layers": 2}), ("gpt2", {"reach": 0.001})]
)
def test_what_has_no_bound_is_observed(method, options, facts):
    """A bound that is too wide refutes nothing."""
    found = byheart.compile(facts, method, weights="float16", **options).verification
    assert (found.evidence, found.margin, found.failures) == ("observed", None, ())


def quiet(lanes):
    """A head that writes next to nothing: attention that writes nothing may overflow."""
    read, out = np.zeros((lanes, 3 * lanes)), np.zeros((lanes, lanes))
    read[0, 2 * lanes] = out[0, 0] = 2.0**-10
    return {"c_attn_weight": read, "attn_c_proj_weight": out}


def reading(stream, answer, rival, bias=0.0, **tensors):
    """A GPT-2 in float16 with this stream at each place, and two tokens that read the last norm."""
    lanes = len(stream)
    embedding = np.stack([np.zeros(lanes), answer, rival])
    given = {"wte_weight": embedding, "wpe_weight": [stream] * 4, "ln_f_bias": bias}
    return stored(gpt2(lanes, 3, **quiet(lanes) | given | tensors))


def written(read, bias, write, taken, **tensors):
    """A neuron reads a lane and writes to another one, which the answer reads."""
    up, down, off, answer = np.zeros((64, 1)), np.zeros((1, 64)), np.zeros(64), np.zeros(64)
    up[0], down[0, 1], off[1], answer[1] = read, write, taken, 16
    return reading(
        (1, -1) * 32, answer, np.zeros(64), c_fc_weight=up, c_fc_bias=[bias],
        mlp_c_proj_weight=down, mlp_c_proj_bias=off, **tensors,
    )  # fmt: skip


def averaged():
    """A head that reads the mean of three places, less the most of it."""
    read, out, off, answer = np.zeros((64, 192)), np.zeros((64, 64)), np.zeros(64), np.zeros(64)
    read[0, 128], out[0, 1], off[1], answer[1] = 16, 8, -127, 16
    return reading(
        (1, -1) * 32, answer, np.zeros(64), c_attn_weight=read, attn_c_proj_weight=out,
        attn_c_proj_bias=off,
    )  # fmt: skip


TERMS = {
    "what a norm gives": (reading([1, 1, -1, -1], [1, -1, 0, 0], [0] * 4, [1024, 1023, 0, 0]), 0.9),
    "the sum of embeddings": (reading([101, 101, 99, 99], [512, -512, 0, 0], [0] * 4), 0.8),
    "logits": (reading([1, 1, -1, -1, 1, -1], [0] * 6, [0, 0, 0, 0, 0, -4]), 0.5),
    "a product before its bias": (written(1024, -1016, 0.25, 0), 0.8),
    "what neurons write": (written(0, 16, 8, -127), 0.4),
    "an activation": (written(0, 1, 2, -1), 0.6),
    "a mean of places": (averaged(), 0.4),
}


@pytest.mark.parametrize("name", TERMS)
def test_every_stored_result_is_bounded(name):
    """The adversary stays within both bounds and uses most of them: a bound without the term
    would be refuted."""
    network, least = TERMS[name]
    used = shares(network, [0, 0, 0], 1)
    assert len(used) == 2 and least < min(used) and max(used) <= 1


@pytest.mark.parametrize("kind", ["gelu_new", "gelu"])
def test_activations(kind):
    network = stored(gpt2(2, 2))
    network.config["activation_function"] = kind
    z = np.concatenate([np.linspace(-7.9, 8, 400), [20.0, 60.0, 300.0]])
    value, radius = enclose._activated(kind, z, np.zeros_like(z), STORAGE["float16"])
    other, storage = enclose_blocks.Activation(kind), checker_enclose.STORAGE["float16"]
    found = [other.enclose(at, at, storage) for at in map(checker_enclose.fixed, z.tolist())]
    middles, radii = (np.array(x) / 2**60 for x in zip(*found, strict=True))
    for sign in (1, -1):
        worst = pushed(lambda e: e.activated("f", torch.tensor(z)), network, sign)
        assert 0.5 < (np.abs(worst - value) / radius).max() <= 1
        assert 0.5 < (np.abs(worst - middles) / radii).max() <= 1


SIGNS = np.resize([1.0, -1.0], 64)
LARGE = {
    "the stream": {"wpe_weight": 40000 * SIGNS, "wte_weight": 40000 * SIGNS},
    "an argument": {"c_fc_weight": 49152 * SIGNS[:, None]},
    "a score before its factor": {"c_attn_bias": 64},
    "what a norm gives": {"ln_f_weight": 60000, "ln_f_bias": 60000},
}


@pytest.mark.parametrize("name", LARGE)
def test_what_may_overflow_is_not_proved(name):
    good = {"wpe_weight": SIGNS, "wte_weight": np.zeros((3, 64))}
    network = stored(gpt2(64, 3, **quiet(64) | good | LARGE[name]))
    wide = Checkpoint(network.config, network.tensors)
    assert proved(wide, [0], 1) is not None and checked(wide, [0], 1) is not None
    assert proved(network, [0], 1) is None and checked(network, [0], 1) is None


def used(found, exact, loose):
    """Which part a stored result uses of what it may be off by."""
    bound = loose + HALF * (exact.abs() + loose) + 2.0**-25
    return float(((found.double() - exact).abs() / bound).max())


def linear(x, weights, bias):
    exact, size = x.double() @ weights.double(), x.double().abs() @ weights.double().abs()
    terms = gamma(len(weights) + 2)
    whole, total = exact + bias.double(), size + bias.double().abs()
    return [
        used(torch.addmm(bias, x, weights), whole, terms * total),
        used(torch.nn.functional.linear(x, weights.T.contiguous()), exact, terms * size),
    ]


def layer_norm(x, gain, bias):
    """Rules 4 and Storage, at first order."""
    given, lanes = x.double(), x.shape[1]
    mean, size = given.mean(1, keepdim=True), given.abs().mean(1, keepdim=True)
    variance = given.var(1, keepdim=True, correction=0) + 1e-5
    scale = gain.double() / variance.sqrt()
    exact = (given - mean) * scale + bias.double()
    squares = (given * given).mean(1, keepdim=True) + 2 * mean.abs() * size
    share = 10 * UNIT + gamma(lanes + 16) * squares / variance
    loose = (given - mean).abs() * scale.abs() * share + gamma(2) * exact.abs()
    loose += (6 * UNIT * (given.abs() + mean.abs()) + gamma(lanes + 48) * size) * scale.abs()
    return used(torch.nn.functional.layer_norm(x, (lanes,), gain, bias, 1e-5), exact, loose)


def attention(query, key, value):
    """Eager as transformers computes it, and SDPA, at the last place of heads [H, n, s]."""
    q, k, v = (x.double() for x in (query, key, value))
    size, places = q.shape[-1], q.shape[1]
    scores = q[:, -1:] @ k.transpose(1, 2) / math.sqrt(size)
    total = q[:, -1:].abs() @ k.abs().transpose(1, 2) / math.sqrt(size)
    wrong = ((gamma(size + 4) + 4.02 * HALF) * total + 2.0**-20).amax(-1, keepdim=True)
    weight = torch.softmax(scores, -1)
    loose = torch.expm1(2 * wrong) + gamma(3 * places + 128) + 2.01 * HALF
    loose = loose * (weight @ v.abs()) + places * 2.0**-24 * v.abs().amax(1, keepdim=True)
    mask = torch.full((places, places), torch.finfo(query.dtype).min).triu(1).half()
    eager = query @ key.transpose(1, 2) * size**-0.5 + mask
    eager = torch.nn.functional.softmax(eager, dim=-1) @ value
    sdpa = torch.nn.functional.scaled_dot_product_attention
    fused = sdpa(query[None], key[None], value[None], is_causal=True)[0]
    return [used(found[:, -1:], weight @ v, loose) for found in (eager, fused)]


def test_torch_keeps_to_storage():
    """On this processor, at random arguments; docs/float32.md shows what was found."""
    random = torch.Generator().manual_seed(0)

    def draw(*shape, size=1.0):
        return (size * torch.randn(*shape, generator=random)).half()

    shares = {"addmm": 0.0, "linear": 0.0, "layer norm": 0.0, "eager": 0.0, "SDPA": 0.0}
    for lanes in (72, 96, 256, 768):
        x, weights = draw(64, lanes, size=4), draw(lanes, 2 * lanes)
        found = linear(x, weights, draw(2 * lanes, size=50))
        found.append(layer_norm(x + 3, draw(lanes), draw(lanes)))
        heads = (draw(8, places, 16, size=2) for places in (lanes // 8,) * 3)
        found += attention(*heads)
        shares = {name: max(y, x) for (name, y), x in zip(shares.items(), found, strict=True)}
    z = torch.linspace(-20, 60, 200_001).half().unique()
    exact = z.double() * torch.sigmoid(
        math.sqrt(8 / math.pi) * (z.double() + 0.044715 * z.double() ** 3)
    )
    pytest.importorskip("transformers")
    from transformers.activations import ACT2FN

    error = (ACT2FN["gelu_new"](z).double() - exact).abs()
    bound = (20 * UNIT + 5 * HALF) * z.double().abs() + 2.0**-22 * (1 + z.double().abs())
    shares["gelu_new"] = float((error / bound).max())
    assert max(shares.values()) <= 1


@pytest.mark.parametrize("kind", ["eager", "sdpa"])
def test_transformers_runs_it_with_at_least_the_margin(half, facts, tmp_path, kind):
    transformers = pytest.importorskip("transformers")
    half.save(tmp_path / "model")
    run = transformers.AutoModelForCausalLM.from_pretrained(
        tmp_path / "model", dtype=torch.float16, attn_implementation=kind
    ).eval()
    sequences, answers = numbered(half, reads(half, facts))
    leads = []
    for tokens, answer in zip(sequences, answers.tolist(), strict=True):
        with torch.no_grad():
            logits = run(torch.tensor(tokens)[None]).logits[0, -1].float()
        leads.append(float(lead(logits, answer)))
    assert min(leads) >= half.verification.margin
