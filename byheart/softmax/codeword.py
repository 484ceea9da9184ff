"""bits.encoded of a decoder: the length of one canonical self-delimiting code word for it.

The weights of a decoder are as good as random, so nothing adaptive is tried: the code is this, and
its length is a formula.

Number   n >= 0, for n + 1 of k binary digits: k - 1 zeros, then the digits. A signed n is the
    number 2n - 1 if n > 0, else -2n.
Decoder  A bit (1: dyadic, 0: float64), a bit (1: attention, 0: token sum); the numbers vocabulary,
    length and dimension; of attention heads, key dimension, value dimension and a bit for skip;
    neurons and, if there are any, the place of the activation in decoder.ACTIVATIONS; the token of
    the padding plus one, or 0 if there is none; the tensors, in the order of Shape.tensors, whose
    shapes follow from these sizes.
Tensor   A bit a parameter, row by row: is it nonzero? Then the nonzeros.
Nonzero  Of float64 the 64 bits of an IEEE double, sign first. Of dyadic a bit for minus, the number
    of the odd mantissa's digits less one, the digits but the first and the last, which are 1, and
    the exponent, signed.

`encode` adds zeros up to a whole byte. What `decode` does and keeps is linear in the length of what
it is given: a tensor's bits are counted before the tensor is made.
"""

import numpy as np
from numpy.typing import NDArray

from ..exact.coder import SIZE, refuse
from ..exact.network import Dyadic
from .decoder import ACTIVATIONS, ATTENTION, TOKEN_SUM, Decoder, Shape, Tensor

DIGITS = 1 << 22  # of a number, and the largest exponent: checker/FORMAT.md, section 2
LONGEST = 24  # digits of a number that is read
Bits = NDArray[np.uint8]  # 0 or 1


def encode(decoder: Decoder) -> bytes:
    """The code word, filled up with zeros to whole bytes."""
    _check(decoder.shape)
    parts = [_binary(_head(decoder))]
    for name in decoder.shape.tensors:
        values = decoder.tensors[name].ravel()
        present = _nonzero(values)
        parts += [present.astype(np.uint8), _coded(values[present])]
    return np.packbits(np.concatenate(parts)).tobytes()


def encoded_bits(decoder: Decoder) -> int:
    """The length of the code word."""
    nonzero = decoder.counts()[0]["nonzero"]
    bits = len(_head(decoder)) + decoder.shape.parameters
    if decoder.number == "float64":
        return bits + 64 * nonzero
    tensors = (tensor.ravel() for tensor in decoder.tensors.values())
    return bits + sum(len(_word(value)) for t in tensors for value in t[_nonzero(t)])


def decode(data: bytes) -> Decoder:
    """The one decoder whose code is these bytes."""
    reader = _Reader(data)
    dyadic, attention = reader.bit(), reader.bit()
    shape = _shape(reader, attention)
    names = shape.tensors.items()
    decoder = Decoder(shape, {name: _tensor(reader, sizes, dyadic) for name, sizes in names})
    if encode(decoder) != data:
        refuse("bits follow the decoder or it is not written in its canonical form")
    return decoder


class _Reader:
    """Bits one after another."""

    def __init__(self, data: bytes) -> None:
        self.bits = np.unpackbits(np.frombuffer(data, np.uint8))
        self.position = 0

    def take(self, count: int) -> Bits:
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
        return _integer(self.take(length), first=1) - 1

    def signed(self) -> int:
        number = self.number()
        return (number + 1) // 2 if number % 2 else -number // 2


def _shape(reader: _Reader, attention: bool) -> Shape:
    vocabulary, length, dimension = (reader.number() for _ in range(3))
    heads, keys, values = (reader.number() if attention else 0 for _ in range(3))
    skip = attention and reader.bit()
    neurons = reader.number()
    name, padding = _activation(reader) if neurons else "none", reader.number() - 1
    mixing, filled = ATTENTION if attention else TOKEN_SUM, None if padding < 0 else padding
    shape = Shape(
        vocabulary, length, dimension, mixing, heads, keys, values, skip, neurons, name, filled
    )  # fmt: skip
    _check(shape)
    return shape


