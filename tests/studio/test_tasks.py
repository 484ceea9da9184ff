"""The tasks of the page give what the commands give, and open nothing that a page names."""

import inspect
import json

import numpy as np
import pytest

from byheart.cli import main
from byheart.data.load import LOADING
from byheart.errors import ByheartError
from byheart.machine.watch import SILENT
from byheart.studio import requests, tasks
from byheart.studio.files import read_window

TIMES = ("seconds", "verify", "time")


def ran(task, place, **arguments):
    place.mkdir()
    summary = tasks.run(task, place, arguments, SILENT)
    return summary, json.loads((place / "answer.json").read_text())


def command(capsys, *words):
    """What a command prints with --json, without what depends on the clock or on names."""
    assert main([*map(str, words), "--json"]) == 0
    return without(json.loads(capsys.readouterr().out))


def without(answer):
    return {key: value for key, value in answer.items() if key not in TIMES}


@pytest.fixture(scope="module")
def model(countries, tmp_path_factory):
    """An editable model of the 24 facts, its summary and its answer."""
    place = tmp_path_factory.mktemp("tasks") / "compile"
    given = {"data": str(countries), "loading": {}, "options": {"editable": True}}
    return place / "model", *ran("compile", place, **given)


def test_reading_is_stats(countries, tmp_path, capsys):
    _, answer = ran("read", tmp_path / "j", data=str(countries), name="facts", loading={})
    wanted = command(capsys, "stats", countries)
    assert {key: answer[key] for key in wanted} == wanted
    assert answer["lines"][0][:2] == ["sequences", "24"] and answer["rows"]["shown"] == 24
    rows = json.loads(read_window(tmp_path / "j", "rows", 1, 1))["rows"]
    assert rows == [{"row": 2, "input": ["river", "of", "france"], "label": "seine"}]
    assert any(row["quantity"].startswith("bits") and row["value"] for row in answer["limits"])


def test_conflicts_have_their_lines(tmp_path):
    path = tmp_path / "bad.csv"
    path.write_text('question,answer\n"a\nb",x\nc,y\nc,z\nc,y\n')
    given = {"loading": {"input": ["question"], "label": "answer"}}
    summary, _ = ran("read", tmp_path / "j", data=str(path), name="bad.csv", **given)
    assert summary["conflicts"] == 1
    (found,) = json.loads(read_window(tmp_path / "j", "conflicts", 0, 9))["rows"]
    assert found["labels"] == [["y", 2], ["z", 1]]
    assert found["lines"] == [4, 5, 6] and found["rows"] == [[2, "y"], [3, "z"], [4, "y"]]


