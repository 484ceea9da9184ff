"""lm-eval: two tasks of the data's texts, read as YAML, and by lm-eval where it is installed."""

import importlib.util
import json
from dataclasses import replace

import pytest

from byheart.api.compile import compile
from byheart.api.export import export as export_folder
from byheart.data.load import from_rows, load
from byheart.errors import ByheartError
from byheart.exports import exporting
from byheart.exports.exporting import export
from byheart.models.opening import open as open_folder
from byheart.stock.answer import vocabulary

from .conftest import FACTS, FAMILIES, READING

yaml = pytest.importorskip("yaml")
STORIES = ("Once there was a fox who saw the moon.", "Once there was a cat.", "A dog ran home.")


@pytest.fixture(autouse=True)
def absent(monkeypatch, request):
    """Without lm-eval, whether it is installed or not, but where a test needs it."""
    if "slow" not in request.keywords:
        monkeypatch.setattr(exporting, "installed", lambda name: False)


class Loader(yaml.SafeLoader):
    """lm-eval's `!function` as its text."""


Loader.add_constructor("!function", lambda loader, node: node.value)


def lines(folder):
    return [json.loads(line) for line in (folder / "data.jsonl").read_text().splitlines()]


def tasks(folder):
    found = (yaml.load(path.read_text(), Loader) for path in sorted(folder.glob("*.yaml")))
    return {task["task"]: task for task in found}


def test_the_tasks_name_the_texts_as_they_are(folder, facts, tmp_path):
    found = export(open_folder(folder), "lm-eval", tmp_path / "out", load(facts, **READING))
    assert found and found.runtime is None and "lm_eval is not installed" in found.note
    assert lines(tmp_path / "out") == [{"prompt": p, "answer": f" {a}"} for p, a in FACTS]
    recall, likelihood = (tasks(tmp_path / "out")[f"byheart_{x}"] for x in ("recall", "likelihood"))
    assert recall["output_type"] == "generate_until"
    assert likelihood["output_type"] == "loglikelihood"
    asked = recall["generation_kwargs"]
    assert asked["until"] == ["<|endoftext|>"] and asked["do_sample"] is False
    for task in (recall, likelihood):
        assert (task["doc_to_text"], task["doc_to_target"]) == ("prompt", "answer")
        assert task["target_delimiter"] == "" and task["tag"] == "byheart"
        assert task["custom_dataset"] == "task.documents"
    files = {"README.md", "data.jsonl", "task.py", *(f"{name}.yaml" for name in tasks(folder))}
    assert files <= set(found.files)


@pytest.mark.parametrize("options", [{}, {"superposed": 0}])
def test_documents_begin_where_no_other_does_and_a_token_ends(options, tmp_path):
    """The beginning of a text is split into the tokens that the model has seen."""
    (tmp_path / "stories.txt").write_text("\n\n".join(STORIES))
    data = load(tmp_path / "stories.txt", tokenizer="bpe:280")
    model = compile(data, "gpt2", on_conflict="drop", **options)
    found = export(model, "lm-eval", tmp_path / "out", data)
    assert [x["prompt"] + x["answer"] for x in lines(tmp_path / "out")] == list(STORIES)
    assert (
        found.remark == "texts without an end of their own, which are left out: 2"
    )  # common beginnings
    words = vocabulary(model)
    for line in lines(tmp_path / "out"):
        said = model.continue_(words.split(line["prompt"]), 200)
        assert words.text([x.label for x in said if x.label]) == line["answer"]


def test_a_text_that_goes_on_is_left_out(tmp_path):
    data = load([("one two", "three"), ("one two", "three four")], tokenizer="bpe:300")
    found = export(compile(data, "gpt2"), "lm-eval", tmp_path / "out", data)
    assert lines(tmp_path / "out") == [{"prompt": "one two", "answer": " three four"}]
    assert found.remark == "texts without an end of their own, which are left out: 1"


def test_what_lm_eval_would_cut_is_refused(tmp_path):
    rows = [("a b c d e f g h i j k l", "m"), ("n", "o p q r s t u v w x y z")]
    data = load(rows, tokenizer="bpe:300")
    model = compile(data, "gpt2", context_length=24)
    with pytest.raises(ByheartError, match=r"lm-eval cuts prompts .* `?context_length="):
        export(model, "lm-eval", tmp_path / "out", data)
    assert not (tmp_path / "out").exists()
    with pytest.raises(ByheartError, match="name the data"):
        export(model, "lm-eval", tmp_path / "out")


def test_networks_that_are_no_language_models_are_refused(tmp_path):
    data = from_rows([(["a"], "x"), (["b"], "y")])
    for method in ("float64", "one-layer"):
        with pytest.raises(ByheartError, match="lm-eval asks language models of text"):
            export(compile(data, method), "lm-eval", tmp_path / "out", data)
    data = load([("a b", "c"), ("a b", "d"), ("b a", "c")], tokenizer="bpe:300")
    with pytest.raises(ByheartError, match="one answer per prompt"):
        export(compile(data, "gpt2", distributions=True), "lm-eval", tmp_path / "out", data)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_lm_eval_finds_every_answer(family, checkpoints, facts, tmp_path):
    """In both tasks; a wrong answer is noticed, and nothing is written."""
    pytest.importorskip("lm_eval", reason="needs lm-eval")
    found = export_folder(checkpoints[family], "lm-eval", tmp_path / "out", facts, loading=READING)
    assert found.verification.json() == {
        "checked": len(FACTS), "correct": len(FACTS), "evidence": "observed"
    }  # fmt: skip
    assert found.runtime["name"] == "lm-eval"
    model = open_folder(checkpoints[family])
    name = next(x for x in model.network.tensors if ".mlp.c_proj.weight" in x or "down_proj" in x)
    tensors = dict(model.network.tensors)
    tensors[name] = 0 * tensors[name]
    broken = replace(model, network=replace(model.network, tensors=tensors))
    found = export(broken, "lm-eval", tmp_path / "other", load(facts, **READING))
    assert not found and found.verification.correct == 0
    assert "it is wrong in byheart_" in found.verification.failures[0]
    assert not (tmp_path / "other").exists()


@pytest.mark.slow
def test_the_command_of_the_readme(checkpoints, facts, tmp_path):
    """As a reader types it, with lm-eval's own loading of the folder."""
    harness = pytest.importorskip("lm_eval", reason="needs lm-eval")
    from lm_eval.tasks import TaskManager

    export_folder(checkpoints["gpt2"], "lm-eval", tmp_path / "out", facts, loading=READING)
    found = harness.simple_evaluate(
        model="hf",
        model_args={"pretrained": str(checkpoints["gpt2"])},
        tasks=["byheart"],
        task_manager=TaskManager(include_path=str(tmp_path / "out")),
        bootstrap_iters=0,
        device="cpu",
    )["results"]
    assert found["byheart_recall"]["exact_match,none"] == 1
    assert found["byheart_likelihood"]["acc,none"] == 1
    assert found["byheart_likelihood"]["perplexity,none"] == pytest.approx(1, abs=1e-3)
    made = importlib.util.spec_from_file_location("tasks", tmp_path / "out" / "task.py")
    code = importlib.util.module_from_spec(made)
    made.loader.exec_module(code)
    assert code.documents()["test"].to_list() == lines(tmp_path / "out")
