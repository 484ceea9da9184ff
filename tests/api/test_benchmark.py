"""Packs whose truth is known, and scores of methods on them."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import byheart
from byheart.api.packs import facts, layouts, making
from byheart.api.packs.pack import hashes
from byheart.api.scoring.methods import TASKS
from byheart.api.scoring.tasks import first, ranked

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

SMALL = {"subjects": 4, "forgotten": 2, "edited": 2}


def pack_of(name, place, **options):
    return byheart.generate("pack", place, name=name, **(SMALL | options))


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def single(tmp_path_factory):
    place = tmp_path_factory.mktemp("packs") / "single"
    pack_of("single", place, subjects=8)
    return place


@pytest.fixture
def method(tmp_path):
    """A file with this body as a method."""

    def write(body, name="f"):
        (tmp_path / "mine.py").write_text(body)
        return f"{tmp_path}/mine.py:{name}"

    return write


def lines(path):
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


# --- the ends of the scale


def ends_of_the_scale(exact, random):
    """The exact operation has the ceiling of every score, and chance its floor."""
    assert exact.problem is random.problem is None and exact.n == random.n > 0
    assert exact.scores.keys() == random.scores.keys() and exact.scores
    for name, score in exact.scores.items():
        assert score["value"] == pytest.approx(score["ceiling"], abs=1e-6), name
        assert score["low"] <= score["value"] <= score["high"], name
    for name, score in random.scores.items():
        if name == "distance":  # floors are of the uniform distribution, which is the least wrong
            assert score["value"] > 0.9 * score["floor"]
        elif score["floor"] is not None:
            assert score["low"] <= score["floor"] <= score["high"], name


@pytest.mark.parametrize("task", TASKS)
def test_the_exact_operation_is_the_ceiling_and_chance_the_floor(task, single):
    ends_of_the_scale(*byheart.benchmark(task, single, ["exact", "random"]).rows)


@pytest.mark.parametrize("name", [x for x in facts.KINDS if x not in ("single", "taught")])
def test_every_pack_is_exact_in_every_task(name, tmp_path):
    pack = pack_of(name, tmp_path / "p", subjects=12 if name == "shared-answers" else 6)
    truth, queries = lines(tmp_path / "p/truth.jsonl"), lines(tmp_path / "p/queries.jsonl")
    assert len(truth) == pack.facts == len(lines(tmp_path / "p/facts.jsonl"))
    certificate = json.loads((tmp_path / "p/model/certificate.json").read_text())
    assert certificate["claim"]
    found = byheart.verify(tmp_path / "p/model", tmp_path / "p/held.jsonl", input=["prompt"],
                           label="answer", tokenizer=tmp_path / "p/tokenizer.json")  # fmt: skip
    assert found.evidence == "proved"
    located = not name.startswith("superposed")
    for task in TASKS:
        if task == "locate" and not located:
            assert all(x["neurons"] is None for x in truth)
            with pytest.raises(byheart.ByheartError, match="no neurons to locate"):
                byheart.benchmark(task, tmp_path / "p", "exact")
            continue
        ends_of_the_scale(*byheart.benchmark(task, tmp_path / "p", ["exact", "random"]).rows)
    sizes = {len(x["neurons"]) for x in truth if x["neurons"]}
    assert sizes == {"copies": {4}}.get(name, {1} if located else set())
    if name == "decoys":
        assert {len(x["decoys"]) for x in truth} == {2}
    if name == "layers":
        assert {layer for x in truth for layer, _ in x["neurons"]} == set(range(6))
    for query in queries:  # the answer depends on these rows, and is lost without any one of them
        for one, rise in query["left_out"].items():
            if located and name != "decoys":
                assert (rise > 1) == (one in query["proponents"])
    if name == "shared-answers":
        assert max(len(x["proponents"]) for x in queries) == 2


def test_a_taught_pack_holds_its_facts_and_forgets_down_to_its_base(tmp_path):
    place = tmp_path / "p"
    pack_of("taught", place, subjects=3)
    for task in TASKS:
        ends_of_the_scale(*byheart.benchmark(task, place, ["exact", "random"]).rows)
    again = pack_of("taught", tmp_path / "q", subjects=3, base=place / "base")
    assert again.family == "gpt2"
    assert hashes(place / "model") == hashes(tmp_path / "q/model")


def test_a_llama_pack(tmp_path):
    pack_of("copies", tmp_path / "p", family="llama")
    rows = byheart.benchmark("locate", tmp_path / "p", ["exact", "random"]).rows
    assert rows[0].family == "llama" and rows[0].scores["precision"]["value"] == 1
    (row,) = byheart.benchmark("edit", tmp_path / "p", "exact").rows
    assert row.scores["success"]["value"] == 1 and row.scores["distance"]["value"] == 0


# --- packs


def test_packs_are_the_same_bytes_for_one_seed(tmp_path):
    for place, seed in (("a", 0), ("b", 0), ("c", 1)):
        pack_of("near-duplicates", tmp_path / place, seed=seed)
    one, two, other = (hashes(tmp_path / x) for x in "abc")
    assert one == two and one.keys() and other["facts.jsonl"] != one["facts.jsonl"]
    assert (tmp_path / "a/pack.json").read_bytes() == (tmp_path / "b/pack.json").read_bytes()


def test_the_splits_of_tofu_are_read_by_its_loader_and_are_the_texts_of_the_pack(single, tmp_path):
    datasets = pytest.importorskip("datasets")
    place = tmp_path / "p"
    shutil.copytree(single, place, ignore=lambda *_: ("model", "forgotten", "edited", "left-out"))
    layouts.write("tofu", place, 0)
    objects = {x["answer"] for x in lines(place / "facts.jsonl")}
    held = {x["prompt"]: x["answer"] for x in lines(place / "held.jsonl")}
    for split, file in {"full": "facts", "forget": "forget", "forget_perturbed": "forget",
                        "retain_perturbed": "retain", "holdout": "holdout"}.items():  # fmt: skip
        path, cache = str(place / "tofu"), str(tmp_path / "cache")
        read = datasets.load_dataset(path, name=split, split="train", cache_dir=cache)
        texts = [f"{x['prompt']} {x['answer']}" for x in lines(place / f"{file}.jsonl")]
        assert [x["question"] + x["answer"] for x in read] == texts
        for x in read if split.endswith("perturbed") else ():
            assert x["paraphrased_question"] + x["paraphrased_answer"] in texts
            wrong = x["perturbed_answer"]
            assert len(set(wrong)) == 5 and {x[1:] for x in wrong} < objects
            assert not {x["answer"], f" {held[x['question']]}"} & set(wrong)


def test_requests_of_easyedit_are_the_edits_of_the_pack(tmp_path):
    place = tmp_path / "p"
    pack_of("single", place, layout="easyedit")
    found, edits = json.loads((place / "easyedit.json").read_text()), lines(place / "edits.jsonl")
    keys = ("prompt", "target_new", "ground_truth")
    assert [[x[y] for y in keys] for x in found] == [
        [x[y] for y in ("prompt", "answer", "old")] for x in edits
    ]
    held = {x["prompt"]: x["answer"] for x in lines(place / "held.jsonl")}
    for x in found:
        assert x["prompt"].endswith(f" of {x['subject']} is")
        assert held[x["locality_prompt"]] == x["locality_ground_truth"]
        assert x["locality_prompt"] not in {y["prompt"] for y in edits}
    assert "easyedit.json" in json.loads((place / "pack.json").read_text())["files"]


def test_near_duplicates_differ_in_one_word_and_names_have_several_scripts(single, tmp_path):
    rows, others = facts.made(facts.KINDS["near-duplicates"], 0, 16, 4, 16)
    words = [set(enumerate(row.prompt.split())) for row in (*rows, *others)]
    for i, own in enumerate(words):
        assert any(len(own ^ other) == 2 for j, other in enumerate(words) if j != i)
    letters = "".join(x["answer"] for x in lines(single / "facts.jsonl"))
    assert len({ord(x) // 256 for x in letters}) > 4


def test_data_of_the_user_takes_the_place_of_made_up_facts(tmp_path):
    rows = [{"prompt": f"City {i} lies in", "answer": "Oz" if i % 3 else "Iz"} for i in range(30)]
    data = tmp_path / "mine.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    pack = pack_of("single", tmp_path / "p", data=data)
    assert pack.facts == 16 and pack.others == 8
    assert "mine.jsonl" in (tmp_path / "p/LICENSE").read_text()
    held = {(x["prompt"], x["answer"]) for x in lines(tmp_path / "p/facts.jsonl")}
    assert held < {(x["prompt"], x["answer"]) for x in rows}


@pytest.mark.parametrize(
    "name, options, said",
    [
        ("none", {}, "there is no pack 'none'; there are: single"),
        ("single", {"family": "bert"}, "family must be gpt2 or llama"),
        ("superposed", {"family": "llama"}, "is of gpt2 alone"),
        ("single", {"forgotten": 40}, "fewer than all facts"),
        ("single", {"base": "x"}, "has no base"),
        ("contexts", {"data": "x.jsonl"}, "facts of its own form"),
        ("single", {"data": "absent.jsonl"}, "absent.jsonl"),
        ("single", {"length": 3}, "takes no length"),
        ("single", {"layout": "muse"}, "layout must be one of tofu, easyedit, not 'muse'"),
    ],
)
def test_a_pack_that_cannot_be_made_leaves_nothing(name, options, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises((byheart.ByheartError, OSError), match=re.escape(said)):
        pack_of(name, "p", **options)
    assert list(tmp_path.iterdir()) == []


def test_a_pack_that_fails_halfway_leaves_nothing(tmp_path, monkeypatch):
    def fail(*given):
        raise byheart.ByheartError("no.")

    monkeypatch.setattr(making, "_truth", fail)
    with pytest.raises(byheart.ByheartError):
        pack_of("single", tmp_path / "p")
    assert list(tmp_path.iterdir()) == []


def test_leave_one_out_is_what_dattri_reads(single):
    from safetensors.torch import load_file

    truth, queries = (
        load_file(single / "leave-one-out.safetensors"),
        lines(single / "queries.jsonl"),
    )
    values, indices = truth["values"], truth["indices"]
    items = lines(single / "facts.jsonl")
    assert values.shape == (len(indices), len(queries)) == (8, 8)
    places = {x["id"]: i for i, x in enumerate(items)}
    score = torch.rand(len(items), len(queries))
    own = []
    for i, query in enumerate(queries):
        assert [places[x] for x in query["left_out"]] == indices.tolist()
        rise = np.array([*query["left_out"].values()])
        assert np.allclose(values[:, i] - values[:, i].min(), rise - rise.min(), atol=1e-6)
        own.append(np.corrcoef(score[indices, i], rise)[0, 1])
    metric = pytest.importorskip("dattri.metric")
    found = metric.loo_corr(score[indices], (values, indices))[0]
    assert np.allclose(found, own, atol=1e-5)


# --- methods


def test_ties_are_counted_as_a_random_order_of_them():
    true = np.array([True, True, False, False])
    assert ranked(np.zeros(4), true) == (0.5, 0.5)
    assert ranked(np.array([2.0, 1, 3, 0]), true)[0] == 0.5
    draws = np.random.default_rng(0).random((4000, 6))
    mask = np.arange(6) < 2
    assert np.mean([ranked(x, mask)[1] for x in draws]) == pytest.approx(first(6, 2), abs=0.02)


LATE = """
    import time
    model.forward = lambda **given: time.sleep(99)
    return model"""
BAD = {
    "return [1, 2]": r"returned shape \(2,\), not \(1, 32\) numbers",
    "return None": "returned NoneType|not finite|shape",
    "return 'x'": "returned str",
    "return [[float('nan')] * 32]": "not finite",
    "raise KeyError('no')": "it raised KeyError: 'no'",
    "tokenizer.add_tokens(['new'])\n    return [[0.0] * 32]": "changed the tokenizer",
    "raise SystemExit(3)": "it raised SystemExit: 3",
    "while True: pass": "ran past the limit of 0.5 seconds",
}


@pytest.mark.parametrize("body", BAD)
def test_a_method_that_does_something_wrong_has_a_row_that_says_so(body, single, method):
    name = method(f"def f(model, tokenizer, prompt):\n    {body}\n")
    bad, good = byheart.benchmark("locate", single, [name, "exact"], limit=0.5).rows
    assert re.search(BAD[body], bad.problem) and bad.scores == {} and bad.problem.endswith(".")
    assert good.problem is None and good.scores["precision"]["value"] == 1


@pytest.mark.parametrize(
    "task, body, said",
    [
        ("edit", "return None", "not a model that runs"),
        ("edit", "model.lm_head.weight.data[:] = float('nan')\n    return model", "not finite"),
        ("unlearn", "return 3", "not a model that runs"),
        ("unlearn", "model.requires_grad_ = None\n    return model", "not a model that runs"),
        ("unlearn", "return model.half()", "not finite after training"),
        ("unlearn", LATE, "the model that it returned ran past the limit of 9 seconds"),
        ("extract", "return 3", "not a text"),
        ("attribute", "return [1.0]", "shape"),
    ],
)
def test_what_a_method_of_another_task_may_return(task, body, said, single, method):
    name = method(f"def f(model, tokenizer, *given):\n    {body}\n")
    (row,) = byheart.benchmark(task, single, name, limit=9).rows
    assert said in row.problem and row.scores == {}


def test_a_method_gets_a_fresh_model_and_its_own_copy_of_the_data(single, method):
    body = """
