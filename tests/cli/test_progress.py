"""Progress: a bar on a terminal, lines in a log, and what is said while kernels are compiled."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from byheart.cli import progress
from byheart.machine.watch import SILENT, current

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def log(monkeypatch, capsys):
    """A clock that is turned by hand, and what is on standard error, which is no terminal."""
    clock = [0.0]
    monkeypatch.setattr(progress.time, "process_time", lambda: clock[0])
    return clock, lambda: capsys.readouterr().err


def test_short_work_writes_nothing(log):
    clock, errors = log
    with progress.watching() as watch:
        watch.stage("verifying", 10)
        for _ in range(10):
            clock[0] += 2.9
            watch.advance(1)
            watch.note("on the way")
    assert errors() == ""


def test_long_work_writes_a_line_every_thirty_seconds(log):
    clock, errors = log
    with progress.watching() as watch:
        watch.stage("verifying", 100)
        for _ in range(100):
            clock[0] += 1
            watch.advance(1)
    assert errors().splitlines() == [f"byheart: verifying {n}%" for n in (30, 60, 90)]


def test_a_stage_with_a_line_for_each_step(log):
    _, errors = log
    with progress.watching("training") as watch:
        watch.stage("loading")
        watch.note("not said")
        watch.stage("training", 2)
        watch.advance(1)
        watch.note("1 of 2, \x1b[2J5 s left")
        watch.advance(1)
        watch.note("2 of 2")
    lines = ["byheart: training 1 of 2, \\x1b[2J5 s left", "byheart: training 2 of 2"]
    assert errors().splitlines() == lines


def test_the_watch_is_told_while_the_block_runs(log):
    with progress.watching() as watch:
        assert current() is watch
    assert current() is SILENT


KERNEL = """
import sys
from byheart.machine.kernels import njit
from byheart.machine.watch import Watch

@njit
def inner(x):
    return x + 1

@njit
def outer(x):
    return inner(inner(x))

heard = []
watch = Watch()
watch.note = heard.append
with watch:
    assert outer(1) == 3 and outer(2) == 4
print(heard)
"""


def test_kernels_are_announced_only_when_they_are_compiled(tmp_path):
    """The second process finds them on disk."""
    program = tmp_path / "program.py"
    program.write_text(KERNEL)
    known = {**os.environ, "PYTHONPATH": str(ROOT), "NUMBA_CACHE_DIR": str(tmp_path / "kept")}

    def heard():
        done = subprocess.run(
            [sys.executable, str(program)], env=known, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    assert heard() == "['compiling kernels, once', '']"
    assert heard() == "[]"


def test_numba_is_named_in_one_place():
    """Every kernel is made by byheart/machine/kernels.py, so that its compilation is announced."""
    files = [path for path in (ROOT / "byheart").rglob("*.py") if "njit" in path.read_text()]
    wrong = [
        str(path)
        for path in files
        if path.name != "kernels.py"
        and ("from numba import njit" in path.read_text() or "numba.njit(" in path.read_text())
    ]
    assert files and wrong == []


def test_an_interrupt_says_what_is_left(log, tmp_path):
    _, errors = log
    for kept, said in ((None, "nothing is left behind"), (tmp_path, "the same command resumes")):
        with pytest.raises(KeyboardInterrupt), progress.watching(kept=kept):
            raise KeyboardInterrupt
        assert said in errors()
