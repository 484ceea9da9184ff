"""Worker processes on this machine, each with one thread and one task at a time.

A worker is a fresh interpreter at the other end of a pipe. It gets a task, and what it shares with
others unless that is what it had last, and returns the answer. Whatever kills a worker closes the
pipe, so nobody waits for a dead one; and when this process ends, however it ends, its workers end
too. An interrupt ends the wait for an answer at any time.
"""

import os
import signal
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import get_context, parent_process, resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from threading import Thread
from typing import Any, Self

from ...errors import ByheartError, OptionError
from ..interrupts import Interrupts
from .tasks import ONE_THREAD, Answer, Failure, Run, TaskFailed, attempted

SPAWN = get_context("spawn")
DEATHS = 2  # of workers at one task, before it is given up


@dataclass
class _Task:
    task: Any
    shared: Any
    deaths: int = 0


@dataclass
class _Worker:
    """A process with its current task, and what it was sent last beside a task."""

    process: SpawnProcess
    ready: bool = False
    task: _Task | None = None
    shared: Any = None


class Engine:
    """Tasks in `jobs` processes; workers are started when there is work for them."""

    def __init__(self, run: Run, jobs: int) -> None:
        if jobs < 1:
            raise OptionError("jobs", jobs, "must be 1 or more")
        self.jobs = jobs
        self._run = run
        self._queue: deque[_Task] = deque()
        self._workers: dict[Connection, _Worker] = {}
        self._interrupts = Interrupts()

    def __enter__(self) -> Self:
        self._interrupts.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        """End all workers, in the middle of a task if need be."""
        try:
            with self._interrupts.held():
                for worker in self._workers.values():
                    worker.process.kill()
                for connection in list(self._workers):
                    self._bury(connection)
                self._queue.clear()
        finally:
            self._interrupts.__exit__()

    @property
    def running(self) -> int:
        return len(self._queue) + sum(x.task is not None for x in self._workers.values())

    def submit(self, task: Any, shared: Any) -> None:
        self._queue.append(_Task(task, shared))
        self._hand_out()

    def finished(self) -> Answer:
        if not self.running:
            raise RuntimeError("nothing is running.")
        while True:
            self._hand_out()
            (connection, *_) = wait([*self._workers, *self._interrupts.wakes])
            self._interrupts.check()
            if connection not in self._workers:
                continue  # another signal than an interrupt
            worker = self._workers[connection]
            try:
                answer = connection.recv()  # an answer or, when a worker is ready, None
            except (EOFError, OSError):
                self._died(connection)
                continue
            task, worker.task, worker.ready = worker.task, None, True
            if isinstance(answer, Failure):
                assert task is not None
                raise answer.error(task.task)
            if answer is not None:
                self._hand_out()  # the worker need not wait until the answer is stored
                return answer

    def _died(self, connection: Connection) -> None:
        """Try the task of a dead worker once more: it may not have been the cause."""
        worker, code = self._workers[connection], self._bury(connection)
        if not worker.ready:
            raise ByheartError(f"a worker process ended before it could work (exit code {code}).")
        task = worker.task
        if task is None:
            return
        task.deaths += 1
        if task.deaths == DEATHS:
            how = f"by signal {-code}" if code is not None and code < 0 else f"exit code {code}"
            raise TaskFailed(
                task.task,
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
                known = worker.shared is task.shared
                worker.shared = task.shared
                with suppress(OSError):  # it is dead, which `finished` will notice
                    connection.send((task.task, None if known else task.shared))
        starting = sum(not worker.ready for worker in self._workers.values())
        for _ in range(min(len(self._queue) - starting, self.jobs - len(self._workers))):
            ours, theirs = SPAWN.Pipe()
            process = SPAWN.Process(target=work, args=(theirs, self._run), daemon=True)
            with self._interrupts.held(), _birth():
                process.start()
                self._workers[ours] = _Worker(process)
                theirs.close()  # so that its death closes the pipe


@contextmanager
def _birth() -> Iterator[None]:
    """A process started in this block inherits one thread for every library, and no Ctrl-C.

    Ctrl-C in a terminal goes to all processes. Only this one, which ends the others, may receive
    it. One that comes now is delivered at the end, or to another thread, if there is one.
    """
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    resource_tracker.ensure_running()  # which lets Ctrl-C through again when it starts
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, ())  # as it is
    try:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        os.environ.update(ONE_THREAD)
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
    shared: Any = None
    answer: Answer | Failure | None = None
    with suppress(EOFError, OSError):  # the parent has closed the pipe
        while True:
            connection.send(answer)
            task, sent = connection.recv()
            shared = shared if sent is None else sent
            answer = attempted(run, task, shared)
