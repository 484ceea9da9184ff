"""rows.jsonl: whole lines, one writer, nothing lost, nothing twice."""

import json
import os
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from byheart.errors import ByheartError
from byheart.lab.protocol import protocol
from byheart.lab.sweeps.rows import FIELDS, Rows, checked, read, settle
from byheart.lab.trial import Criterion, Trial

ROWS = [{"key": f"k{i}", "loss": i / 3, "name": "é\n\r\u2028"} for i in range(4)]
CONFIGURATION = {
    "architecture": "madden2024",
    "axes": [{"name": "neurons", "values": [4, 8]}],
    "sizes": {"dimension": 16},
    "protocol": {"name": "fast", "attempts": [{"rate": 0.1}]},
    "seeds": 3,
}


def write(folder, rows=ROWS):
    with Rows(folder) as file:
        for row in rows:
            file.add(row)
    return (folder / "rows.jsonl").read_bytes()


def test_what_was_added_is_read_in_order(tmp_path):
    content = write(tmp_path / "deep" / "folder", ROWS[:2])
    assert content.count(b"\n") == 2 and len(content.splitlines()) == 2
    write(tmp_path / "deep" / "folder", ROWS[2:])
    assert read(tmp_path / "deep" / "folder") == ROWS
    with Rows(tmp_path / "deep" / "folder") as file:
        assert list(file.rows.values()) == ROWS


def test_no_folder_has_no_rows(tmp_path):
    assert read(tmp_path / "nothing") == []
    assert not (tmp_path / "nothing").exists()


@settings(max_examples=40)
@given(st.integers(0))
def test_cut_anywhere_the_whole_lines_are_kept(tmp_path_factory, cut):
    folder = tmp_path_factory.mktemp("rows")
    content = write(folder)
    cut %= len(content) + 1
    (folder / "rows.jsonl").write_bytes(content[:cut])
    kept = ROWS[: content[:cut].count(b"\n")]
    assert read(folder) == kept
    assert (folder / "rows.jsonl").read_bytes() == content[:cut]  # reading changes nothing
    assert write(folder, ROWS[len(kept) :]) == content


def test_a_key_is_there_once(tmp_path):
    with Rows(tmp_path) as file:
        file.add(ROWS[0])
        with pytest.raises(ByheartError, match="has a row of the trial k0 already"):
            file.add({"key": "k0"})
    assert read(tmp_path) == ROWS[:1]


def test_rows_are_the_same_before_and_after_reading(tmp_path):
    with Rows(tmp_path) as file:
        file.add({"key": "a", "curve": [(1, 2.5)]})
        assert list(file.rows.values()) == read(tmp_path) == [{"key": "a", "curve": [[1, 2.5]]}]
        with pytest.raises(ValueError, match="JSON"):
            file.add({"key": "b", "loss": float("nan")})
    assert len(read(tmp_path)) == 1


@pytest.mark.parametrize(
    "line", [b"", b"{", b"[]", b'{"loss": 1}', b'{"key": 3}', b"\xff", b"[" * 100_000, b'"key"']
)
def test_a_broken_line_is_named(tmp_path, line):
    content = write(tmp_path)
    begin, end = content[: content.index(b"\n") + 1], content[content.index(b"\n") + 1 :]
    broken = begin + line + b"\n" + end
    (tmp_path / "rows.jsonl").write_bytes(broken)
    for reader in (read, lambda folder: Rows(folder).__enter__()):
        with pytest.raises(ByheartError, match=r"rows.jsonl: line 2 is not the row"):
            reader(tmp_path)
    assert (tmp_path / "rows.jsonl").read_bytes() == broken


def test_a_repeated_line_is_named(tmp_path):
    content = write(tmp_path)
    (tmp_path / "rows.jsonl").write_bytes(content + content[: content.index(b"\n") + 1])
    with pytest.raises(ByheartError, match="line 5 repeats the trial of a line above"):
        read(tmp_path)


