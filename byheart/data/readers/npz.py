"""NumPy archives: `inputs` [N, n] or [N, n, d] and `labels` [N], or [N, n]: one per token.

Other names of these two arrays are options; further arrays are not read.

Large arrays that numpy.savez wrote, which does not compress, are mapped into memory and read block
by block; a checksum of the archive is verified either way.
"""

import math
import struct
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from ...errors import ByheartError
from ...machine.files import replacing
from ..columns import NUMERIC
from ..dataset import Dataset, rectangular
from ..values import Fault, finite
from .raw import Raw, reason

MAPPED = 1 << 24  # bytes from which on an array is mapped
CHUNK = 1 << 22
INPUTS, LABELS = "inputs", "labels"  # the arrays that are read unless others are named


def read(
    raw: Raw, input: Sequence[str] = (), label: str | None = None, numeric: str = NUMERIC
) -> Dataset:
    """The sequences of a .npz file; [N, n] holds numbers and [N, n, d] vectors."""
    path, chosen = raw.name, (*(input or (INPUTS,)), label or LABELS)
    if len(chosen) != 2 or numeric != NUMERIC:
        wrong = f"`numeric={numeric!r}` does" if len(chosen) == 2 else "several `input=...` do"
        raise ByheartError(f"{path}: {wrong} not apply to arrays; leave it out.")
    if not zipfile.is_zipfile(raw.file):
        raise ByheartError(
            f"{path} is not an .npz file, or is truncated; write it with numpy.savez."
        )
    try:
        with zipfile.ZipFile(raw.file) as archive:
            inputs, labels = (_array(archive, name, raw) for name in chosen)
            members = [name.removesuffix(".npy") for name in archive.namelist()]
    except ByheartError:
        raise
    except Exception as error:  # whatever a damaged archive leads to
        raise ByheartError(
            f"{path} cannot be read ({reason(error)}); "
            "write plain arrays of numbers with numpy.savez."
        ) from None
    try:
        if inputs.ndim not in (2, 3):
            raise Fault(f'"{chosen[0]}" has the shape {inputs.shape}; give [N, n] or [N, n, d]')
        if 0 in inputs.shape:
            raise Fault(
                f'"{chosen[0]}" has the shape {inputs.shape}, which holds no token; give some'
            )
        if inputs.dtype.kind == "u" and inputs.dtype.itemsize == 8:
            inputs = _signed(inputs)
        elif inputs.dtype.kind == "f" and inputs.dtype.itemsize <= 8:
            bad = np.argwhere(~np.isfinite(inputs))
            if len(bad):
                raise Fault(
                    f'"{chosen[0]}" row {bad[0][0]} holds infinity or NaN; leave such rows out'
                )
            inputs = finite(inputs.astype(np.float64, copy=False))
        elif inputs.dtype.kind not in "iu":
            raise Fault(
                f'"{chosen[0]}" holds {inputs.dtype}; give integers or float64, or use .jsonl'
            )
        if labels.shape not in (inputs.shape[:1], inputs.shape[:2]):
            raise Fault(
                f'"{chosen[1]}" has the shape {labels.shape} and "{chosen[0]}" {inputs.shape}; '
                "give one label per sequence or one per token"
            )
        if labels.dtype.kind not in "iu":
            raise Fault(f'"{chosen[1]}" holds {labels.dtype}; give integers, or use .jsonl')
        labels = labels.astype(labels.dtype.newbyteorder("="), copy=False)
        if labels.dtype == np.uint64 and (labels >= 2**63).any():
            row = np.argwhere(labels >= 2**63)[0][0]
            raise Fault(f'"{chosen[1]}" row {row} holds an integer beyond signed 64 bits')
    except Fault as fault:
        raise ByheartError(f"{path}: {fault}.") from None
    data, unused = rectangular(inputs, labels), tuple(x for x in members if x not in chosen)
    if not unused and chosen == (INPUTS, LABELS):
        return data
    # `numeric` says that these names are not those of the first version, see load.applicable
    loading = {"input": [chosen[0]], "label": chosen[1], "numeric": numeric}
    return replace(data, unused=unused, loading=loading)


def _array(archive: zipfile.ZipFile, name: str, raw: Raw) -> NDArray:
    """One member of the archive; a name that stands twice means two things to two readers."""
    names, path = archive.namelist(), raw.name
    if f"{name}.npy" not in names:
        arrays = [other.removesuffix(".npy") for other in names]
        raise ByheartError(
            f'{path} has no array "{name}"; it has {arrays}, and `input=...` and `label=...` say '
            "which of them to read."
        )
    if names.count(f"{name}.npy") > 1 or name in names:
        raise ByheartError(f'{path} has two members "{name}"; write it with numpy.savez.')
    member = archive.getinfo(f"{name}.npy")
    if (mapped := _mapped(archive, member, raw.file)) is not None:
        return mapped
    with archive.open(member) as file:
        array = np.lib.format.read_array(file, allow_pickle=False)
        if file.read(1):
            raise ByheartError(f'{path}: bytes follow the array "{name}"; write it again.')
    return array


def _mapped(archive: zipfile.ZipFile, member: zipfile.ZipInfo, file: BinaryIO) -> NDArray | None:
    """A large array that is stored as it is, mapped into memory; None if it has to be read."""
    if member.compress_type != zipfile.ZIP_STORED or member.file_size < MAPPED:
        return None
    with archive.open(member) as content:  # its checksum is verified at its end
        if np.lib.format.read_magic(content) != (1, 0):
            return None
        shape, by_columns, dtype = np.lib.format.read_array_header_1_0(content)
        begin = content.tell()
        if by_columns or dtype.hasobject:
            return None
        if math.prod(shape) * dtype.itemsize != member.file_size - begin:
            return None
        while content.read(CHUNK):
            pass
    # a member begins with 30 bytes, a name and extra fields, whose lengths are the last of them
    file.seek(member.header_offset + 26)
    name, extra = struct.unpack("<HH", file.read(4))
    begin += member.header_offset + 30 + name + extra
    return np.memmap(file, dtype, "r", begin, shape).view(np.ndarray)


def _signed(integers: NDArray) -> NDArray:
    """Unsigned integers as int64; as doubles if one is beyond that, and all are doubles."""
    if not (large := integers >= 2**63).any():
        return integers.astype(np.int64, copy=False)
    rounded = integers.astype(np.float64)
    whole = np.minimum(rounded, 2.0**64 - 2048).astype(np.uint64)
    if (whole != integers).any():
        row = np.argwhere(large)[0][0]
        raise Fault(f'"inputs" row {row} holds an integer beyond signed 64 bits; use .jsonl')
    return rounded


def write(dataset: Dataset, path: str | Path) -> None:
    """Write the .npz file; reading it back gives the same sha256."""
    contents = {
        "string tokens": dataset.kind == "string",
        "string labels": isinstance(dataset.label_names[0], str),
        "sequences of different lengths": len(set(dataset.lengths.tolist())) > 1,
        "counts": bool((dataset.counts != 1).any()),
    }
    for content, holds in contents.items():
        if holds:
            raise ByheartError(f"{path}: an .npz file cannot hold {content}; use .jsonl.")
    vectors = np.asarray(dataset.tokens)
    inputs = vectors[dataset.ids].reshape(len(dataset), dataset.length, -1)
    inputs = inputs[:, :, 0] if dataset.kind == "number" else inputs
    labels = np.array(dataset.label_names, np.int64)[dataset.labels]
    labels = labels.reshape(inputs.shape[:2]) if dataset.every else labels
    with replacing(path) as file:
        np.savez(file, inputs=inputs, labels=labels)
