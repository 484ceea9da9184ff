"""Stock checkpoints that store distributions: the fit, the bound, the folder and its checker."""

import json
import math
import shutil

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file

import byheart
import check
from byheart.api.verify import verify as verify_folder
from byheart.cli import main
from byheart.constructions.stock import shares
from byheart.data.contexts import contexts
from byheart.data.targets import over
from byheart.errors import AssumptionError, ByheartError
from byheart.softmax.doubles import divergence
from byheart.stock import enclose, forward
from byheart.stock.arithmetic import Normed, Stream, straightened
from byheart.stock.prove import reads
from tests.stock.adversary import Execution
from tests.stock.stranger import changed, signed

pytest.importorskip("tokenizers")
ROWS = [
    {"prompt": "The capital of France is", "answer": "Paris", "count": 60},
    {"prompt": "The capital of France is", "answer": "Paris on the Seine", "count": 25},
    {"prompt": "The capital of France is", "answer": "Lyon", "count": 5},
    {"prompt": "The capital of France is", "answer": "Nancy", "count": 10},
    {"prompt": "The capital of Italy is", "answer": "Rome", "count": 3},
    {"prompt": "The capital of Italy is", "answer": "Milan", "count": 1},
    {"prompt": "The capital of Peru is", "answer": "Lima", "count": 1},
]
WANTED = {"Paris": 0.6, "Paris on the Seine": 0.25, "Nancy": 0.1, "Lyon": 0.05}
READ = {"input": ["prompt"], "label": "answer", "count": "count", "tokenizer": "bpe:300"}


