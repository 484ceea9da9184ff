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
Tensor   One bit per parameter, row by row: is it nonzero? Then the nonzeros.
Nonzero  Of float64 the 64 bits of an IEEE double, sign first. Of dyadic a bit for minus, the number
    of the odd mantissa's digits less one, the digits except the first and the last, which are 1,
    and the exponent, signed.

`encode` adds zeros up to a whole byte. The time and memory of `decode` are linear in the length of
its input: a tensor's bits are counted before the tensor is made.
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
        nonzeros = values[present]
        if values.dtype == object:
            coded = _binary("".join(map(_word, nonzeros.tolist())))
        elif np.isfinite(nonzeros).all():
            coded = np.unpackbits(nonzeros.astype(">f8").view(np.uint8))
        else:
            refuse("a number is not finite")
        parts += [present.astype(np.uint8), coded]
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
    vocabulary, length, dimension = (reader.number() for _ in range(3))
    heads, keys, values = (reader.number() if attention else 0 for _ in range(3))
    skip = attention and reader.bit()
    neurons, activation = reader.number(), "none"
    if neurons:
        if (place := reader.number()) >= len(ACTIVATIONS):
            refuse("its activation is not known")
        activation = ACTIVATIONS[place]
    padding = reader.number() - 1
    shape = Shape(
        vocabulary=vocabulary,
        length=length,
        dimension=dimension,
        mixing=ATTENTION if attention else TOKEN_SUM,
        heads=heads,
        key_dimension=keys,
        value_dimension=values,
        skip=skip,
        neurons=neurons,
        activation=activation,
        padding=None if padding < 0 else padding,
    )
    _check(shape)
    tensors: dict[str, Tensor] = {}
    for name, sizes in shape.tensors.items():
        present = reader.take(int(np.prod(sizes, dtype=object))).astype(bool)
        flat: Tensor = np.zeros(len(present), object if dyadic else np.float64)
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


def _word(value: Dyadic) -> str:
    if not value.mantissa % 2 or value.digits > DIGITS or abs(value.exponent) > DIGITS:
        refuse("a number is not canonical, or too long")
    exponent = 2 * value.exponent - 1 if value.exponent > 0 else -2 * value.exponent
    inner = f"{abs(value.mantissa):b}"[1:-1]
    return f"{value.mantissa < 0:d}{_number(value.digits - 1)}{inner}{_number(exponent)}"


def _binary(text: str) -> Bits:
    return np.frombuffer(text.encode("ascii"), np.uint8) - np.uint8(ord("0"))


def _integer(bits: Bits) -> int:
    """The integer whose binary digits are 1 and then these."""
    return int.from_bytes(np.packbits(bits).tobytes(), "big") >> -len(bits) % 8 | 1 << len(bits)
