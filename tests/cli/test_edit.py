"""locate, edit, forget, diff and verify --rebuild on the command line."""

import hashlib
import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import byheart
from byheart.claims.record import Search
from byheart.models.model import Model

CITIES = {"france": "paris", "italy": "rome", "spain": "madrid", "peru": "lima"}
CHECKER = Path(byheart.__file__).parents[1] / "checker"


@pytest.fixture
def place(tmp_path):
    """A folder with data and an editable model."""
    rows = [{"input": ["capital", "of", x], "label": y} for x, y in CITIES.items()]
    (tmp_path / "data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    byheart.compile(byheart.load(tmp_path / "data.jsonl"), editable=True).save(tmp_path / "m")
    return tmp_path


def content(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_an_edit_is_written_verified_and_proved(run, place):
    before = content(place / "m")
    new, rest = place / "new", place / "rest.jsonl"
    options = ("--set", "capital of france=lyon", "-o", new, "--write-data", rest, "--json")
    code, output, errors = run("edit", place / "m", place / "data.jsonl", *options)
    answer = json.loads(output)
    assert (code, errors) == (0, "") and content(place / "m") == before
    assert (answer["kind"], answer["changed"], answer["rebuilt"]) == ("edit", 1, False)
    after = hashlib.sha256((new / "weights.safetensors").read_bytes()).hexdigest()
    old = hashlib.sha256(before["weights.safetensors"]).hexdigest()
    assert answer["weights"] == {"before": old, "after": after}
    assert byheart.open(new).recall("capital of france") == "lyon"
    code, output, _ = run("verify", new, rest, "--json")
    assert code == 0 and json.loads(output)["change"]["evidence"] is None
    code, output, _ = run("verify", new, rest, "--rebuild", "--json")
    answer = json.loads(output)
    assert code == 0 and answer["rebuilt"] is True and answer["change"]["evidence"] == "proved"
    code, output, _ = run("diff", place / "m", new, place / "data.jsonl", "--json")
    (other,) = json.loads(output)["answers"]
    assert (code, other["before"], other["after"]) == (0, "paris", "lyon")


def test_the_last_equals_sign_splits(run, tmp_path):
    rows = [(["1+1=", "x"], "2"), (["2+2=", "x"], "4")]
    data = tmp_path / "d.jsonl"
    data.write_text("".join(json.dumps({"input": x, "label": y}) + "\n" for x, y in rows))
    byheart.compile(byheart.load(data), editable=True).save(tmp_path / "m")
    code, *_ = run("edit", tmp_path / "m", data, "--set", "1+1= x=4", "-o", tmp_path / "n")
    assert code == 0 and byheart.open(tmp_path / "n").recall(["1+1=", "x"]) == "4"


def test_a_batch_adds_changes_and_removes(run, place):
    edits = [
        {"edit": "change", "input": ["capital", "of", "france"], "label": "rome"},
        {"edit": "add", "input": ["capital", "of", "chile"], "label": "santiago"},
        {"edit": "remove", "input": "capital of peru"},
    ]
    (place / "e.jsonl").write_text("".join(json.dumps(edit) + "\n" for edit in edits))
    options = ("--edits", place / "e.jsonl", "-o", place / "new", "--json")
    code, output, _ = run("edit", place / "m", place / "data.jsonl", *options)
    answer = json.loads(output)
    assert code == 0 and [answer[x] for x in ("changed", "added", "removed")] == [1, 1, 1]
    model = byheart.open(place / "new")
    assert model.recall("capital of chile") == "santiago"
    assert model.recall("capital of peru") is None


def test_rows_of_a_file_are_added(run, place):
    (place / "more.jsonl").write_text('{"input": ["capital", "of", "chile"], "label": "lima"}\n')
    options = ("--add", place / "more.jsonl", "-o", place / "new", "--json")
    code, output, _ = run("edit", place / "m", place / "data.jsonl", *options)
    assert code == 0 and json.loads(output)["added"] == 1
    assert byheart.open(place / "new").recall("capital of chile") == "lima"


def test_forgetting_writes_nothing_of_the_item(run, place):
    byheart.open(place / "m").save(place / "m2", data=byheart.load(place / "data.jsonl"))
    options = ("--item", "capital of peru", "-o", place / "new", "--write-data", place / "r.jsonl")
    code, output, _ = run("forget", place / "m2", place / "data.jsonl", *options)
    assert code == 0 and "1 item forgotten" in output
    assert set(content(place / "new")) == set(content(place / "m"))  # no data.jsonl
    old = hashlib.sha256((place / "m" / "weights.safetensors").read_bytes()).hexdigest()
    assert old in output
    for name, raw in content(place / "new").items():
        assert b"peru" not in raw and b"lima" not in raw and old.encode() not in raw, name
    assert "peru" not in (place / "r.jsonl").read_text()
    code, output, _ = run("verify", place / "new", place / "r.jsonl", "--rebuild")
    assert code == 0 and "byte for byte" in output
    for checker in ("check.py", "small_check.py"):
        command = [sys.executable, CHECKER / checker, place / "new", place / "r.jsonl"]
        assert subprocess.run(command, capture_output=True).returncode == 0


def test_items_of_a_file_are_forgotten(run, place):
    lines = ['{"input": ["capital", "of", "peru"]}', '{"input": "capital of italy"}']
    (place / "i.jsonl").write_text("\n".join(lines))
    options = ("--items", place / "i.jsonl", "-o", place / "new", "--json", "--label-only")
    code, output, _ = run("forget", place / "m", place / "data.jsonl", *options)
    assert code == 0 and json.loads(output)["changed"] == 2


def test_a_rebuild_refutes_other_weights(run, place):
    """A label edit by hand: the labels are right, but it is not what compile makes of the data."""
    other = byheart.compile(byheart.load(place / "data.jsonl"), editable=True, seed=1)
    change = {"kind": "forget", "data": other.record.data.sha256, "rebuilt": True}
    record = replace(other.record, search=Search(seed=0), change=change)
    replace(other, record=record).save(place / "strange")
    assert run("verify", place / "strange", place / "data.jsonl")[0] == 0
    code, output, _ = run("verify", place / "strange", place / "data.jsonl", "--rebuild", "--json")
    answer = json.loads(output)
    assert code == 1 and answer["rebuilt"] is False and answer["change"]["evidence"] == "refuted"


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"kind": "erase", "data": None, "rebuilt": True}, 2),
        ({"kind": "edit", "rebuilt": True}, 2),
        ({"kind": "edit", "data": None, "rebuilt": 1}, 2),
        ({"kind": "edit", "data": "0" * 64, "rebuilt": True}, 1),
        ([], 2),
    ],
)
def test_a_strange_change_in_a_certificate(change, code, run, place):
    path = place / "m" / "certificate.json"
    value = json.loads(path.read_text())
    if isinstance(change, dict) and change.get("data", "") is None:
        change = {**change, "data": value["data"]["sha256"]}
    path.write_text(json.dumps({**value, "change": change}))
    assert run("verify", place / "m")[0] == code