def test_a_second_writer_is_refused(tmp_path):
    command = [
        sys.executable,
        "-c",
        "from byheart.lab.sweeps.rows import *; Rows(sys.argv[1]).__enter__()",
    ]
    command[2] = "import sys; " + command[2]
    with Rows(tmp_path) as file:
        file.add(ROWS[0])
        with (
            pytest.raises(ByheartError, match="another run is writing .*rows.jsonl"),
            Rows(tmp_path),
        ):
            pass
        second = subprocess.run([*command, str(tmp_path)], capture_output=True, text=True)
        assert second.returncode and "another run is writing" in second.stderr
        assert read(tmp_path) == ROWS[:1]  # readers need no lock
        file.add(ROWS[1])  # and the refused ones broke nothing
    write(tmp_path, ROWS[2:])
    assert read(tmp_path) == ROWS


def test_a_write_that_fails_leaves_no_trace(tmp_path, monkeypatch):
    real = os.write
    with Rows(tmp_path) as file:
        file.add(ROWS[0])
        monkeypatch.setattr(os, "write", lambda number, data: real(number, data[:7]))
        with pytest.raises(ByheartError, match="rows.jsonl cannot be written: the disk is full"):
            file.add(ROWS[1])
        monkeypatch.undo()
        assert read(tmp_path) == ROWS[:1]
        file.add(ROWS[1])
    assert read(tmp_path) == ROWS[:2]


# --- what a row holds


def whole(seed=0, **changes):
    """A row with all fields, such as training writes it."""
    trial = Trial(
        "kajitsuka2025", {"layers": 2}, {"sha256": "x", "sequences": 9},
        protocol("kajitsuka2025", "paper"), Criterion("loss", 0.01), seed,
    )  # fmt: skip
    attempt = {"rate": 0.1, "warmup": 0, "planned": 9, "steps": 7, "loss": 1.5, "reached": True}
    return {
        "key": trial.key, "trial": trial.json(), "parameters": 90, "contexts": 9, "vocabulary": 5,
        "outputs": 2, "predictions": 9, "entropy": 0.5, "best_accuracy": 1.0, "loss": None,
        "accuracy": 0.5, "reached": False, "steps": 7, "attempts": [attempt],
        "curve": [[0, None, 0.5], [5, 2.5, 0.5]], "seconds": 0.25, **changes,
    }  # fmt: skip


def test_whole_rows_are_read(tmp_path):
    rows = [whole(0), whole(1, loss=1.5), whole(2, curve=[], entropy=0), whole(3, remark="more")]
    write(tmp_path, rows)
    assert checked(tmp_path) == read(tmp_path) and len(checked(tmp_path)) == 4
    assert checked(tmp_path / "nothing") == []


def refused(folder, row):
    """What is said of a damaged row that follows a good one."""
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps(x) + "\n" for x in (whole(9), row)))
    with pytest.raises(ByheartError) as error:
        checked(folder)
    begin, end = f"{path}: line 2 has ", "; delete the line, and its trial can be trained again."
    assert str(error.value).startswith(begin) and str(error.value).endswith(end)
    return str(error.value)[len(begin) : -len(end)]


@pytest.mark.parametrize("name", sorted(set(FIELDS) - {"key"}))
def test_a_field_that_is_missing_is_named(tmp_path, name):
    row = whole()
    del row[name]
    assert refused(tmp_path, row) == f"no {name}"


