"""The output matrix that gives wanted logits, and what is left of it in float32."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...data.targets import Targets
from ...encoders import certain
from ...softmax.decoder import Decoder
from ...softmax.doubles import activation, divergence, mixed_all

Matrix = NDArray[np.float64]
REFINEMENTS = 2
BLOCK = 1 << 24  # activations or logits computed at once


class Solution(NamedTuple):
    """The output matrix [omega, m], and an estimate of the condition number."""

    output: Matrix
    condition: float


def solve_outputs(active: Matrix, wanted: Matrix) -> Solution:
    """The matrix of least norm with active @ output^T = wanted, for active [n, m] with n <= m.

    If n < m it is active^T (active active^T)^-1: the condition number of the square is the root's
    squared.
    """
    from scipy import linalg  # slow to import

    if len(active) == active.shape[1]:
        factors = linalg.lu_factor(active, check_finite=False)
        reciprocal, _ = linalg.lapack.dgecon(factors[0], np.abs(active).sum(axis=0).max())
        condition = 1 / reciprocal if reciprocal > 0 else np.inf
    else:
        square = active @ active.T
        size = np.abs(square).sum(axis=0).max()
        try:
            factors = linalg.cho_factor(square, lower=True, overwrite_a=True, check_finite=False)
            reciprocal, _ = linalg.lapack.dpocon(factors[0], size, uplo="L")
        except linalg.LinAlgError:  # not positive, as computed
            reciprocal = 0.0
        condition = (1 / reciprocal if reciprocal > 0 else np.inf) ** 0.5
    output = np.zeros((active.shape[1], wanted.shape[1]))
    for _ in range(1 + REFINEMENTS if np.isfinite(condition) else 0):
        missing = wanted - active @ output
        if len(active) == active.shape[1]:
            output += linalg.lu_solve(factors, missing)
        else:
            output += active.T @ linalg.cho_solve(factors, missing)
    return Solution(output.T + 0.0, condition)  # no -0.0


def observed_in_float32(decoder: Decoder, targets: Targets) -> str:
    """The divergences that remain if all weights are rounded to float32 and run in it, in words.

    The softmax of the logits is then taken in doubles. Without neurons and with one label per
    context, also how many labels are likeliest.
    """
    shape = decoder.shape
    with np.errstate(over="ignore"):  # a weight beyond float32 is infinite, and nothing is right
        tensors = {name: tensor.astype(np.float32) for name, tensor in decoder.tensors.items()}
    if not all(np.isfinite(tensor).all() for tensor in tensors.values()):
        return "observed in float32: weights are beyond it"
    values, likeliest = np.empty(len(targets)), 0
    size = max(1, BLOCK // max(shape.neurons, shape.vocabulary))
    for first in range(0, len(targets), size):
        part = targets.subset(np.arange(first, min(first + size, len(targets))))
        mixed = mixed_all(shape, tensors, part)
        if shape.neurons:
            arguments = mixed @ tensors["hidden.weight"].T + tensors["hidden.bias"]
            mixed = activation(shape.activation)(arguments)
        logits = mixed @ tensors["output.weight"].T
        assert logits.dtype == np.float32
        values[first : first + len(part)] = divergence(logits.astype(float), part)
        likeliest += int((logits.argmax(axis=1) == part.following[part.ends[:-1]]).sum())
    mean = float((values * targets.weight).sum() / targets.weight.sum())
    sentence = f"observed in float32: divergence mean {mean:.2g}, max {values.max():.2g} nats"
    if shape.neurons or not certain(targets):
        return sentence
    if likeliest == len(targets):
        return f"{sentence}, all labels right"
    return f"{sentence}, {likeliest:,} of {len(targets):,} labels"
