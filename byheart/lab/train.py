"""Run a trial: train until the criterion is reached or the attempts are used up.

A criterion that is not reached is censored: "not reached in T steps", never "cannot be reached".
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
    """The result of one attempt: summed loss in nats, accuracy, steps taken."""

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

    journal  a file in which a search for hyper-parameters records its attempts
    """
    architecture, first = trial.architecture_for(problem), trial.protocol.attempts[0]
    with _arithmetic():
        # A step that does not count: loading and compiling are no part of a training's time.
        model = learner(architecture, problem, 0, first.shrink)
        model.step(problem)
        optimiser_of(first, list(model.tensors.values())).step()
        started = time.process_time()
        if trial.protocol.search is None:
            outcomes: list[Outcome] = []
            for number, attempt in enumerate(trial.protocol.attempts):
                outcomes.append(outcome(trial, problem, attempt, number))
                if outcomes[-1].reached:
                    break
        else:
            from .tuning import searched

            outcomes = searched(trial, problem, journal)
        seconds = time.process_time() - started
    chosen = best(outcomes)
    assert chosen.learner is not None
    row = {
        "key": trial.key,
        "trial": trial.json(),
        "parameters": architecture.parameters,
        "contexts": len(problem),
        "vocabulary": problem.vocabulary,
        "outputs": problem.outputs,
        "predictions": problem.predictions,
        "entropy": problem.entropy,
        "best_accuracy": problem.best_accuracy,
        "loss": _finite(chosen.loss),
        "accuracy": chosen.accuracy,
        "reached": chosen.reached,
        "steps": chosen.steps,
        "attempts": [one.json() for one in outcomes],
        "curve": [[step, _finite(loss), accuracy] for step, loss, accuracy in chosen.curve],
        "seconds": round(seconds, 3),
    }
    return row, chosen.learner


@contextmanager
def _arithmetic() -> Iterator[None]:
    """One thread, as several add in another order; and subnormal numbers are rounded to 0.

    That is faster, and holds only during training: nothing may be certified with such numbers.
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


def best(outcomes: list[Outcome]) -> Outcome:
    """The first that reached the criterion with the least loss, or the least loss of all."""
    return min(outcomes, key=lambda one: (not one.reached, one.loss))


def outcome(trial: Trial, problem: Problem, attempt: Attempt, number: int) -> Outcome:
    """Train once from a new start; `number` distinguishes the attempts of a trial."""
    seed = trial.random_seed("start", number)
    model = learner(trial.architecture_for(problem), problem, seed, attempt.shrink)
    steps, curve = descend(trial, problem, attempt, model)
    loss, accuracy = judged(problem, model)
    if not math.isfinite(loss):  # the training diverged: the argmax of NaN means nothing
        return Outcome(attempt, math.inf, accuracy, False, steps, model, tuple(curve))
    reached = trial.criterion.reached(problem, loss, accuracy)
    return Outcome(attempt, loss, accuracy, reached, steps, model, tuple(curve))


def _finite(loss: float) -> float | None:
    """None for the loss of a training that diverged."""
    return loss if math.isfinite(loss) else None
