"""A sweep that is killed again and again ends with the rows of one that was not."""

import os
import random
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from math import inf
from pathlib import Path

import pytest

from byheart.lab.sweeps.rows import read

HERE = str(Path(__file__).parent)
sys.path.insert(0, HERE)
import pretend  # noqa: E402

sys.path.remove(HERE)
KILLS = 20


@contextmanager
def host(work, pids):
    """A process that runs a sweep in every folder that it is told; after an error nothing runs."""
    pids.mkdir()
    path = os.pathsep.join([HERE, *filter(None, sys.path)])
    process = subprocess.Popen(
        [sys.executable, "-c", "import pretend; pretend.host()", work],
        env={**os.environ, "PYTHONPATH": path, pretend.PIDS: str(pids)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,  # workers that are just starting complain about their parent
        text=True,
        start_new_session=True,  # so that all that it starts can be ended with it
    )
    try:
        yield process
        process.stdin.close()
        assert process.wait() == 0
    except BaseException:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise


def killed(process, folder, size, chance):
    """Start the sweep and kill it: while workers start, or after a few more rows and a moment.

    It can do a few rows more than that, and cannot end before, however slow this process is. The
    rows are waited for however slow the sweep is.
    """
    done = len(read(folder))
    wanted = min(done + chance.randrange(4), size - 1)
    end = time.monotonic() + (chance.uniform(0, 0.5) if chance.random() < 0.4 else inf)
    pid = started(process, folder, min(done + 8, size - 1))
    while len(read(folder)) < wanted and time.monotonic() < end:
        assert pretend.alive(pid)
        time.sleep(0.002)
    time.sleep(chance.uniform(0, 0.02))
    os.kill(pid, signal.SIGKILL)
    assert int(process.stdout.readline()) == -signal.SIGKILL


def started(process, folder, count):
    print(count, folder, file=process.stdin, flush=True)
    return int(process.stdout.readline())


def disturbed(process, folder, size, chance):
    """The rows after 20 kills and one run to the end; and how many there were at every kill."""
    lengths = []
    for _ in range(KILLS):
        killed(process, folder, size, chance)
        lengths.append(len(read(folder)))
    return calm(process, folder, size), lengths


def calm(process, folder, size):
    """The rows after a run to the end."""
    started(process, folder, size)
    assert int(process.stdout.readline()) == 0
    return read(folder)


def test_an_error_leaves_no_process_behind(tmp_path):
    """Neither the host, nor the sweep that it runs, nor the workers, which wait for ever."""
    with pytest.raises(ZeroDivisionError), host("pretending", tmp_path / "pids") as process:
        sweep = started(process, tmp_path, 1)
        assert pretend.holds(lambda: read(tmp_path))
        assert pretend.alive(process.pid) and pretend.alive(sweep)
        raise ZeroDivisionError
    workers = [int(name) for name in os.listdir(tmp_path / "pids")]
    assert workers and pretend.gone([process.pid, sweep, *workers])


def test_killed_twenty_times(tmp_path):
    pids = tmp_path / "pids"
    with host("pretending", pids) as process:
        rows, lengths = disturbed(process, tmp_path, pretend.SWEEP.size, random.Random(0))
        assert pretend.gone([int(name) for name in os.listdir(pids)])
    undisturbed = {
        trial.key: {**pretend.run(trial, pretend.PROBLEM, 0), "seconds": None}
        for trial in pretend.SWEEP.trials()
    }
    assert pretend.without_seconds(rows) == undisturbed
    assert len(set(lengths)) > 5 and len(os.listdir(pids)) > 5  # kills came all along the way


@pytest.mark.slow
def test_training_killed_twenty_times(tmp_path):
    pytest.importorskip("torch")
    size = pretend.real()[0].size
    with host("training", tmp_path / "pids") as process:
        undisturbed = calm(process, tmp_path / "calm", size)
        rows, _ = disturbed(process, tmp_path / "wild", size, random.Random(1))
    assert pretend.without_seconds(rows) == pretend.without_seconds(undisturbed)
    assert len(rows) == size
