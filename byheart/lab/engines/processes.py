"""Worker processes on this machine, each with one thread and one trial at a time.

A worker is a fresh interpreter at the other end of a pipe. It gets a trial, and its problem unless
that is the one it had last, and returns the row. Whatever kills a worker closes the pipe, so nobody
waits for a dead one; and when this process ends, however it ends, its workers end too.
"""

import os
import signal
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context, parent_process, resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from threading import Thread
from typing import Any, Self

from ...errors import ByheartError
from .. import train
from ..problem import Problem
from ..trial import Row, Trial
from . import ONE_THREAD, Failure, Run, TrialFailed, attempted

SPAWN = get_context("spawn")
DEATHS = 2  # of workers at one trial, before it is given up


@dataclass
class _Task:
    trial: Trial
    problem: Problem
    deaths: int = 0


@dataclass
class _Worker:
    """A process with its current task, and the problem that it was sent last."""

    process: SpawnProcess
    ready: bool = False
    task: _Task | None = None
    problem: Problem | None = None


class Engine:
    """Trials in `jobs` processes; workers are started when there is work for them.

    journal  a folder in which searches for hyper-parameters record their attempts
    run      a function of a module that gives the row of a trial
    """

    def __init__(self, jobs: int, journal: Path | None = None, run: Run | None = None) -> None:
        if jobs < 1:
            raise ByheartError(f"jobs must be 1 or more, not {jobs}.")
        self.jobs = jobs
        self._run = run or (partial(searched, Path(journal)) if journal else train.run)
        self._queue: deque[_Task] = deque()
        self._workers: dict[Connection, _Worker] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """End all workers, in the middle of a trial if need be."""
        for worker in self._workers.values():
            worker.process.kill()
        for connection in list(self._workers):
            self._bury(connection)
        self._queue.clear()

    @property
    def running(self) -> int:
        return len(self._queue) + sum(x.task is not None for x in self._workers.values())

    def submit(self, trial: Trial, problem: Problem) -> None:
        self._queue.append(_Task(trial, problem))
        self._hand_out()

    def finished(self) -> Row:
        if not self.running:
            raise RuntimeError("nothing is running.")
        while True:
            self._hand_out()
            connection: Any = wait(list(self._workers))[0]
            worker = self._workers[connection]
            try:
                answer = connection.recv()  # a row or, when a worker is ready, None
            except (EOFError, OSError):
                self._died(connection)
                continue
            task, worker.task, worker.ready = worker.task, None, True
            if isinstance(answer, Failure):
                assert task is not None
                raise answer.error(task.trial)
            if answer is not None:
                self._hand_out()  # the worker need not wait until the row is stored
                return answer

    def _died(self, connection: Connection) -> None:
        """Try the trial of a dead worker once more: it may not have been the cause."""
        worker, code = self._workers[connection], self._bury(connection)
        if not worker.ready:
            raise ByheartError(f"a worker process ended before it could work (exit code {code}).")
        task = worker.task
        if task is None:
            return
        task.deaths += 1
        if task.deaths == DEATHS:
            how = f"by signal {-code}" if code is not None and code < 0 else f"exit code {code}"
            raise TrialFailed(
                task.trial,
                f"its process was ended twice ({how}); if memory is short, run fewer jobs",
            )
        self._queue.appendleft(task)

    def _bury(self, connection: Connection) -> int | None:
        """Remove a worker that is dead or dying; its exit code."""
        worker = self._workers.pop(connection)
        connection.close()
        worker.process.join()
        code = worker.process.exitcode
        worker.process.close()
        return code

    def _hand_out(self) -> None:
        """Give tasks to workers without one, and start as many as are missing."""
        for connection, worker in self._workers.items():
            if self._queue and worker.ready and worker.task is None:
                task = worker.task = self._queue.popleft()
                known = worker.problem is task.problem
                worker.problem = task.problem
                with suppress(OSError):  # it is dead, which `finished` will notice
                    connection.send((task.trial, None if known else task.problem))
        starting = sum(not worker.ready for worker in self._workers.values())
        for _ in range(min(len(self._queue) - starting, self.jobs - len(self._workers))):
            ours, theirs = SPAWN.Pipe()
            process = SPAWN.Process(target=work, args=(theirs, self._run), daemon=True)
            with _birth():
                process.start()
                self._workers[ours] = _Worker(process)
            theirs.close()  # so that its death closes the pipe


@contextmanager
def _birth() -> Iterator[None]:
    """A process started in this block inherits one thread for every library, and no Ctrl-C.

    Ctrl-C in a terminal goes to all processes. Only this one, which ends the others, may receive
    it; one that comes now is delivered at the end.
    """
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    resource_tracker.ensure_running()  # which lets Ctrl-C through again when it starts
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    os.environ.update(ONE_THREAD)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def work(connection: Connection, run: Run) -> None:
    """The life of a worker, which ends when its parent is gone, even if that was killed."""
    parent = parent_process()
    assert parent is not None

    def watch() -> None:
        wait([parent.sentinel])
        os._exit(1)

    Thread(target=watch, daemon=True).start()
    problem: Any = None
    answer: Row | Failure | None = None
    with suppress(EOFError, OSError):  # the parent has closed the pipe
        while True:
            connection.send(answer)
            trial, sent = connection.recv()
            problem = problem if sent is None else sent
            answer = attempted(run, trial, problem)


def searched(folder: Path, trial: Trial, problem: Problem) -> Row:
    """train.run, except that a search for hyper-parameters that was killed resumes."""
    if trial.protocol.search is None:
        return train.run(trial, problem)
    journals = folder / "journals"
    journals.mkdir(exist_ok=True)
    return train.train(trial, problem, str(journals / f"{trial.key}.log"))[0]
