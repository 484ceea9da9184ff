"""The reference evaluator: every layer of a Network on Python integers.

Nothing is assumed about the weights. Columns are computed lane by lane: a lane has one number per
column of the batch, as Python integers on a common scale, value = integer * 2**-scale.
"""

from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ..errors import ByheartError
from .batch import Batch, columns
from .lanes import Lane, Stream, apply, mix, objects, take
from .network import HardAttention, Mixing, Network

CHUNK = 4096
LONGEST = 1 << 23  # bits of a value (checker/FORMAT.md, section 2)

Observer = Callable[[int, Stream], None]
Look = Callable[[int, Stream], Stream]


def evaluate(network: Network, batch: Batch, observe: Observer | None = None) -> list[Fraction]:
    """The output coordinate of the last column (of every token's column) for every sequence.

    Layers before columns first meet run once for every distinct column; layers after they last
    meet only on the columns whose output is wanted.
    `observe(layer, stream)` sees the stream after every layer.
    """
    seen = columns(network.input, batch)
    guarded = _bits_bound(network, seen.vectors, seen.exponent) > LONGEST

    def look(layer: int, stream: Stream) -> Stream:
        """Refuses values longer than LONGEST: a stranger's folder must not fill the memory."""
        if guarded:
            stream = {row: _short(lane, layer) for row, lane in stream.items()}
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
        outputs = _sequences(network, stream, rows, first, look)
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
    """Bits that no value can exceed, from the lengths of inputs and weights alone."""
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


def _sequences(network: Network, stream: Stream, index: NDArray, first: int, look: Look) -> NDArray:
    """The rest of the network for the sequences whose columns are the rows of `index`."""
    last = network.attentions[-1] if network.attentions else -1
    if last < 0:
        keep = index if network.every else index[:, -1:]
        stream, index = take(stream, keep.ravel()), keep
    for number, layer in list(enumerate(network.layers))[first:]:
        if isinstance(layer, Mixing):
            keep = index if number < last or network.every else index[:, -1:]
            stream = look(number, mix(layer, stream, index, keep))
            index = np.arange(keep.size).reshape(keep.shape)
        else:
            stream = look(number, apply(layer, stream, index.size))
    output = stream.get(0, Lane(objects([0] * index.size), 0))
    unit = Fraction(2) ** output.scale
    return objects([Fraction(value) / unit for value in output.values.tolist()])
