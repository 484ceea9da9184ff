"""weights.safetensors, both ways: every nonzero parameter, its mantissa as limbs of 64 bits."""

import hashlib
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save

from ..errors import ByheartError
from ..network import Dyadic, Entry, Matrix, Network
from .config import DYADIC_LIMIT, Shape
from .strict import JSON_LIMIT, Object, open_regular, size_of

TYPES = {
    "tensor": ("I32", "<i4"),
    "row": ("I32", "<i4"),
    "column": ("I32", "<i4"),
    "exponent": ("I32", "<i4"),
    "negative": ("U8", "|u1"),
    "start": ("I64", "<i8"),
    "limbs": ("U64", "<u8"),
}
PER_PARAMETER = ("row", "column", "exponent", "negative")

Arrays = dict[str, NDArray[Any]]
Span = tuple[int, int]


def encode(network: Network) -> bytes:
    """The file of a network; there is only one."""
    tensors = [tensor for layer in network.layers for tensor in layer.tensors.values()]
    entries = [(number, *entry) for number, t in enumerate(tensors) for entry in t.entries]
    mantissas = [abs(value.mantissa) for *_, value in entries]
    sizes = [-(-mantissa.bit_length() // 64) for mantissa in mantissas]
    limbs = b"".join(
        mantissa.to_bytes(8 * size, "little")
        for mantissa, size in zip(mantissas, sizes, strict=True)
    )
    columns: dict[str, Any] = {
        "tensor": [number for number, *_ in entries],
        "row": [row for _, row, _, _ in entries],
        "column": [column for _, _, column, _ in entries],
        "exponent": [value.exponent for *_, value in entries],
        "negative": [value.mantissa < 0 for *_, value in entries],
        "start": np.cumsum([0, *sizes]),
        "limbs": np.frombuffer(limbs, "<u8"),
    }
    return save({name: np.array(columns[name], TYPES[name][1]) for name in TYPES})


def read(path: Path, shapes: list[Shape]) -> tuple[list[Matrix], str]:
    """The parameter tensors and the sha256 of the file.

    The sizes in its header are checked before the rest is read.
    """
    with open_regular(path) as file:
        header = _header(file, path)
        spans = _spans(Object.parse(header, f"{path}, header"), size_of(file) - 8 - len(header))
        content = file.read(size_of(file))
    digest = hashlib.sha256(len(header).to_bytes(8, "little") + header)
    digest.update(content)
    arrays = {
        name: np.frombuffer(content, TYPES[name][1], (end - begin) // _width(name), begin)
        for name, (begin, end) in spans.items()
    }
    try:
        _check_lengths(arrays)
        _check_places(arrays, shapes)
        _check_numbers(arrays)
    except ByheartError as error:
        raise ByheartError(f"{path}: {error}.") from None
    return _matrices(arrays, shapes), digest.hexdigest()


def _width(name: str) -> int:
    return np.dtype(TYPES[name][1]).itemsize


def _header(file: BinaryIO, path: Path) -> bytes:
    room = size_of(file) - 8
    length = int.from_bytes(file.read(8), "little")
    if room < 0 or length > min(room, JSON_LIMIT):
        raise ByheartError(f"{path} is truncated or no safetensors file: its header does not fit.")
    return file.read(length)


def _spans(header: Object, room: int) -> dict[str, Span]:
    """Where each tensor lies; together they fill the room without holes and overlaps."""
    names = header.values.keys() - {"__metadata__"}
    if names != TYPES.keys():
        header.refuse(f"the tensors must be {', '.join(TYPES)}")
    spans = {name: _span(header.object(name), name) for name in TYPES}
    reached = 0
    for begin, end in sorted(spans.values()):
        if begin != reached:
            header.refuse("there is a hole or an overlap between tensors")
        reached = end
    if reached != room:
        header.refuse(f"the tensors do not fill the {room} bytes of the file")
    return spans


def _span(given: Object, name: str) -> Span:
    given.expect("dtype", TYPES[name][0])
    numbers = given.get("shape", list) + given.get("data_offsets", list)
    if len(given.values["shape"]) != 1 or len(numbers) != 3:
        given.refuse("shape has one number and data_offsets has two")
    if not all(type(number) is int and number >= 0 for number in numbers):
        given.refuse("shape and data_offsets are made of integers from 0")
    count, begin, end = numbers
    if end - begin != count * _width(name):
        given.refuse("shape and data_offsets disagree")
    return begin, end


def _refuse(broken: NDArray[np.bool_], reason: str) -> None:
    if broken.any():
        raise ByheartError(f"parameter {int(np.argmax(broken))} {reason}")


def _fail(reason: str) -> NoReturn:
    raise ByheartError(reason)


def _check_lengths(arrays: Arrays) -> None:
    size, start = len(arrays["tensor"]), arrays["start"]
    if any(len(arrays[name]) != size for name in PER_PARAMETER) or len(start) != size + 1:
        _fail("the tensors have lengths that do not belong together")
    if start[0] != 0 or start[-1] != len(arrays["limbs"]):
        _fail("start does not run from 0 to the length of limbs")
    _refuse(start[1:] <= start[:-1], "has no limbs")


def _check_places(arrays: Arrays, shapes: list[Shape]) -> None:
    tensor, row, column = (arrays[name] for name in ("tensor", "row", "column"))
    _refuse((tensor < 0) | (tensor >= len(shapes)), "belongs to no tensor")
    rows, columns = np.array(shapes, np.int64).T
    _refuse((row < 0) | (row >= rows[tensor]), "lies outside its tensor")
    _refuse((column < 0) | (column >= columns[tensor]), "lies outside its tensor")
    same_tensor, same_row = tensor[1:] == tensor[:-1], row[1:] == row[:-1]
    later = same_row & (column[1:] > column[:-1]) | (row[1:] > row[:-1])
    later = same_tensor & later | (tensor[1:] > tensor[:-1])
    _refuse(np.concatenate([[False], ~later]), "is out of order")


def _check_numbers(arrays: Arrays) -> None:
    """Canonical, and within the limits: one file for one network."""
    start, limbs = arrays["start"], arrays["limbs"]
    _refuse(limbs[start[1:] - 1] == 0, "has a top limb of zero")
    _refuse(limbs[start[:-1]] & 1 == 0, "has an even mantissa")
    _refuse(arrays["negative"] > 1, "has a sign that is neither 0 nor 1")
    _refuse(np.diff(start) > DYADIC_LIMIT // 64, "has a mantissa longer than 2^22 bits")
    exponent = arrays["exponent"].astype(np.int64)
    _refuse(abs(exponent) > DYADIC_LIMIT, "has an exponent above 2^22")


def _matrices(arrays: Arrays, shapes: list[Shape]) -> list[Matrix]:
    places = zip(arrays["row"].tolist(), arrays["column"].tolist(), _numbers(arrays), strict=True)
    entries = [Entry(*place) for place in places]
    ends = np.searchsorted(arrays["tensor"], np.arange(len(shapes) + 1)).tolist()
    return [
        Matrix(rows, columns, tuple(entries[ends[i] : ends[i + 1]]))
        for i, (rows, columns) in enumerate(shapes)
    ]


def _numbers(arrays: Arrays) -> list[Dyadic]:
    limbs, start = arrays["limbs"].tobytes(), (8 * arrays["start"]).tolist()
    signs = (1 - 2 * arrays["negative"].astype(np.int64)).tolist()
    return [
        Dyadic(sign * int.from_bytes(limbs[start[i] : start[i + 1]], "little"), exponent)
        for i, (sign, exponent) in enumerate(zip(signs, arrays["exponent"].tolist(), strict=True))
    ]
