"""The reference evaluator: every layer of a Network on Python integers.

Nothing is assumed about the weights. Columns are computed lane by lane: a lane has one number per
column of the batch, as Python integers on a common scale, value = integer * 2**-scale.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import ByheartError
from . import network
from .batch import Batch, columns
from .network import (
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
    UniformAttention,
    divided,
    divides,
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


CHUNK = 4096
LONGEST = 1 << 23  # bits of a value (checker/FORMAT.md, section 2)

Observer = Callable[[int, Stream], None]


def evaluate(network: Network, batch: Batch, observe: Observer | None = None) -> list[Fraction]:
    """The output coordinate of the last column (of every token's column) for every sequence.

    Layers before columns first meet run once for every distinct column; layers after they last
    meet only on the columns whose output is wanted, or that these read (demand.py).
    `observe(layer, stream)` sees the stream after every layer.
    """
    seen = columns(network.input, batch)
    guarded = _bits_bound(network, seen.vectors, seen.exponent) > LONGEST

    def guard(layer: int, stream: Stream) -> Stream:
        """Refuses values longer than LONGEST: a stranger's folder must not fill the memory."""
        if guarded:
            stream = {row: _short(lane, layer) for row, lane in stream.items()}
        return stream

    def look(layer: int, stream: Stream) -> Stream:
        stream = guard(layer, stream)
        if observe:
            observe(layer, stream)
        return stream

    stream = {i: Lane(objects(x), -seen.exponent) for i, x in enumerate(seen.inputs.T)}
    first = network.attentions[0] if network.attentions else len(network.layers)
    for index in range(first):
        stream = look(index, apply(network.layers[index], stream, len(seen.vectors)))
    if seen.absent is not None:
        for values, _ in stream.values():
            values[seen.absent] = 0
    answers: list[Fraction] = []
    chunk = max(1, CHUNK // network.input.columns) if network.every else CHUNK
    for part, rows in seen.indices(chunk):
        outputs = _sequences(network, stream, rows, first, guard, look)
        if network.every:
            outputs = outputs[seen.tokens(part).ravel()]
        answers += outputs.tolist()
    return answers


def _short(lane: Lane, layer: int) -> Lane:
    """The lane on the coarsest scale that holds it; ByheartError if a value is too long."""
    spare = max(lane.scale, 0)
    for x in lane.values.tolist():
        if x:
            zeros = (x & -x).bit_length() - 1
            spare, exponent = min(spare, zeros), zeros - lane.scale
            digits = abs(x).bit_length() - zeros
            if max(digits, digits + exponent, -exponent) > LONGEST:
                raise ByheartError(f"A value after layer {layer} needs more than 2^23 bits.")
    return Lane(lane.values >> spare, lane.scale - spare) if spare else lane


def _bits_bound(network: Network, vectors: NDArray, exponent: int) -> int:
    """Bits that no value can exceed, from the lengths of inputs and weights alone.

    A layer's values are sums of products; the scores of hard attention are products of values.
    """
    bits = max(abs(int(x)).bit_length() for x in (vectors.min(), vectors.max()))
    bits += abs(exponent) + network.input.columns.bit_length()
    for layer in network.layers:
        for tensor in layer.tensors.values():
            weight = max((v.digits + abs(v.exponent) for _, _, v in tensor.entries), default=0)
            bits += weight + max(tensor.rows, tensor.columns).bit_length() + 1
        if isinstance(layer, Mixing):
            bits = (2 if isinstance(layer, HardAttention) else 1) * bits
            bits += 2 * network.input.columns.bit_length()
    return bits


def _sequences(
    network: Network,
    stream: Stream,
    index: NDArray,
    first: int,
    guard: Callable[[int, Stream], Stream],
    look: Callable[[int, Stream], Stream],
) -> NDArray:
    """The rest of the network for the sequences whose columns are the rows of `index`."""
    from .demand import End, start_of_end  # which imports this file

    end = start_of_end(network)
    last = network.attentions[-1] if network.attentions else -1
    if last < 0:
        keep = index if network.every else index[:, -1:]
        stream, index = take(stream, keep.ravel()), keep
    for number, layer in list(enumerate(network.layers))[first:]:
        if number == end and stream:
            stream = End(network, end, stream, index, guard, look).output()
            index = index[:, -1:]
            break
        if isinstance(layer, Mixing):
            keep = index if number < last or network.every else index[:, -1:]
            stream = look(number, mix(layer, stream, index, keep))
            index = np.arange(keep.size).reshape(keep.shape)
        else:
            stream = look(number, apply(layer, stream, index.size))
    output = stream.get(0, Lane(objects([0] * index.size), 0))
    unit = Fraction(2) ** output.scale
    return objects([Fraction(value) / unit for value in output.values.tolist()])


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
    result = take(stream, keep.ravel())
    for head in range(layer.heads):
        rows = head_rows(layer, head)
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
