"""A theorem of Coq about a model and its items, and the verified checker behind `verify`."""

import json
import shutil
import subprocess

import pytest

from byheart.api.compile import compile
from byheart.api.export import export
from byheart.api.verify import verify
from byheart.cli import main
from byheart.data.load import from_rows
from byheart.errors import ByheartError
from byheart.models import checker

WORDS = from_rows([(["a", "b"], "x"), (["b", "b"], "y"), (["c"], "x"), (["a", "c", "b"], "z")])
VECTORS = from_rows([([[1, 2.5], [0, 4]], 5), ([[1, 2.5]], -7)])
TAGGED = from_rows([(["a", "b"], ["x", "y"]), (["b", "b", "c"], ["y", "x", "x"])])
KINDS = {  # of layers, by methods that use them
    "hash-fold-retrieve": (WORDS, {"uniform_attention", "feed_forward", "linear"}),
    "deep-sets": (WORDS, {"sum"}),
    "embedding": (WORDS, {"embedding"}),
    "staircase": (VECTORS, {"relu"}),
    "sparse-attention": (WORDS, {"sparse_attention"}),
    "yun2020": (WORDS, {"hard_attention"}),
    "seq2seq": (TAGGED, set()),
}


@pytest.fixture(scope="module")
def theories():
    """The compiled theories; skipped where Coq is not installed."""
    if not all(map(shutil.which, ("coqc", "ocamlfind"))):
        pytest.skip("Coq and OCaml are not installed")
    subprocess.run(["python3", checker.verified() / "build.py"], check=True)
    return checker.verified() / "build"


def coqc(theories, folder) -> subprocess.CompletedProcess:
    command = ["coqc", "-q", "-R", theories, "Byheart", "Model.v"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


def test_the_theorem_is_about_these_items(theories, tmp_path):
    model = compile(WORDS)
    found = export(model, "coq", tmp_path / "good", WORDS)
    assert found and "Coq needs about 6 CPU seconds" in found.notes[0]
    names = "Dyadic.v Evaluate.v Model.v README.md Sound.v Spec.v".split()
    assert sorted(path.name for path in (tmp_path / "good").iterdir()) == names
    done = coqc(theories, tmp_path / "good")
    assert (done.returncode, done.stdout.strip()) == (0, "Closed under the global context")
    text = (tmp_path / "good" / "Model.v").read_text()
    assert text.count("], [0])") == 2  # the label x
    (tmp_path / "good" / "Model.v").write_text(text.replace("], [0])", "], [1])", 1))
    done = coqc(theories, tmp_path / "good")
    assert done.returncode == 1 and "holds" not in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("method", KINDS)
def test_every_kind_of_layer_is_written(theories, tmp_path, method):
    data, kinds = KINDS[method]
    model = compile(data, method=method)
    assert kinds <= {layer.kind for layer in model.network.layers}
    export(model, "coq", tmp_path / "theorem", data)
    assert coqc(theories, tmp_path / "theorem").returncode == 0


def test_a_theorem_needs_items_and_an_exact_network(tmp_path):
    with pytest.raises(ByheartError, match="name the data"):
        export(compile(WORDS), "coq", tmp_path / "none")
    decoder = compile(WORDS, method="one-layer")
    with pytest.raises(ByheartError, match="exact networks, which store labels"):
        export(decoder, "coq", tmp_path / "none", WORDS)
    assert not (tmp_path / "none").exists()


def test_verify_asks_the_verified_checker(theories, tmp_path, capsys):
    for data in (WORDS, VECTORS, TAGGED):
        found = verify(compile(data), data, checker="verified")
        assert found.holds and (found.checker, found.about) == ("CHECKED", "evaluation")
        assert found.correct == found.checked == len(data.labels)
    compile(WORDS).save(tmp_path / "model")
    lines = [{"input": x, "label": "x"} for x, _ in WORDS]
    (tmp_path / "data.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    command = ["verify", str(tmp_path / "model"), str(tmp_path / "data.jsonl"), "--json"]
    assert main([*command, "--checker", "verified"]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert answer["checker"] == "NOT CHECKED" and answer["verified"]["correct"] == 2


def test_it_is_about_exact_networks_and_all_of_the_data(theories, tmp_path):
    decoder = compile(WORDS, method="one-layer")
    with pytest.raises(ByheartError, match="the claim is not about labels"):
        verify(decoder, WORDS, checker="verified")
    with pytest.raises(ByheartError, match="evaluates all of the data"):
        verify(compile(WORDS), WORDS, checker="verified", sample=1)


def test_without_the_program_the_command_that_builds_it_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr(checker, "verified", lambda: tmp_path)
    with pytest.raises(ByheartError, match=r"is not built; run: python .*build\.py$"):
        verify(compile(WORDS), WORDS, checker="verified")
    with pytest.raises(ByheartError, match="must be one of independent, verified"):
        verify(compile(WORDS), WORDS, checker="other")
