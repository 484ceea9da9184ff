"""Storage (checker/FORMAT.md, section 10): float16 is proved where results are rounded once."""

import json
from pathlib import Path

import numpy as np
import pytest

import byheart
import check
import enclose as checker_enclose
import enclose_blocks
from benchmarks import float_storage
from byheart.stock import enclose
from byheart.stock.arithmetic import STORAGE
from byheart.stock.checkpoint import Checkpoint
from byheart.stock.forward import gelu_new
from byheart.stock.prove import numbered, reads

torch = pytest.importorskip("torch")
from tests.stock.adversary import attacked, lead, pushed  # noqa: E402
from tests.stock.conftest import FACTS  # noqa: E402
from tests.stock.made import checked, gpt2, proved, shares  # noqa: E402

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


@pytest.mark.parametrize("library", ["torch", "ONNX Runtime"])
def test_libraries_keep_to_storage(library):
    """On this processor, at random arguments; docs/float32.md shows what was found."""
    for name in ("transformers", "onnxruntime", "onnx"):
        pytest.importorskip(name)
    shares = float_storage.operations(library, tiny=True)
    assert len(shares) >= 5 and 0 < min(shares.values()) and max(shares.values()) <= 1


def test_shares_see_what_is_not_within_storage():
    """Sums, norms and weights in 16 bits, and an activation that is rounded too often."""
    random = np.random.default_rng(0)
    x, weights = (float_storage.drawn(random, *shape, size=4) for shape in ((4, 256), (256, 9)))
    total = np.zeros((4, 9), np.float16)
    for i in range(256):
        total = (total + x[:, i, None] * weights[i]).astype(np.float16)
    assert float_storage.product_share(total, x, weights) > 1
    for query, key, value in float_storage.heads(random, 256, slow=False):
        weight = np.full(len(key), 1, np.float16)
        added = np.zeros(value.shape[1], np.float16)
        for row in value:
            added = (added + row).astype(np.float16)
        found = float_storage.attention_share(added / weight.sum(), query, key, value)
    assert found > 1
    z = np.linspace(-4, 4, 99).astype(np.float16)
    found = gelu_new(z.astype(np.float64))
    assert float_storage.gelu_share(found, z) == 0
    assert float_storage.gelu_share(found * (1 + 2.0**-7), z) > 1


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
