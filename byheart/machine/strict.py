"""Files from strangers, JSON and safetensors: every surprise is a ByheartError of one sentence.

Sizes are checked before data is.
"""

import hashlib
import json
import math
import os
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..errors import ByheartError

T = TypeVar("T")

JSON_LIMIT = 1 << 30  # bytes
SIZE_LIMIT = 1 << 20  # length, dimension, width, hidden, head_dimension, number of layers
DIGITS_LIMIT = 1_262_612  # decimal digits of 2^22 bits
CHUNK = 4096  # decimal digits; int() stops at 4300

_FLAGS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


def open_regular(path: Path) -> BinaryIO:
    """The file, open for reading. A link may point anywhere and a pipe may block: refused."""
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):
            raise ByheartError(f"{path} is not a regular file; a model folder holds no links.")
        return open(path, "rb", opener=lambda name, flags: os.open(name, flags | _FLAGS))
    except OSError as error:
        raise ByheartError(f"{path} cannot be read: {error.strerror or error}.") from error


def size_of(file: BinaryIO) -> int:
    return os.fstat(file.fileno()).st_size


def read_text_file(path: Path) -> bytes:
    with open_regular(path) as file:
        if size_of(file) > JSON_LIMIT:
            raise ByheartError(f"{path} is larger than 2^30 bytes.")
        return file.read(JSON_LIMIT)  # it may have grown since


def shown(value: object) -> str:
    """A short form for messages: nothing that a hostile file holds reaches a terminal raw."""
    if isinstance(value, str):
        return ascii(value if len(value) <= 60 else value[:60] + "...")
    if isinstance(value, int) and abs(value) >= 10**40:
        return "an integer of more than 40 digits"
    if value is None or isinstance(value, int | float):
        return str(value)
    return f"a {type(value).__name__}"


