"""NumPy archives: `inputs` [N, n] or [N, n, d] and `labels` [N], or [N, n]: one per token.

Other names of these two arrays are options; further arrays are not read, and named. An archive with
bytes that belong to no member, or that no reader of archives would see, is refused.

Large arrays that numpy.savez wrote, which does not compress, are mapped into memory and read block
by block; the checksums of the archive are verified either way. What it says of its sizes is held
against its own size and the memory before anything is unpacked.
"""

import io
import math
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import ByheartError
from ...machine.files import replacing
from ...machine.memory import require
from ..columns import NUMERIC
from ..dataset import Dataset, rectangular
from ..values import Fault, finite
from .raw import Raw, readable, refuse_bomb

MAPPED = 1 << 24  # bytes from which on an array is mapped
CHUNK = 1 << 22
HEADER = 1 << 14  # bytes that hold the header of an array, of which NumPy reads 10,000 at most
PER_TOKEN, PER_ROW = 8, 24  # bytes of memory that making a dataset takes at least
WRITE = "write it with numpy.savez"
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
        raise ByheartError(f"{path} is not an .npz file, or is truncated; {WRITE}.")
    first, second = chosen
    plain = "write plain arrays of numbers with numpy.savez"
    with readable(path, plain), zipfile.ZipFile(raw.file) as archive:
        refuse_unseen(archive, raw, WRITE)
        stored = [_stored(archive, name, raw) for name in chosen]
        size = sum(x.member.file_size for x in stored)
        refuse_bomb(path, size, sum(x.member.compress_size for x in stored))
        rows, tokens = math.prod(stored[0].shape[:1]), math.prod(stored[0].shape[:2])
        require(size + PER_TOKEN * tokens + PER_ROW * rows, path, "its content")
        inputs, labels = (_array(x, raw.file) for x in stored)
        members = [name.removesuffix(".npy") for name in archive.namelist()]
    try:
        if inputs.ndim not in (2, 3):
            raise Fault(f'"{first}" has the shape {inputs.shape}; give [N, n] or [N, n, d]')
        if 0 in inputs.shape:
            raise Fault(f'"{first}" has the shape {inputs.shape}, which holds no token; give some')
        if inputs.dtype.kind == "u" and inputs.dtype.itemsize == 8:
            inputs = _signed(inputs)
        elif inputs.dtype.kind == "f" and inputs.dtype.itemsize <= 8:
            bad = np.argwhere(~np.isfinite(inputs))
            if len(bad):
                raise Fault(f'"{first}" row {bad[0][0]} holds infinity or NaN; leave such rows out')
            inputs = finite(inputs.astype(np.float64, copy=False))
        elif inputs.dtype.kind not in "iu":
            raise Fault(f'"{first}" holds {inputs.dtype}; give integers or float64, or use .jsonl')
        if labels.shape not in (inputs.shape[:1], inputs.shape[:2]):
            raise Fault(
                f'"{second}" has the shape {labels.shape} and "{first}" {inputs.shape}; '
                "give one label per sequence or one per token"
            )
        if labels.dtype.kind not in "iu":
            raise Fault(f'"{second}" holds {labels.dtype}; give integers, or use .jsonl')
        labels = labels.astype(labels.dtype.newbyteorder("="), copy=False)
        if labels.dtype == np.uint64 and (labels >= 2**63).any():
            row = np.argwhere(labels >= 2**63)[0][0]
            raise Fault(f'"{second}" row {row} holds an integer beyond signed 64 bits')
    except Fault as fault:
        raise ByheartError(f"{path}: {fault}.") from None
    data, unused = rectangular(inputs, labels), tuple(x for x in members if x not in chosen)
    if not unused and chosen == (INPUTS, LABELS):
        return data
    # `numeric` says that these names are not those of the first version, see load.applicable
    loading = {"input": [chosen[0]], "label": chosen[1], "numeric": numeric}
    return replace(data, unused=unused, loading=loading)


def unread(path: Path, loading: Mapping[str, object]) -> int:
    """How many bytes of an archive that was read with these options are other members."""
    chosen = (*loading.get("input", (INPUTS,)), loading.get("label", LABELS))  # type: ignore[misc]
    with zipfile.ZipFile(path) as archive:
        others = (x for x in archive.infolist() if x.filename not in {f"{y}.npy" for y in chosen})
        return sum(member.compress_size for member in others)


class Stored(NamedTuple):
    """An array in an archive, as it is described there; its member begins with a header."""

    member: zipfile.ZipInfo
    begin: int  # of the member's content in the file
    header: int  # bytes
    shape: tuple[int, ...]
    by_columns: bool
    dtype: np.dtype


