"""What a killed process has left is removed by the next one in that folder, and nothing else is."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import byheart
from byheart.data.load import write_jsonl
from byheart.machine import files

ROOT = Path(__file__).resolve().parents[2]
KILLED = """
import os, signal, sys
import byheart
from byheart.machine import swap

def killed(folder):
    print(folder.name, flush=True)
    {end}

swap.sync = killed
byheart.open(sys.argv[1]).save(sys.argv[2])
"""
DIES = "os.kill(os.getpid(), signal.SIGKILL)"
WAITS = "sys.stdin.read()"


@pytest.fixture
def model(tmp_path):
    made = byheart.compile(byheart.from_rows([(["a"], "x"), (["b"], "y")]))
    (tmp_path / "first").mkdir()
    made.save(tmp_path / "first" / "m")
    return made


def saving(tmp_path, end):
    """A process that has written a model folder, all but its last step."""
    command = [sys.executable, "-c", KILLED.format(end=end)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        [*command, str(tmp_path / "first" / "m"), str(tmp_path / "killed")],
        env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip


def hidden(path):
    return {entry.name for entry in path.iterdir() if entry.name.startswith(".byheart-")}


def test_a_killed_save_is_cleaned_up_by_the_next(model, tmp_path):
    dead = saving(tmp_path, DIES)
    name = dead.communicate()[0].strip()
    assert hidden(tmp_path) == {name} and len(os.listdir(tmp_path / name)) == 5
    model.save(tmp_path / "second")
    assert not hidden(tmp_path) and byheart.open(tmp_path / "second").recall(["b"]) == "y"


def test_a_save_that_is_alive_is_left_alone(model, tmp_path):
    with saving(tmp_path, WAITS) as alive:
        name = alive.stdout.readline().strip()
        model.save(tmp_path / "second")
        assert hidden(tmp_path) == {name}
        alive.communicate()
    assert byheart.open(tmp_path / "killed").recall(["b"]) == "y" and not hidden(tmp_path)


def test_what_is_not_certainly_ours_stays(model, tmp_path):
    ours = f".byheart-0123456789abcdef-{files.HOST}.part"
    with_more = tmp_path / ours
    with_more.mkdir()
    (with_more / "config.json").write_text("{}")
    (with_more / "thesis.txt").write_text("the only copy")
    elsewhere = tmp_path / ".byheart-0123456789abcdef-00000000.part"  # of another machine
    elsewhere.mkdir()
    target = tmp_path / "first" / "m"
    link = tmp_path / f".byheart-aaaaaaaaaaaaaaaa-{files.HOST}.part"
    link.symlink_to(target)
    file = tmp_path / ".byheart-bbbbbbbbbbbbbbbb-00000000.part"  # of another machine, too
    file.write_text("a file")
    before = hidden(tmp_path)
    model.save(tmp_path / "second")
    assert hidden(tmp_path) == before and file.read_text() == "a file"
    assert (with_more / "config.json").exists() and (with_more / "thesis.txt").exists()
    assert byheart.open(target).recall(["a"]) == "x"


WRITING = """
import os, signal, sys
from byheart.machine.files import replacing

with replacing(sys.argv[1]) as file:
    file.write(b"half")
    file.flush()
    print("written", flush=True)
    {end}
"""


def writing(path, end):
    """A process that has written a part of a file."""
    return subprocess.Popen(
        [sys.executable, "-c", WRITING.format(end=end), str(path)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip


@pytest.mark.parametrize("next_run", ["file", "folder"])
def test_what_a_killed_process_wrote_of_a_file_is_cleaned_up_by_the_next(model, tmp_path, next_run):
    writing(tmp_path / "data.jsonl", DIES).communicate()
    (part,) = hidden(tmp_path)
    assert (tmp_path / part).read_bytes() == b"half" and not (tmp_path / "data.jsonl").exists()
    if next_run == "folder":
        model.save(tmp_path / "second")
    else:
        write_jsonl(byheart.from_rows([(["a"], "x")]), tmp_path / "other.jsonl")
    assert not hidden(tmp_path)


def test_a_file_that_is_being_written_is_left_alone(model, tmp_path):
    with writing(tmp_path / "data.txt", WAITS) as alive:
        assert alive.stdout.readline() == "written\n"
        before = hidden(tmp_path)
        model.save(tmp_path / "second")
        write_jsonl(byheart.from_rows([(["a"], "x")]), tmp_path / "other.jsonl")
        assert len(before) == 1 and hidden(tmp_path) == before
        alive.communicate()
    assert (tmp_path / "data.txt").read_bytes() == b"half" and not hidden(tmp_path)
