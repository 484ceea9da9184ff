"""The reference evaluator: every layer of a Network on Python integers.

Nothing is assumed about the weights. A lane holds one exact number a column of the batch, as
integers and a scale: value = integer * 2**-scale.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import ByheartError
from ..network import (
    Dyadic,
    Embedding,
    FeedForward,
    HardAttention,
    Layer,
    Linear,
    Matrix,
    Mixing,
    Network,
    Relu,
    SparseAttention,
    Sum,
    UniformAttention,
    divided,
)
from .batch import Batch, columns

CHUNK = 4096
LONGEST = 1 << 23  # bits of a value (checker/FORMAT.md, section 2)


class Lane(NamedTuple):
    values: NDArray  # of Python integers
    scale: int


Stream = dict[int, Lane]  # lanes that are zero everywhere may be missing
Observer = Callable[[int, Stream], None]


def evaluate(network: Network, batch: Batch, observe: Observer | None = None) -> list[Fraction]:
    """The output coordinate of the last column (of every token's column) for every sequence.

    Layers before columns first meet run once for every distinct column; layers after they last
    meet only on the columns whose output is asked for.
    `observe(layer, stream)` sees the stream after every layer.
    """
    seen = columns(network.input, batch)
    if _bits_bound(network, seen.vectors, seen.exponent) > LONGEST:
        observe = _guarded(observe)
    stream = {i: Lane(_objects(x), -seen.exponent) for i, x in enumerate(seen.inputs.T)}
    first = network.attentions[0] if network.attentions else len(network.layers)
    for index in range(first):
        stream = apply(network.layers[index], stream, len(seen.vectors))
        if observe:
            observe(index, stream)
    if seen.absent is not None:
        for values, _ in stream.values():
            values[seen.absent] = 0
    answers: list[Fraction] = []
    chunk = max(1, CHUNK // network.input.columns) if network.every else CHUNK
    for part, rows in seen.indices(chunk):
        found = _sequences(network, stream, rows, first, observe)
        if network.every:
            found = found[seen.tokens(part).ravel()]
        answers += found.tolist()
    return answers


def _bits_bound(network: Network, vectors: NDArray, exponent: int) -> int:
    """Bits that no value can exceed, from the lengths of inputs and weights alone.

    A layer's values are sums of products; the scores of hard attention are products of values.
    """
    bits = max((int(abs(x)).bit_length() for x in (vectors.min(), vectors.max())), default=0)
    bits += abs(exponent) + network.input.columns.bit_length()
    for layer in network.layers:
        for tensor in layer.tensors.values():
            weight = max((v.digits + abs(v.exponent) for _, _, v in tensor.entries), default=0)
            bits += weight + max(tensor.rows, tensor.columns).bit_length() + 1
        if isinstance(layer, Mixing):
            bits = (2 if isinstance(layer, HardAttention) else 1) * bits
            bits += 2 * network.input.columns.bit_length()
    return bits


def _guarded(observe: Observer | None) -> Observer:
    """An observer that refuses values longer than LONGEST.

    A folder from a stranger must not fill the memory.
    """

    def guard(layer: int, stream: Stream) -> None:
        for values, scale in stream.values():
            longest = max((abs(x).bit_length() for x in values.tolist()), default=0)
            if max(longest, scale) > LONGEST:
                raise ByheartError(f"a value after layer {layer} needs more than 2^23 bits")
        if observe:
            observe(layer, stream)

    return guard


def _sequences(
    network: Network, stream: Stream, index: NDArray, first: int, observe: Observer | None
) -> NDArray:
    """The rest of the network for the sequences whose columns are the rows of `index`."""
    last = network.attentions[-1] if network.attentions else -1
    if last < 0:
        keep = index if network.every else index[:, -1:]
        stream, index = _take(stream, keep.ravel()), keep
    for number, layer in list(enumerate(network.layers))[first:]:
        if isinstance(layer, Mixing):
            keep = index if number < last or network.every else index[:, -1:]
            stream = mix(layer, stream, index, keep)
            index = np.arange(keep.size).reshape(keep.shape)
        else:
            stream = apply(layer, stream, index.size)
        if observe:
            observe(number, stream)
    output = stream.get(0, Lane(_objects([0] * index.size), 0))
    unit = Fraction(2) ** output.scale
    return _objects([Fraction(value) / unit for value in output.values.tolist()])


def apply(layer: Layer, stream: Stream, size: int) -> Stream:
    """One token-wise layer on `size` columns."""
    match layer:
        case Linear():
            return _affine(layer.weight, layer.bias, stream, size)
        case Relu():
            return _positive(_affine(layer.weight, layer.bias, stream, size))
        case Embedding():
            return _embed(layer, stream, size)
        case FeedForward():
            hidden = _positive(_affine(layer.W1, layer.b1, stream, size))
            change = _affine(layer.W2, layer.b2, hidden, size)
            return stream | {row: _add(stream.get(row), x) for row, x in change.items()}
    raise AssertionError(layer.kind)


def _affine(weight: Matrix, bias: Matrix, stream: Stream, size: int) -> Stream:
    rows = set(weight.by_row) | set(bias.by_row)
    return {row: _row(weight, bias, row, stream, size) for row in rows}


def _positive(stream: Stream) -> Stream:
    return {row: Lane(np.maximum(x.values, 0), x.scale) for row, x in stream.items()}


def _embed(layer: Embedding, stream: Stream, size: int) -> Stream:
    """The column of each id, plus the position times the position's vector."""
    zero = Lane(_objects([0] * size), 0)
    ids = stream.get(0, zero)
    numbers = np.array([_id(x, ids.scale, layer.weight.columns) for x in ids.values.tolist()])
    found: Stream = {}
    for row, terms in layer.weight.by_row.items():
        scale = max(0, *(-value.exponent for _, value in terms))
        table = [0] * layer.weight.columns
        for column, (mantissa, exponent) in terms:
            table[column] = mantissa << (exponent + scale)
        found[row] = Lane(_objects(table)[numbers], scale)
    for row, terms in layer.position.by_row.items():
        found[row] = _add(found.get(row), _combine([(1, terms[0][1])], None, stream, size))
    return found


def _id(value: int, scale: int, count: int) -> int:
    number = value >> scale
    if number << scale != value or not 0 <= number < count:
        raise ByheartError(
            f"a token is {Fraction(value) / (1 << scale)}, not an id from 0 to {count - 1}"
        )
    return number


def mix(layer: Layer, stream: Stream, index: NDArray, keep: NDArray) -> Stream:
    """One layer where columns meet; `index` holds the columns of each sequence, a row each.

    The result has the columns in `keep`, which are the last ones of `index`.
    """
    match layer:
        case Sum():
            return {k: Lane(x.values[index].sum(axis=1), x.scale) for k, x in stream.items()}
        case UniformAttention():
            return _attend(layer, stream, index, keep)
        case SparseAttention():
            return _connect(layer, stream, index, keep)
        case HardAttention():
            uniform = layer.uniform
            if uniform is not None and _divides(index.shape[1], layer.W_O):
                return _attend(uniform, stream, index, keep)
            return _attend_hard(layer, stream, index, keep)
    raise AssertionError(layer.kind)


def _divides(count: int, weights: Matrix) -> bool:
    """Whether weights / count is dyadic; if not, what is averaged may still make it so."""
    odd = count // (count & -count)
    return all(value.mantissa % odd == 0 for _, _, value in weights.entries)


def _attend(layer: UniformAttention, stream: Stream, index: NDArray, keep: NDArray) -> Stream:
    """h + W_O W_V mean for the columns in `keep`."""
    count, length = index.shape
    read = _read(layer.W_V)
    sums = {
        lane: Lane(x.values[index].sum(axis=1), x.scale)
        for lane, x in stream.items()
        if lane in read
    }
    added = _heads(layer.W_V, layer.divided(length), sums, count)
    spread = {row: Lane(np.repeat(x.values, keep.shape[1]), x.scale) for row, x in added.items()}
    return _plus(_take(stream, keep.ravel()), spread)


def _connect(layer: SparseAttention, stream: Stream, index: NDArray, keep: NDArray) -> Stream:
    """h_k + W_O W_V mean of the columns that k is connected to, for the columns in `keep`."""
    count, length = index.shape
    kept = _take(stream, keep.ravel())
    skipped = length - keep.shape[1]
    pairs = np.array([p for p in layer.connections if p[0] >= skipped], np.int64).reshape(-1, 2)
    targets, starts, sizes = np.unique(pairs[:, 0], return_index=True, return_counts=True)
    read = _read(layer.W_V)
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
            spread = _objects([0] * keep.size)
            spread[places.ravel()] = x.values
            kept[row] = _add(kept.get(row), Lane(spread, x.scale))
    return kept


def _read(weights: Matrix) -> set[int]:
    """The lanes that a matrix reads."""
    return {column for _, column, _ in weights.entries}


def _heads(values: Matrix, outputs: Matrix, sums: Stream, size: int) -> Stream:
    """outputs values sums."""
    heads = {row: _combine(terms, None, sums, size) for row, terms in values.by_row.items()}
    return {row: _combine(terms, None, heads, size) for row, terms in outputs.by_row.items()}


def _attend_hard(layer: HardAttention, stream: Stream, index: NDArray, keep: NDArray) -> Stream:
    """h + the sum over heads of W_O W_V mean of the columns with the largest score."""
    size = len(next(iter(stream.values())).values)
    step = layer.W_V.rows // layer.heads
    result = _take(stream, keep.ravel())
    for head in range(layer.heads):
        rows = range(head * step, (head + 1) * step)
        queries, keys, values = (
            {row: _combine(m.by_row.get(row, ()), None, stream, size) for row in rows}
            for m in (layer.W_Q, layer.W_K, layer.W_V)
        )
        best = _largest(queries, keys, index, keep)  # [sequences, kept columns, columns]
        sums = {
            row: Lane((best * x.values[index][:, None, :]).sum(axis=2).ravel(), x.scale)
            for row, x in values.items()
        }
        numbers = best.sum(axis=2).ravel().tolist()
        for row, terms in layer.W_O.by_row.items():
            mine = [(column, value) for column, value in terms if column in rows]
            total = _combine(mine, None, sums, keep.size)
            result[row] = _add(result.get(row), _divide(total, numbers, index.shape[1]))
    return result


def _largest(queries: Stream, keys: Stream, index: NDArray, keep: NDArray) -> NDArray:
    """Which columns have the largest score for each kept one, as 0 and 1."""
    scales = {row: queries[row].scale + keys[row].scale for row in queries}
    scale = max(scales.values())
    scores = sum(
        (queries[row].values[keep][:, :, None] * keys[row].values[index][:, None, :])
        << (scale - own)
        for row, own in scales.items()
    )
    return (scores == scores.max(axis=2, keepdims=True)).astype(object)


def _divide(lane: Lane, numbers: Sequence[int], largest: int) -> Lane:
    """Each value divided by a number of its own, exactly."""
    room = largest.bit_length()
    quotients = []
    for value, number in zip(lane.values.tolist(), numbers, strict=True):
        quotient, rest = divmod(value << room, number)
        if rest:
            raise ByheartError(f"the mean of {number} columns is not a dyadic number")
        quotients.append(quotient)
    return Lane(_objects(quotients), lane.scale + room)


def _plus(stream: Stream, change: Stream) -> Stream:
    return stream | {row: _add(stream.get(row), x) for row, x in change.items()}


def _take(stream: Stream, index: NDArray) -> Stream:
    return {lane: Lane(x.values[index], x.scale) for lane, x in stream.items()}


def _row(weight: Matrix, bias: Matrix, row: int, source: Stream, size: int) -> Lane:
    constant = bias.by_row.get(row)
    return _combine(weight.by_row.get(row, ()), constant[0][1] if constant else None, source, size)


def _combine(
    terms: Sequence[tuple[int, Dyadic]], constant: Dyadic | None, source: Stream, size: int
) -> Lane:
    """The weighted sum of lanes plus a constant, on the coarsest scale that holds it."""
    present = [(source[lane], value) for lane, value in terms if lane in source]
    scales = [lane.scale - value.exponent for lane, value in present]
    if constant:
        scales.append(-constant.exponent)
    scale = max(scales, default=0)
    total = _objects([0] * size)
    if constant:
        total = total + (constant.mantissa << (scale + constant.exponent))
    for (values, own), (mantissa, exponent) in present:
        factor = mantissa << (scale - own + exponent)
        total = total + (values if factor == 1 else values * factor)
    return Lane(total, scale)


def _add(left: Lane | None, right: Lane) -> Lane:
    if left is None:
        return right
    scale = max(left.scale, right.scale)
    a, b = scale - left.scale, scale - right.scale
    return Lane(
        (left.values << a if a else left.values) + (right.values << b if b else right.values), scale
    )


def _objects(values: Sequence | NDArray) -> NDArray:
    """An array of Python integers."""
    result = np.empty(len(values), dtype=object)
    result[:] = values.tolist() if isinstance(values, np.ndarray) else values
    return result
