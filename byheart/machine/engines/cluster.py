"""A Ray cluster: the same tasks as remote ones, one processor each.

Every node needs byheart with its extra [cluster], and with [lab] to train. A task whose worker or
node is lost runs again elsewhere.
"""

import logging
import os
import socket
import subprocess
import sys
from types import ModuleType
from typing import Any, Self
from weakref import WeakKeyDictionary

from ...errors import ByheartError
from ..installing import remedy
from ..threads import single
from .tasks import ONE_THREAD, Answer, Failure, Run, TaskFailed, attempted

HERE = "auto"  # Ray's name for the cluster of this machine
RETRIES = 3  # of a task whose worker or node is lost
PATIENCE = 60  # seconds in which a cluster must answer; a busy one takes several
SETTINGS = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_task_oom_retries": str(RETRIES),  # by default a task too large for a node never ends
}
CONNECT = "import ray, sys; ray.init(sys.argv[1], log_to_driver=False)"


class Engine:
    """Tasks on the cluster at an address; None is $RAY_ADDRESS, or the one of this machine.

    run  a function of a module that every node has; it gives the answer of a task
    """

    def __init__(self, run: Run, address: str | None = None) -> None:
        self.address = address or os.environ.get("RAY_ADDRESS") or HERE
        self._run = run
        self._running: dict[Any, Any] = {}
        self._sent: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()

    def __enter__(self) -> Self:
        """Connect to the cluster, after a process of its own has found that it answers."""
        os.environ.update(SETTINGS)
        try:
            import ray
        except ImportError:
            raise ByheartError(f"engine='ray' needs Ray: {remedy('cluster')}.") from None
        reason = _no_port(self.address) or _no_answer(self.address)
        if reason and self.address == HERE:
            raise ByheartError(
                "there is no Ray cluster on this machine: start one with ray start --head, or give "
                "the address of another."
            )
        if reason:
            raise ByheartError(f"there is no Ray cluster at {self.address}: {reason.rstrip('.')}.")
        ray.init(self.address, log_to_driver=False, logging_level=logging.ERROR)
        self._ray: ModuleType = ray
        self._task = ray.remote(num_cpus=1, max_retries=RETRIES)(_alone)
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the cluster, which ends what still runs."""
        self._running.clear()
        self._sent.clear()
        self._ray.shutdown()

    @property
    def running(self) -> int:
        return len(self._running)

    @property
    def jobs(self) -> int:
        """The processors of the cluster; nodes may come and go."""
        return max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    def submit(self, task: Any, shared: Any) -> None:
        if shared not in self._sent:
            self._sent[shared] = self._ray.put(shared)
        self._running[self._task.remote(self._run, task, self._sent[shared])] = task

    def finished(self) -> Answer:
        if not self._running:
            raise RuntimeError("nothing is running.")
        (reference,), _ = self._ray.wait(list(self._running), num_returns=1)
        task = self._running.pop(reference)
        try:
            answer = self._ray.get(reference)
        except self._ray.exceptions.RayError as error:
            first_line = str(error).strip().partition("\n")[0]
            raise TaskFailed(task, first_line or type(error).__name__) from error
        if isinstance(answer, Failure):
            raise answer.error(task)
        return answer


def _alone(run: Run, task: Any, shared: Any) -> Answer | Failure:
    """The answer of a task, with one thread in the libraries that are loaded and in later ones."""
    os.environ.update(ONE_THREAD)
    with single():
        return attempted(run, task, shared)


def _no_port(address: str) -> str:
    """Why nothing can be reached at HOST:PORT; empty if something can, or the form is another."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdecimal():
        return ""
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=5).close()
    except (OSError, OverflowError, UnicodeError) as error:
        return getattr(error, "strerror", None) or str(error)
    return ""


def _no_answer(address: str) -> str:
    """Why Ray cannot connect; empty if it can."""
    command = [sys.executable, "-c", CONNECT, address]
    try:
        subprocess.run(command, check=True, capture_output=True, text=True, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        return f"no answer within {PATIENCE} s"
    except subprocess.CalledProcessError as error:
        return error.stderr.strip().rpartition("\n")[2] or f"exit code {error.returncode}"
    return ""
