"""The reference evaluator: every layer of a Network on Python integers.

Nothing is assumed about the weights. Columns are computed lane by lane: a lane has one number per
column of the batch, as Python integers on a common scale, value = integer * 2**-scale.
"""

from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ..errors import ByheartError
from . import network
from .batch import Batch, columns
from .demand import End, start_of_end
from .lanes import (
    Lane,
    Stream,
    add,
    apply,
    combine,
    head_output,
    head_rows,
    lanes_read,
    objects,
    plus,
    scored,
    take,
)
from .network import (
    HardAttention,
    Matrix,
    Mixing,
    Network,
    SparseAttention,
    UniformAttention,
    divided,
    divides,
)

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
