"""Plain float64 tensors in a safetensors file, of any size: written and read without copies."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..errors import ByheartError
from .strict import Arrays, Shapes, read_arrays

BLOCK = 1 << 20  # numbers looked at at once
Piece = bytes | memoryview


def pieces(tensors: Mapping[str, NDArray[np.float64]]) -> list[Piece]:
    """The file of these tensors in pieces: the header, then their own memory, one by one."""
    header, end = {}, 0
    for name, tensor in tensors.items():
        offsets = [end, end := end + 8 * tensor.size]
        header[name] = {"dtype": "F64", "shape": list(tensor.shape), "data_offsets": offsets}
    text = json.dumps(header, separators=(",", ":")).encode("ascii")
    text += b" " * (-len(text) % 8)  # so that the numbers are aligned
    result: list[Piece] = [len(text).to_bytes(8, "little") + text]
    for tensor in tensors.values():  # row by row, without -0.0: a copy only where one is needed
        flat = np.ascontiguousarray(tensor, "<f8").reshape(-1)
        flat = flat + 0.0 if any(_minus_zero(block) for block in _blocks(flat)) else flat
        result.append(flat.view(np.uint8).data)
    return result


def read(path: Path, shapes: Shapes) -> tuple[Arrays, str]:
    """The tensors of these names and shapes, and the sha256 of the file."""
    arrays, digest = read_arrays(path, dict.fromkeys(shapes, "F64"), shapes)
    for name, tensor in arrays.items():
        for block in _blocks(tensor.reshape(-1)):
            if _minus_zero(block) or not np.isfinite(block).all():
                raise ByheartError(f"{path}: {name} holds a number that is infinite, NaN or -0.")
    return arrays, digest


def _blocks(flat: NDArray[np.float64]) -> Iterator[NDArray[np.float64]]:
    return (flat[i : i + BLOCK] for i in range(0, len(flat), BLOCK))


def _minus_zero(values: NDArray[np.float64]) -> bool:
    return bool((np.signbit(values) & (values == 0)).any())