def test_a_file_that_is_refused_still_says_how_it_can_be_read(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("question,answer\na,b\n")
    place = tmp_path / "j"
    place.mkdir()
    with pytest.raises(ByheartError, match="column"):
        tasks.run("read", place, {"data": str(path), "name": "t", "loading": {}}, SILENT)
    options = json.loads((place / "answer.json").read_text())["file"]["options"]
    names = {option["name"]: option for option in options}
    assert names["input"]["columns"] == ["question", "answer"] and names["input"]["several"]
    assert "dtype" not in names  # it is for other files


@pytest.mark.parametrize(
    ("loading", "says"),
    [
        ({"tokenizer": "/etc/tokenizer.json"}, "opens no files"),
        ({"tokenizer": "bpe:8/../../etc"}, "opens no files"),
        ({"path": "x"}, "there is no option 'path'"),
    ],
)
def test_no_option_opens_a_file(countries, tmp_path, loading, says):
    for task in ("read", "compile"):
        place = tmp_path / task
        place.mkdir()
        given = {"data": str(countries), "loading": loading}
        with pytest.raises(ByheartError, match=says):
            tasks.run(task, place, {**given, "name": "x"} if task == "read" else given, SILENT)


@pytest.mark.parametrize("name", ["output", "seed", "watch", "force", "no_such"])
def test_options_are_those_of_methods(countries, tmp_path, name):
    given = {"data": str(countries), "loading": {}, "options": {name: 1}}
    with pytest.raises(ByheartError, match=f"no method has the option '{name}'"):
        tasks.run("compile", tmp_path, given, SILENT)


def test_the_server_knows_the_arguments_of_the_tasks():
    """It does not import them, so it has a list of its own."""
    ours = {"work", "data", "folder", "name"}  # not from the page
    assert requests.TASKS.keys() == tasks.TASKS.keys()
    for name, task in tasks.TASKS.items():
        taken = inspect.signature(task).parameters
        asked = requests.TASKS[name].keys()
        assert asked - {"model"} == taken.keys() - ours - ({"loading"} - asked), name
        assert ("model" in asked) == ("folder" in taken), name
        needed = {x.name for x in taken.values() if x.default is x.empty} & asked - {"loading"}
        assert needed == set(requests.NEEDED) & asked - {"model"}, name
    assert requests.LOADING == [option.name for option in LOADING]


def test_comparing_is_compare(countries, tmp_path, capsys):
    _, answer = ran("compare", tmp_path / "j", data=str(countries), name="facts", loading={})
    wanted = command(capsys, "compare", countries, "--until", "24000")
    assert answer["lines"] == wanted["lines"] and answer["crossings"] == wanted["crossings"]
    own = [{k: v for k, v in row.items() if k not in ("title", *TIMES)} for row in answer["rows"]]
    assert own == [{k: v for k, v in row.items() if k not in TIMES} for row in wanted["rows"]]
    shown = {row["name"] for row in answer["rows"] if row["kind"] == "construction"}
    assert set(answer["methods"]) <= shown  # every construction has its theorem
    assert all(about["statement"] for about in answer["methods"].values())
    picture = (tmp_path / "j" / "compare.svg").read_text()
    assert "axes-area" in picture and answer["limits"]["x"][0] < 100


def test_compiling_is_compile(countries, tmp_path, capsys, model):
    folder, summary, answer = model
    wanted = command(capsys, "compile", countries, "-o", tmp_path / "m", "--editable")
    assert {key: answer[key] for key in wanted} == wanted
    for name in ("weights.safetensors", "certificate.json"):
        assert (folder / name).read_bytes() == (tmp_path / "m" / name).read_bytes()
    assert answer["certificate"]["verified"]["evidence"] == "proved" == summary["evidence"]
    assert answer["verdict"] == "24 of 24 labels correct, each evaluated in exact arithmetic"


def test_asking_is_recall_with_a_trace_and_locate(countries, tmp_path, capsys, model):
    folder, _, _ = model
    given = {"folder": str(folder), "name": "facts", "data": str(countries), "loading": {}}
    _, answer = ran("ask", tmp_path / "a", text="capital of italy", **given)
    (wanted,) = command(capsys, "recall", folder, "capital", "of", "italy", "--trace")["answers"]
    assert {key: answer[key] for key in wanted} == wanted and answer["shown"] == "rome"
    located = command(capsys, "locate", folder, "capital", "of", "italy")
    assert answer["located"]["read"] == located["read"] != []
    assert answer["located"]["stages"] == located["stages"]
    picture = (tmp_path / "a" / answer["picture"]).with_suffix(".svg").read_text()
    last = answer["network"][-1]
    assert 'id="stage-0-box-1"' in picture and last["fired"] == 0
    read = [i for i, stage in enumerate(answer["network"]) if stage["read"]]
    assert read and all(f'id="stage-{i}-read"' in picture for i in read)
    assert answer["in_data"] is True


def test_unknown_inputs_say_so(countries, tmp_path, model):
    folder, _, _ = model
    given = {"folder": str(folder), "name": "facts", "data": str(countries), "loading": {}}
    _, other = ran("ask", tmp_path / "a", text="of capital italy", **given)
    assert other["in_data"] is False and other["trace"]  # the network answers anything
    _, word = ran("ask", tmp_path / "b", text="capital of atlantis", **given)
    assert (word["label"], word["known"], word["in_data"]) == (None, False, False)
    assert word["trace"] is None and "located" not in word


def test_lanes_of_the_picture_are_those_of_the_trace(tmp_path, model):
    folder, _, _ = model
    _, answer = ran("ask", tmp_path / "a", folder=str(folder), name="x", text="river of peru")
    traced = {stage["layers"][1]: sorted(map(int, stage["lanes"])) for stage in
              answer["trace"]["stages"]}  # fmt: skip
    found = {stage["layers"][-1][-1]: stage["lanes"] for stage in answer["network"]}
    both = traced.keys() & found.keys()
    assert len(both) >= 4 and all(traced[layer] == found[layer] for layer in both)
    fired = sum(stage["fired"] for stage in answer["network"])
    assert fired == sum(stage["fired"] for stage in answer["trace"]["stages"])


def test_editing_and_forgetting_are_the_commands(countries, tmp_path, capsys, model):
    folder, _, _ = model
    given = {"folder": str(folder), "data": str(countries), "loading": {}}
    change = {"edit": "change", "input": ["capital", "of", "italy"], "label": "lima"}
    summary, answer = ran("edit", tmp_path / "e", edits=[change], **given)
    words = ("--set", "capital of italy=lima", "-o", tmp_path / "m")
    wanted = command(capsys, "edit", folder, countries, *words)
    assert answer["weights"] == wanted["weights"] and answer["difference"] == wanted["difference"]
    assert answer["weights"]["before"] != answer["weights"]["after"]
    assert answer["diff"]["bits"] == answer["difference"]["bits"] > 0
    assert [x["after"] for x in answer["diff"]["answers"]] == ["lima"]
    assert (tmp_path / "e" / "data.jsonl").read_text().count("lima") == 2
    assert summary["editable"]

    _, answer = ran("forget", tmp_path / "f", items=["capital of italy"], **given)
    words = ("--item", "capital of italy", "-o", tmp_path / "n")
    wanted = command(capsys, "forget", folder, countries, *words)
    assert answer["weights"] == wanted["weights"] and answer["removed"] == 1
    assert "rome" not in (tmp_path / "f" / "data.jsonl").read_text()


def test_auditing_is_audit(countries, tmp_path, capsys, model):
    folder, _, _ = model
    strangers = tmp_path / "strangers.jsonl"
    rows = [{"input": ["of", "river", "peru"], "label": "paris"}] * 3
    strangers.write_text("".join(json.dumps(row) + "\n" for row in rows))
    given = {"folder": str(folder), "data": str(countries), "name": countries.name, "loading": {}}
    _, answer = ran("audit", tmp_path / "a", strangers=str(strangers), **given)
    wanted = command(capsys, "audit", folder, countries, "--non-members", strangers)
    for key in ("memorised", "membership", "verdict", "extraction", "limits", "notes"):
        assert answer[key] == wanted[key]
    best = json.loads(read_window(tmp_path / "a", "items-memorised", 0, 24))["rows"]
    values = [row["memorised"] for row in best]
    assert len(best) == 24 and values == sorted(values, reverse=True)
    assert (tmp_path / "a" / "audit.svg").stat().st_size > 10_000


def test_auditing_a_hugging_face_checkpoint_is_audit(tmp_path, capsys):
    """A folder of save_pretrained, named when the page was started, with random strangers."""
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    torch.manual_seed(0)
    sizes = {"vocab_size": 30, "n_positions": 32, "n_embd": 8, "n_layer": 1, "n_head": 1}
    made = transformers.GPT2LMHeadModel(
        transformers.GPT2Config(**sizes, bos_token_id=0, eos_token_id=0)
    )
    folder, data = tmp_path / "model", tmp_path / "ids.bin"
    made.save_pretrained(folder)
    rows = [[(7 * i + j * j) % 30 for j in range(12)] + [65_535] for i in range(6)]
    data.write_bytes(np.array(rows, "<u2").tobytes())
    summary, _ = ran("open", tmp_path / "o", folder=str(folder))
    assert summary["checkpoint"]
    given = {"folder": str(folder), "data": str(data), "name": data.name}
    given |= {"loading": {"separator": 65_535}}
    _, answer = ran("audit", tmp_path / "a", strangers="random", prefix=4, **given)
    words = ("audit", folder, data, "--non-members", "random", "--prefix", 4, "--separator", 65_535)
    wanted = command(capsys, *words)
    for key in ("memorised", "membership", "verdict", "extraction", "limits", "notes"):
        assert answer[key] == wanted[key]
    assert len(json.loads(read_window(tmp_path / "a", "items-memorised", 0, 9))["rows"]) == 6


def test_items_of_a_model_that_was_edited_can_be_listed(countries, tmp_path, model):
    folder, _, _ = model
    summary, _ = ran("items", tmp_path / "i", folder=str(folder), data=str(countries), loading={})
    assert summary == {"rows": 24}


def test_a_folder_named_at_the_start_is_opened(tmp_path, model):
    folder, made, _ = model
    summary, _ = ran("open", tmp_path / "o", folder=str(folder))
    assert summary == made
