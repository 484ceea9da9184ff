"""Where trials run: processes of this machine, or a Ray cluster.

Both give the same rows, to the bit where the processors and the libraries are the same.
"""

import json
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, Self

from ...errors import ByheartError
from ..problem import Problem
from ..trial import Row, Trial

Run = Callable[[Trial, Problem], Row]  # a function of a module, as workers import it
ONE_THREAD = {
    f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL", "NUMBA", "NUMEXPR")
} | {"VECLIB_MAXIMUM_THREADS": "1"}


class Engine(Protocol):
    """Runs trials, several at a time, within a `with` block; what still runs at its end is ended.

    running  trials that were submitted and have not been returned yet
    jobs     how many can run at the same time
    """

    @property
    def running(self) -> int: ...

    @property
    def jobs(self) -> int: ...

    def submit(self, trial: Trial, problem: Problem) -> None:
        """Run this trial as soon as there is room. One problem is one object: it is sent once."""
        ...

    def finished(self) -> Row:
        """The row of the next trial that is finished, whichever it is; TrialFailed if it failed."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


class TrialFailed(ByheartError):
    """A trial without a row: its worker raised an error, or was killed again and again."""

    def __init__(self, trial: Trial, reason: str) -> None:
        super().__init__(f"{named(trial)}: {reason.rstrip('.')}.")
        self.trial = trial


@dataclass(frozen=True)
class Failure:
    """An error that a trial raised, as it travels between processes: in words."""

    reason: str
    details: str

    def error(self, trial: Trial) -> TrialFailed:
        failed = TrialFailed(trial, self.reason)
        failed.add_note(self.details)
        return failed


def attempted(run: Run, trial: Trial, problem: Problem) -> Row | Failure:
    """The row of a trial exactly as its line will have it, or why there is none."""
    try:
        return json.loads(json.dumps(run(trial, problem), allow_nan=False))
    except Exception as error:
        sentence = " ".join(str(error).split())
        if not isinstance(error, ByheartError):
            sentence = f"{type(error).__name__}: {sentence}" if sentence else type(error).__name__
        return Failure(sentence, traceback.format_exc())


def named(trial: Trial) -> str:
    """A trial in words: madden2024 with dimension 16, neurons 8, sequences 100, seed 0."""
    sizes = {**trial.sizes, "sequences": trial.data.get("sequences"), "seed": trial.seed}
    listed = ", ".join(f"{name} {size}" for name, size in sizes.items() if size is not None)
    return f"{trial.architecture} with {listed}"
