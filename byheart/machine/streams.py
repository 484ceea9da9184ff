"""Numbers and compressed streams one after another, as packed files hold them; checked when read.

Number  Seven bits to a byte, the least significant first; all bytes but the last have the top bit.
Stream  A number, its length when unpacked; a number, its length as it stands; what stands there:
    a byte that says how it is packed, and the content. 0: as it is. 1, 3, 5: LZMA2 without a
    container, with lc = 0, 2, 4, lp = pb = 0 and a dictionary of 2^24 bytes. 7: bzip2.
Numbers A number b, and b streams: the lowest bytes of all numbers, then the next ones, and so on.
"""

import bz2
import lzma
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NoReturn

from ..errors import ByheartError

LIMIT = 1 << 27  # bytes of a stream when unpacked
MOST = 1 << 24  # numbers of a list
PLAIN, BZIP2 = 0, 7
DICTIONARY = 1 << 24
PLANES = 4  # bytes of a number in a list
LETTERS = (0, 2, 4)  # lc of LZMA: how many bits of the byte before count


def filters(letters: int, size: int = DICTIONARY) -> list[dict[str, Any]]:
    """Of LZMA2; memory and time of the packer grow with the size of its dictionary."""
    preset, dictionary = 9 | lzma.PRESET_EXTREME, min(DICTIONARY, max(1 << 12, size))
    given = {"id": lzma.FILTER_LZMA2, "preset": preset, "dict_size": dictionary}
    return [{**given, "lc": letters, "lp": 0, "pb": 0}]


FORMS: dict[bytes, Callable[[], Any]] = {
    bytes([letters + 1]): partial(lzma.LZMADecompressor, lzma.FORMAT_RAW, filters=filters(letters))
    for letters in LETTERS
}
FORMS[bytes([BZIP2])] = bz2.BZ2Decompressor


def number(value: int) -> bytes:
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    return bytes([*found, value])


def stream(data: bytes) -> bytes:
    forms = [bytes([PLAIN]) + data, bytes([BZIP2]) + bz2.compress(data, 9)]
    for letters in LETTERS:
        content = lzma.compress(data, lzma.FORMAT_RAW, filters=filters(letters, len(data)))
        forms.append(bytes([letters + 1]) + content)
    shortest = min(forms, key=len)
    return number(len(data)) + number(len(shortest)) + shortest


def numbers(values: Sequence[int]) -> bytes:
    planes = -(-max(values, default=0).bit_length() // 8)
    bytes_of = [bytes(value >> 8 * plane & 255 for value in values) for plane in range(planes)]
    return number(planes) + b"".join(map(stream, bytes_of))


class Source:
    """What is read one after another; every surprise is a ByheartError of one sentence."""

    def __init__(self, data: bytes, where: str) -> None:
        self.data, self.where, self.place = data, where, 0

    def refuse(self, reason: str) -> NoReturn:
        raise ByheartError(f"{self.where}: {reason}.")

    def take(self, size: int) -> bytes:
        if size > len(self.data) - self.place:
            self.refuse("it is cut off")
        self.place += size
        return self.data[self.place - size : self.place]

    def number(self) -> int:
        value, shift = 0, 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
            if shift > 56:
                self.refuse("a number is absurdly large")

    def size(self) -> int:
        """A number of things that stand in memory."""
        size = self.number()
        if size > LIMIT:
            self.refuse(f"{size} is above the limit of 2^27")
        return size

    def stream(self, size: int | None = None) -> bytes:
        """The content of a stream, of that size if one is given."""
        length, packed = self.size(), self.take(self.number())
        if size not in (None, length):
            self.refuse(f"a stream has {length} bytes, not {size}")
        form, content = packed[:1], packed[1:]
        if form == bytes([PLAIN]):
            unpacked = content
        elif form in FORMS:
            packer = FORMS[form]()
            try:
                unpacked = packer.decompress(content, length + 1)
            except (lzma.LZMAError, OSError, EOFError):
                self.refuse("a stream cannot be unpacked")
            if not packer.eof or packer.unused_data:
                self.refuse("a stream has another length than it says")
        else:
            self.refuse("a stream is packed in no known way")
        if len(unpacked) != length:
            self.refuse("a stream has another length than it says")
        return unpacked

    def numbers(self, count: int) -> list[int]:
        planes = self.number()
        if count > MOST:
            self.refuse(f"a list of {count} numbers is above the limit of 2^24")
        if planes > PLANES:
            self.refuse("a number has more than 32 bits")
        values = [0] * count
        for plane in range(planes):
            values = [x | y << 8 * plane for x, y in zip(values, self.stream(count), strict=True)]
        return values

    def end(self) -> None:
        if self.place != len(self.data):
            self.refuse(f"{len(self.data) - self.place} bytes follow its end")
