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

The tests write this code and read it back (tests/softmax/code_words.py).
"""

from ..exact.coder import refuse
from ..exact.network import Dyadic
from .decoder import ACTIVATIONS, ATTENTION, Decoder

DIGITS = 1 << 22  # of a number, and the largest exponent: checker/FORMAT.md, section 2


def encoded_bits(network: Decoder) -> int:
    """The length of the code word."""
    bits = len(head(network)) + network.shape.parameters
    if network.number == "float64":
        return bits + 64 * network.counts()[0]["nonzero"]
    values = (x for tensor in network.tensors.values() for x in tensor.ravel().tolist())
    return bits + sum(len(word(value)) for value in values if value.mantissa)


def head(decoder: Decoder) -> str:
    """The code word before the tensors, in binary."""
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


def word(value: Dyadic) -> str:
    """A nonzero dyadic number, in binary."""
    if not value.mantissa % 2 or value.digits > DIGITS or abs(value.exponent) > DIGITS:
        refuse("a number is not canonical, or too long")
    exponent = 2 * value.exponent - 1 if value.exponent > 0 else -2 * value.exponent
    inner = f"{abs(value.mantissa):b}"[1:-1]
    return f"{value.mantissa < 0:d}{_number(value.digits - 1)}{inner}{_number(exponent)}"
