"""Worker processes: the same rows whatever happens to them, and running a sweep on them."""

import os
import random
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from byheart.errors import ByheartError
from byheart.lab.sweeps.rows import Rows, read
from byheart.lab.workers import execute, left
from byheart.machine.engines import processes
from byheart.machine.engines.tasks import TaskFailed
from byheart.machine.watch import SILENT, Watch

HERE = str(Path(__file__).parent)
sys.path.insert(0, HERE)
import pretend  # noqa: E402  worker processes import it by this name

sys.path.remove(HERE)


@pytest.fixture(autouse=True)
def importable(monkeypatch):
    monkeypatch.syspath_prepend(HERE)


@pytest.fixture
def pids(tmp_path, monkeypatch):
    """The numbers of all processes that ran a trial."""
    folder = tmp_path / "pids"
    folder.mkdir()
    monkeypatch.setenv(pretend.PIDS, str(folder))
    return lambda: [int(name) for name in os.listdir(folder)]


@pytest.fixture
def gates(tmp_path, monkeypatch):
    """Where trials wait."""
    folder = tmp_path / "gates"
    folder.mkdir()
    monkeypatch.setenv(pretend.GATES, str(folder))
    return pretend.Gates(folder)


def engine(jobs=2):
    return processes.Engine(pretend.run, jobs)


