"""A task that a worker runs: its answer, or why there is none."""

import json
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ...errors import ByheartError

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
