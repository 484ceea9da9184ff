"""Lanes of columns in integers, and what the layers of a network do to them."""

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import ByheartError
from . import network
from .network import Dyadic, HardAttention, Layer, Matrix, Mixing, SparseAttention, UniformAttention


class Lane(NamedTuple):
    values: NDArray  # of Python integers
    scale: int


Stream = dict[int, Lane]  # lanes that are zero everywhere may be missing


def affine(weight: Matrix, bias: Matrix, stream: Stream, size: int) -> Stream:
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
    return {column for _, column, _ in weights.entries}


def objects(values: Sequence | NDArray) -> NDArray:
    result = np.empty(len(values), dtype=object)
    result[:] = values.tolist() if isinstance(values, np.ndarray) else values
    return result


def apply(layer: Layer, stream: Stream, size: int) -> Stream:
    """One token-wise layer on `size` columns."""
    match layer:
        case network.Linear():
            return affine(layer.weight, layer.bias, stream, size)
        case network.Relu():
            return positive(affine(layer.weight, layer.bias, stream, size))
        case network.Embedding():
            return _embed(layer, stream, size)
        case network.FeedForward():
            hidden = positive(affine(layer.W1, layer.b1, stream, size))
            return plus(stream, affine(layer.W2, layer.b2, hidden, size))
    raise AssertionError(layer.kind)


def _embed(layer: network.Embedding, stream: Stream, size: int) -> Stream:
    """The column of each id, plus the position times the position's vector."""
    ids = stream.get(0, Lane(objects([0] * size), 0))
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


def scored(queries: Stream, keys: Stream) -> NDArray[np.bool_]:
    """Where the score is largest, along the last axis; queries and keys by the rows of a head."""
    scales = {row: queries[row].scale + keys[row].scale for row in queries}
    scale = max(scales.values())
    scores = sum((queries[r].values * keys[r].values) << (scale - own) for r, own in scales.items())
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


def mix(layer: Mixing, stream: Stream, index: NDArray, keep: NDArray) -> Stream:
    """One layer where columns meet: `index` has a row per sequence, and `keep` its last columns."""
    match layer:
        case network.Sum():
            return {k: Lane(x.values[index].sum(axis=1), x.scale) for k, x in stream.items()}
        case UniformAttention():
            return _attend(layer, stream, index, keep)
        case SparseAttention():
            return _connect(layer, stream, index, keep)
        case HardAttention():
            uniform = layer.uniform
            if uniform is not None and network.divides(index.shape[1], layer.W_O):
                return _attend(uniform, stream, index, keep)
            return _attend_hard(layer, stream, index, keep)


def _attend(layer: UniformAttention, stream: Stream, index: NDArray, keep: NDArray) -> Stream:
    """h + W_O W_V mean for the columns in `keep`."""
    count, length = index.shape
    read = lanes_read(layer.W_V)
    sums = {k: Lane(x.values[index].sum(axis=1), x.scale) for k, x in stream.items() if k in read}
    added = _heads(layer.W_V, network.divided(layer.W_O, length), sums, count)
    spread = {row: Lane(np.repeat(x.values, keep.shape[1]), x.scale) for row, x in added.items()}
    return plus(take(stream, keep.ravel()), spread)


def _connect(layer: SparseAttention, stream: Stream, index: NDArray, keep: NDArray) -> Stream:
    """h_k + W_O W_V mean of the columns that k is connected to, for the columns in `keep`."""
    count, length = index.shape
    kept = take(stream, keep.ravel())
    skipped = length - keep.shape[1]
    pairs = np.array([p for p in layer.connections if p[0] >= skipped], np.int64).reshape(-1, 2)
    targets, starts, sizes = np.unique(pairs[:, 0], return_index=True, return_counts=True)
    read = lanes_read(layer.W_V)
    for size in np.unique(sizes).tolist():
        chosen = np.flatnonzero(sizes == size)
        sources = pairs[starts[chosen, None] + np.arange(size), 1]  # [targets, size]
        sums = {
            lane: Lane(x.values[index[:, sources]].sum(axis=2).ravel(), x.scale)
            for lane, x in stream.items()
            if lane in read
        }
        added = _heads(layer.W_V, network.divided(layer.W_O, size), sums, count * len(chosen))
        places = np.arange(count)[:, None] * keep.shape[1] + targets[chosen] - skipped
        for row, x in added.items():
            spread = objects([0] * keep.size)
            spread[places.ravel()] = x.values
            kept[row] = add(kept.get(row), Lane(spread, x.scale))
    return kept


def _heads(values: Matrix, outputs: Matrix, sums: Stream, size: int) -> Stream:
    heads = {row: combine(terms, None, sums, size) for row, terms in values.by_row.items()}
    return {row: combine(terms, None, heads, size) for row, terms in outputs.by_row.items()}


def _attend_hard(layer: HardAttention, stream: Stream, index: NDArray, keep: NDArray) -> Stream:
    """h + the sum over heads of W_O W_V mean of the columns with the largest score."""
    if not stream:
        return {}  # all lanes are 0
    size = len(next(iter(stream.values())).values)
    result = take(stream, keep.ravel())
    for head in range(layer.heads):
        rows = layer.head_rows(head)
        queries, keys, values = (
            {row: combine(m.by_row.get(row, ()), None, stream, size) for row in rows}
            for m in (layer.W_Q, layer.W_K, layer.W_V)
        )
        best = scored(
            {row: Lane(x.values[keep][:, :, None], x.scale) for row, x in queries.items()},
            {row: Lane(x.values[index][:, None, :], x.scale) for row, x in keys.items()},
        )  # [sequences, kept columns, columns]
        chosen = best.astype(object)
        sums = {
            row: Lane((chosen * x.values[index][:, None, :]).sum(axis=2).ravel(), x.scale)
            for row, x in values.items()
        }
        result = plus(result, head_output(layer, rows, sums, best.sum(axis=2).ravel()))
    return result
