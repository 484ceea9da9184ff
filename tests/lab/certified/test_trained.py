"""Trained networks in folders: saved, verified, recalled, compared."""

import json
import sys
from pathlib import Path

import pytest

import byheart
from byheart.claims.verification import PROVED, REFUTED
from byheart.cli import main
from byheart.data.load import from_rows, write_jsonl
from byheart.lab.certified.convert import labels
from byheart.lab.material import Material
from byheart.lab.protocol import protocol
from byheart.lab.trial import Criterion, Trial

HERE = str(Path(__file__).parent)
sys.path.insert(0, HERE)
from made_up import learnt_data, made_of, pairs  # noqa: E402

sys.path.remove(HERE)


def test_a_folder_keeps_how_it_was_trained(tmp_path):
    tensors, dataset = learnt_data(3, 2, lengths=(3,))
    made, problem = made_of("kajitsuka2025", {"layers": 1}, dataset)
    model = labels(made, tensors, problem, "refuse")
    model.save(tmp_path / "m", data=dataset)
    opened = byheart.open(tmp_path / "m")
    assert opened.record.training == model.record.training
    assert opened.record.training["parameters"] == made.architecture.parameters
    text = (tmp_path / "m" / "README.md").read_text()
    assert "were trained" in text and "not trained" not in text and "Theorem" not in text
    found = opened.trace(dataset.sequence(0))
    assert not found.context_ids and found.answer.label == dataset.label(0)


def test_compiled_folders_say_nothing_of_training(tmp_path):
    from byheart.api.compile import compile

    compile(pairs(2, certain=True)).save(tmp_path / "m")
    assert "training" not in json.loads((tmp_path / "m" / "config.json").read_text())
    assert byheart.open(tmp_path / "m").record.training is None


SIZES = {
    "madden2024": {"dimension": 6, "neurons": 24},
    "dana2024": {"dimension": 4, "heads": 6, "head_dimension": 4},
    "dana2024-program": {"dimension": 4, "heads": 8, "head_dimension": 6},
    "dana2024-mlp": {"dimension": 4, "width": 24},
    "kajitsuka2025": {"layers": 2},
    "kajitsuka2025 of fixed vectors": {"layers": 2, "coordinates": 9},
}


@pytest.fixture(scope="module", params=SIZES)
def trained(request, tmp_path_factory):
    """A model folder of each architecture, its data, and the row of its training."""
    pytest.importorskip("torch")
    from byheart.lab.certified import convert

    name = request.param.split()[0]
    rows = [([a, b], b) for a in "abc" for b in "ad"] + [(["a"], "a"), (["d"], "a")]
    dataset = from_rows([*rows, (["b"], "a"), (["b"], "a")] if name != "madden2024" else rows * 2)
    data = {"sha256": dataset.sha256(), "sequences": 8}
    how, when = protocol(name, "fast", 400), Criterion("accuracy", 1.0)
    trial = Trial(name, SIZES[request.param], data, how, when, 1)
    model, row = convert.model(trial, dataset)
    path = tmp_path_factory.mktemp(name)
    part = Material(dataset, name).part(8)
    model.save(path / "m", data=part)
    write_jsonl(part, path / "data.jsonl")
    again, repeated = convert.model(trial, dataset)
    assert again.network == model.network
    assert {**row, "seconds": 0} == {**repeated, "seconds": 0}
    return path, row


def answer(capsys, *arguments):
    code = main([*map(str, arguments), "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_a_trained_model_is_verified_and_recalled(trained, capsys):
    path, row = trained
    assert row["reached"]
    for more in ([], ["--checker"]):
        code, found = answer(capsys, "verify", path / "m", path / "data.jsonl", *more)
        assert code == 0, found["failures"]
        assert found["method"] == "trained"
        assert found["verified"]["evidence"] == PROVED and found["verified"]["checked"] == 8
    code, found = answer(capsys, "recall", path / "m", "c", "d", "--trace")
    assert code == 0 and found["answers"][0]["label"] == "d"


def test_a_trained_model_stands_among_the_others(trained, capsys):
    path, row = trained
    given = ("compare", path / "data.jsonl", "--with", path / "m")
    code, found = answer(capsys, *given)
    assert code == 0
    (own,) = [x for x in found["rows"] if x["kind"] == "trained"]
    assert own["applies"] and own["evidence"] == PROVED
    assert own["name"] == f"m: {row['trial']['architecture']}, trained"
    assert own["parameters"] == row["parameters"] and own["depth"] >= 1 and own["bits"] > 0
    for stores in ("labels", "distributions"):
        rows = [x for x in found["rows"] if x["applies"] and x["stores"] == stores]
        sizes = [x["parameters"] for x in rows if x["parameters"]]
        assert sizes == sorted(sizes)
    assert main([*map(str, given)]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert f"m: {row['trial']['architecture']}, trained" in shown  # no paper of that name


def test_other_data_is_not_known(trained, tmp_path, capsys):
    path, _ = trained
    other = tmp_path / "other.jsonl"
    write_jsonl(from_rows([(["a", "a"], "d"), (["c", "d"], "a"), (["a"], "a")]), other)
    code, found = answer(capsys, "compare", other, "--with", path / "m")
    (own,) = [x for x in found["rows"] if x["kind"] == "trained"]
    assert code == 0 and not own["applies"] and own["evidence"] == REFUTED and own["reason"]


def test_folders_that_compare_cannot_use(tmp_path, capsys):
    data = tmp_path / "data.jsonl"
    write_jsonl(pairs(2, certain=True), data)
    assert main(["compare", str(data), "--with", str(tmp_path / "none")]) == 2
    assert "none" in capsys.readouterr().err
    from byheart.api.compile import compile

    compile(pairs(2, certain=True)).save(tmp_path / "m")
    twice = ["--with", str(tmp_path / "m")] * 2
    assert main(["compare", str(data), *twice]) == 2
    assert "twice" in capsys.readouterr().err
    code, found = answer(capsys, "compare", data, *twice[:2])
    (own,) = [x for x in found["rows"] if x["kind"] == "saved"]
    assert code == 0 and own["evidence"] == PROVED
