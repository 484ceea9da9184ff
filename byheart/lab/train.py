"""Run a trial: train until the criterion is reached or the attempts are used up.

A criterion that is not reached is censored: "not reached in T steps", never "cannot be reached".
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from ..claims.result import picked
from ..machine.threads import single
from .attempt import Outcome, best, finite, optimiser_of, outcome
from .learners import Learner, learner
from .problem import Problem
from .trial import Row, Trial


def run(trial: Trial, problem: Problem) -> Row:
    """The row of a trial."""
    return train(trial, problem)[0]


def train(trial: Trial, problem: Problem) -> tuple[Row, Learner]:
    """The row, and the model of the best attempt."""
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
                one = outcome(trial, problem, attempt, number)
                if outcomes and trial.criterion.level(problem, outcomes[-1].loss, one.loss):
                    one = replace(one, reached=True)
                outcomes.append(one)
                if one.reached:
                    break
        else:
            from .tuning import searched  # optuna is slow to import

            outcomes = searched(trial, problem)
        seconds = time.process_time() - started
    chosen = best(outcomes)
    row = {
        "key": trial.key,
        "trial": trial.json(),
        "parameters": architecture.parameters,
        **problem.facts._asdict(),
        "loss": finite(chosen.loss),
        **picked(chosen, "accuracy reached steps"),
        "attempts": [one.json() for one in outcomes],
        "curve": [[step, finite(loss), accuracy] for step, loss, accuracy in chosen.curve],
        "seconds": round(seconds, 3),
    }
    return row, chosen.learner


@contextmanager
def _arithmetic() -> Iterator[None]:
    """One thread, and subnormals rounded to 0: the same sums, fast, and never while certifying."""
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