@pytest.mark.parametrize(
    ("options", "editable"),
    [
        (("--editable",), True),
        ((), False),
        (("--method", "one-layer"), True),
        (("--method", "token-averaging", "--editable"), True),
    ],
)
def test_compile_says_whether_a_model_is_editable(options, editable, run, place):
    command = ("compile", place / "data.jsonl", "-o", place / "new", *options)
    code, output, _ = run(*command, "--json")
    assert code == 0 and json.loads(output)["editable"] is editable
    code, output, _ = run(*command, "--force")
    assert ("by byheart edit and forget" in output) is editable
    code, _, errors = run(*command[:4], "--force", "--method", "bit-extraction", "--editable")
    assert code == 2 and "does not take --editable" in errors


# ---------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--set", "capital of mars=x"), "is not an item of the data"),
        (("--set", "capital of peru=x", "--set", "capital of peru=y"), "is named twice"),
        (("--set", "capital of peru"), "--set takes INPUT=LABEL"),
        ((), "there is nothing to edit"),
        (("--edits", "missing.jsonl"), "cannot be read"),
        (("--set", "capital of peru=x", "--write-data", "x.csv"), "written as .jsonl"),
    ],
)
def test_bad_input_is_one_sentence(options, message, run, place, monkeypatch):
    monkeypatch.chdir(place)
    before = sorted(path.name for path in place.iterdir())
    code, output, errors = run("edit", "m", "data.jsonl", "-o", "new", *options)
    assert (code, output) == (2, "") and message in errors and errors.count("\n") == 1
    assert sorted(path.name for path in place.iterdir()) == before


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("[]", "not a JSON object"),
        ('{"edit": "erase", "input": ["a"]}', '"edit" must be one of'),
        ('{"edit": "remove", "input": ["capital", "of", "peru"], "label": "x"}', "has no label"),
        ('{"edit": "add", "input": ["a"]}', "needs a label"),
        ('{"edit": "remove", "input": [1]}', "reads strings"),
        ('{"edit": "remove", "input": ["capital"], "input": ["a"]}', "'input' stands twice"),
        ("", "holds no line"),
    ],
)
def test_a_bad_line_of_edits(line, message, run, place):
    (place / "e.jsonl").write_text(line)
    options = ("--edits", place / "e.jsonl", "-o", place / "new")
    code, _, errors = run("edit", place / "m", place / "data.jsonl", *options)
    assert code == 2 and message in errors and not (place / "new").exists()


def test_a_folder_that_is_not_editable_and_other_data(run, place):
    byheart.compile(byheart.load(place / "data.jsonl")).save(place / "plain")
    item = ("--item", "capital of peru", "-o", place / "new")
    code, _, errors = run("forget", place / "plain", place / "data.jsonl", *item)
    assert code == 2 and "--editable" in errors
    lines = (place / "data.jsonl").read_text().splitlines(keepends=True)
    (place / "other.jsonl").write_text("".join(lines[:-1]))
    code, _, errors = run("forget", place / "m", place / "other.jsonl", *item)
    assert code == 2 and "not what the model was made from" in errors
    code, _, errors = run("forget", place / "m", place / "data.jsonl", "-o", place / "new")
    assert code == 2 and "--item" in errors and not (place / "new").exists()


