"""The reference evaluator: every layer of a Network on Python integers.

Nothing is assumed about the weights. Columns are computed lane by lane (lanes.py); where they meet,
see mixing.py.
"""

from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ...errors import ByheartError
from ..batch import Batch, columns
from ..network import Embedding, FeedForward, HardAttention, Layer, Linear, Mixing, Network, Relu
from .lanes import Lane, Stream, add, affine, combine, objects, plus, positive, take
from .mixing import mix

CHUNK = 4096
LONGEST = 1 << 23  # bits of a value (checker/FORMAT.md, section 2)

Observer = Callable[[int, Stream], None]


def evaluate(network: Network, batch: Batch, observe: Observer | None = None) -> list[Fraction]:
    """The output coordinate of the last column (of every token's column) for every sequence.

    Layers before columns first meet run once for every distinct column; layers after they last
    meet only on the columns whose output is wanted.
    `observe(layer, stream)` sees the stream after every layer.
    """
    seen = columns(network.input, batch)
    guarded = _bits_bound(network, seen.vectors, seen.exponent) > LONGEST

    def look(layer: int, stream: Stream) -> None:
        """Refuses values longer than LONGEST: a stranger's folder must not fill the memory."""
        for values, scale in stream.values() if guarded else ():
            longest = max((abs(x).bit_length() for x in values.tolist()), default=0)
            if max(longest, scale) > LONGEST:
                raise ByheartError(f"A value after layer {layer} needs more than 2^23 bits.")
        if observe:
            observe(layer, stream)

    stream = {i: Lane(objects(x), -seen.exponent) for i, x in enumerate(seen.inputs.T)}
    first = network.attentions[0] if network.attentions else len(network.layers)
    for index in range(first):
        stream = apply(network.layers[index], stream, len(seen.vectors))
        look(index, stream)
    if seen.absent is not None:
        for values, _ in stream.values():
            values[seen.absent] = 0
    answers: list[Fraction] = []
    chunk = max(1, CHUNK // network.input.columns) if network.every else CHUNK
    for part, rows in seen.indices(chunk):
        outputs = _sequences(network, stream, rows, first, look)
        if network.every:
            outputs = outputs[seen.tokens(part).ravel()]
        answers += outputs.tolist()
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


def _sequences(
    network: Network, stream: Stream, index: NDArray, first: int, observe: Observer
) -> NDArray:
    """The rest of the network for the sequences whose columns are the rows of `index`."""
    last = network.attentions[-1] if network.attentions else -1
    if last < 0:
        keep = index if network.every else index[:, -1:]
        stream, index = take(stream, keep.ravel()), keep
    for number, layer in list(enumerate(network.layers))[first:]:
        if isinstance(layer, Mixing):
            keep = index if number < last or network.every else index[:, -1:]
            stream = mix(layer, stream, index, keep)
            index = np.arange(keep.size).reshape(keep.shape)
        else:
            stream = apply(layer, stream, index.size)
        observe(number, stream)
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
