"""Run a trial: train until the criterion is reached or the attempts are used up.

A criterion that is not reached is censored: "not reached in T steps", never "cannot be reached".
"""

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..errors import ByheartError
from ..machine.threads import single
from .learners import Learner, learner
from .problem import Problem
from .protocol import Attempt
from .trial import Row, Trial

if TYPE_CHECKING:
    import torch

LOOK = 50  # steps between two looks at the accuracy
Curve = list[tuple[int, float, float]]  # steps, summed loss, accuracy


@dataclass(frozen=True)
class Outcome:
    """The result of one attempt: summed loss in nats, accuracy, steps taken."""

    attempt: Attempt
    loss: float
    accuracy: float
    reached: bool
    steps: int
    learner: Learner | None  # None if it was read from a journal
    curve: Curve = field(default_factory=list)

    def json(self) -> dict:
        return {
            "rate": self.attempt.rate,
            "warmup": self.attempt.warmup,
            "planned": self.attempt.steps,
            "steps": self.steps,
            "loss": finite(self.loss),
            "accuracy": self.accuracy,
            "reached": self.reached,
        }


def run(trial: Trial, problem: Problem, folder: Path | None = None) -> Row:
    """The row of a trial; a search for hyper-parameters that was killed resumes.

    folder  of its journal. A cluster keeps none, as nodes need not share a disk.
    """
    journal = None
    if folder is not None and trial.protocol.search is not None:
        (folder / "journals").mkdir(exist_ok=True)
        journal = str(folder / "journals" / f"{trial.key}.log")
    return train(trial, problem, journal)[0]


def train(trial: Trial, problem: Problem, journal: str | None = None) -> tuple[Row, Learner]:
    """The row, and the model of the best attempt; a search records its attempts in the journal."""
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

            outcomes = searched(trial, problem, journal)
        seconds = time.process_time() - started
    chosen = best(outcomes)
    assert chosen.learner is not None
    row = {
        "key": trial.key,
        "trial": trial.json(),
        "parameters": architecture.parameters,
        **problem.facts._asdict(),
        "loss": finite(chosen.loss),
        "accuracy": chosen.accuracy,
        "reached": chosen.reached,
        "steps": chosen.steps,
        "attempts": [one.json() for one in outcomes],
        "curve": [[step, finite(loss), accuracy] for step, loss, accuracy in chosen.curve],
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
    reached = trial.criterion.reached(problem, loss, accuracy)
    if not math.isfinite(loss):  # the training diverged: the argmax of NaN means nothing
        loss, reached = math.inf, False
    return Outcome(attempt, loss, accuracy, reached, steps, model, curve)


def descend(trial: Trial, problem: Problem, attempt: Attempt, model: Learner) -> tuple[int, Curve]:
    """Train; the number of steps taken, and points of the curve."""
    protocol = trial.protocol
    for name in protocol.frozen:
        if name not in model.tensors:
            raise ByheartError(f"{name!r} cannot be frozen: the model has no tensor of this name.")
    optimiser = optimiser_of(
        attempt, [tensor for name, tensor in model.tensors.items() if name not in protocol.frozen]
    )
    batches = [problem]
    if protocol.batch is not None:
        assert protocol.batches is not None
        random = np.random.default_rng(trial.random_seed("batches"))
        batches = list(problem.batches(protocol.batch, protocol.batches, random))
    every = max(1, attempt.steps // protocol.curve) if protocol.curve else 0
    curve: Curve = []
    for step, batch in zip(range(attempt.steps), cycle(batches), strict=False):
        # The rate grows during the warm-up, and falls linearly from then to the end.
        rate = attempt.rate * (step + 1) / (attempt.warmup + 1)
        if step >= attempt.warmup:
            gone = (step - attempt.warmup) / max(1, attempt.steps - attempt.warmup)
            rate = attempt.rate * (1 - gone * (1 - attempt.final))
        for group in optimiser.param_groups:
            group["lr"] = rate
        if every and step % every == 0:
            curve.append((step, *judged(problem, model)))
        if _stops(trial, problem, model, step, model.step(batch)):
            return step, curve
        optimiser.step()
    if every:
        curve.append((attempt.steps, *judged(problem, model)))
    return attempt.steps, curve


def judged(problem: Problem, model: Learner) -> tuple[float, float]:
    """Summed loss and accuracy."""
    logits = model.logits(problem)
    with np.errstate(over="ignore", invalid="ignore"):  # of a training that diverged: see the loss
        return problem.loss(logits), problem.accuracy(logits)


def optimiser_of(attempt: Attempt, parameters: "list[torch.Tensor]") -> "torch.optim.Optimizer":
    import torch

    rate, decay = attempt.rate, attempt.weight_decay
    if attempt.optimiser == "adam":
        return torch.optim.Adam(parameters, lr=rate, fused=True)
    if attempt.optimiser == "adamw":
        return torch.optim.AdamW(parameters, lr=rate, weight_decay=decay, fused=True)
    assert attempt.optimiser == "soap", attempt.optimiser
    from pytorch_optimizer import SOAP

    return SOAP(parameters, lr=rate, weight_decay=decay, max_precondition_dim=attempt.turned)


def _stops(trial: Trial, problem: Problem, model: Learner, step: int, loss: float) -> bool:
    """Whether training ends before this step is taken, given the mean loss there.

    The loss of a step is rounded as its kernel adds it up. It only tells when to look: the loss
    that the row will hold decides.
    """
    stop, criterion = trial.protocol.stop, trial.criterion
    if not math.isfinite(loss):
        return True
    if stop is None or trial.protocol.batch is not None:
        return False
    if criterion.kind == "accuracy":  # which the loss does not tell
        look = step % LOOK == 0
    else:
        least = problem.entropy / problem.predictions
        enough = criterion.reached(problem, loss * problem.predictions, 0.0)
        look = enough and loss - least <= stop
    return look and criterion.reached(problem, *judged(problem, model))


def finite(loss: float) -> float | None:
    """None for the loss of a training that diverged."""
    return loss if math.isfinite(loss) else None
