"""The safetensors container, read with suspicion: sizes are checked before data is."""

import hashlib
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import ByheartError
from .strict import JSON_LIMIT, Object, open_regular, size_of

DTYPES = {"I32": "<i4", "U8": "|u1", "I64": "<i8", "U64": "<u8", "F64": "<f8"}

Arrays = dict[str, NDArray[Any]]
Shapes = Mapping[str, Sequence[int]]


def read(path: Path, types: Mapping[str, str], shapes: Shapes | None = None) -> tuple[Arrays, str]:
    """The arrays of a file that holds exactly these names, and the file's sha256.

    They are views of one copy of the file, which cannot be written to.

    types   the type of each array
    shapes  the shape of each; None: they are lists of any length
    """
    with open_regular(path) as file:
        room = size_of(file) - 8
        length = int.from_bytes(file.read(8), "little")
        if room < 0 or length > min(room, JSON_LIMIT):
            raise ByheartError(
                f"{path} is truncated or not a safetensors file: its header does not fit."
            )
        header = file.read(length)
        given = Object.parse(header, f"{path}, header")
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
