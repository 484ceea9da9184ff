"""Where tasks run: processes of this machine, or a Ray cluster.

Both give the same answers, to the bit where the processors and the libraries are the same. A task
is any value whose text names it in messages; what many tasks need is sent to a worker once.
"""

import os
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Protocol

from ...errors import ByheartError, OptionError
from ..installing import remedy
from .tasks import Answer, Run

ENGINES = ("processes", "ray")


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
        return 1 if self.engine == "ray" else self.jobs or len(os.sched_getaffinity(0))

    def check(self) -> None:
        """ByheartError if the package that the engine needs is not installed."""
        if self.engine == "ray" and find_spec("ray") is None:
            raise ByheartError(f"`engine='ray'` needs Ray: {remedy('cluster')}.")

    def start(self, run: Run) -> Engine:
        from . import cluster, processes

        if self.engine == "ray":
            return cluster.Engine(run, self.address)
        return processes.Engine(run, self.here)
