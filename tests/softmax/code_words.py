"""The code word of a decoder, written and read as byheart/softmax/codeword.py defines it.

`encode` adds zeros up to a whole byte. The time and memory of `decode` are linear in the length of
its input: a tensor's bits are counted before the tensor is made.
"""

import numpy as np

from byheart.exact.coder import SIZE, refuse
from byheart.exact.network import Dyadic
from byheart.softmax.codeword import head, word
from byheart.softmax.decoder import ACTIVATIONS, ATTENTION, TOKEN_SUM, Decoder, Shape

LONGEST = 24  # digits of a number that is read


def encode(decoder: Decoder) -> bytes:
    """The code word, filled up with zeros to whole bytes."""
    _check(decoder.shape)
    parts = [_binary(head(decoder))]
    for name in decoder.shape.tensors:
        values = decoder.tensors[name].ravel()
        present = np.array([bool(value and value != (0, 0)) for value in values.tolist()], bool)
        nonzeros = values[present]
        if values.dtype == object:
            coded = _binary("".join(map(word, nonzeros.tolist())))
        elif np.isfinite(nonzeros).all():
            coded = np.unpackbits(nonzeros.astype(">f8").view(np.uint8))
        else:
            refuse("a number is not finite")
        parts += [present.astype(np.uint8), coded]
    return np.packbits(np.concatenate(parts)).tobytes()


def decode(data: bytes) -> Decoder:
    """The one decoder whose code is these bytes."""
    reader = _Reader(data)
    dyadic, attention = reader.bit(), reader.bit()
    vocabulary, length, dimension = (reader.number() for _ in range(3))
    heads, keys, values = (reader.number() if attention else 0 for _ in range(3))
    skip = attention and reader.bit()
    neurons, activation = reader.number(), "none"
    if neurons:
        if (place := reader.number()) >= len(ACTIVATIONS):
            refuse("its activation is not known")
        activation = ACTIVATIONS[place]
    padding = reader.number() - 1
    mixing, token = ATTENTION if attention else TOKEN_SUM, None if padding < 0 else padding
    sizes = vocabulary, length, dimension, mixing, heads, keys, values
    shape = Shape(*sizes, skip, neurons, activation, token)
    _check(shape)
    tensors = {}
    for name, sizes in shape.tensors.items():
        present = reader.take(int(np.prod(sizes, dtype=object))).astype(bool)
        flat = np.zeros(len(present), object if dyadic else np.float64)
        if dyadic:
            flat.fill(Dyadic(0, 0))
            for place in np.flatnonzero(present).tolist():
                minus, more = reader.bit(), reader.number()
                mantissa = 2 * _integer(reader.take(more - 1)) + 1 if more else 1
                flat[place] = Dyadic(-mantissa if minus else mantissa, reader.signed())
        else:
            flat[present] = np.packbits(reader.take(64 * int(present.sum()))).view(">f8")
        tensors[name] = flat.reshape(sizes)
    decoder = Decoder(shape, tensors)
    if encode(decoder) != data:
        refuse("bits follow the decoder or it is not written in its canonical form")
    return decoder


class _Reader:
    """Bits one after another."""

    def __init__(self, data: bytes) -> None:
        self.bits = np.unpackbits(np.frombuffer(data, np.uint8))
        self.position = 0

    def take(self, count: int):
        if count > len(self.bits) - self.position:
            refuse("it is cut off")
        self.position += count
        return self.bits[self.position - count : self.position]

    def bit(self) -> bool:
        return bool(self.take(1)[0])

    def number(self) -> int:
        length = 0
        while not self.bit():
            length += 1
            if length == LONGEST:
                refuse("a number is absurdly large")
        return _integer(self.take(length)) - 1

    def signed(self) -> int:
        number = self.number()
        return (number + 1) // 2 if number % 2 else -number // 2


def _check(shape: Shape) -> None:
    keys, values = shape.heads * shape.key_dimension, shape.heads * shape.value_dimension
    sizes = [shape.vocabulary - 1, shape.length, shape.dimension, shape.neurons or 1]
    if shape.mixing == ATTENTION:
        sizes += [shape.heads, shape.key_dimension, shape.value_dimension, keys, values]
    if not all(1 <= size <= SIZE for size in (*sizes, shape.vocabulary)):
        refuse("its sizes are not those of checker/FORMAT.md")
    if shape.padding is not None and not 0 <= shape.padding < shape.vocabulary:
        refuse("its padding is not a token")


def _binary(text: str):
    return np.frombuffer(text.encode("ascii"), np.uint8) - np.uint8(ord("0"))


def _integer(bits) -> int:
    """The integer whose binary digits are 1 and then these."""
    return int.from_bytes(np.packbits(bits).tobytes(), "big") >> -len(bits) % 8 | 1 << len(bits)
