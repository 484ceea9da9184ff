"""Where tasks run: processes of this machine, or a Ray cluster.

Both give the same answers, to the bit where the processors and the libraries are the same. A task
is any value whose text names it in messages; what many tasks need is sent to a worker once.
"""

import json
import os
import traceback
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Protocol

from ...errors import ByheartError, OptionError

ENGINES = ("processes", "ray")
Answer = dict[str, Any]  # what a task gives, as JSON holds it
Run = Callable[[Any, Any], Answer]  # of a task and what it shares; a function that workers import
ONE_THREAD = {
    f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL", "NUMBA", "NUMEXPR")
} | {"VECLIB_MAXIMUM_THREADS": "1"}


class TaskFailed(ByheartError):
    """A task without an answer: its worker raised an error, or was killed again and again."""

    def __init__(self, task: Any, reason: str) -> None:
        super().__init__(f"{task}: {reason.rstrip('.')}.")
        self.task = task


@dataclass(frozen=True)
class Failure:
    """An error that a task raised, as it travels between processes: in words."""

    reason: str
    details: str

    def error(self, task: Any) -> TaskFailed:
        failed = TaskFailed(task, self.reason)
        failed.add_note(self.details)
        return failed


def attempted(run: Run, task: Any, shared: Any) -> Answer | Failure:
    """The answer of a task exactly as JSON will have it, or why there is none."""
    try:
        return json.loads(json.dumps(run(task, shared), allow_nan=False))
    except Exception as error:
        sentence = error.message.marked if isinstance(error, ByheartError) else str(error)
        sentence = " ".join(sentence.split())
        if not isinstance(error, ByheartError):
            sentence = f"{type(error).__name__}: {sentence}" if sentence else type(error).__name__
        return Failure(sentence, traceback.format_exc())


class Engine(AbstractContextManager["Engine"], Protocol):
    """Runs tasks, several at a time, within a `with` block; what still runs at its end is ended.

    running  tasks that were submitted and have not been returned yet
    jobs     how many can run at the same time
    """

    @property
    def running(self) -> int: ...

    @property
    def jobs(self) -> int: ...

    def submit(self, task: Any, shared: Any) -> None:
        """Run this task as soon as there is room. What is shared is one object: it is sent once."""
        ...

    def finished(self) -> Answer:
        """The answer of the next task that is finished, whichever that is, or TaskFailed."""
        ...


@dataclass(frozen=True)
class Workers:
    """Where tasks run: `jobs` processes of this machine (None: one per core), or a Ray cluster."""

    engine: str = "processes"
    jobs: int | None = None
    address: str | None = None

    def __post_init__(self) -> None:
        if self.engine not in ENGINES:
            raise OptionError("engine", self.engine, f"must be {' or '.join(ENGINES)}")
        if self.engine != "ray" and self.address is not None:
            raise ByheartError("address is that of a Ray cluster: use `engine='ray'` as well.")
        if self.engine == "ray" and self.jobs is not None:
            raise ByheartError(
                "jobs is for `engine='processes'`: a Ray cluster runs one task per core."
            )
        if self.jobs is not None and self.jobs < 1:
            raise OptionError("jobs", self.jobs, "must be 1 or more")

    @property
    def here(self) -> int:
        """How many tasks run on this machine at a time; a cluster counts as one."""
        if self.engine == "ray":
            return 1
        return self.jobs or len(os.sched_getaffinity(0))

    def check(self) -> None:
        """ByheartError if the package that the engine needs is not installed."""
        if self.engine == "ray" and find_spec("ray") is None:
            raise ByheartError("`engine='ray'` needs Ray: pip install 'byheart[cluster]'.")

    def start(self, run: Run) -> Engine:
        """The engine for tasks of one kind."""
        from . import cluster, processes

        if self.engine == "ray":
            return cluster.Engine(run, self.address)
        return processes.Engine(run, self.here)
