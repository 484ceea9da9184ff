"""The output matrix that gives wanted logits, and what is left of it in float32."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...data.targets import Targets
from ...softmax.decoder import Decoder, Shape
from ...softmax.doubles import activation, divergence, mixed_all

Matrix = NDArray[np.float64]
REFINEMENTS = 2
BLOCK = 1 << 24  # activations computed at once


class Solution(NamedTuple):
    """The output matrix [omega, m], and an estimate of the condition number."""

    output: Matrix
    condition: float


def solve(active: Matrix, wanted: Matrix) -> Solution:
    """The matrix of least norm with active @ output^T = wanted, for active [n, m] with n <= m."""
    step, condition = _square(active) if len(active) == active.shape[1] else _wide(active)
    output = np.zeros((active.shape[1], wanted.shape[1]))
    for _ in range(1 + REFINEMENTS if np.isfinite(condition) else 0):
        output += step(wanted - active @ output)
    return Solution(output.T + 0.0, condition)  # no -0.0


def _square(active: Matrix) -> tuple[Callable[[Matrix], Matrix], float]:
    from scipy import linalg  # slow to import

    factors = linalg.lu_factor(active, check_finite=False)
    reciprocal, _ = linalg.lapack.dgecon(factors[0], np.abs(active).sum(axis=0).max())
    return lambda missing: linalg.lu_solve(factors, missing), _inverse(reciprocal)


def _wide(active: Matrix) -> tuple[Callable[[Matrix], Matrix], float]:
    """active^T (active active^T)^-1: the condition number of the square is the root's squared."""
    from scipy import linalg

    square = active @ active.T
    size = np.abs(square).sum(axis=0).max()
    try:
        factors = linalg.cho_factor(square, lower=True, overwrite_a=True, check_finite=False)
    except linalg.LinAlgError:  # not positive, as computed
        return lambda missing: active.T @ missing, np.inf
    reciprocal, _ = linalg.lapack.dpocon(factors[0], size, uplo="L")
    return lambda missing: active.T @ linalg.cho_solve(factors, missing), _inverse(
        reciprocal
    ) ** 0.5


def _inverse(reciprocal: float) -> float:
    return 1 / reciprocal if reciprocal > 0 else np.inf


def observed_in_float32(decoder: Decoder, targets: Targets) -> str:
    """What divergences remain if all weights are rounded to float32 and run in it, as a sentence.

    The softmax of the logits is then taken in doubles.
    """
    tensors = {name: tensor.astype(np.float32) for name, tensor in decoder.tensors.items()}
    size = max(1, BLOCK // max(decoder.shape.neurons, decoder.shape.vocabulary))
    found = []
    for first in range(0, len(targets), size):
        part = targets.subset(np.arange(first, min(first + size, len(targets))))
        found.append(divergence(_logits(decoder.shape, tensors, part).astype(float), part))
    values = np.concatenate(found)
    mean = float((values * targets.weight).sum() / targets.weight.sum())
    return f"observed in float32: divergence mean {mean:.2g}, max {values.max():.2g} nats"


def _logits(shape: Shape, tensors: dict[str, NDArray], targets: Targets) -> NDArray:
    """Logits in the arithmetic of the tensors."""
    mixed = mixed_all(shape, tensors, targets)
    arguments = mixed @ tensors["hidden.weight"].T + tensors["hidden.bias"]
    result = activation(shape.activation)(arguments) @ tensors["output.weight"].T
    assert result.dtype == tensors["output.weight"].dtype
    return result