def written(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return written(tmp_path_factory.mktemp("facts") / "facts.jsonl", ROWS)


@pytest.fixture(scope="module")
def made(file, tmp_path_factory):
    folder = tmp_path_factory.mktemp("models") / "model"
    byheart.compile(byheart.load(file, **READ), "gpt2", distributions=True).save(folder)
    return folder


@pytest.fixture
def folder(made, tmp_path):
    return shutil.copytree(made, tmp_path / "model")


def targets_of(model, file):
    held = reads(model, byheart.load(file, **READ))
    return over(held, contexts(held, positions=True), model.tokens)


def run(network, wanted, kind=np.float32):
    rows = [forward.last_logits(network, row[None], kind)[0] for row in wanted.sequences]
    return divergence(np.stack(rows).astype(np.float64), wanted)


def test_two_tokens_in_two_lanes_by_hand():
    """Codes (1, 0) and (-1, 0): the logits are u and -u, and the shares 0.8 and 0.2 want
    2 u = log 4; the ridge leaves nothing in the other lane."""
    u, found = shares.fitted(np.array([0.8, 0.2]), np.array([[1.0, 0], [-1.0, 0]]), 1e-9)
    assert u == pytest.approx([math.log(4) / 2, 0], abs=1e-6) and abs(found) < 1e-12


def test_a_third_token_is_as_likely_as_its_code_says():
    """Codes 1, -1 and 0 of one lane cannot have the shares 1/2, 1/2, 0: by symmetry u = 0 is best,
    which gives 1/3 each, and the divergence is log(3/2)."""
    u, found = shares.fitted(np.array([0.5, 0.5, 0]), np.array([[1.0], [-1.0], [0.0]]), 1e-9)
    assert u == pytest.approx([0], abs=1e-6) and found == pytest.approx(math.log(1.5))


def test_whole_answers_have_their_probabilities(made, file):
    model = byheart.open(made)
    answers = model.answers(["The capital of France is", "The capital of Chile is"])
    assert dict(answers[0].probabilities) == pytest.approx(WANTED, abs=2e-3)
    assert answers[0].label == "Paris" and answers[1].known is False
    assert model.claim.gap == 0.01 and model.claim.sentence.startswith("Next-token distributions")
    assert model.distribution("The capital of Peru is").max() > 0.99
    found = verify_folder(made, file, **READ)
    assert found.holds and found.evidence == "proved" and found.fit.max < 0.003
    assert found.json().items() >= {"gap": 0.01, "dtype": "float32"}.items()
    assert found.checked == len(targets_of(model, file)) < model.record.data.sequences


def test_the_independent_checker_agrees(made, file):
    found = verify_folder(made, file, checker=True, **READ)
    assert found.holds and found.checker == "VERIFIED" and found.about == "texts"
    report = check.check(str(made), str(file))
    assert report.unit == "contexts" and 0 < report.largest < 0.005


def test_draws_have_the_probabilities(made):
    found = [
        byheart.recall(made, ["The capital of France is"], draw=True, seed=seed).answers[0]
        for seed in range(60)
    ]
    assert {x.answer.label for x in found} <= WANTED.keys()
    assert 24 <= sum(x.answer.label == "Paris" for x in found) <= 48


def test_transformers_draws_from_them(made):
    """2,000 answers of generate(do_sample=True) with a fixed seed: chi-square of four answers is
    above 16.3 once in a thousand times."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    model = transformers.AutoModelForCausalLM.from_pretrained(made)
    tokenizer = transformers.AutoTokenizer.from_pretrained(made)
    prompt = tokenizer(["The capital of France is"], return_tensors="pt")
    torch.manual_seed(0)
    said = model.generate(**prompt, do_sample=True, num_return_sequences=2000, max_new_tokens=20)
    texts = tokenizer.batch_decode(said[:, prompt.input_ids.shape[1] :], skip_special_tokens=True)
    counts = {text: texts.count(f" {text}") for text in WANTED}
    assert sum(counts.values()) >= 1990  # the rest is the gap's
    chi = sum((counts[x] - 2000 * p) ** 2 / (2000 * p) for x, p in WANTED.items())
    assert chi < 16.3


def test_transformers_runs_every_context(made, file):
    pytest.importorskip("transformers")
    found = verify_folder(made, file, runtime="transformers", accept="observed", **READ)
    assert found.holds and found.evidence == "observed"


@settings(max_examples=10, deadline=None)
@given(st.data())
def test_the_bound_is_above_every_run(data):
    """Random counts: what is proved is at least what NumPy and an adversary find."""
    words = ["red", "blue", "green", "dark red", "pale", "grey"]
    rows = []
    for prompt in ("The sky is", "The sea is", "A rose is"):
        some = data.draw(st.lists(st.sampled_from(words), min_size=1, max_size=5, unique=True))
        rows += [(prompt, word, data.draw(st.integers(1, 1000))) for word in some]
    rows = [{"prompt": x, "answer": y, "count": n} for x, y, n in rows]
    model = byheart.compile(rows, "gpt2", distributions=True, **READ)
    held = reads(model, byheart.load(rows, **READ))
    wanted = over(held, contexts(held, positions=True), model.tokens)
    bound = enclose.margins(model.network, wanted.sequences, wanted).margin
    for kind in (np.float32, np.float64):
        assert (run(model.network, wanted, kind) <= bound).all()
    assert (bound <= 0.01).all()
    assert adversarial(model.network, wanted, 0) <= bound[0]


def adversarial(network, wanted, row, steps=4):
    """The largest divergence that signs of gradients find among the executions of FORMAT."""
    torch = pytest.importorskip("torch")
    tokens, p = wanted.sequences[row], torch.zeros(network.size("vocabulary")).double()
    place = slice(*wanted.ends[row : row + 2])
    p[wanted.following[place].astype(int)] = torch.from_numpy(wanted.probabilities[place])
    execution, worst = Execution(network), 0.0
    for _ in range(steps):
        logits = execution.logits(tokens)
        found = torch.special.xlogy(p, p).sum() - (p * logits.log_softmax(0)).sum()
        worst = max(worst, float(found.detach()))
        found.backward()
        for off in execution.off.values():
            off.data = off.grad.sign() if off.grad is not None else off.data
            off.grad = None
    return worst


def test_what_is_straightened_has_the_same_norms():
    """Every stream of the first set is a number times one of the second set."""
    random = np.random.default_rng(0)
    x, gain = random.standard_normal((50, 32)), random.standard_normal(32)
    c = 0.2 * x + 0.01 * random.standard_normal((50, 32))
    at = Stream(x, np.full_like(x, 1e-4), c)
    other, stretched = straightened(at)
    assert np.abs(other.c).max() < 0.2 * np.abs(c).max()
    norm = Normed(other, gain, None, 1e-5, False, loose=1e-5 * stretched)
    for t in (-1.0, -0.3, 0.7, 1.0):
        y = x + t * c + 1e-4 * random.uniform(-1, 1, x.shape)
        exact = forward.norm(y, gain, np.zeros(32), 1e-5, False)
        room = (np.abs(norm.y) + np.abs(norm.c)) * norm.factor + np.abs(norm.c) + norm.lane
        assert (np.abs(exact - norm.y) <= room + norm.shift * np.abs(gain)).all()


def test_what_cannot_be_held_is_named(file, monkeypatch):
    monkeypatch.setattr(shares, "LANES", (64,))
    data = byheart.load(file, **READ)
    with pytest.raises(AssumptionError, match="'The capital of France is' .*give a larger gap"):
        byheart.compile(data, "gpt2", distributions=True, gap=1e-7)
    with pytest.raises(ByheartError, match="one block of float32"):
        byheart.compile(data, "gpt2", distributions=True, weights="float16")
    assert byheart.compile(data, "gpt2", gap=0.02).claim.gap == 0.02  # that alone is enough
    with pytest.raises(AssumptionError, match="or distributions=True"):
        byheart.compile(data, "gpt2")


def test_without_the_prompt_that_is_named_the_others_are_held(tmp_path, monkeypatch, capsys):
    """24 answers do not go into 16 lanes; the command names their prompt and writes nothing."""
    monkeypatch.setattr(shares, "LANES", (16,))
    towns = (
        "Paris Rome Lima Lyon Milan Nancy Cairo Quito Delhi Tokyo Oslo Bern Bonn Kiev Nice Graz "
    )
    towns = f"{towns}Linz Turin Genoa Porto Faro Vigo Leon Cadiz".split()
    rows = [
        {"prompt": f"The capital of {x} is", "answer": y, "count": 1}
        for x, y in zip(("Italy", "Peru", "Chile"), towns, strict=False)
    ]
    large = [
        {"prompt": "A large town is", "answer": x, "count": 1 + i * i} for i, x in enumerate(towns)
    ]
    file, place = written(tmp_path / "towns.jsonl", rows + large), tmp_path / "model"
    line = ["compile", "--method", "gpt2", "--distributions", "--input", "prompt", "--label"]
    line += ["answer", "--count", "count", "--tokenizer", "bpe:400", "-o", str(place), str(file)]
    assert main(line) == 2 and not place.exists()
    refusal = capsys.readouterr().err
    assert "what follows 1 context is not within 0.01 nats" in refusal
    assert "'A large town is' (0.2" in refusal and "leave these out of the data" in refusal
    written(file, rows)
    assert main(line) == 0 and byheart.open(place).recall("The capital of Peru is") == "Rome"


def halved(folder):
    """What one neuron writes is halved: other logits, and as likely tokens."""
    path = folder / "model.safetensors"
    tensors = load_file(path)
    tensors["transformer.h.0.mlp.c_proj.weight"][0, -40:] *= np.float32(0.5)
    save_file(tensors, path, metadata={"format": "pt"})
    return signed(folder)


def other_gap(folder):
    return changed(folder, "certificate.json", gap="0.0001")


def other_neuron(folder):
    path = folder / "ground_truth.jsonl"
    path.write_text(path.read_text().replace("[[0, 0]]", "[[0, 1]]"))
    return signed(folder)


def other_claim(folder):
    return changed(folder, "certificate.json", claim="recites")


@pytest.mark.parametrize("damage", [halved, other_gap, other_neuron, other_claim])
def test_a_damaged_folder_is_refused_by_both(damage, folder, file):
    damage(folder)
    try:
        found = verify_folder(folder, file, **READ | {"tokenizer": folder})
        assert not found.holds and found.evidence != "proved"
    except ByheartError:
        pass
    assert check.failures(str(folder), str(file))


def test_other_counts_are_refused_by_both(made, tmp_path):
    rows = [row | ({"count": 59} if row["count"] == 60 else {}) for row in ROWS]
    other = written(tmp_path / "other.jsonl", rows)
    assert not verify_folder(made, other, **READ | {"tokenizer": made}).holds
    assert check.failures(str(made), str(other))


def test_an_edit_is_what_compile_makes(made, file, tmp_path):
    """Without answers of Italy, and with the same tokenizer, the model is that of the others."""
    found = byheart.edit(made, file, remove=["The capital of Italy is"], count="count",
                         input=["prompt"], label="answer")  # fmt: skip
    assert found.model.recall("The capital of Italy is") is None
    answers = found.model.answers(["The capital of France is"])[0].probabilities
    assert dict(answers) == pytest.approx(WANTED, abs=2e-3)


def test_documents_that_begin_alike_are_distributions(tmp_path):
    place = tmp_path / "lines.txt"
    place.write_text("the cat sat here\nthe cat sat there\nthe cat ran\nthe dog ran\n")
    data = byheart.load(place, documents="line", tokenizer="bpe:300")
    model = byheart.compile(data, "gpt2", distributions=True)
    assert model.verification.evidence == "proved"
    found = dict(model.answers(["the"])[0].probabilities)
    assert sorted(found.values()) == pytest.approx([0.25, 0.75], abs=5e-3)
