"""Random weights of moderate size, and neurons whose kinks pass through the data."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...data.targets import Targets
from ...errors import AssumptionError
from ...softmax.decoder import Shape
from ...softmax.doubles import mixed_all

Matrix = NDArray[np.float64]
Tensors = dict[str, Matrix]
DIMENSION, LEAST_DIMENSION = 64, 16
SLOPE = 4.0  # arguments of a neuron at other contexts have about this standard deviation
KINK = 0.5  # the argument of a neuron at its own context
BLOCK = 1 << 24  # distances computed at once


class Points(NamedTuple):
    """The contexts as attention gives them.

    tensors   of embedding and attention
    mixed     h_2 of each context, [n, d]
    scale     root of the mean square of two contexts' distance
    distance  of the two nearest contexts, relative to `scale`
    """

    tensors: Tensors
    mixed: Matrix
    scale: float
    distance: float


def check_dimension(shape: Shape) -> None:
    """A2."""
    attended = shape.heads * shape.value_dimension
    if shape.dimension < LEAST_DIMENSION:
        raise AssumptionError(
            f"A2 fails: the dimension is {shape.dimension}; moderate weights need at least "
            f"{LEAST_DIMENSION}, and `method='one-layer'` works with any."
        )
    if attended < LEAST_DIMENSION and not shape.skip:
        raise AssumptionError(
            f"A2 fails: the heads have {attended} dimensions together, and need at least "
            f"{LEAST_DIMENSION}; use more `heads=...`, a larger `head_dimension=...` or "
            "`skip=True`."
        )


def points(shape: Shape, targets: Targets, random: np.random.Generator) -> Points:
    """Random embeddings and attention, whose scores have a standard deviation of about 1.

    Coordinates of token plus position get the variance 1, and those of what attention adds about 1.
    A score is the sum of d^2 d_1 products of four of these numbers, whose variances give 1.
    """
    d = shape.dimension
    deviation = {
        "embedding.weight": 0.5**0.5,
        "positions.weight": 0.5**0.5,
        "attention.query.weight": d**-0.5 * shape.key_dimension**-0.25,
        "attention.key.weight": d**-0.5 * shape.key_dimension**-0.25,
        "attention.value.weight": d**-0.5,
        "attention.out.weight": (shape.heads * shape.value_dimension) ** -0.5,
    }
    tensors = {
        name: random.normal(size=sizes) * deviation[name]
        for name, sizes in shape.tensors.items()
        if not name.startswith(("hidden", "output"))
    }
    mixed = mixed_all(shape, tensors, targets)
    centred = mixed - mixed.mean(axis=0)
    scale = float(np.sqrt(2 * (centred**2).sum(axis=1).mean())) or 1.0
    return Points(tensors, mixed, scale, nearest(mixed) / scale)


def nearest(rows: Matrix) -> float:
    """The distance of the two nearest rows.

    Matrix products say which row is nearest, up to roundings; its distance is then computed.
    """
    squares, result = (rows**2).sum(axis=1), np.inf
    size = max(1, BLOCK // len(rows))
    for first in range(0, len(rows) if len(rows) > 1 else 0, size):
        part = rows[first : first + size]
        apart = squares[None] - 2 * part @ rows.T
        apart[np.arange(len(part)), np.arange(first, first + len(part))] = np.inf
        result = min(result, np.linalg.norm(part - rows[apart.argmin(axis=1)], axis=1).min())
    return float(result)


def neurons(
    found: Points, through: NDArray[np.int64], random: np.random.Generator
) -> tuple[Matrix, Matrix]:
    """Weights [m, d] and biases: random directions, neuron k with its kink near through[k]."""
    weight = random.normal(size=(len(through), found.mixed.shape[1])) * (SLOPE / found.scale)
    return weight, KINK - (weight * found.mixed[through]).sum(axis=1)