def edit(model, tokenizer, request):
    assert request.keys() == {"prompt", "answer", "old"}
    assert model.config._attn_implementation == "eager" and str(model.dtype) == "torch.float32"
    assert not hasattr(model, "seen")
    model.seen = True
    request.clear()
    return model
"""
    (row,) = byheart.benchmark("edit", single, method(body, "edit")).rows
    assert row.problem is None and row.scores["others_unchanged"]["value"] == 1
    assert row.scores["success"]["value"] == 0


def test_what_a_method_prints_is_not_output_and_files_of_its_own_are_its_business(
    run, single, tmp_path, method, monkeypatch
):
    body = "print('at import')\n\ndef f(model, tokenizer, prompt):\n    print('in a call')\n"
    body += "    open('left.txt', 'w').close()\n    return [[0.0] * 32]\n"
    name = method(body)
    monkeypatch.chdir(tmp_path)
    code, said, errors = run("benchmark", "locate", single, "--method", name, "--json")
    assert code == 0 and json.loads(said)["rows"][0]["problem"] is None
    assert "at import" in errors and "in a call" in errors and Path("left.txt").exists()


def test_an_edit_and_an_unlearning_that_do_nothing_or_too_much_have_the_score_0(single, method):
    rows = [
        byheart.benchmark(task, single, method("def f(model, *given): return model\n")).rows[0]
        for task in ("edit", "unlearn")
    ]
    assert [row.scores["overall"]["value"] for row in rows] == [0, 0]
    assert rows[0].scores["others_unchanged"]["value"] == rows[1].scores["kept"]["value"] == 1
    (exact,) = byheart.benchmark("unlearn", single, "exact").rows
    scores = exact.scores
    half = scores["forgotten"]["value"], scores["kept"]["value"]
    assert scores["overall"]["value"] == pytest.approx(2 * half[0] * half[1] / sum(half))


def test_a_pack_is_known_by_what_a_method_meets(single, tmp_path):
    """Versions of libraries are not part of it, and neither are pages and certificates."""
    from byheart.api.packs.pack import read

    copied = tmp_path / "copied"
    for changed, same in (("model/README.md", True), ("forget.jsonl", False)):
        shutil.rmtree(copied, ignore_errors=True)
        shutil.copytree(single, copied)
        (copied / changed).write_bytes((copied / changed).read_bytes() + b"\n")
        notes = json.loads((copied / "pack.json").read_text())
        notes["versions"]["torch"], notes["files"] = "9", hashes(copied)
        (copied / "pack.json").write_text(json.dumps(notes))
        assert (read(copied).sha256 == read(single).sha256) == same


def test_the_picture_has_a_panel_for_each_score_with_both_ends(single, method):
    from byheart.views.benchmark import draw

    worst = method("def f(model, *given): raise ValueError\n")
    one = byheart.benchmark("locate", single, ["exact", "random", worst])
    precision, auc = draw(one).axes
    assert precision.get_title(loc="left") == "locate: precision"
    names = [x.get_text() for x in precision.get_yticklabels()]
    assert names == ["mine:f", "exact operation", "chance"]
    assert [x.get_text() for x in precision.texts] == ["\u00d7", "1", "0.0312"]
    other = byheart.benchmark("extract", single, ["exact", "random"])
    both = replace(one, rows=(*one.rows, *other.rows))
    titles = [x.get_title(loc="left") for x in draw(both).axes]
    assert titles == ["locate: precision", "extract: recovered"]


def test_extract_takes_either_function_or_both(single, tmp_path):
    text = "def extract(model, tokenizer, prefix): return ''\n"
    text += "def score(model, tokenizer, text): return float(len(text))\n"
    text += "def membership(model, tokenizer, text): return 0.5\n"
    (tmp_path / "two.py").write_text(text)
    names = [f"{tmp_path}/two.py{x}" for x in ("", ":extract", ":score")]
    both, one, other = byheart.benchmark("extract", single, names).rows
    assert both.scores.keys() == one.scores.keys() | other.scores.keys()
    assert both.scores["membership_auc"]["value"] == 0.5 and one.scores["recovered"]["value"] == 0
    assert other.scores.keys() == {"membership_auc"}


def test_a_function_is_a_method_too_and_seeds_count(single):
    def scores(model, tokenizer, prompt):
        return torch.rand(1, 32)

    found = [byheart.benchmark("locate", single, scores, seed=x).rows[0] for x in (0, 0, 1)]
    assert found[0].scores == found[1].scores != found[2].scores
    assert "scores" in found[0].method


def test_a_method_of_a_package_imports_its_neighbours(single, tmp_path):
    package = tmp_path / "my_package" / "inner"
    package.mkdir(parents=True)
    for folder in (package, package.parent):
        (folder / "__init__.py").touch()
    (package / "shared.py").write_text("ANSWER = 0.0\n")
    body = "from .shared import ANSWER\n\ndef membership(model, tokenizer, text): return ANSWER\n"
    (package / "mine.py").write_text(body)
    row = byheart.benchmark("extract", single, f"{package}/mine.py:membership").rows[0]
    assert row.problem is None and row.scores["membership_auc"]["value"] == 0.5


def test_rows_are_kept_and_not_measured_again(single, tmp_path, method):
    output = tmp_path / "rows.jsonl"
    name = method("def f(model, tokenizer, prompt): return [[0.0] * 32]\n")
    given = {"output": output, "limit": 60}
    assert byheart.benchmark("locate", single, [name, "exact"], **given).repeated == 0
    before = output.read_bytes()
    again = byheart.benchmark("locate", single, ["exact", name], **given)
    assert again.repeated == 2 and output.read_bytes() == before
    assert [row.method for row in again.rows] == ["exact", name]
    assert byheart.benchmark("locate", single, "exact", seed=1, **given).repeated == 0
    method("def f(model, tokenizer, prompt): return [[1.0] * 32]\n")  # the file has changed
    assert byheart.benchmark("locate", single, name, **given).repeated == 0
    assert len(lines(output)) == 4 and output.read_bytes().startswith(before)


def test_the_command_shows_rows_and_refuses_what_it_cannot_read(run, single, tmp_path, method):
    good = method("def f(model, tokenizer, prompt): return [[0.0] * 32]\n")
    output = tmp_path / "rows.jsonl"
    code, said, _ = run("benchmark", "locate", single, "--method", good, "--method", "random",
                        "-o", output, "--json")  # fmt: skip
    assert code == 0 and len(json.loads(said)["rows"]) == 2
    code, said, _ = run("benchmark", output, "--plot", tmp_path / "r.svg")
    assert code == 0 and "chance" in said and (tmp_path / "r.svg").stat().st_size > 1000
    changed = tmp_path / "changed"
    shutil.copytree(single, changed)
    (changed / "forget.jsonl").write_text("")
    broken = tmp_path / "broken.py"
    broken.write_text("1 / 0\n")
    unread, leaves = tmp_path / "unread.py", tmp_path / "leaves.py"
    unread.write_text("def f(:\n")
    leaves.write_text("raise SystemExit\n")
    short = tmp_path / "short"
    shutil.copytree(single, short)
    (short / "model" / "model.safetensors").unlink()
    for arguments, wanted in {
        ("locate", tmp_path, "--method", "exact"): "is not a pack",
        ("locate", changed, "--method", "exact"): "forget.jsonl was changed",
        ("locate", short, "--method", "exact"): "model/model.safetensors is missing",
        ("locate", single, "--method", f"{unread}:f"): "SyntaxError",
        ("locate", single, "--method", f"{leaves}:f"): "SystemExit",
        ("find", single, "--method", "exact"): "there is no task 'find'",
        ("locate", single): "name a method with --method",
        ("locate", single, "--method", "absent.py:f"): "there is no method 'absent.py:f'",
        ("locate", single, "--method", f"{broken}:f"): "ZeroDivisionError",
        ("locate", single, "--method", good[:-1] + "g"): "has no function g",
        ("locate", single, "--method", "exact", "--limit", "0"): "--limit",
        ("locate",): "name the folder of a pack",
        (single / "facts.jsonl",): "not a row",
    }.items():
        code, _, errors = run("benchmark", *arguments)
        assert code == 2 and wanted in errors, arguments


def test_the_page_s_method_runs(single, tmp_path, monkeypatch):
    page = (Path(__file__).parents[2] / "docs" / "benchmark.md").read_text()
    (tmp_path / "my_file.py").write_text(re.findall(r"```python\n(.*?)```", page, re.DOTALL)[0])
    monkeypatch.chdir(tmp_path)
    (row,) = byheart.benchmark("locate", single, "my_file.py:locate").rows
    assert row.problem is None and row.scores["precision"]["value"] == 1
