"""Exact numbers in lanes: one per column of the batch, as Python integers on a common scale.

value = integer * 2**-scale.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..network import Dyadic, Matrix


class Lane(NamedTuple):
    values: NDArray  # of Python integers
    scale: int


Stream = dict[int, Lane]  # lanes that are zero everywhere may be missing


def affine(weight: Matrix, bias: Matrix, stream: Stream, size: int) -> Stream:
    """weight stream + bias, on `size` columns."""
    constants = {row: terms[0][1] for row, terms in bias.by_row.items()}
    return {
        row: combine(weight.by_row.get(row, ()), constants.get(row), stream, size)
        for row in set(weight.by_row) | set(bias.by_row)
    }


def positive(stream: Stream) -> Stream:
    return {row: Lane(np.maximum(x.values, 0), x.scale) for row, x in stream.items()}


def take(stream: Stream, index: NDArray) -> Stream:
    return {lane: Lane(x.values[index], x.scale) for lane, x in stream.items()}


def combine(
    terms: Sequence[tuple[int, Dyadic]], constant: Dyadic | None, source: Stream, size: int
) -> Lane:
    """The weighted sum of lanes plus a constant, on the coarsest scale that holds it."""
    present = [(source[lane], value) for lane, value in terms if lane in source]
    scales = [lane.scale - value.exponent for lane, value in present]
    if constant:
        scales.append(-constant.exponent)
    scale = max(scales, default=0)
    total = objects([0] * size)
    if constant:
        total = total + (constant.mantissa << (scale + constant.exponent))
    for (values, own), (mantissa, exponent) in present:
        factor = mantissa << (scale - own + exponent)
        total = total + (values if factor == 1 else values * factor)
    return Lane(total, scale)


def add(left: Lane | None, right: Lane) -> Lane:
    if left is None:
        return right
    scale = max(left.scale, right.scale)
    a, b = scale - left.scale, scale - right.scale
    return Lane(
        (left.values << a if a else left.values) + (right.values << b if b else right.values), scale
    )


def plus(stream: Stream, change: Stream) -> Stream:
    return stream | {row: add(stream.get(row), x) for row, x in change.items()}


def lanes_read(weights: Matrix) -> set[int]:
    """The lanes that a matrix reads."""
    return {column for _, column, _ in weights.entries}


def objects(values: Sequence | NDArray) -> NDArray:
    """An array of Python integers."""
    result = np.empty(len(values), dtype=object)
    result[:] = values.tolist() if isinstance(values, np.ndarray) else values
    return result
