"""The layers where columns meet, on exact numbers in lanes (lanes.py)."""

import numpy as np
from numpy.typing import NDArray

from ...errors import ByheartError
from .. import network
from ..network import HardAttention, Matrix, SparseAttention, UniformAttention, divided, divides
from .lanes import Lane, Stream, add, combine, lanes_read, objects, plus, take


def mix(layer: network.Mixing, stream: Stream, index: NDArray, keep: NDArray) -> Stream:
    """One layer where columns meet; each row of `index` holds the columns of one sequence.

    The result has the columns in `keep`, which are the last ones of `index`.
    """
    match layer:
        case network.Sum():
            return {k: Lane(x.values[index].sum(axis=1), x.scale) for k, x in stream.items()}
        case UniformAttention():
            return _attend(layer, stream, index, keep)
        case SparseAttention():
            return _connect(layer, stream, index, keep)
        case HardAttention():
            uniform = layer.uniform
            if uniform is not None and divides(index.shape[1], layer.W_O):
                return _attend(uniform, stream, index, keep)
            return _attend_hard(layer, stream, index, keep)


def _attend(layer: UniformAttention, stream: Stream, index: NDArray, keep: NDArray) -> Stream:
    """h + W_O W_V mean for the columns in `keep`."""
    count, length = index.shape
    read = lanes_read(layer.W_V)
    sums = {
        lane: Lane(x.values[index].sum(axis=1), x.scale)
        for lane, x in stream.items()
        if lane in read
    }
    added = _heads(layer.W_V, divided(layer.W_O, length), sums, count)
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
        added = _heads(layer.W_V, divided(layer.W_O, size), sums, count * len(chosen))
        places = np.arange(count)[:, None] * keep.shape[1] + targets[chosen] - skipped
        for row, x in added.items():
            spread = objects([0] * keep.size)
            spread[places.ravel()] = x.values
            kept[row] = add(kept.get(row), Lane(spread, x.scale))
    return kept


def _heads(values: Matrix, outputs: Matrix, sums: Stream, size: int) -> Stream:
    """outputs values sums."""
    heads = {row: combine(terms, None, sums, size) for row, terms in values.by_row.items()}
    return {row: combine(terms, None, heads, size) for row, terms in outputs.by_row.items()}


def _attend_hard(layer: HardAttention, stream: Stream, index: NDArray, keep: NDArray) -> Stream:
    """h + the sum over heads of W_O W_V mean of the columns with the largest score."""
    if not stream:
        return {}  # all lanes are 0
    size = len(next(iter(stream.values())).values)
    step = layer.W_V.rows // layer.heads
    room = index.shape[1].bit_length()  # digits that a division may need
    result = take(stream, keep.ravel())
    for head in range(layer.heads):
        rows = range(head * step, (head + 1) * step)
        queries, keys, values = (
            {row: combine(m.by_row.get(row, ()), None, stream, size) for row in rows}
            for m in (layer.W_Q, layer.W_K, layer.W_V)
        )
        scales = {row: queries[row].scale + keys[row].scale for row in rows}
        scale = max(scales.values())
        scores = sum(
            (queries[row].values[keep][:, :, None] * keys[row].values[index][:, None, :])
            << (scale - own)
            for row, own in scales.items()
        )  # [sequences, kept columns, columns]
        best = (scores == scores.max(axis=2, keepdims=True)).astype(object)
        sums = {
            row: Lane((best * x.values[index][:, None, :]).sum(axis=2).ravel(), x.scale)
            for row, x in values.items()
        }
        numbers = best.sum(axis=2).ravel().tolist()
        for row, terms in layer.W_O.by_row.items():
            mine = [(column, value) for column, value in terms if column in rows]
            total = combine(mine, None, sums, keep.size)
            means = []
            for value, number in zip(total.values.tolist(), numbers, strict=True):
                quotient, rest = divmod(value << room, number)
                if rest:
                    raise ByheartError(f"The mean of {number} columns is not a dyadic number.")
                means.append(quotient)
            result[row] = add(result.get(row), Lane(objects(means), total.scale + room))
    return result
