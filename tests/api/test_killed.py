"""edit and forget, killed at every file event and at random moments: nothing is half in place."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import byheart

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are killed as on Unix")
CITIES = {"france": "paris", "italy": "rome", "spain": "madrid", "peru": "lima"}
ITEM = ["capital", "of", "peru"]
VERBS = {
    "edit": lambda *data, **to: byheart.edit(*data, change=[(ITEM, "cusco")], **to),
    "forget": lambda *data, **to: byheart.forget(*data, [ITEM], **to),
}
NAMES = ("m", "data.jsonl")
EVENTS = {"open", "os.rename", "os.mkdir", "os.remove", "os.rmdir", "ctypes.call_function"}


def content(path):
    """What is there: the bytes of a file, or of the files of a folder; None if it is not there."""
    if path.is_dir():
        return {each.name: each.read_bytes() for each in path.iterdir()}
    return path.read_bytes() if path.exists() else None


@pytest.fixture(scope="module", params=VERBS)
def change(request, tmp_path_factory):
    """A verb, a folder with data and a model, and what both are before and after it."""
    place = tmp_path_factory.mktemp(request.param)
    rows = [{"input": ["capital", "of", x], "label": y} for x, y in CITIES.items()]
    (place / "data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    byheart.compile(byheart.load(place / "data.jsonl"), editable=True).save(place / "m")
    after = shutil.copytree(place, tmp_path_factory.mktemp("after") / "copy")
    run(VERBS[request.param], after, after)
    return VERBS[request.param], place, after


def run(verb, place, target):
    """The model and its data of one folder, changed, to another one."""
    to = {"output": target / "m", "write_data": target / "data.jsonl", "force": True}
    verb(place / "m", place / "data.jsonl", **to)


def forked(work, at=None):
    """Work in a process of its own, which ends itself before the event `at`; the events it saw."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:  # from here on nothing of the test goes on
        seen = 0

        def watch(event, given):
            nonlocal seen
            if event not in EVENTS:
                return
            if event == "open" and not (isinstance(given[2], int) and given[2] & os.O_WRONLY):
                return
            seen += 1
            if seen == at:
                os.kill(os.getpid(), signal.SIGKILL)

        try:
            sys.addaudithook(watch)
            work()
            os.write(writing, str(seen).encode())
        finally:
            os._exit(0)
    os.close(writing)
    _, status = os.waitpid(child, 0)
    with os.fdopen(reading, "rb") as file:
        said = file.read()
    assert said or os.WTERMSIG(status) == signal.SIGKILL
    return int(said) if said else None


def check(change, place, target):
    """The new folder is there with its data or not at all; the next run ends, and tidies up."""
    verb, before, after = change
    was = {name: content(before / name) if place == target else None for name in NAMES}
    new = {name: content(after / name) for name in NAMES}
    now = {name: content(target / name) for name in NAMES}
    assert all(now[name] in (was[name], new[name]) for name in NAMES)
    ends = tuple(now[name] == new[name] for name in NAMES)
    assert ends != (True, False)
    if all(ends):
        assert byheart.verify(target / "m", target / "data.jsonl").holds
    if place == target and ends[1]:  # its data is the changed one: compile makes the same of it
        data = byheart.load(target / "data.jsonl")
        byheart.compile(data, editable=True).save(target / "m", force=True)
    else:
        run(verb, place, target)
    assert byheart.verify(target / "m", target / "data.jsonl").holds
    assert content(target / "data.jsonl") == new["data.jsonl"]
    assert not list(target.glob(".byheart-*"))
    return ends


@pytest.mark.parametrize("where", ["in place", "elsewhere"])
def test_killed_at_every_file_event(change, tmp_path, where):
    verb, before, _ = change

    def fresh(name):
        place = shutil.copytree(before, tmp_path / name)
        target = place if where == "in place" else tmp_path / f"{name}-target"
        target.mkdir(exist_ok=True)
        return place, target

    place, target = fresh("whole")
    events = forked(lambda: run(verb, place, target))
    assert events > 15
    seen = set()
    for at in range(1, events + 1):
        place, target = fresh(str(at))
        assert forked(lambda x=(place, target): run(verb, *x), at) is None
        seen.add(check(change, place, target))
    if where == "in place":
        assert seen == {(False, False), (False, True), (True, True)}


RUN = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from test_killed import VERBS, run
print("ready", flush=True)
run(VERBS[sys.argv[2]], Path(sys.argv[3]), Path(sys.argv[3]))
"""


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_killed_at_random_moments(change, tmp_path, seed):
    verb, before, _ = change
    name = next(name for name in VERBS if VERBS[name] is verb)
    root = str(Path(byheart.__file__).parents[1])

    def started(number):
        place = shutil.copytree(before, tmp_path / str(number))
        command = [sys.executable, "-c", RUN, str(Path(__file__).parent), name, str(place)]
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": root}
        )
        assert process.stdout.readline() == b"ready\n"
        return place, process

    _, process = started("whole")
    begin = time.perf_counter()
    assert process.wait() == 0
    whole, rng, ends = time.perf_counter() - begin, random.Random(seed), set()
    for number in range(8):
        place, process = started(number)
        time.sleep(rng.random() * whole)
        process.kill()
        process.communicate()
        ends.add(check(change, place, place))
    assert (False, False) in ends
