"""Trials that train nothing, for tests of what runs trials. Worker processes import this file.

What a trial does is in its sizes: it waits, raises, dies, or answers after so many milliseconds.
`python -c "import pretend; pretend.host()"` runs sweeps of them, as many as it is told.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from byheart.data.load import from_rows
from byheart.data.statistics.shards import tasks
from byheart.errors import ByheartError
from byheart.lab import train
from byheart.lab.problem import Problem, next_token
from byheart.lab.protocol import Attempt, Protocol
from byheart.lab.sweeps.sweep import Sweep
from byheart.lab.trial import Criterion, Trial
from byheart.lab.workers import execute
from byheart.machine.engines import processes
from byheart.machine.watch import SILENT

PROTOCOL = Protocol("pretend", (Attempt("adam", 0.1, 1),))
CRITERION = Criterion("accuracy", 1.0)
PIDS = "PRETEND_PIDS"  # a folder where every process that runs a trial leaves its number
GATES = "PRETEND_GATES"  # the folder of the Gates of trials that wait
LONG = 300  # seconds in which everything happens, however slow the machine
HOUR = 3600  # seconds that no test takes


def trial(seed: int = 0, **sizes: int) -> Trial:
    return Trial("madden2024", sizes, {"sha256": "0", "sequences": 2}, PROTOCOL, CRITERION, seed)


def problem(contexts: int = 2) -> Problem:
    """Contexts 0, 1, ... of one token, each followed by itself."""
    numbers = np.arange(contexts)
    tokens = numbers[:, None].astype(np.int32)
    ones = np.ones(contexts, np.int64)
    return Problem(contexts, contexts, tokens, ones, numbers, numbers, ones)


PROBLEM = problem()
SWEEP = Sweep(
    "madden2024",
    {"dimension": 2},
    (("sequences", (1, 2, 3, 4, 5)), ("neurons", tuple(range(1, 13)))),
    {"sha256": "0"},
    PROTOCOL,
    CRITERION,
    seeds=3,
)


def run(trial: Trial, problem: Problem, pace: float = 1) -> dict:
    """The row of a trial; a function of the trial and the problem, but for "seconds"."""
    started = time.perf_counter()
    if PIDS in os.environ:
        (Path(os.environ[PIDS]) / str(os.getpid())).touch()
    if "waits" in trial.sizes:
        Gates(os.environ[GATES]).wait(trial)
    random = np.random.default_rng(trial.random_seed("pretend"))
    time.sleep(trial.sizes.get("milliseconds", int(random.integers(2, 40))) / 1000 * pace)
    if trial.sizes.get("raises"):
        raise ValueError("the loss\nis gone")
    if trial.sizes.get("refuses"):
        raise ByheartError("there is no such thing.")
    if "deaths" in trial.sizes and len(os.listdir(os.environ[PIDS])) <= trial.sizes["deaths"]:
        os.kill(os.getpid(), signal.SIGKILL)
    return {
        "key": trial.key,
        "trial": json.loads(json.dumps(trial.json())),
        "loss": float(random.normal()) if not trial.sizes.get("blows up") else float("nan"),
        "contexts": len(problem),
        "reached": bool(trial.sizes.get("neurons", 0) >= random.integers(1, 13)),
        "seconds": time.perf_counter() - started,
    } | ({"worker": _worker(problem)} if trial.sizes.get("tells") else {})


def _worker(problem: Problem) -> dict:
    """Facts about the process."""
    from threadpoolctl import threadpool_info

    return {
        "pid": os.getpid(),
        "object": id(problem),
        "threads": [pool["num_threads"] for pool in threadpool_info()],
        "variables": [os.environ.get("OMP_NUM_THREADS"), os.environ.get("MKL_NUM_THREADS")],
    }


def without_seconds(rows: list[dict]) -> dict[str, dict]:
    """Rows by key, without the time that they took, which alone may differ."""
    found = {row["key"]: {**row, "seconds": None} for row in rows}
    assert len(found) == len(rows)
    return found


def alive(pid: int) -> bool:
    """Whether a process still runs; one that is dead and not yet taken note of does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def holds(fact: Callable[[], object], seconds: float = LONG) -> bool:
    """Whether something is or becomes true within some seconds."""
    end = time.monotonic() + seconds
    while not fact():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def ends(run: subprocess.Popen, looks: int = 3000) -> bool:
    """Whether a process ends; False if it sleeps through so many looks without being woken once.

    A slow machine lets it wait for a processor, which is not sleep.
    """
    asleep, before = 0, None
    while run.poll() is None and asleep < looks:
        now = turns(run.pid)
        asleep = asleep + 1 if now and now == before else 0
        before = now
        time.sleep(0.01)
    return run.poll() is not None


def turns(pid: int) -> tuple[str, ...]:
    """How often the main thread of a process was given a processor; empty unless it sleeps."""
    try:
        status = Path(f"/proc/{pid}/task/{pid}/status").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return ()
    sleeps = any(line.split()[:2] == ["State:", "S"] for line in status)
    return tuple(line for line in status if "ctxt_switches" in line) if sleeps else ()


