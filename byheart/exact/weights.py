"""weights.safetensors, both ways: every nonzero parameter, its mantissa as limbs of 64 bits.

A network that is exact in float64 is stored as plain tensors instead, one per parameter tensor.
"""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save

from ..errors import ByheartError
from ..machine import plain
from ..machine.strict import DTYPES, Arrays, read_arrays
from .config import DYADIC_LIMIT, Config, Pairs, Shape
from .network import Dyadic, Entry, Matrix, Network, SparseAttention, dyadic

TYPES = dict.fromkeys(("tensor", "row", "column", "exponent"), "I32")
TYPES |= {"negative": "U8", "start": "I64", "limbs": "U64"}
CONNECTIONS = {"target": "I32", "source": "I32"}  # where some attention is sparse
VECTORS = (".bias", ".b1", ".b2", ".position")  # one size in a file of plain tensors, not two
PER_PARAMETER = ("row", "column", "exponent", "negative")


def encode(network: Network, number: str = "dyadic") -> bytes:
    """The file of a network; there is only one."""
    if number == "float64":
        from .float64.engine import float_tensors

        return save(float_tensors(network))
    arrays = limbs([tensor for layer in network.layers for tensor in layer.tensors.values()])
    sparse = [layer for layer in network.layers if isinstance(layer, SparseAttention)]
    if sparse:
        pairs = [pair for layer in sparse for pair in layer.connections]
        columns = np.array(pairs, DTYPES["I32"]).reshape(-1, 2).T
        arrays |= zip(CONNECTIONS, map(np.ascontiguousarray, columns), strict=True)
    return save(arrays)


def limbs(tensors: Sequence[Matrix]) -> Arrays:
    """The arrays of TYPES that hold these parameter tensors."""
    entries = [(number, *entry) for number, t in enumerate(tensors) for entry in t.entries]
    mantissas = [abs(value.mantissa) for *_, value in entries]
    sizes = [-(-mantissa.bit_length() // 64) for mantissa in mantissas]
    pairs = zip(mantissas, sizes, strict=True)
    content = b"".join(mantissa.to_bytes(8 * size, "little") for mantissa, size in pairs)
    columns: dict[str, Any] = {
        "tensor": [number for number, *_ in entries],
        "row": [row for _, row, _, _ in entries],
        "column": [column for _, _, column, _ in entries],
        "exponent": [value.exponent for *_, value in entries],
        "negative": [value.mantissa < 0 for *_, value in entries],
        "start": np.cumsum([0, *sizes]),
        "limbs": np.frombuffer(content, "<u8"),
    }
    return {name: np.array(columns[name], DTYPES[type]) for name, type in TYPES.items()}


def read(path: Path, settings: Config) -> tuple[Network, str]:
    if settings.number != "float64":
        sparse = [plan.connections for plan in settings.plans if plan.kind == "sparse_attention"]
        arrays, digest = read_arrays(path, TYPES | CONNECTIONS if sparse else TYPES)
        matrices = checked(arrays, settings.shapes, path)
        pairs = _connections(arrays, sparse, settings.input.columns, path) if sparse else ()
        return settings.network(matrices, pairs), digest
    named = dict(zip(settings.names, settings.shapes, strict=True))
    files = {name: x[:1] if name.endswith(VECTORS) else x for name, x in named.items()}
    arrays, digest = plain.read(path, files)
    matrices = []
    for name, (rows, columns) in named.items():
        tensor = arrays[name].reshape(rows, columns)
        places = zip(*(axis.tolist() for axis in np.nonzero(tensor)), strict=True)
        entries = (Entry(r, c, dyadic(float(tensor[r, c]))) for r, c in places)
        matrices.append(Matrix(rows, columns, tuple(entries)))
    return settings.network(matrices, ()), digest


def checked(arrays: Arrays, shapes: list[Shape], path: Path) -> list[Matrix]:
    """The tensors of these shapes that the arrays of TYPES hold, in their one canonical form."""

    def refuse(broken: NDArray[np.bool_], reason: str) -> None:
        if broken.any():
            _fail(path, f"parameter {int(np.argmax(broken))} {reason}")

    tensor, row, column = (arrays[name] for name in ("tensor", "row", "column"))
    size, start, limbs = len(tensor), arrays["start"], arrays["limbs"]
    if any(len(arrays[name]) != size for name in PER_PARAMETER) or len(start) != size + 1:
        _fail(path, "the tensors have lengths that do not belong together")
    if start[0] != 0 or start[-1] != len(limbs):
        _fail(path, "start does not run from 0 to the length of limbs")
    refuse(start[1:] <= start[:-1], "has no limbs")

    refuse((tensor < 0) | (tensor >= len(shapes)), "belongs to no tensor")
    heights, widths = np.array(shapes, np.int64).T
    refuse((row < 0) | (row >= heights[tensor]), "lies outside its tensor")
    refuse((column < 0) | (column >= widths[tensor]), "lies outside its tensor")
    same_tensor, same_row = tensor[1:] == tensor[:-1], row[1:] == row[:-1]
    later = same_row & (column[1:] > column[:-1]) | (row[1:] > row[:-1])
    later = same_tensor & later | (tensor[1:] > tensor[:-1])
    refuse(np.concatenate([[False], ~later]), "is out of order")

    exponent, negative = arrays["exponent"].astype(np.int64), arrays["negative"]
    refuse(limbs[start[1:] - 1] == 0, "has a top limb of zero")
    refuse(limbs[start[:-1]] & 1 == 0, "has an even mantissa")
    refuse(negative > 1, "has a sign that is neither 0 nor 1")
    refuse(np.diff(start) > DYADIC_LIMIT // 64, "has a mantissa longer than 2^22 bits")
    refuse(abs(exponent) > DYADIC_LIMIT, "has an exponent above 2^22")

    content, ends = limbs.tobytes(), (8 * start).tolist()
    signs = (1 - 2 * negative.astype(np.int64)).tolist()
    columns = zip(row.tolist(), column.tolist(), signs, exponent.tolist(), strict=True)
    entries = []
    for (first, end), (r, c, sign, power) in zip(pairwise(ends), columns, strict=True):
        mantissa = sign * int.from_bytes(content[first:end], "little")
        entries.append(Entry(r, c, Dyadic(mantissa, power)))
    bounds = pairwise(np.searchsorted(tensor, np.arange(len(shapes) + 1)).tolist())
    parts = zip(shapes, bounds, strict=True)
    return [Matrix(*shape, tuple(entries[begin:end])) for shape, (begin, end) in parts]


def _connections(arrays: Arrays, counts: Sequence[int], columns: int, path: Path) -> Pairs:
    """All pairs (target, source), sorted within each layer."""
    pairs = np.stack([arrays["target"], arrays["source"]], axis=1).astype(np.int64)
    if len(pairs) != sum(counts):
        _fail(path, f"there are {len(pairs)} connections, config.json has {sum(counts)}")
    if len(pairs) and not (0 <= pairs.min() and pairs.max() < columns):
        _fail(path, "a connection leads outside the columns")
    for order in np.split(pairs @ np.array([columns, 1]), np.cumsum(counts)[:-1]):
        if (np.diff(order) <= 0).any():
            _fail(path, "the connections are not in order")
    return tuple(map(tuple, pairs.tolist()))  # type: ignore[arg-type]


def _fail(path: Path, reason: str) -> NoReturn:
    raise ByheartError(f"{path}: {reason}.")
