"""The stock GPT-2 of the lab: transformers computes the same, and its capacity is measured."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from byheart import Dataset, bounds, measure
from byheart.architectures import architecture
from byheart.cli import main
from byheart.data.generate import uniform
from byheart.errors import ByheartError
from byheart.lab.checkpoint import check_ids, save
from byheart.lab.learners import learner
from byheart.lab.material import Material
from byheart.lab.problem import next_token, prefixes
from byheart.lab.protocol import protocol
from byheart.lab.sweeps.capacity import Capacity, capacity
from byheart.lab.sweeps.results import Cell, Point, Result
from byheart.lab.trial import Criterion

torch = pytest.importorskip("torch")
ROWS = st.lists(st.lists(st.integers(0, 2), min_size=2, max_size=5), min_size=1, max_size=8)


def of_documents(rows):
    """Sequences of ids in which each token is followed by the next."""
    return Dataset.from_rows([(row[:-1], row[1:]) for row in rows])


@given(ROWS)
def test_every_prefix_lies_on_one_path(rows):
    """A path begins with its contexts, no path begins another, and the paths are enough."""
    problem = prefixes(of_documents(rows))
    written = {tuple(row[:end]) for row in rows for end in range(1, len(row))}
    tokens = [tuple(x[:n]) for x, n in zip(problem.tokens.tolist(), problem.lengths, strict=True)]
    assert len(tokens) == len(written) == len(problem)
    ends, row, place = problem.paths
    for context, (path, last) in enumerate(zip(row, place, strict=True)):
        assert tokens[context] == tokens[ends[path]][: last + 1]
    longest = {x for x in tokens if not any(y[: len(x)] == x and y != x for y in tokens)}
    assert {tokens[end] for end in ends} == longest and len(ends) == len(longest)


@given(ROWS, st.integers(1, 12))
def test_batches_of_one_pass_hold_every_prediction_once(rows, size):
    problem = prefixes(of_documents(rows))
    parts = max(1, round(len(problem) / size))
    found = list(problem.batches(size, parts, np.random.default_rng(0)))
    assert sum(batch.predictions for batch in found) == problem.predictions
    assert sum(len(batch) for batch in found) == len(problem)


def made(dataset, **sizes):
    """A learner with larger weights than it would begin with, and its problem."""
    problem = prefixes(dataset)
    own = {"vocabulary": problem.vocabulary, "length": problem.length, **sizes}
    described = architecture("gpt2", {"layers": 2, "dimension": 8, "heads": 2, **own})
    model = learner(described, problem, 0)
    generator = torch.Generator().manual_seed(1)
    for tensor in model.tensors.values():
        tensor.data.add_(0.3 * torch.randn(tensor.shape, generator=generator))
    return described, model, problem


def test_a_saved_folder_is_the_same_model_in_transformers(tmp_path):
    transformers = pytest.importorskip("transformers")
    data = uniform(20, 6, 5)
    described, model, problem = made(data)
    tensors = {name: x.detach().numpy() for name, x in model.named().items()}
    save(described, tensors, tmp_path / "model")
    stock = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "model").eval()
    assert sum(x.numel() for x in stock.parameters()) == described.parameters
    logits = model.logits(problem)
    for context in range(len(problem)):
        row = torch.tensor(problem.tokens[context : context + 1, : problem.lengths[context]])
        with torch.no_grad():
            other = stock(row.long()).logits[0, -1].numpy()
        np.testing.assert_allclose(logits[context], other, rtol=1e-4, atol=1e-5)
    assert (
        bounds(architecture=str(tmp_path / "model")).architecture.parameters == described.parameters
    )
    with pytest.raises(ByheartError, match="exists"):
        save(described, tensors, tmp_path / "model")


STOCK = {
    "embedding": "wte", "positions": "wpe", "layers": "h", "norm_1": "ln_1", "norm_2": "ln_2",
    "attention": "attn", "in": "c_attn", "out": "c_proj", "hidden": "mlp.c_fc",
    "down": "mlp.c_proj", "norm": "ln_f",
}  # fmt: skip


@pytest.mark.parametrize("sizes", [{}, {"dimension": 12, "heads": 3, "layers": 1}])
def test_gradients_are_those_of_transformers(tmp_path, sizes):
    """Documents of unequal lengths, of which two begin alike, in two registers."""
    transformers = pytest.importorskip("transformers")
    random = np.random.default_rng(0)
    rows = [[0, 1], [1, 2], [2, 3], [3, 4]]  # so that the numbers of tokens are the tokens
    rows += [random.integers(0, 5, n).tolist() for n in (2, 3, 5, 6, 6, 7, 7, 7)]
    rows.append([*rows[-1][:4], *random.integers(0, 5, 3).tolist()])
    data = of_documents(rows)
    described, model, problem = made(data, **sizes)
    save(described, {name: x.numpy() for name, x in model.named().items()}, tmp_path / "model")
    stock = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "model").eval()
    mean = torch.zeros(())
    for tokens, *labels in ((row[:-1], *row[1:]) for row in rows):
        found = stock(torch.tensor([tokens])).logits[0].log_softmax(-1)
        mean = mean - found[range(len(labels)), labels].sum() / problem.predictions
    mean.backward()
    assert model.step(problem) == pytest.approx(mean.item(), rel=1e-6)
    theirs = dict(stock.transformer.named_parameters())
    for name, tensor in model.tensors.items():
        other = theirs[".".join(STOCK.get(part, part) for part in name.split("."))].grad
        if "layers" in name and tensor.ndim == 2:
            other = other.T  # a Conv1D of transformers
        np.testing.assert_allclose(tensor.grad, other, rtol=1e-3, atol=2e-6, err_msg=name)


def test_the_loss_of_a_step_is_that_of_the_logits_and_falls_along_its_gradient():
    _, model, problem = made(uniform(20, 6, 5))
    before = model.step(problem)
    assert before == pytest.approx(problem.loss(model.logits(problem)) / problem.predictions)
    slope = sum(float((x.grad**2).sum()) for x in model.tensors.values())
    for tensor in model.tensors.values():
        tensor.data.sub_(1e-4 * tensor.grad)
    after = problem.loss(model.logits(problem)) / problem.predictions
    assert before - after == pytest.approx(1e-4 * slope, rel=0.05)


def test_prefixes_of_labelled_rows_are_what_any_decoder_sees():
    rows = Dataset.from_rows([(["a", "b"], "c"), (["a"], "b"), (["b"], "a")])
    ours, usual = prefixes(rows), next_token(rows)
    assert ours.entropy == usual.entropy and (ours.tokens == usual.tokens).all()


# --- capacity


def test_a_plateau_needs_two_attempts():
    problem = prefixes(uniform(8, 4, 4))
    criterion, most = Criterion("plateau", 0.02), 32 * math.log(4)
    assert not criterion.reached(problem, 0.0, 1.0)
    assert criterion.level(problem, 0.5 * most, 0.495 * most)
    assert criterion.level(problem, 0.5 * most, 0.505 * most)
    assert not criterion.level(problem, 0.5 * most, 0.48 * most)
    assert not Criterion("loss", 0.02).level(problem, 1.0, 1.0)


def test_steps_of_a_protocol_that_compares_attempts_keep_their_ratio():
    first, second = protocol("gpt2", "fast", 100).attempts
    assert (first.steps, second.steps) == (100, 200)
    assert {x.steps for x in protocol("madden2024", "fast", 100).attempts} == {100}


def point(sequences, bits, reached=True, information=1000.0):
    results = tuple(Result(None, reached, 0.0, 0.0, 0.5, 10, x) for x in bits)
    return Point(sequences, 100, results, information)


def cell(*points):
    return Cell({}, "sequences", {}, points)


def test_a_capacity_is_a_plateau_only_if_data_and_steps_show_it():
    flat = capacity(
        cell(point(1, [90.0], information=96.0), point(2, [200.0, 204.0, 202.0]), point(4, [203.0]))
    )
    assert flat == Capacity(100, 203.0, 203.0, 203.0, 4, 0.203, True, True)
    assert flat.plateau and flat.per_parameter == 2.03 and flat.per_stored_bit == 2.03 / 32
    assert not capacity(cell(point(2, [200.0]), point(4, [230.0]))).plateau  # more data, more bits
    assert not capacity(cell(point(2, [200.0], False), point(4, [201.0]))).plateau  # more steps
    small = {"information": 100.0}  # nearly all of the data is memorised
    assert not capacity(cell(point(2, [96.0], **small), point(4, [96.0], **small))).plateau
    assert not capacity(cell(point(2, [200.0]))).plateau  # nothing to compare with
    assert capacity(cell(point(2, [None]))) is None


def test_measure_reports_bits_saves_a_folder_and_resumes(tmp_path, capsys):
    transformers = pytest.importorskip("transformers")
    path = tmp_path / "data.npz"
    assert main(["generate", "uniform", "-o", str(path), "--sequences", "12", "--length", "6",
                 "--vocabulary", "4"]) == 0  # fmt: skip
    words = ["measure", str(path), "-o", str(tmp_path / "rows"), "--architecture", "gpt2",
             "--axis", "sequences=6,12", "--set", "layers=1", "--set", "dimension=4",
             "--set", "heads=2", "--steps", "20", "--seeds", "1", "--jobs", "1"]  # fmt: skip
    capsys.readouterr()
    save_to = str(tmp_path / "hf")
    assert main([*words, "--save", save_to, "--plot", str(tmp_path / "p.svg"), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    (found,) = answer["cells"]
    assert [x["value"] for x in found["points"]] == [6, 12]
    assert [x["information"] for x in found["points"]] == [72.0, 144.0]
    assert found["capacity"]["bits"] == max(x["bits"]["median"] for x in found["points"])
    assert answer["saved"]["evidence"] == "observed" and answer["trials"]["ran"] == 2
    rows = (tmp_path / "rows" / "rows.jsonl").read_text().splitlines()
    attempts = [[x["planned"] for x in json.loads(row)["attempts"]] for row in rows]
    assert attempts == [[20, 40], [20, 40]]
    model = transformers.AutoModelForCausalLM.from_pretrained(save_to)
    assert sum(x.numel() for x in model.parameters()) == found["points"][0]["parameters"]
    assert main(words) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "0 trials run now, 2 kept" in told and "most bits memorised" in told
    assert "not shown to be a plateau" in told


def test_an_audit_of_the_saved_folder_finds_the_bits_that_training_reports(tmp_path):
    from byheart.auditing.audit import audit

    pytest.importorskip("transformers")
    data = uniform(16, 6, 4)
    found = measure(
        data, tmp_path / "rows", architecture="gpt2", axes={"sequences": [16]},
        sizes={"layers": 1, "dimension": 4, "heads": 2}, seeds=1, steps=100, workers=1,
        save=tmp_path / "hf",
    )  # fmt: skip
    most = found.capacity(found.cells[0])
    audited = audit(tmp_path / "hf", data, prefix=2)
    assert audited.memorised.bits == pytest.approx(most.bits, abs=1e-3)
    assert audited.model.parameters == most.parameters


def test_what_cannot_be_measured_is_refused(tmp_path):
    def refused(sentence, data=None, **options):
        with pytest.raises(ByheartError, match=sentence):
            measure(
                uniform(8, 4, 4) if data is None else data, tmp_path / "rows",
                **{"architecture": "gpt2", "axes": {"sequences": [8]}, "workers": 1, **options},
            )  # fmt: skip

    refused("one axis must be sequences", axes={"dimension": [4, 8]})
    refused("not a multiple of the 4 heads", sizes={"dimension": 6}, steps=1)
    words = Dataset.from_rows([(["a", "b"], "c"), (["b"], "a")])
    refused("numbers its tokens from 0", words, axes={"sequences": [2]}, save=tmp_path / "hf")
    refused("has 8 sequences, not 9", axes={"sequences": [9]})
    check_ids(uniform(8, 4, 4))
    every = Dataset.from_rows([([1, 2], [1, 2])])
    with pytest.raises(ByheartError, match="one per token"):  # as before, of other architectures
        Material(every, "madden2024").problem(1)
    assert not (tmp_path / "hf").exists()


def test_uniform_tokens_are_uniform_and_each_follows_the_one_before():
    data = uniform(400, 32, 16, seed=3)
    assert data.every and len(data) == 400 and data.length == 32
    tokens, labels = data[5]
    assert tokens[1:] == labels[:-1]
    counts = np.bincount(data.labels, minlength=16)
    assert ((counts - 800) ** 2 / 800).sum() < 50  # chi squared, 15 degrees: above with p < 1e-5
    assert data.sha256() == uniform(400, 32, 16, seed=3).sha256()
    assert data.sha256() != uniform(400, 32, 16, seed=4).sha256()
    assert data.prefix(10).sha256() == uniform(400, 32, 16, seed=3)[:10].sha256()
    with pytest.raises(ByheartError):
        uniform(4, 4, 1)