def gone(pids: list[int], seconds: float = LONG) -> bool:
    """Whether these processes end within some seconds."""
    return holds(lambda: not any(map(alive, pids)), seconds)


class Gates:
    """A folder where trials of waits=1, waits=2, ... wait until gate 1, 2, ... is opened."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    def wait(self, trial: Trial) -> None:
        (self.folder / f"{trial.seed} {os.getpid()}").touch()
        assert holds((self.folder / f"open {trial.sizes['waits']}").exists, HOUR)

    def begun(self, *seeds: int) -> list[tuple[int, int]]:
        """Seeds and processes of the trials that have come to their gates, among these seeds."""
        names = [name.split() for name in os.listdir(self.folder) if "open" not in name]
        found = sorted((int(seed), int(pid)) for seed, pid in names)
        return [(seed, pid) for seed, pid in found if seed in seeds]

    def open(self, number: int) -> None:
        (self.folder / f"open {number}").touch()


def count_shards(task: tasks.Task, job: tasks.Job) -> dict:
    """A task of counting shards; the second shard waits at gate 1 in the middle of its work."""
    if (task.stage, task.number) == (tasks.SCATTER, 1):
        task.path(job, "run").write_bytes(b"half")
        Gates(os.environ[GATES]).wait(trial(1, waits=1))
    return tasks.run(task, job)


class Grid:
    """A tiny sweep: just these trials."""

    def __init__(self, trials: list[Trial]) -> None:
        self.trials = trials

    def wanted(self, rows: dict) -> list[Trial]:
        return [trial for trial in self.trials if trial.key not in rows]

    def total(self, rows: dict) -> int:
        return len(self.trials)

    def done(self, rows: dict) -> int:
        return len(self.trials) - len(self.wanted(rows))

    def json(self) -> dict:
        return {"axes": [trial.key for trial in self.trials]}


def first(count: int, sweep: Sweep, problem: Problem, run: Callable, folder: Path) -> None:
    """A sweep whose first trials may end, so many; it waits with the others for ever."""
    keys = {trial.key for trial in sweep.trials()[:count]}
    with processes.Engine(partial(_run_or_wait, keys, run), 2) as engine:
        execute(sweep, lambda _: problem, folder, engine, SILENT)


def _run_or_wait(keys: set[str], run: Callable, trial: Trial, problem: Problem) -> dict:
    while trial.key not in keys:
        time.sleep(1)
    return run(trial, problem)


def pretending(folder: Path, count: int) -> None:
    first(count, SWEEP, PROBLEM, run, folder)


def waiting(interrupt: Callable[[], None]) -> None:
    """Wait for a trial that never ends, interrupted when it has begun."""
    with processes.Engine(run, 1) as engine:
        engine.submit(trial(waits=1), PROBLEM)
        threading.Thread(target=interrupt, daemon=True).start()
        engine.finished()


def interrupt_beside() -> None:
    """When the main thread sleeps, a thread beside it receives an interrupt, which wakes nobody."""
    assert holds(lambda: Gates(os.environ[GATES]).begun(0))
    before: tuple[str, ...] = ()
    while not before or turns(os.getpid()) != before:
        before = turns(os.getpid())
        time.sleep(0.2)
    signal.pthread_kill(threading.get_ident(), signal.SIGINT)


class Dropped:
    """Its destructor is interrupted, and Python drops what is raised in a destructor."""

    def __del__(self) -> None:
        signal.raise_signal(signal.SIGINT)


def dropping() -> None:
    """Wait for a trial that never ends after an interrupt in a destructor."""
    with processes.Engine(run, 1) as engine:
        engine.submit(trial(waits=1), PROBLEM)
        Dropped()
        engine.finished()


def real() -> tuple[Sweep, Problem]:
    """A sweep of trials that train, for a short time."""
    lines = [([str((7 * i + j * j) % 5) for j in range(4)], str(i % 5)) for i in range(30)]
    axes = (("dimension", (4, 8)), ("neurons", (1, 2, 4, 8, 12, 16)))
    protocol = Protocol("fast", (Attempt("adam", 0.01, 200),))
    data = {"sha256": "0", "sequences": len(lines)}
    sweep = Sweep("madden2024", {}, axes, data, protocol, CRITERION, seeds=3)
    return sweep, next_token(from_rows(lines))


def training(folder: Path, count: int) -> None:
    first(count, *real(), train.run, folder)


def host() -> None:
    """Do what the first argument says for every line that is read: a count and a folder.

    It is done in a copy of this process, which has imported everything already; its number is said
    when it starts, and its exit code when it has ended.
    """
    work = globals()[sys.argv[1]]
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            try:
                count, folder = line.strip().split(" ", 1)
                work(Path(folder), int(count))
                os._exit(0)
            finally:
                os._exit(1)
        print(pid, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
