"""Descent: the steps of one attempt, from a model that was just drawn to where it ends."""

import math
from collections.abc import Callable
from itertools import cycle
from typing import TYPE_CHECKING

import numpy as np

from ..errors import ByheartError
from .learners import Learner
from .problem import Problem
from .protocol import Attempt
from .trial import Trial

if TYPE_CHECKING:
    import torch

LOOK = 50  # steps between two looks at the accuracy
Curve = list[tuple[int, float, float]]  # steps, summed loss, accuracy


def descend(trial: Trial, problem: Problem, attempt: Attempt, model: Learner) -> tuple[int, Curve]:
    """Train; how many steps it took, and points of the curve."""
    protocol = trial.protocol
    optimiser = optimiser_of(attempt, _trained(model, protocol.frozen))
    batches = cycle(_batches(trial, problem))
    every = max(1, attempt.steps // protocol.curve) if protocol.curve else 0
    curve: Curve = []
    done = _stops(trial, problem, model)
    for step in range(attempt.steps):
        for group in optimiser.param_groups:
            group["lr"] = _rate(attempt, step)
        if every and step % every == 0:
            curve.append((step, *judged(problem, model)))
        loss = model.step(next(batches))
        if done(step, loss):
            return step, curve
        optimiser.step()
    if every:
        curve.append((attempt.steps, *judged(problem, model)))
    return attempt.steps, curve


def judged(problem: Problem, model: Learner) -> tuple[float, float]:
    """Summed loss and accuracy."""
    logits = model.logits(problem)
    with np.errstate(over="ignore", invalid="ignore"):  # of a training that blew up: the loss tells
        return problem.loss(logits), problem.accuracy(logits)


def optimiser_of(attempt: Attempt, parameters: "list[torch.Tensor]") -> "torch.optim.Optimizer":
    """The optimiser of an attempt."""
    import torch

    if attempt.optimiser == "adam":
        return torch.optim.Adam(parameters, lr=attempt.rate, fused=True)
    if attempt.optimiser == "adamw":
        decay = attempt.weight_decay
        return torch.optim.AdamW(parameters, lr=attempt.rate, weight_decay=decay, fused=True)
    assert attempt.optimiser == "soap", attempt.optimiser
    from pytorch_optimizer import SOAP

    return SOAP(
        parameters,
        lr=attempt.rate,
        weight_decay=attempt.weight_decay,
        max_precondition_dim=attempt.turned,
    )


def _trained(model: Learner, frozen: tuple[str, ...]) -> "list[torch.Tensor]":
    """The tensors that the optimiser changes."""
    for name in frozen:
        if name not in model.tensors:
            raise ByheartError(f"{name!r} cannot be frozen: the model has no tensor of this name.")
    return [tensor for name, tensor in model.tensors.items() if name not in frozen]


def _stops(trial: Trial, problem: Problem, model: Learner) -> Callable[[int, float], bool]:
    """Whether training may end before a step, given the mean loss there.

    The loss of a step is rounded as its kernel goes, so the one that the row will have decides.
    """
    protocol, criterion = trial.protocol, trial.criterion
    least = problem.entropy / problem.predictions

    def promising(step: int, loss: float, stop: float) -> bool:
        if criterion.kind == "accuracy":  # of which the loss says nothing
            return step % LOOK == 0
        enough = criterion.reached(problem, loss * problem.predictions, 0.0)
        return enough and loss - least <= stop

    def done(step: int, loss: float) -> bool:
        if not math.isfinite(loss):
            return True
        if protocol.stop is None or protocol.batch is not None:
            return False
        return promising(step, loss, protocol.stop) and criterion.reached(
            problem, *judged(problem, model)
        )

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
