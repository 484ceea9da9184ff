"""Run a trial: train until the criterion is reached or the attempts are used up.

What is not reached is censored: "not reached in so many steps", never "cannot".
"""

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from ..machine.threads import single
from .descent import descend, judged, optimiser_of
from .learners import Learner, learner
from .problem import Problem
from .protocol import Attempt
from .trial import Row, Trial


@dataclass(frozen=True)
class Outcome:
    """What one attempt came to: the summed loss in nats, the accuracy, and after how many steps."""

    attempt: Attempt
    loss: float
    accuracy: float
    reached: bool
    steps: int
    learner: Learner | None  # None if it was read from a journal
    curve: tuple[tuple[int, float, float], ...] = ()

    def json(self) -> dict:
        return {
            "rate": self.attempt.rate,
            "warmup": self.attempt.warmup,
            "planned": self.attempt.steps,
            "steps": self.steps,
            "loss": _finite(self.loss),
            "accuracy": self.accuracy,
            "reached": self.reached,
        }


def run(trial: Trial, problem: Problem) -> Row:
    """The row of a trial."""
    return train(trial, problem)[0]


def train(trial: Trial, problem: Problem, journal: str | None = None) -> tuple[Row, Learner]:
    """The row, and the model of the best attempt.

    journal  a file in which a search for hyper-parameters keeps what it has tried
    """
    with _arithmetic():
        _load(trial, problem)
        started = time.process_time()
        found = _outcomes(trial, problem, journal)
        seconds = time.process_time() - started
    chosen = best(found)
    assert chosen.learner is not None
    return _row(trial, problem, found, chosen, seconds), chosen.learner


def _load(trial: Trial, problem: Problem) -> None:
    """Take a step that does not count: loading and compiling are no part of a training's time."""
    attempt = trial.protocol.attempts[0]
    model = learner(trial.architecture_for(problem), problem, 0, attempt.shrink)
    model.step(problem)
    optimiser_of(attempt, list(model.tensors.values())).step()


@contextmanager
def _arithmetic() -> Iterator[None]:
    """One thread, as several add up in another order; and numbers below the normal ones are 0.

    That is faster, and only while it trains: nothing may be certified with such numbers.
    """
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    try:
        with single():
            yield
    finally:
        torch.set_flush_denormal(False)
        torch.set_num_threads(threads)


def _outcomes(trial: Trial, problem: Problem, journal: str | None) -> list[Outcome]:
    """The attempts up to the first that reaches the criterion, or all that Optuna tried."""
    if trial.protocol.search is not None:
        from .tuning import outcomes

        return outcomes(trial, problem, journal)
    found = []
    for number, attempt in enumerate(trial.protocol.attempts):
        found.append(outcome(trial, problem, attempt, number))
        if found[-1].reached:
            break
    return found


def best(found: list[Outcome]) -> Outcome:
    """The first that reached the criterion with the least loss, or the least loss of all."""
    return min(found, key=lambda one: (not one.reached, one.loss))


def outcome(trial: Trial, problem: Problem, attempt: Attempt, number: int) -> Outcome:
    """Train once from a new start; `number` tells attempts of a trial apart."""
    architecture = trial.architecture_for(problem)
    model = learner(architecture, problem, trial.random_seed("start", number), attempt.shrink)
    steps, curve = descend(trial, problem, attempt, model)
    loss, accuracy = judged(problem, model)
    if not math.isfinite(loss):  # the training blew up: NaN says nothing, whichever is its argmax
        return Outcome(attempt, math.inf, accuracy, False, steps, model, tuple(curve))
    reached = trial.criterion.reached(problem, loss, accuracy)
    return Outcome(attempt, loss, accuracy, reached, steps, model, tuple(curve))


def _row(
    trial: Trial, problem: Problem, found: list[Outcome], best: Outcome, seconds: float
) -> Row:
    return {
        "key": trial.key,
        "trial": trial.json(),
        "parameters": trial.architecture_for(problem).parameters,
        "contexts": len(problem),
        "vocabulary": problem.vocabulary,
        "outputs": problem.outputs,
        "predictions": problem.predictions,
        "entropy": problem.entropy,
        "best_accuracy": problem.best_accuracy,
        "loss": _finite(best.loss),
        "accuracy": best.accuracy,
        "reached": best.reached,
        "steps": best.steps,
        "attempts": [one.json() for one in found],
        "curve": [[step, _finite(loss), accuracy] for step, loss, accuracy in best.curve],
        "seconds": round(seconds, 3),
    }


def _finite(loss: float) -> float | None:
    """None for a loss that is no number any more: the training blew up."""
    return loss if math.isfinite(loss) else None
