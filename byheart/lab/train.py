"""Run a trial: train until the criterion is reached or the attempts are used up.

What is not reached is censored: "not reached in so many steps", never "cannot".
"""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import cycle
from typing import TYPE_CHECKING

import numpy as np

from ..errors import ByheartError
from .learners import Learner, learner
from .problem import Problem
from .protocol import LONGEST_SIDE, Attempt
from .trial import Row, Trial

if TYPE_CHECKING:
    import torch

LOOK = 50  # steps between two looks at the accuracy


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
    started = time.process_time()
    with _arithmetic():
        found = _outcomes(trial, problem, journal)
    chosen = best(found)
    assert chosen.learner is not None
    return _row(trial, problem, found, chosen, time.process_time() - started), chosen.learner


@contextmanager
def _arithmetic() -> Iterator[None]:
    """One thread, and numbers below the normal ones are 0, which is faster.

    Only while it trains: nothing may be certified with such numbers.
    """
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    try:
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
    preset = trial.preset(problem)
    model = learner(preset, problem, trial.random_seed("start", number), attempt.shrink)
    steps, curve = _descend(trial, problem, attempt, model)
    loss, accuracy = _judged(problem, model)
    loss = loss if math.isfinite(loss) else math.inf  # the training blew up
    reached = trial.criterion.reached(problem, loss, accuracy)
    return Outcome(attempt, loss, accuracy, reached, steps, model, tuple(curve))


def _descend(
    trial: Trial, problem: Problem, attempt: Attempt, model: Learner
) -> tuple[int, list[tuple[int, float, float]]]:
    """Train; how many steps it took, and points of the curve."""
    protocol = trial.protocol
    optimiser = _optimiser(attempt, _trained(model, protocol.frozen))
    batches = cycle(_batches(trial, problem))
    every = max(1, attempt.steps // protocol.curve) if protocol.curve else 0
    curve: list[tuple[int, float, float]] = []
    done = _stops(trial, problem, model)
    for step in range(attempt.steps):
        for group in optimiser.param_groups:
            group["lr"] = _rate(attempt, step)
        if every and step % every == 0:
            curve.append((step, *_judged(problem, model)))
        loss = model.step(next(batches))
        if done(step, loss):
            return step, curve
        optimiser.step()
    if every:
        curve.append((attempt.steps, *_judged(problem, model)))
    return attempt.steps, curve


def _trained(model: Learner, frozen: tuple[str, ...]) -> "list[torch.Tensor]":
    """The tensors that the optimiser changes."""
    for name in frozen:
        if name not in model.tensors:
            raise ByheartError(f"{name!r} cannot be frozen: the model has no tensor of this name.")
    return [tensor for name, tensor in model.tensors.items() if name not in frozen]


def _stops(trial: Trial, problem: Problem, model: Learner) -> Callable[[int, float], bool]:
    """Whether training may end before a step, given the mean loss there."""
    protocol, criterion = trial.protocol, trial.criterion
    least = problem.entropy / problem.predictions

    def done(step: int, loss: float) -> bool:
        if not math.isfinite(loss):
            return True
        if protocol.stop is None or protocol.batch is not None:
            return False
        if criterion.kind != "accuracy":
            near = loss - least <= protocol.stop
            return near and criterion.reached(problem, loss * problem.predictions, 0.0)
        if step % LOOK:
            return False
        return criterion.reached(problem, loss, problem.accuracy(model.logits(problem)))

    return done


def _batches(trial: Trial, problem: Problem) -> list[Problem]:
    protocol = trial.protocol
    if protocol.batch is None:
        return [problem]
    assert protocol.batches is not None
    random = np.random.default_rng(trial.random_seed("batches"))
    return list(problem.batches(protocol.batch, protocol.batches, random))


def _rate(attempt: Attempt, step: int) -> float:
    """The rate of a step: it grows during the warm-up, and falls from then to the end."""
    if step < attempt.warmup:
        return attempt.rate * (step + 1) / (attempt.warmup + 1)
    gone = (step - attempt.warmup) / max(1, attempt.steps - attempt.warmup)
    return attempt.rate * (1 - gone * (1 - attempt.final))


def _optimiser(attempt: Attempt, parameters: "list[torch.Tensor]") -> "torch.optim.Optimizer":
    import torch

    if attempt.optimiser == "adam":
        return torch.optim.Adam(parameters, lr=attempt.rate, fused=True)
    if attempt.optimiser == "adamw":
        decay = attempt.weight_decay
        return torch.optim.AdamW(parameters, lr=attempt.rate, weight_decay=decay, fused=True)
    from pytorch_optimizer import SOAP

    return SOAP(
        parameters,
        lr=attempt.rate,
        weight_decay=attempt.weight_decay,
        max_precondition_dim=LONGEST_SIDE,
    )


def _judged(problem: Problem, model: Learner) -> tuple[float, float]:
    """Summed loss and accuracy."""
    logits = model.logits(problem)
    return problem.loss(logits), problem.accuracy(logits)


def _row(
    trial: Trial, problem: Problem, found: list[Outcome], best: Outcome, seconds: float
) -> Row:
    return {
        "key": trial.key,
        "trial": trial.json(),
        "parameters": trial.preset(problem).parameters,
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
        "curve": [list(point) for point in best.curve],
        "seconds": round(seconds, 3),
    }


def _finite(loss: float) -> float | None:
    """None for a loss that is no number any more: the training blew up."""
    return loss if math.isfinite(loss) else None