def integer(digits: str) -> int:
    """The integer that decimal digits spell; two halves at a time, because int() is quadratic."""
    if len(digits) <= CHUNK:
        return int(digits)
    if digits[0] == "-":
        return -integer(digits[1:])
    if len(digits) > DIGITS_LIMIT:
        raise ByheartError(f"a number has {len(digits)} digits")
    low = len(digits) // 2
    return integer(digits[:-low]) * 10**low + integer(digits[-low:])


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A key given twice means two things to two readers."""
    result: dict[str, Any] = {}
    for key, value in pairs:
        if key in result:
            raise ByheartError(f"the key {shown(key)} is given twice")
        result[key] = value
    return result


def _no_constant(name: str) -> NoReturn:
    raise ByheartError(f"{name} is not a JSON number")


def _unsigned(digits: str) -> int:
    """The integer; ByheartError for -0, which libraries in other languages take for a float."""
    if digits == "-0":
        raise ByheartError("-0 is not an integer")
    return integer(digits)


_DECODER, _UNSIGNED = (
    json.JSONDecoder(object_pairs_hook=_without_repeats, parse_int=x, parse_constant=_no_constant)
    for x in (integer, _unsigned)
)


class Object(NamedTuple):
    """A JSON object that knows where it stands, so that every refusal names the place."""

    values: dict[str, Any]
    where: str

    @classmethod
    def parse(cls, content: bytes, where: str, unsigned: bool = False) -> "Object":
        """The object of a text; where `unsigned`, -0 is refused."""
        try:
            values = (_UNSIGNED if unsigned else _DECODER).decode(content.decode("utf-8"))
        except UnicodeDecodeError as error:
            raise ByheartError(f"{where}: byte {error.start + 1} is not UTF-8.") from None
        except RecursionError:
            raise ByheartError(f"{where}: the JSON is nested too deeply.") from None
        except json.JSONDecodeError as error:
            raise ByheartError(f"{where}: not JSON ({error.msg}, line {error.lineno}).") from None
        except ByheartError as error:
            raise ByheartError(f"{where}: {error}.") from None
        if not isinstance(values, dict):
            raise ByheartError(f"{where}: not a JSON object.")
        return cls(values, where)

    def refuse(self, reason: str) -> NoReturn:
        raise ByheartError(f"{self.where}: {reason}.")

    def get(self, key: str, kind: type[T]) -> T:
        """The value, of exactly that type: true is not an integer, 1.0 is not a version."""
        if key not in self.values:
            self.refuse(f"{key} is missing")
        value = self.values[key]
        if type(value) is not kind:
            self.refuse(f"{key} is {shown(value)}, not of type {kind.__name__}")
        return value

    def optional(self, key: str, kind: type[T], default: T | None = None) -> T | None:
        """The value, or the default if the key is missing or null."""
        return default if self.values.get(key) is None else self.get(key, kind)

    def note(self, key: str, kind: type[T], default: Any = None) -> Any:
        """The value if it is of that type, else the default: nothing depends on it."""
        value = self.values.get(key)
        return value if type(value) is kind else default

    def object(self, key: str) -> "Object":
        return Object(self.get(key, dict), f"{self.where}, {key}")

    def words(self, key: str) -> list[Any]:
        """A list, whose strings can be written as UTF-8."""
        listed = self.get(key, list)
        for word in listed:
            if isinstance(word, str) and any("\ud800" <= letter <= "\udfff" for letter in word):
                self.refuse(f"{shown(word)} holds half a surrogate pair")
        return listed

    def size(self, key: str) -> int:
        size = self.get(key, int)
        if not 1 <= size <= SIZE_LIMIT:
            self.refuse(f"{key} is {shown(size)}, not between 1 and 2^20")
        return size

    def choice(self, key: str, known: Sequence[str]) -> str:
        if (value := self.get(key, str)) not in known:
            self.refuse(f"the {key} {shown(value)} is not known")
        return value

    def expect(self, key: str, wanted: str | int) -> None:
        if (value := self.get(key, type(wanted))) != wanted:
            self.refuse(f"{key} is {shown(value)}, this version reads only {shown(wanted)}")


DTYPES = {
    "I32": "<i4", "U8": "|u1", "I64": "<i8", "U64": "<u8", "F64": "<f8", "F32": "<f4", "F16": "<f2",
    "BF16": "<u2",
}  # fmt: skip

Arrays = dict[str, NDArray[Any]]
Shapes = Mapping[str, Sequence[int]]


def read_arrays(
    path: Path,
    types: Mapping[str, str],
    shapes: Shapes | None = None,
    metadata: Mapping[str, str] | None = None,
) -> tuple[Arrays, str]:
    """The arrays of a file that holds exactly these names, and the file's sha256.

    They are read-only views of one copy of it; without shapes they are lists of any length.

    metadata  that the header may have, and no other; by default, whatever it says
    """
    with open_regular(path) as file:
        room = size_of(file) - 8
        length = int.from_bytes(file.read(8), "little")
        if room < 0 or length > min(room, JSON_LIMIT):
            raise ByheartError(
                f"{path} is truncated or not a safetensors file: its header does not fit."
            )
        header = file.read(length)
        given = Object.parse(header, f"{path}, header", unsigned=metadata is not None)
        if metadata is not None and given.values.get("__metadata__", metadata) != metadata:
            given.refuse(f"__metadata__ is not {json.dumps(metadata)}")
        spans = _spans(given, types, shapes or {}, size_of(file) - 8 - len(header))
        content = file.read(size_of(file))
    digest = hashlib.sha256(len(header).to_bytes(8, "little") + header)
    digest.update(content)
    arrays = {}
    for name, (begin, _) in spans.items():
        shape = given.values[name]["shape"]
        flat = np.frombuffer(content, DTYPES[types[name]], math.prod(shape), begin)
        arrays[name] = flat.reshape(shape)
    return arrays, digest.hexdigest()


def _spans(
    header: Object, types: Mapping[str, str], shapes: Shapes, room: int
) -> dict[str, tuple[int, int]]:
    """Where each array lies; together they fill the room without holes and overlaps."""
    if header.values.keys() - {"__metadata__"} != types.keys():
        shown = ", ".join([*types][:9]) + (" ..." if len(types) > 9 else "")
        header.refuse(f"the tensors must be {shown}")
    spans = {}
    for name, dtype in types.items():
        given, wanted = header.object(name), shapes.get(name)
        given.expect("dtype", dtype)
        shape, offsets = given.get("shape", list), given.get("data_offsets", list)
        if len(offsets) != 2 or (wanted is None and len(shape) != 1):
            given.refuse("shape has one number and data_offsets has two")
        if not all(type(number) is int and number >= 0 for number in shape + offsets):
            given.refuse("shape and data_offsets are made of integers from 0")
        if wanted is not None and shape != list(wanted):
            given.refuse(f"shape is not {list(wanted)}, as config.json has it")
        begin, end = offsets
        spans[name] = begin, end
        if end - begin != math.prod(shape) * np.dtype(DTYPES[dtype]).itemsize:
            given.refuse("shape and data_offsets disagree")
    reached = 0
    for begin, end in sorted(spans.values()):
        if begin != reached:
            header.refuse("there is a hole or an overlap between tensors")
        reached = end
    if reached != room:
        header.refuse(f"the tensors do not fill the {room} bytes of the file")
    return spans
