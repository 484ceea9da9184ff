"""One attempt of a training: gradient descent until the criterion is reached, and its outcome."""

import math
from dataclasses import dataclass, field
from itertools import cycle
from typing import TYPE_CHECKING

import numpy as np

from ..claims.result import picked
from ..errors import ByheartError
from .learners import Learner, learner
from .problem import Problem
from .protocol import Attempt
from .trial import Trial

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
    learner: Learner
    curve: Curve = field(default_factory=list)

    def json(self) -> dict:
        how = picked(self.attempt, "rate warmup planned=steps")
        return {**how, **picked(self, "steps loss accuracy reached"), "loss": finite(self.loss)}


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
    learnt = [tensor for name, tensor in model.tensors.items() if name not in protocol.frozen]
    optimiser = optimiser_of(attempt, learnt)
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
    """Whether training ends before this step; a rounded mean loss only says when to look."""
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