@pytest.mark.parametrize("name", sorted(set(FIELDS) - {"key"}))
def test_a_field_of_another_type_is_named(tmp_path, name):
    assert refused(tmp_path, whole(**{name: "x"})).startswith(f"a field {name} that is not ")
    if name != "loss":
        assert refused(tmp_path, whole(**{name: None})).startswith(f"a field {name} that is not ")


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("attempts", 3, "a list of attempts, each with its steps"),
        ("attempts", [3], "a list of attempts, each with its steps"),
        ("attempts", [{}], "a list of attempts, each with its steps"),
        ("attempts", [{"steps": 3, "planned": "x"}], "a list of attempts, each with its steps"),
        ("curve", [[1, 2.5]], "a list of steps, losses and accuracies"),
        ("curve", [[1, "x", 0.5]], "a list of steps, losses and accuracies"),
        ("predictions", 0, "a whole number from 1 on"),
        ("parameters", 1.5, "a whole number from 1 on"),
        ("parameters", 10**400, "a whole number from 1 on"),
        ("reached", 1, "true or false"),
        ("accuracy", True, "a number"),
        ("loss", float("nan"), "a number or null"),
        ("seconds", float("inf"), "a number"),
    ],
)
def test_values_that_nothing_can_be_computed_from(tmp_path, name, value, words):
    assert refused(tmp_path, whole(**{name: value})) == f"a field {name} that is not {words}"


@pytest.mark.parametrize(
    "change",
    [
        {"seed": 1}, {"sizes": {"layers": 3}}, {"sizes": "x"}, {"protocol": 3}, {"criterion": {}},
        {"protocol": {**whole()["trial"]["protocol"], "search": {}}},
        {"protocol": {**whole()["trial"]["protocol"], "attempts": [3]}},
    ],
)  # fmt: skip
def test_a_trial_that_was_changed_is_seen(tmp_path, change):
    row = whole()
    row["trial"] |= change
    assert refused(tmp_path, row) == "a key that is not that of its trial"


def test_a_trial_is_no_empty_object(tmp_path):
    assert refused(tmp_path, whole(trial={})) == "a key that is not that of its trial"


# --- the configuration beside the rows


def test_the_configuration_is_kept(tmp_path):
    settle(tmp_path / "new", CONFIGURATION)
    path = tmp_path / "new" / "configuration.json"
    assert json.loads(path.read_text()) == CONFIGURATION
    before = path.stat().st_mtime_ns
    settle(tmp_path / "new", CONFIGURATION)
    assert path.stat().st_mtime_ns == before
    assert os.listdir(tmp_path / "new") == ["configuration.json"]


def test_a_sweep_may_be_extended(tmp_path):
    settle(tmp_path, CONFIGURATION)
    for change in ({"seeds": 5}, {"axes": [{"name": "neurons", "values": (4, 8, 16)}]}):
        settle(tmp_path, {**CONFIGURATION, **change})
        (name,) = change
        stored = json.loads((tmp_path / "configuration.json").read_text())
        assert stored == json.loads(json.dumps({**CONFIGURATION, **change})), name


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"protocol": {"name": "paper", "attempts": []}}, "protocol fast, here paper"),
        (
            {"protocol": {"name": "fast", "attempts": [{"rate": 0.2}]}},
            "protocol attempts rate 0.1, here 0.2",
        ),
        ({"architecture": "dana2024"}, "architecture madden2024, here dana2024"),
        (
            {"sizes": {"dimension": 8}, "loss": "squared"},
            "loss none, here squared; sizes dimension",
        ),
        ({"sizes": {}}, "sizes dimension 16, here none"),
    ],
)
def test_another_configuration_is_refused(tmp_path, change, words):
    settle(tmp_path, CONFIGURATION)
    before = (tmp_path / "configuration.json").read_bytes()
    with pytest.raises(ByheartError) as error:
        settle(tmp_path, {**CONFIGURATION, **change, "seeds": 9})
    assert f"configuration.json is of another measurement ({words}" in str(error.value)
    assert "seeds" not in str(error.value)
    assert (tmp_path / "configuration.json").read_bytes() == before


@pytest.mark.parametrize("content", [b"", b"[]", b"\xff"])
def test_a_damaged_configuration_is_refused(tmp_path, content):
    (tmp_path / "configuration.json").write_bytes(content)
    with pytest.raises(ByheartError, match="is not the configuration of a measurement"):
        settle(tmp_path, CONFIGURATION)
