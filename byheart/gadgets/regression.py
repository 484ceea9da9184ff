"""The matrix between fixed features and a fixed unembedding that is best for the divergences.

Logits are W_U (x + P^T f) with f the features of a context, x a fixed vector and P free. They are
affine in P, and the divergence of softmax is convex in logits: so is the mean of the divergences
with any weights, and of their powers above 1 (a divergence is not negative). L-BFGS minimises it.

In coordinates in which the features are orthonormal over the contexts, curvatures are alike in all
directions, and a few steps suffice. Directions that the features have only by rounding are left
out. The start is the least-squares fit to wanted vectors x + P^T f = E, or P = 0 if that is better:
where vectors must be long, those of a rough fit are long in wrong directions.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..data.targets import Floats, Targets

STEPS, MEMORY = 300, 10  # of L-BFGS
SMALLEST = 1e-11  # a singular value that is one, relative to the largest


class Task(NamedTuple):
    """Features, fixed vectors and the distributions to fit."""

    features: Floats  # [T, K]
    offset: Floats  # x of each context, [T, d]
    unembedding: Floats  # W_U, [N, d]
    targets: Targets  # T contexts
    shares: Floats  # the weight of each context in the mean, with sum 1


class Fit(NamedTuple):
    """P [K, d], the divergences' weighted mean, the largest, and the mean of least squares."""

    matrix: Floats
    mean: float
    worst: float
    start: float


def fit(task: Task, wanted: Floats, power: float = 1.0, aim: float = 0.0) -> Fit:
    """The P that minimises the mean power of the divergences; it stops if all are within `aim`."""
    from scipy.optimize import minimize  # slow to import

    features, back = _orthonormal(task)
    objective = _Objective(task._replace(features=features), power)
    start = (features * task.shares[:, None]).T @ (wanted - task.offset)  # least squares

    def enough(_: Floats) -> None:
        if objective.worst <= aim:
            raise StopIteration

    options = {"maxiter": STEPS, "maxfun": 2 * STEPS, "maxcor": MEMORY, "ftol": 0, "gtol": 0}
    objective(start.ravel())
    rough = objective.mean
    if objective.worst > aim:
        objective(np.zeros(start.size))
        first, method = objective.best.copy(), "L-BFGS-B"
        minimize(objective, first, jac=True, method=method, callback=enough, options=options)
    best = objective.best.reshape(start.shape)
    return Fit(back(best), objective.mean, objective.worst, rough)


def _orthonormal(task: Task) -> tuple[Floats, Callable[[Floats], Floats]]:
    """Features whose weighted squares are the identity, and the way back to P."""
    from scipy import linalg

    root = np.sqrt(task.shares)[:, None]
    weighted = task.features * root
    if len(weighted) >= weighted.shape[1]:
        basis, triangle = linalg.qr(weighted, mode="economic", check_finite=False)
        if linalg.lapack.dtrcon(triangle)[0] > SMALLEST:
            return basis / root, lambda point: linalg.solve_triangular(triangle, point)
    left, sizes, right = np.linalg.svd(weighted, full_matrices=False)
    kept = sizes > SMALLEST * sizes[0]
    return left[:, kept] / root, lambda point: right[kept].T @ (point / sizes[kept, None])


class _Objective:
    """The weighted mean power of the divergences with its gradient; keeps the best point."""

    def __init__(self, task: Task, power: float) -> None:
        self.task, self.power = task, power
        targets = task.targets
        self.places = np.repeat(np.arange(len(targets)), targets.support), targets.following
        self.probabilities, self.ends = targets.probabilities, targets.ends[:-1]
        p = self.probabilities
        self.entropies = -np.add.reduceat(p * np.log(p), self.ends)
        self.best, self.least, self.mean, self.worst = np.zeros(0), np.inf, np.inf, np.inf

    def __call__(self, point: Floats) -> tuple[float, Floats]:
        task = self.task
        matrix = point.reshape(task.features.shape[1], -1)
        logits = (task.offset + task.features @ matrix) @ task.unembedding.T
        logits -= logits.max(axis=1, keepdims=True)
        mean_logits = np.add.reduceat(self.probabilities * logits[self.places], self.ends)
        weights = np.exp(logits, out=logits)
        totals = weights.sum(axis=1)
        divergences = np.maximum(0, np.log(totals) - mean_logits - self.entropies)
        value = float(task.shares @ divergences**self.power)
        if value < self.least:
            self.best, self.least = point.copy(), value
            self.mean, self.worst = float(task.shares @ divergences), float(divergences.max())
        weights /= totals[:, None]
        weights[self.places] -= self.probabilities
        weights *= (task.shares * self.power * divergences ** (self.power - 1))[:, None]
        return value, (task.features.T @ (weights @ task.unembedding)).ravel()
