"""An adaptive arithmetic coder for bits, plain bits and numbers, both ways.

Arithmetic  The interval is [low, low + range); at first low = 0, range = 2^64 - 1. A bit whose
    *context* has the counts (a, b), at first (1, 1), takes [0, s) of the range if it is 0 and
    [s, range) if it is 1, s = floor(range a / (a + b)). Then its count grows by 2; if a + b > 63
    both are halved, rounded up. A *chunk* of k <= 32 plain bits with value v takes
    [v u, (v + 1) u), u = floor(range / 2^k). While range < 2^63, low and range double, and one
    digit of low moves above 2^64. At the end low is rounded up to a multiple of 2^62, which lies
    in the interval with all its continuations. The code word is the digits of low from 2^62 up:
    one for each doubling and two more. `encode` adds zeros up to a whole byte.
Number  n >= 0 in a field f, for n + 1 of k + 1 binary digits: k ones and a zero in the contexts
    (f, 0), (f, 1), ...; then the k digits after the first one, each in the context (f, k, digits
    before it). A signed n is the number 2n - 1 if n > 0, else -2n.
"""

from abc import ABC, abstractmethod
from typing import NoReturn

from ..errors import ByheartError

SIZE = 1 << 20  # the limit of checker/FORMAT.md, section 2
Context = tuple[object, ...]


def refuse(reason: str) -> NoReturn:
    raise ByheartError(f"This is not the encoding of a network: {reason}.")


class Coder(ABC):
    """Every method returns the value that is coded: a writer writes it, a reader reads it."""

    def __init__(self) -> None:
        self.range = (1 << 64) - 1
        self.position = 0
        self.counts: dict[Context, tuple[int, int]] = {}

    @abstractmethod
    def choose(self, given: int, unit: int) -> int:
        """The number of the part that is taken, for parts of size unit."""

    @abstractmethod
    def narrow(self, start: int, size: int) -> None:
        """Takes the part [start, start + size) of the interval."""

    def bit(self, context: Context, given: int) -> int:
        zeros, ones = self.counts.get(context, (1, 1))
        split = self.range * zeros // (zeros + ones)
        bit = min(1, self.choose(given, split))
        self.narrow(*((split, self.range - split) if bit else (0, split)))
        zeros, ones = zeros + 2 * (1 - bit), ones + 2 * bit
        full = zeros + ones > 63
        self.counts[context] = ((zeros + 1) // 2, (ones + 1) // 2) if full else (zeros, ones)
        return bit

    def chunk(self, width: int, given: int) -> int:
        unit = self.range >> width
        value = self.choose(given, unit)
        if value >> width:
            refuse("its digits are not canonical")
        self.narrow(value * unit, unit)
        return value

    def plain(self, width: int, given: int) -> int:
        words = width // 32
        data = given.to_bytes(4 * words + 4, "big")
        taken = bytearray()
        for i in range(words + 1):
            word = int.from_bytes(data[4 * i : 4 * i + 4], "big")
            taken += self.chunk(32 if i else width % 32, word).to_bytes(4, "big")
        return int.from_bytes(taken, "big")

    def number(self, field: Context, given: int) -> int:
        wanted, length = (given + 1).bit_length() - 1, 0
        while self.bit((field, length), length < wanted):
            length += 1
            if length > 48:
                refuse("a number is absurdly large")
        number = 1
        for place in reversed(range(length)):
            number = 2 * number + self.bit((field, length, number), (given + 1) >> place & 1)
        return number - 1

    def signed(self, field: Context, given: int) -> int:
        number = self.number(field, 2 * given - 1 if given > 0 else -2 * given)
        return (number + 1) // 2 if number % 2 else -number // 2

    def size(self, field: str, given: int) -> int:
        size = self.number((field,), given)
        if size > SIZE:
            refuse(f"its {field} is {size}, above {SIZE}")
        return size


class Writer(Coder):
    def __init__(self) -> None:
        super().__init__()
        self.low = 0
        self.pieces: list[tuple[int, int]] = []  # (value, digits), before carries

    def choose(self, given: int, unit: int) -> int:
        return given

    def narrow(self, start: int, size: int) -> None:
        shift = 64 - size.bit_length()
        self.low = (self.low + start) << shift
        self.range = size << shift
        if shift:
            self.pieces.append((self.low >> 64, shift))
            self.low &= (1 << 64) - 1
            self.position += shift

    def word(self) -> str:
        """The code word in binary; a piece with one digit too many carries into the one before."""
        texts, carry = [], 0
        for piece, digits in reversed([*self.pieces, (-(-self.low >> 62), 2)]):
            carry, rest = divmod(piece + carry, 1 << digits)
            texts.append(f"{rest:0{digits}b}")
        return "".join(reversed(texts))


class Reader(Coder):
    def __init__(self, data: bytes) -> None:
        super().__init__()
        self.data = data
        self.value = int.from_bytes(data[:8].ljust(8, b"\0"), "big")  # less low

    def choose(self, given: int, unit: int) -> int:
        return self.value // unit

    def narrow(self, start: int, size: int) -> None:
        shift = 64 - size.bit_length()
        byte, used = divmod(self.position + 64, 8)
        window = int.from_bytes(self.data[byte : byte + 9].ljust(9, b"\0"), "big")
        following = window >> (72 - used - shift) & ((1 << shift) - 1)
        self.value = (self.value - start) << shift | following
        self.range = size << shift
        self.position += shift
        if self.position + 2 > 8 * len(self.data):
            refuse("it is cut off")
