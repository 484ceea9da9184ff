"""Lanes of columns in integers, and what the layers of a network do to them."""

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import ByheartError
from .network import (
    Dyadic,
    Embedding,
    FeedForward,
    HardAttention,
    Layer,
    Linear,
    Matrix,
    Relu,
)


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


def apply(layer: Layer, stream: Stream, size: int) -> Stream:
    """One token-wise layer on `size` columns."""
    match layer:
        case Linear():
            return affine(layer.weight, layer.bias, stream, size)
        case Relu():
            return positive(affine(layer.weight, layer.bias, stream, size))
        case Embedding():
            return _embed(layer, stream, size)
        case FeedForward():
            hidden = positive(affine(layer.W1, layer.b1, stream, size))
            return plus(stream, affine(layer.W2, layer.b2, hidden, size))
    raise AssertionError(layer.kind)


def _embed(layer: Embedding, stream: Stream, size: int) -> Stream:
    """The column of each id, plus the position times the position's vector."""
    zero = Lane(objects([0] * size), 0)
    ids = stream.get(0, zero)
    count = layer.weight.columns
    for x in ids.values.tolist():
        if x % (1 << ids.scale) or not 0 <= x >> ids.scale < count:
            token = Fraction(x) / (1 << ids.scale)
            raise ByheartError(f"A token is {token}, not an id from 0 to {count - 1}.")
    numbers = (ids.values >> ids.scale).astype(np.int64)
    result: Stream = {}
    for row, terms in layer.weight.by_row.items():
        scale = max(0, *(-value.exponent for _, value in terms))
        table = [0] * count
        for column, (mantissa, exponent) in terms:
            table[column] = mantissa << (exponent + scale)
        result[row] = Lane(objects(table)[numbers], scale)
    for row, terms in layer.position.by_row.items():
        result[row] = add(result.get(row), combine([(1, terms[0][1])], None, stream, size))
    return result


def head_rows(layer: HardAttention, head: int) -> range:
    """The rows of W_Q, W_K and W_V that are one head's."""
    step = layer.W_V.rows // layer.heads
    return range(head * step, (head + 1) * step)


def scored(queries: Stream, keys: Stream) -> NDArray[np.bool_]:
    """Where the score is largest, along the last axis; queries and keys by the rows of a head."""
    scales = {row: queries[row].scale + keys[row].scale for row in queries}
    scale = max(scales.values())
    scores = sum(
        (queries[row].values * keys[row].values) << (scale - own) for row, own in scales.items()
    )
    return scores == scores.max(axis=-1, keepdims=True)


def head_output(layer: HardAttention, rows: range, sums: Stream, numbers: NDArray) -> Stream:
    """W_O of the means: `sums` of the values over as many columns as `numbers` says."""
    size, found = len(numbers), {}
    room = int(numbers.max()).bit_length()  # digits that a division may need
    several = numbers.tolist() if room > 1 else None
    for row, terms in layer.W_O.by_row.items():
        mine = [(column, value) for column, value in terms if column in rows]
        if not mine:
            continue
        total = combine(mine, None, sums, size)
        if several is None:
            found[row] = total
            continue
        means = []
        for value, number in zip(total.values.tolist(), several, strict=True):
            quotient, rest = divmod(value << room, number)
            if rest:
                raise ByheartError(f"The mean of {number} columns is not a dyadic number.")
            means.append(quotient)
        found[row] = Lane(objects(means), total.scale + room)
    return found