@pytest.fixture(scope="module")
def workers():
    """An engine of two processes for the tests that leave it as it was."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(HERE)
        for library in ("OMP", "OPENBLAS", "MKL"):
            patch.delenv(f"{library}_NUM_THREADS")
        with engine(2) as found:
            rows_from(found, [pretend.trial(seed, milliseconds=1) for seed in range(2)])
            yield found
            assert found.running == 0


def rows_from(workers, trials):
    for trial in trials:
        workers.submit(trial, pretend.PROBLEM)
    return [workers.finished() for _ in trials]


def run_sweep(workers, sweep, folder, watch=SILENT):
    return execute(sweep, lambda _: pretend.PROBLEM, folder, workers, watch)


# --- trials and workers


def test_rows_do_not_depend_on_the_number_of_workers(workers, pids):
    trials = [pretend.trial(seed) for seed in range(8)]
    shuffled = random.Random(0).sample(trials, len(trials))
    with engine(1) as single:
        alone = rows_from(single, trials)
    assert [row["key"] for row in alone] == [trial.key for trial in trials]
    assert pretend.without_seconds(alone) == pretend.without_seconds(rows_from(workers, shuffled))
    assert len(pids()) == 1 and pretend.gone(pids(), 0)


def test_workers_have_one_thread_each(workers):
    before = dict(os.environ)
    (row,) = rows_from(workers, [pretend.trial(tells=1)])
    assert row["worker"]["threads"] and set(row["worker"]["threads"]) == {1}
    assert row["worker"]["variables"] == ["1", "1"]
    assert dict(os.environ) == before


def test_a_problem_is_sent_once(monkeypatch):
    sent = []
    real = processes.Connection.send
    monkeypatch.setattr(
        processes.Connection, "send", lambda self, x: (sent.append(x[1]), real(self, x))
    )
    other = pretend.problem(3)
    with engine(1) as workers:
        for seed, problem in enumerate([pretend.PROBLEM, pretend.PROBLEM, other, pretend.PROBLEM]):
            workers.submit(pretend.trial(seed), problem)
        found = [workers.finished()["contexts"] for _ in range(4)]
    assert found == [2, 2, 3, 2]
    assert sent == [pretend.PROBLEM, None, other, pretend.PROBLEM]


def test_errors_come_back_as_a_sentence(workers):
    sentences = []
    for name in ("raises", "refuses", "blows up"):
        with pytest.raises(TaskFailed) as error:
            rows_from(workers, [pretend.trial(4, **{name: 1})])
        sentences.append(str(error.value))
        assert "Traceback" in error.value.__notes__[0]  # for those who write the code
    assert workers.running == 0
    end = ", sequences 2, seed 4: "
    assert sentences[0] == f"madden2024 with raises 1{end}ValueError: the loss is gone."
    assert sentences[1] == f"madden2024 with refuses 1{end}there is no such thing."
    assert sentences[2].startswith(f"madden2024 with blows up 1{end}ValueError: Out of range float")


def test_a_killed_worker_is_replaced(pids):
    """Here the kernel might have killed it as memory was short, and the second time it fits."""
    trials = [pretend.trial(deaths=1), *(pretend.trial(seed) for seed in range(4))]
    with engine(1) as workers:
        found = rows_from(workers, trials)
    assert {row["key"] for row in found} == {trial.key for trial in trials}
    assert len(pids()) == 2


def test_what_kills_every_worker_is_given_up(pids):
    with engine(1) as workers:
        workers.submit(pretend.trial(deaths=99), pretend.PROBLEM)
        workers.submit(pretend.trial(5), pretend.PROBLEM)
        with pytest.raises(TaskFailed, match=r"ended twice \(by signal 9\); .* fewer jobs"):
            workers.finished()
        assert workers.finished()["key"] == pretend.trial(5).key
    assert len(pids()) == 3


def test_an_idle_worker_that_dies_costs_nothing(pids):
    with engine(1) as workers:
        workers.submit(pretend.trial(0), pretend.PROBLEM)
        workers.finished()
        os.kill(pids()[0], signal.SIGKILL)
        assert pretend.gone(pids())
        workers.submit(pretend.trial(1), pretend.PROBLEM)
        assert workers.finished()["key"] == pretend.trial(1).key


def test_workers_that_cannot_start_are_an_error(monkeypatch, capfd):
    workers = engine(1)
    monkeypatch.setattr(sys, "path", [x for x in sys.path if x != HERE])
    with workers, pytest.raises(ByheartError, match=r"ended before it could work \(exit code 1\)"):
        workers.submit(pretend.trial(), pretend.PROBLEM)
        workers.finished()
    assert "pretend" in capfd.readouterr().err


def test_the_end_of_the_block_ends_trials(pids, gates):
    """One that runs and one that may not have begun, at gates that are never opened."""
    with engine(2) as workers:
        workers.submit(pretend.trial(0, milliseconds=0), pretend.PROBLEM)
        for seed in (1, 2):
            workers.submit(pretend.trial(seed, waits=1), pretend.PROBLEM)
        assert workers.running == 3
        workers.finished()
        assert pretend.holds(lambda: gates.begun(1, 2))
        (_, pid), *_ = gates.begun(1, 2)
        assert pretend.alive(pid) and workers.running == 2
    assert pid in pids() and pretend.gone(pids(), 0)
    assert workers.running == 0


def test_nothing_running_is_not_waited_for():
    with engine() as workers, pytest.raises(RuntimeError):
        workers.finished()
    with pytest.raises(ByheartError, match="jobs must be 1 or more, not 0"):
        engine(0)


# --- sweeps


class Seen(Watch):
    def __init__(self):
        self.calls = []

    def stage(self, name, total=None):
        self.calls.append((name, total))

    def advance(self, steps):
        self.calls.append(steps)

    def note(self, sentence):
        self.calls.append(sentence)


def test_a_sweep_runs_what_is_missing(tmp_path, workers):
    trials = [pretend.trial(seed, milliseconds=1) for seed in range(5)]
    before = run_sweep(workers, pretend.Grid(trials[:2]), tmp_path)
    watch = Seen()
    after = run_sweep(workers, pretend.Grid(trials), tmp_path, watch)
    assert run_sweep(workers, pretend.Grid(trials), tmp_path) == after
    assert after[:2] == before and read(tmp_path) == after
    assert {row["key"] for row in after} == {trial.key for trial in trials}
    assert watch.calls[:3] == [("training", 5), 2, "2 of 5"]
    assert watch.calls[-2:] == [1, "5 of 5, under a minute left"]


def test_a_failure_does_not_stop_the_others(tmp_path, workers):
    trials = [pretend.trial(seed, raises=seed % 2, milliseconds=1) for seed in range(6)]
    watch = Seen()
    with pytest.raises(ByheartError, match="^3 trials failed, .*; the first was madden2024 with"):
        run_sweep(workers, pretend.Grid(trials), tmp_path, watch)
    assert {row["trial"]["seed"] for row in read(tmp_path)} == {0, 2, 4}
    assert watch.calls[-1] == "3 of 6, under a minute left, 3 failed"
    with pytest.raises(TaskFailed, match="raises 1"):
        run_sweep(workers, pretend.Grid(trials[:2]), tmp_path)


def test_a_search_asks_for_no_more_than_it_needs(tmp_path, workers):
    """A bisection goes on as the rows come, and what runs at the same time changes nothing."""
    sweep = replace(pretend.SWEEP, find=True)
    rows = pretend.without_seconds(run_sweep(workers, sweep, tmp_path))
    alone = {}
    while wanted := sweep.wanted(alone):
        alone[wanted[-1].key] = {**pretend.run(wanted[-1], pretend.PROBLEM, 0), "seconds": None}
    assert rows == alone
    assert len(rows) < len(sweep.trials()) / 2


def test_only_few_trials_are_submitted_ahead(tmp_path, workers):
    asked = []
    trials = [pretend.trial(seed, milliseconds=1) for seed in range(9)]

    def problems(trial):
        asked.append((trial.seed, len(read(tmp_path))))
        return pretend.PROBLEM

    execute(pretend.Grid(trials), problems, tmp_path, workers, SILENT)
    assert asked == [(seed, max(0, seed - 2)) for seed in range(9)]


def test_a_second_run_is_refused_before_it_trains(tmp_path, pids):
    folder = tmp_path / "rows"
    with Rows(folder), engine() as workers, pytest.raises(ByheartError, match="another run"):
        run_sweep(workers, pretend.Grid([pretend.trial()]), folder)
    assert pids() == [] and os.listdir(folder) == ["rows.jsonl"]  # nor is its configuration kept


@contextmanager
def program(code, **options):
    """A process of its own, in a session of its own, of which nothing is left in the end.

    It hears interrupts even where these tests do not: in the background of a shell.
    """
    path = os.pathsep.join([HERE, *filter(None, sys.path)])
    hears = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    command = [sys.executable, "-c", f"{hears}; import pretend; {code}"]
    environment = {**os.environ, "PYTHONPATH": path}
    run = subprocess.Popen(command, env=environment, start_new_session=True, **options)
    try:
        yield run
    finally:
        with suppress(ProcessLookupError):
            os.killpg(run.pid, signal.SIGKILL)
        run.wait()


def test_an_interrupt_keeps_what_is_finished(tmp_path, pids):
    """As Ctrl-C in a terminal: all processes of the group hear it. Only three trials can end."""
    code = f"pretend.pretending(pretend.Path({str(tmp_path)!r}), 3)"
    with program(code, stderr=subprocess.PIPE, text=True) as run:
        assert pretend.holds(lambda: len(read(tmp_path)) == 3 or run.poll() is not None)
        os.killpg(run.pid, signal.SIGINT)
        assert pretend.ends(run)
        said = run.stderr.read()
        assert pids() and pretend.gone(pids(), 0)
    assert run.returncode == -signal.SIGINT
    assert said.count("Traceback") == 1 and said.rstrip().endswith("KeyboardInterrupt")
    assert len(read(tmp_path)) == 3


@pytest.mark.parametrize(
    "code", ["pretend.waiting(pretend.interrupt_beside)", "pretend.dropping()"]
)
def test_no_interrupt_is_lost(code, pids, gates):
    """One that does not wake the main thread, and one whose exception Python drops."""
    with program(code, stderr=subprocess.PIPE, text=True) as run:
        assert pretend.ends(run)
        assert run.stderr.read().rstrip().endswith("KeyboardInterrupt")
        assert run.returncode == -signal.SIGINT and pretend.gone(pids(), 0)


def test_an_interrupt_while_a_worker_starts_comes_when_it_has(monkeypatch):
    """Its signal is received by another thread, where that of the engine does not accept it."""
    noted, start, stay = [], processes.SPAWN.Process.start, threading.Event()

    def interrupted(process):
        os.kill(os.getpid(), signal.SIGINT)
        start(process)
        os.kill(os.getpid(), signal.SIGINT)
        noted.append(process.pid)

    monkeypatch.setattr(processes.SPAWN.Process, "start", interrupted)
    beside = threading.Thread(target=stay.wait)
    beside.start()
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with engine(1) as workers, pytest.raises(KeyboardInterrupt):
            workers.submit(pretend.trial(), pretend.PROBLEM)
        assert len(noted) == 1 and pretend.gone(noted, 0)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == mask
    finally:
        signal.signal(signal.SIGINT, handler)
        stay.set()
        beside.join()


def test_workers_do_not_outlive_a_killed_run(pids, gates):
    """Though they are in the middle of a trial of an hour."""
    with program(
        "engine = pretend.processes.Engine(pretend.run, 1);"
        "engine.submit(pretend.trial(waits=1), pretend.PROBLEM); engine.finished()"
    ) as run:
        assert pretend.holds(lambda: gates.begun(0) or run.poll() is not None)
        ((_, worker),) = gates.begun(0)
        assert pretend.alive(worker)
        run.kill()
        assert pids() == [worker] and pretend.gone([worker])


def test_time_left_in_words():
    assert [left(x) for x in (0, 59, 60, 200, 5000, 10_000)] == [
        "under a minute left",
        "under a minute left",
        "about 1 min left",
        "about 3 min left",
        "about 83 min left",
        "about 3 h left",
    ]


def test_trials_are_named():
    trial = pretend.trial(3, dimension=16, neurons=8)
    assert str(trial) == "madden2024 with dimension 16, neurons 8, sequences 2, seed 3"


# --- the bar


def test_the_bar_says_what_is_going_on():
    from rich.progress import Progress

    from byheart.cli.progress import _Bar

    progress = Progress(disable=True)
    bar = _Bar(progress)
    for stage, shown in (("training", "training  "), ("building", "verifying ")):
        bar.stage(stage, 4)
        (task,) = progress.tasks
        assert (task.total, task.completed, task.description) == (None, 0, f"{stage:<10}")
        bar.advance(1)
        assert (task.total, task.completed, task.description) == (4, 1, shown)
    bar.expect(9)
    bar.advance(2)
    bar.note("3 of 9")
    assert (task.total, task.completed, task.fields["note"]) == (9, 3, "3 of 9")