def refuse_unseen(archive: zipfile.ZipFile, raw: Raw, remedy: str) -> None:
    """ByheartError if a name stands twice, or bytes of the file belong to no member.

    Members stand one after another, then their directory, then the end of the archive.
    """
    twice = [name for name, often in Counter(archive.namelist()).items() if often > 1]
    if twice:
        raise _two(twice[0].removesuffix(".npy"), raw, remedy)
    file, reached, unseen = raw.file, 0, 0
    for member in sorted(archive.infolist(), key=lambda member: member.header_offset):
        unseen += abs(member.header_offset - reached)
        reached = _begin(member, file) + member.compress_size
        if member.flag_bits & 8:  # its checksum and its sizes are repeated behind it
            file.seek(reached)
            behind, sizes = file.read(24), (member.compress_size, member.file_size)
            for mark, width in product((b"PK\7\x08", b""), (8, 4)):
                numbers = (x.to_bytes(8, "little")[:width] for x in sizes)
                again = b"".join([mark, struct.pack("<L", member.CRC), *numbers])
                if behind.startswith(again):
                    reached += len(again)
                    break
    file.seek(archive.start_dir)
    end, place = file.read(), 0
    while end.startswith(b"PK\1\2", place):
        place += 46 + sum(struct.unpack_from("<3H", end, place + 28))
    place += 76 if end.startswith(b"PK\6\6", place) else 0  # of a very large archive
    unseen += abs(archive.start_dir - reached) + abs(len(end) - place - 22)
    if unseen:
        raise ByheartError(f"{raw.name}: {unseen:,} bytes belong to none of its members; {remedy}.")


def _two(name: str, raw: Raw, remedy: str) -> ByheartError:
    """The refusal of a name that means two things to two readers."""
    return ByheartError(f'{raw.name} has two members "{name}"; {remedy}.')


def _begin(member: zipfile.ZipInfo, file: BinaryIO) -> int:
    """Where the content of a member begins: after 30 bytes, its name and further fields."""
    file.seek(member.header_offset + 26)
    return member.header_offset + 30 + sum(struct.unpack("<HH", file.read(4)))


def _stored(archive: zipfile.ZipFile, name: str, raw: Raw) -> Stored:
    names, path = archive.namelist(), raw.name
    if f"{name}.npy" not in names:
        arrays = [other.removesuffix(".npy") for other in names]
        raise ByheartError(
            f'{path} has no array "{name}"; it has {arrays}, and `input=...` and `label=...` say '
            "which of them to read."
        )
    if name in names:
        raise _two(name, raw, WRITE)
    member = archive.getinfo(f"{name}.npy")
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError(f'"{name}" is compressed in a way that NumPy does not use')
    with archive.open(member) as content:
        start = io.BytesIO(content.read(HEADER))
    version = np.lib.format.read_magic(start)
    if version not in ((1, 0), (2, 0), (3, 0)):
        raise ValueError(f'"{name}" is of another version of the format')
    old = version == (1, 0)  # later ones may have longer headers
    header = np.lib.format.read_array_header_1_0 if old else np.lib.format.read_array_header_2_0
    shape, by_columns, dtype = header(start)
    if dtype.hasobject:
        raise ValueError("Object arrays are not read")
    if min(shape, default=0) < 0 or (
        math.prod(shape) * dtype.itemsize != member.file_size - start.tell()
    ):
        raise ValueError(f'"{name}" is not as long as its shape {shape} says')
    return Stored(member, _begin(member, raw.file), start.tell(), shape, by_columns, dtype)


def _array(stored: Stored, file: BinaryIO) -> NDArray:
    """The array, mapped into memory if it is large and stored as it is."""
    member, begin, header, shape, by_columns, dtype = stored
    size = member.file_size
    whole = member.compress_size == size
    content: Any
    file.seek(begin)
    if member.compress_type == zipfile.ZIP_DEFLATED:
        stream = zlib.decompressobj(-zlib.MAX_WBITS)
        content = stream.decompress(file.read(member.compress_size), size + 1)
        whole = len(content) == size and stream.eof and not stream.unused_data
    elif whole and size >= MAPPED and not by_columns:
        content = np.memmap(file, np.uint8, "r", begin, (size,)).view(np.ndarray)
    else:
        content = file.read(size)
    found = 0
    for start in range(0, size, CHUNK):
        found = zlib.crc32(content[start : start + CHUNK], found)
    if not whole or found != member.CRC:
        raise ValueError(f"{member.filename} is damaged")
    return np.ndarray(shape, dtype, content, header, order="F" if by_columns else "C")


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