def test_what_a_folder_leaves_out_must_be_repeated(run, tmp_path):
    (tmp_path / "t.txt").write_text("one cat sat on the mat\ntwo dogs ran to a door\n")
    whole = byheart.load(tmp_path / "t.txt", length=4)
    byheart.compile(whole, editable=True).save(tmp_path / "m")
    item = ("--item", "two dogs ran to", "-o", tmp_path / "new")
    code, _, errors = run("forget", tmp_path / "m", tmp_path / "t.txt", *item)
    assert code == 2 and "--length" in errors and not (tmp_path / "new").exists()
    assert run("forget", tmp_path / "m", tmp_path / "t.txt", *item, "--length", 4)[0] == 0


# ---------------------------------------------------------------- locate, diff, generate


def test_locate_and_its_reverse(run, place):
    code, output, _ = run("locate", place / "m", "capital", "of", "peru", "--json")
    answer = json.loads(output)
    assert code == 0 and answer["label"] == "lima" and answer["read"] and answer["bits"]
    assert sum(stage["read"] for stage in answer["stages"]) == len(answer["read"])
    reverse = ("--reverse", *answer["read"][0])
    code, output, _ = run("locate", place / "m", place / "data.jsonl", *reverse, "--json")
    assert code == 0 and ["capital", "of", "peru"] in json.loads(output)["items"]
    code, output, _ = run("locate", place / "m", "capital", "of", "peru")
    assert code == 0 and "\nchanging " in output
    assert run("locate", place / "m")[0] == run("locate", place / "m", *reverse)[0] == 2


def test_pictures_are_drawn(run, place):
    pytest.importorskip("matplotlib")
    options = ("--set", "capital of france=lyon", "-o", place / "new")
    assert run("edit", place / "m", place / "data.jsonl", *options)[0] == 0
    assert run("diff", place / "m", place / "new", "--plot", place / "d.svg")[0] == 0
    assert run("locate", place / "m", "capital of peru", "--plot", place / "l.svg")[0] == 0
    assert "differ" in (place / "d.svg").read_text() and (place / "l.svg").stat().st_size > 1000


def test_a_pack_for_unlearning(run, tmp_path):
    """The old command makes the pack of that name, with its options."""
    pytest.importorskip("transformers")
    sizes = ("--subjects", 4, "--relations", 3, "--objects", 4, "--forgotten", 2, "--edited", 2)
    code, output, _ = run("generate", "unlearning", "-o", tmp_path / "p", *sizes, "--json")
    told = json.loads(output)
    assert code == 0 and told["forgotten_is_retained"] is True
    assert [told[x] for x in ("name", "facts", "forgotten", "edited")] == ["unlearning", 12, 2, 2]
    assert run("generate", "pack", "unlearning", "-o", tmp_path / "q", *sizes)[0] == 0
    one, two = ((tmp_path / x / "pack.json").read_bytes() for x in "pq")
    assert one == two
    code, _, errors = run("generate", "unlearning", "-o", tmp_path / "p", *sizes)
    assert code == 2 and "exists" in errors
    code, _, errors = run("generate", "unlearning", "-o", tmp_path / "r", "--length", 4)
    assert code == 2 and "takes no --length" in errors and not (tmp_path / "r").exists()


# ---------------------------------------------------------------- killed


KILLED = """
import os, signal, sys
from byheart.cli import main
from byheart.models.folder import write
places = {"rename": (os, "rename"), "read": (write, "_read_back")}
module, function = places[sys.argv[1]]
def kill(*arguments, **named):
    print("reached", flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
setattr(module, function, kill)
main(sys.argv[2:])
"""


@pytest.mark.parametrize("moment", ["read", "rename"])
def test_killed_while_it_writes(moment, run, place):
    """The old folder is untouched and the new one is absent; the next run succeeds."""
    before = content(place / "m")
    arguments = ["forget", place / "m", place / "data.jsonl"]
    arguments += ["--item", "capital of peru", "-o", place / "new"]
    command = [sys.executable, "-c", KILLED, moment, *map(str, arguments)]
    found = subprocess.run(command, capture_output=True, text=True)
    assert found.returncode == -signal.SIGKILL and "reached" in found.stdout
    assert content(place / "m") == before and not (place / "new").exists()
    assert run(*arguments)[0] == 0
    assert content(place / "m") == before and byheart.open(place / "new").tokens
    assert not list(place.glob(".byheart-*"))


def test_a_wrong_network_is_not_written(run, place, monkeypatch):
    """Both verify all remaining items before they write."""
    from byheart.api import compile as compiling

    real = compiling.verify

    def refuted(model, *rest, **named):
        found = real(model, *rest, **named)
        return type(found)(found.checked, found.correct - 1, "refuted", found.engine)

    monkeypatch.setattr(compiling, "verify", refuted)
    options = ("--set", "capital of peru=rome", "-o", place / "new")
    code, _, errors = run("edit", place / "m", place / "data.jsonl", *options)
    assert code == 2 and "is not returned" in errors and not os.path.lexists(place / "new")
    assert isinstance(byheart.open(place / "m"), Model)
