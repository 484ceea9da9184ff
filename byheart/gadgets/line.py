"""Tokens on a line: decoders in which every vector is a multiple of the vector of ones.

In the proof of madden2024, Theorem 5, token a is z_a 1 / sqrt(d), position t is u_t 1 / sqrt(d) and
the attention matrices are constant. Attention then is that of the numbers x_t = z_(a_t) + u_t,

    f(z, u, a) = sum_t x_t exp(x_t x_k) / sum_t exp(x_t x_k)      (k the last position)

whatever d, the number of heads and their dimension; with the skip connection, f + x_k. For generic
(z, u) it takes different contexts to different numbers (Theorem 4), and so does the weighted sum of
tokens (Theorem 6). Generic points are drawn: positive ones, since Theorem 3 fails for mixed signs,
and of several draws the one that keeps contexts farthest apart.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from ..data.targets import Floats, Targets
from ..errors import AssumptionError
from ..softmax.decoder import ATTENTION, Shape

LOW, HIGH = 0.2, 2.0  # where z and u are drawn from
DRAWS = 8
ROOM = 1e3  # the least distance of two contexts, in units of the rounding of a double


class Line(NamedTuple):
    """The tensors before the neurons, and the number of each context: the sum of coordinates."""

    tensors: Mapping[str, NDArray]
    x: Floats
    tries: int

    @property
    def distance(self) -> float:
        if len(self.x) < 2:
            return 1.0
        x = np.sort(self.x)
        return float(np.diff(x).min() / max(x[-1], np.finfo(np.float64).tiny))


def draw(shape: Shape, targets: Targets, random: Generator, positions: bool = True) -> Line:
    """The draw, of DRAWS, that keeps contexts farthest apart; refused if that is too near."""
    lines = []
    for _ in range(DRAWS):
        z = random.uniform(LOW, HIGH, shape.vocabulary)
        u = random.uniform(LOW, HIGH, shape.length) if positions else np.zeros(shape.length)
        tensors = tensors_on_line(shape, z, u)
        lines.append(Line(tensors, numbers(shape, tensors, targets), DRAWS))
    best = max(lines, key=lambda line: line.distance)
    least = ROOM * np.finfo(np.float64).eps
    if best.distance < least:
        raise AssumptionError(
            f"A2 fails: in the best of {DRAWS} draws two contexts are {best.distance:.1e} apart "
            f"(relative to the largest), and doubles need {least:.1e}. Truncate documents with a "
            "smaller `length=...` or `window=...`, use fewer of them, or try another `seed`."
        )
    return best


def numbers(shape: Shape, tensors: Mapping[str, NDArray], targets: Targets) -> Floats:
    """The sum of coordinates of each context after attention, in doubles."""
    from ..softmax.doubles import mixed_all

    return mixed_all(shape, tensors, targets).sum(axis=1)


def tensors_on_line(shape: Shape, z: Floats, u: Floats) -> dict[str, NDArray]:
    """The tensors of the proof of Theorem 5, or of Theorem 7, before the neurons."""
    d, size = shape.dimension, shape.tensors
    ones = np.ones(d) / np.sqrt(d)
    if shape.mixing != ATTENTION:
        return {"embedding.weight": np.outer(z, ones), "token_sum.weight": u}
    keys = np.full(size["attention.key.weight"], 1 / np.sqrt(d * shape.key_dimension))
    values = np.full(size["attention.value.weight"], 1 / np.sqrt(d * shape.value_dimension))
    return {
        "embedding.weight": np.outer(z, ones),
        "positions.weight": np.outer(u, ones),
        "attention.query.weight": keys,
        "attention.key.weight": keys,
        "attention.value.weight": values,
        "attention.out.weight": values.T / shape.heads,
    }