def _activation(reader: _Reader) -> str:
    if (place := reader.number()) >= len(ACTIVATIONS):
        refuse("its activation is not known")
    return ACTIVATIONS[place]


def _check(shape: Shape) -> None:
    keys, values = shape.heads * shape.key_dimension, shape.heads * shape.value_dimension
    sizes = [shape.vocabulary - 1, shape.length, shape.dimension, shape.neurons or 1]
    if shape.mixing == ATTENTION:
        sizes += [shape.heads, shape.key_dimension, shape.value_dimension, keys, values]
    if not all(1 <= size <= SIZE for size in (*sizes, shape.vocabulary)):
        refuse("its sizes are not those of checker/FORMAT.md")
    if shape.padding is not None and not 0 <= shape.padding < shape.vocabulary:
        refuse("its padding is no token")


def _tensor(reader: _Reader, sizes: tuple[int, ...], dyadic: bool) -> Tensor:
    present = reader.take(int(np.prod(sizes, dtype=object))).astype(bool)
    tensor = np.zeros(len(present), object if dyadic else np.float64)
    if dyadic:
        tensor.fill(Dyadic(0, 0))
        for place in np.flatnonzero(present):
            tensor[place] = _read_word(reader)
        return tensor.reshape(sizes)
    tensor[present] = np.packbits(reader.take(64 * int(present.sum()))).view(">f8")
    return tensor.reshape(sizes)


def _head(decoder: Decoder) -> str:
    shape = decoder.shape
    attention, dyadic = shape.mixing == ATTENTION, decoder.number == "dyadic"
    heads = (shape.heads, shape.key_dimension, shape.value_dimension) if attention else ()
    numbers = map(_number, (shape.vocabulary, shape.length, shape.dimension, *heads))
    skip = f"{shape.skip:d}" if attention else ""
    neurons = (shape.neurons, ACTIVATIONS.index(shape.activation)) if shape.neurons else (0,)
    padding = 0 if shape.padding is None else shape.padding + 1
    last = "".join(map(_number, (*neurons, padding)))
    return f"{dyadic:d}{attention:d}{''.join(numbers)}{skip}{last}"


def _number(n: int) -> str:
    digits = f"{n + 1:b}"
    return "0" * (len(digits) - 1) + digits


def _nonzero(values: Tensor) -> NDArray[np.bool_]:
    if values.dtype == object:
        return np.array([bool(value.mantissa) for value in values.tolist()], bool)
    return values != 0


def _coded(values: Tensor) -> Bits:
    """The code of nonzeros, one after another."""
    if values.dtype == object:
        return _binary("".join(map(_word, values.tolist())))
    if not np.isfinite(values).all():
        refuse("a number is not finite")
    return np.unpackbits(values.astype(">f8").view(np.uint8))


def _word(value: Dyadic) -> str:
    if not value.mantissa % 2 or value.digits > DIGITS or abs(value.exponent) > DIGITS:
        refuse("a number is not canonical, or too long")
    exponent = 2 * value.exponent - 1 if value.exponent > 0 else -2 * value.exponent
    inner = f"{abs(value.mantissa):b}"[1:-1]
    return f"{value.mantissa < 0:d}{_number(value.digits - 1)}{inner}{_number(exponent)}"


def _read_word(reader: _Reader) -> Dyadic:
    minus, more = reader.bit(), reader.number()
    mantissa = 2 * _integer(reader.take(more - 1), first=1) + 1 if more else 1
    return Dyadic(-mantissa if minus else mantissa, reader.signed())


def _binary(text: str) -> Bits:
    return np.frombuffer(text.encode("ascii"), np.uint8) - np.uint8(ord("0"))


def _integer(bits: Bits, first: int) -> int:
    """The integer whose digits are `first` and then these."""
    return int.from_bytes(np.packbits(bits).tobytes(), "big") >> -len(bits) % 8 | first << len(bits)
