"""Run a network in IEEE double arithmetic, and prove that every result is exact (spans.py)."""

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ...errors import ByheartError
from ..batch import Batch, columns
from ..network import FeedForward, Linear, Matrix, Network, Relu, UniformAttention, short
from . import spans
from .spans import Floats, Lane, Place, Stream, weighted

CHUNK = 1 << 16
VECTORS = {"bias", "b1", "b2", "position"}


def differences(network: Network, batch: Batch, outputs: NDArray) -> tuple[str, ...]:
    """Where double arithmetic may round, or gives other outputs; nothing if it is proved exact."""
    try:
        doubles = prove(network, batch)
    except ByheartError as error:
        return (str(error),)
    unlike = np.flatnonzero(doubles != np.array(outputs.tolist(), dtype=np.float64))
    return tuple(
        f"sequence {i + 1}: the output is {short(outputs[i])}, in float64 {doubles[i]}"
        for i in unlike[:10].tolist()
    )


def float_tensors(network: Network) -> dict[str, Floats]:
    """Every tensor as doubles: layers.{i}.{tensor}, matrices [rows, columns], vectors [rows]."""
    tensors = {}
    for index, layer in enumerate(network.layers):
        for name, tensor in layer.tensors.items():
            dense = np.zeros((tensor.rows, tensor.columns))
            for row, column, value in tensor.entries:
                dense[row, column] = spans.double(value)
            tensors[f"layers.{index}.{name}"] = dense[:, 0] if name in VECTORS else dense
    return tensors


def prove(network: Network, batch: Batch) -> Floats:
    """The output for every sequence, proved to be exact; ByheartError names a sum that is not."""
    for layer in network.layers:
        if not isinstance(layer, Linear | Relu | FeedForward | UniformAttention):
            raise ByheartError(f"A layer of the kind {layer.kind} has no float64 form.")
    length, meetings = network.input.columns, network.attentions
    if meetings and length & (length - 1):
        raise ByheartError(f"The mean of {length} columns is not exact: not a power of two.")
    if network.every or network.input.padding is None:
        raise ByheartError("A float64 network gives one answer per padded sequence.")
    if not len(batch):
        return np.zeros(0)
    seen = columns(network.input, batch)
    used = np.zeros(len(seen.vectors), dtype=bool)
    for _, index in seen.indices(CHUNK):
        used[index.ravel() if meetings else index[:, -1]] = True
    vectors = seen.vectors.copy()
    vectors[~used] = vectors[np.argmax(used)]  # mostly the padding: a column that does not occur
    stream = {i: _input(vectors[:, i], seen.exponent) for i in range(vectors.shape[1])}
    if not all(spans.sized(lane.values).all() for lane in stream.values()):
        raise ByheartError(f"A coordinate of a token is {spans.UNSIZED}.")
    first, last = (meetings[0], meetings[-1]) if meetings else (len(network.layers), -1)
    for number in range(first):
        stream = _apply(network, number, stream, len(vectors), None)
    outputs = []
    for part, index in seen.indices(CHUNK):
        lanes, count = stream, len(index)
        if not meetings:
            lanes = _take(stream, index[:, -1])
        for number in range(first, len(network.layers)):
            layer = network.layers[number]
            if isinstance(layer, UniformAttention):
                keep = index if number < last else index[:, -1:]
                lanes = _attend(layer, number, lanes, index, keep)
                index = np.arange(keep.size).reshape(keep.shape)
            else:
                start = part.start if number > last else None
                lanes = _apply(network, number, lanes, index.size, start)
        outputs.append(lanes[0].values if 0 in lanes else np.zeros(count))
    return np.concatenate(outputs)


def _input(integers: NDArray, exponent: int) -> Lane:
    """One coordinate of the columns: integers * 2**exponent, which must be doubles."""
    if integers.dtype != object:
        values = integers.astype(np.float64)
        exact = bool((np.abs(integers) < 1 << spans.DIGITS).all()) or all(
            int(x) == y for x, y in zip(values.tolist(), integers.tolist(), strict=True)
        )
        values = np.ldexp(values, exponent)
    else:
        fractions = [Fraction(x) * Fraction(2) ** exponent for x in integers.tolist()]
        try:
            values = np.array([float(x) for x in fractions])
        except OverflowError:
            raise ByheartError("A coordinate of a token is beyond the range of doubles.") from None
        exact = all(Fraction(x) == y for x, y in zip(values.tolist(), fractions, strict=True))
    if not exact:
        raise ByheartError("A coordinate of a token is not a double.")
    return spans.observed(values)


def _take(stream: Stream, index: NDArray) -> Stream:
    return {lane: x._replace(values=x.values[index]) for lane, x in stream.items()}


def _apply(network: Network, number: int, stream: Stream, size: int, start: int | None) -> Stream:
    """One token-wise layer on `size` items."""
    layer = network.layers[number]

    def rows(name: str, weight: Matrix, bias: Matrix, source: Stream, skip: Stream) -> Stream:
        result = {}
        for row in sorted(set(weight.by_row) | set(bias.by_row)):
            constant = bias.by_row[row][0][1] if row in bias.by_row else None
            terms, place = weight.by_row.get(row, ()), Place(number, name, row, start)
            result[row] = weighted(terms, constant, source, skip.get(row), size, place)
        return result

    if isinstance(layer, Linear):
        return rows("weight", layer.weight, layer.bias, stream, {})
    if isinstance(layer, Relu):
        return _relu(rows("weight", layer.weight, layer.bias, stream, {}))
    assert isinstance(layer, FeedForward)
    hidden = _relu(rows("W1", layer.W1, layer.b1, stream, {}))
    return stream | rows("W2", layer.W2, layer.b2, hidden, stream)


def _relu(stream: Stream) -> Stream:
    lanes = ((row, np.maximum(x.values, 0), x.grid) for row, x in stream.items())
    return {row: Lane(values, grid, spans.largest(values)) for row, values, grid in lanes}


def _attend(
    layer: UniformAttention, number: int, stream: Stream, index: NDArray, keep: NDArray
) -> Stream:
    """h + W_O W_V mean for the columns in `keep`, which has one row per sequence."""
    count, length = index.shape

    means = {}
    for lane, x in stream.items():
        columns = [(1.0, 0, x._replace(values=x.values[index[:, i]])) for i in range(length)]
        place = Place(number, "sum of columns", lane)
        values, grid, most = spans.added(columns, 0.0, spans.NOWHERE, count, place)
        means[lane] = Lane(values / length, grid - length.bit_length() + 1, most / length)
    heads = {
        row: weighted(terms, None, means, None, count, Place(number, "W_V", row))
        for row, terms in layer.W_V.by_row.items()
    }
    spread = _take(heads, np.repeat(np.arange(count), keep.shape[1]))
    kept = _take(stream, keep.ravel())
    new = {
        row: weighted(terms, None, spread, kept.get(row), keep.size, Place(number, "W_O", row))
        for row, terms in layer.W_O.by_row.items()
    }
    return kept | new
