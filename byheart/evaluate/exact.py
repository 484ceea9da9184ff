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
from ..network import Dyadic, FeedForward, Layer, Linear, Matrix, Network, UniformAttention
from .batch import Batch, columns

CHUNK = 4096
LONGEST = 1 << 23  # bits of a value (checker/FORMAT.md, section 2)


class Lane(NamedTuple):
    values: NDArray  # of Python integers
    scale: int


Stream = dict[int, Lane]  # lanes that are zero everywhere may be missing
Observer = Callable[[int, Stream], None]


def evaluate(network: Network, batch: Batch, observe: Observer | None = None) -> list[Fraction]:
    """The output coordinate of the last column for every sequence.

    Layers before the first attention run once for every distinct column; layers after the last one
    only on the last column of each sequence.
    `observe(layer, stream)` sees the stream after every layer.
    """
    seen = columns(network.input, batch)
    if _bits_bound(network, seen.vectors, seen.exponent) > LONGEST:
        observe = _guarded(observe)
    stream = {
        i: Lane(_objects(seen.vectors[:, i]), -seen.exponent) for i in range(seen.vectors.shape[1])
    }
    first = network.attentions[0] if network.attentions else len(network.layers)
    for index in range(first):
        stream = apply(network.layers[index], stream, len(seen.vectors))
        if observe:
            observe(index, stream)
    answers: list[Fraction] = []
    for _, rows in seen.indices(CHUNK):
        answers += _sequences(network, stream, rows, first, observe)
    return answers


def _bits_bound(network: Network, vectors: NDArray, exponent: int) -> int:
    """Bits that no value can exceed, from the lengths of inputs and weights alone.

    A layer's values are sums of products.
    """
    bits = max((int(abs(x)).bit_length() for x in (vectors.min(), vectors.max())), default=0)
    bits += abs(exponent) + network.input.length.bit_length()
    for layer in network.layers:
        for tensor in layer.tensors.values():
            weight = max((v.digits + abs(v.exponent) for _, _, v in tensor.entries), default=0)
            bits += weight + max(tensor.rows, tensor.columns).bit_length() + 1
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
) -> list[Fraction]:
    """The rest of the network for the sequences whose columns are the rows of `index`."""
    count, length = index.shape
    last = network.attentions[-1] if network.attentions else -1
    if last < 0:
        stream = _take(stream, index[:, -1])
    for number, layer in list(enumerate(network.layers))[first:]:
        if isinstance(layer, UniformAttention):
            keep = index if number < last else index[:, -1:]
            stream = attend(layer, stream, index, keep)
            index = np.arange(keep.size).reshape(keep.shape)
        else:
            stream = apply(layer, stream, index.size if last >= 0 else count)
        if observe:
            observe(number, stream)
    output = stream.get(0, Lane(_objects([0] * count), 0))
    return [Fraction(value) / Fraction(2) ** output.scale for value in output.values.tolist()]


def apply(layer: Layer, stream: Stream, size: int) -> Stream:
    """One token-wise layer on `size` columns."""
    if isinstance(layer, Linear):
        rows = set(layer.weight.by_row) | set(layer.bias.by_row)
        return {row: _row(layer.weight, layer.bias, row, stream, size) for row in rows}
    assert isinstance(layer, FeedForward)
    hidden: Stream = {}
    for row in set(layer.W1.by_row) | set(layer.b1.by_row):
        values, scale = _row(layer.W1, layer.b1, row, stream, size)
        hidden[row] = Lane(np.maximum(values, 0), scale)
    changed = {
        row: _add(stream.get(row), _row(layer.W2, layer.b2, row, hidden, size))
        for row in set(layer.W2.by_row) | set(layer.b2.by_row)
    }
    return stream | changed


def attend(layer: UniformAttention, stream: Stream, index: NDArray, keep: NDArray) -> Stream:
    """h + W_O W_V mean for the columns in `keep`, one row a sequence."""
    count, length = index.shape
    sums = {lane: Lane(x.values[index].sum(axis=1), x.scale) for lane, x in stream.items()}
    heads = {row: _combine(terms, None, sums, count) for row, terms in layer.W_V.by_row.items()}
    kept = _take(stream, keep.ravel())
    for row, terms in layer.divided(length).by_row.items():
        added = _combine(terms, None, heads, count)
        spread = Lane(np.repeat(added.values, keep.shape[1]), added.scale)
        kept[row] = _add(kept.get(row), spread)
    return kept


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
