"""Tables of Apache Arrow: .parquet, .arrow as a file or as a stream, and folders of datasets.

What a file says of its sizes is held against its own size and the memory before anything is
unpacked, and so is what its cells take when each of them is written out: they may share one value.
"""

import json
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import ByheartError, Message
from ...machine.memory import require
from ..columns import LISTED, LOOKED, Table
from ..dataset import Dataset
from ..documents import Documents
from ..records import plain
from . import objects
from .messages import true_size
from .raw import Raw, arrow, package, readable, refuse_bomb
from .rows import read_rows

STATE, INFO, SPLITS = "state.json", "dataset_info.json", "dataset_dict.json"
CACHED = "cache-"  # begins the name of what the package keeps beside the shards
CELL = 8  # bytes that a cell takes at least when it is read
CHUNK = 1 << 20


def read(raw: Raw, **how: Any) -> Dataset | Documents:
    """The dataset of a .parquet or .arrow file; the options are those of `load`."""
    library = arrow(raw.name)
    with _reading(library, raw):
        if raw.kind != ".parquet":
            content = _content(library, raw)
            table = _table(raw, content.schema, content.num_rows, lambda _: content)
            return read_rows(table, **how)
        from pyarrow import parquet

        file = parquet.ParquetFile(raw.file)
        texts = [  # a value that many cells share is read once
            leaf.path
            for leaf in map(file.schema.column, range(len(file.schema)))
            if leaf.physical_type == "BYTE_ARRAY" and leaf.converted_type != "DECIMAL"
        ]
        file = parquet.ParquetFile(raw.file, metadata=file.metadata, read_dictionary=texts)
        notes = _unseen(file.metadata, raw)

        def rows(chosen: Sequence[str]) -> Any:
            """Only these columns are read; a column inside another is named with a dot."""
            _bound(raw.name, _stated(file.metadata, chosen), raw.size())
            return file.read(columns=list({*chosen}))

        table = _table(raw, file.schema_arrow, file.metadata.num_rows, rows)
        dataset = read_rows(table, **how)
        return replace(dataset, notes=(*dataset.notes, *notes))


def _reading(library: Any, raw: Raw) -> AbstractContextManager[None]:
    damaged = (library.ArrowException, struct.error, LookupError, ValueError, OverflowError)
    wrong = f"it is damaged, truncated or not a {raw.kind} file"
    return readable(raw.name, wrong, (*damaged, OSError))


def _bound(name: str, size: int, packed: int) -> None:
    """ByheartError if the content of a file is too large for its size, or for the memory."""
    refuse_bomb(name, size, packed)
    require(size, name, "its content")


def _mapped(raw: Raw) -> mmap:
    """An .arrow file, mapped into memory; ByheartError if it would unpack to too much."""
    mapped = mmap(raw.file.fileno(), 0, access=ACCESS_READ)
    _bound(raw.name, true_size(mapped, raw.name), len(mapped))
    return mapped


def _content(library: Any, raw: Raw) -> Any:
    """All rows of a file, or of a stream as Hugging Face datasets writes it."""
    buffer = library.py_buffer(_mapped(raw))
    try:
        file = library.ipc.open_file(buffer)
    except library.ArrowInvalid:
        return library.ipc.open_stream(buffer).read_all()
    if library.ipc.open_stream(buffer[8:]).schema != file.schema:
        raise ByheartError(
            f"{raw.name}: its footer has other columns than its rows; write it again."
        )
    return file.read_all()


def _table(raw: Raw, schema: Any, count: int, rows: Callable[[Sequence[str]], Any]) -> Table:
    """The table of this schema and number of rows; `rows` reads some of its columns."""

    def select(chosen: Sequence[str]) -> tuple[Sequence[int], list[list]]:
        content = rows(chosen)
        content.validate(full=True)  # else what a damaged file says of lengths is not checked
        flat = _flat(content)
        size = sum(_written(part) for name in chosen for part in flat[name].chunks)
        size += CELL * flat.num_rows * len(chosen)
        _bound(raw.name, size, raw.size() or content.nbytes)
        return range(1, flat.num_rows + 1), [_cells(flat[name]) for name in chosen]

    names = _flat(schema.empty_table()).column_names
    return Table(raw.name, "row", names, select, count <= LOOKED)


def _flat(table: Any) -> Any:
    """The table with the columns inside its columns as columns of their own."""
    nested = table
    while (flat := nested.flatten()).column_names != nested.column_names:
        nested = flat
    return nested


def _cells(column: Any) -> list:
    """The cells of a column; those that share a value in the file share it here."""
    cells: list = []
    for part in column.chunks:
        if hasattr(part, "dictionary"):
            values = [*map(plain, part.dictionary.to_pylist()), None]
            cells += [values[-1 if i is None else i] for i in part.indices.to_pylist()]
        else:
            cells += map(plain, part.to_pylist())
    return cells


def _written(array: Any) -> int:
    """The bytes of all cells of an array, each written out."""
    from pyarrow import ExtensionArray, compute, types

    kind = array.type
    if isinstance(array, ExtensionArray):
        return _written(array.storage)
    if types.is_dictionary(kind):
        values, often = array.dictionary, array.indices.drop_null()
        if _is_text(values.type):
            return compute.sum(_lengths(values).take(often)).as_py() or 0
        sizes = np.array([_written(values.slice(i, 1)) for i in range(len(values))])
        return int(sizes[np.asarray(often)].sum())
    if _is_text(kind):
        return compute.sum(_lengths(array)).as_py() or 0
    if types.is_map(kind):
        return _written(array.keys) + _written(array.items)
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return CELL * len(array) + _written(array.flatten())
    if types.is_struct(kind):
        return sum(map(_written, array.flatten()))
    if types.is_null(kind):
        return 0
    try:
        return len(array) * -(-kind.bit_width // 8)
    except ValueError:  # a view of lists, runs, a union
        raise ByheartError(f"a column has the type {kind}, which is not read.") from None


def _is_text(kind: Any) -> bool:
    return str(kind).removeprefix("large_").removesuffix("_view") in ("string", "binary")


def _lengths(texts: Any) -> Any:
    import pyarrow
    from pyarrow import compute

    if not str(texts.type).endswith("_view"):
        return compute.binary_length(texts)
    views = np.frombuffer(texts.buffers()[1], "<i4").reshape(-1, 4)
    lengths = views[texts.offset : texts.offset + len(texts), 0]
    return compute.if_else(texts.is_valid(), pyarrow.array(lengths), None)


def _stated(metadata: Any, chosen: Sequence[str]) -> int:
    """How many bytes these columns have by the account of a .parquet file."""
    total, inside = 0, tuple(f"{name}." for name in chosen)
    for number, chunk in _chunks(metadata):
        if chunk.path_in_schema in chosen or chunk.path_in_schema.startswith(inside):
            width = max(CELL, metadata.schema.column(number).length)  # of bytes of one length
            total += max(chunk.total_uncompressed_size, width * chunk.num_values)
    return total


def _chunks(metadata: Any) -> Iterator[tuple[int, Any]]:
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        yield from ((number, group.column(number)) for number in range(metadata.num_columns))


def _unseen(metadata: Any, raw: Raw) -> list[Message]:
    """What there is to say of bytes of a .parquet file that belong to no column.

    Indexes and filters stand there, whose places the library does not tell, and zeros; if there are
    none, others are refused: a group of rows that the footer does not name is read by nobody.
    """
    spans, indexed = [], False
    for _, chunk in _chunks(metadata):
        begin = min(x for x in (chunk.dictionary_page_offset, chunk.data_page_offset) if x)
        spans.append((begin, begin + chunk.total_compressed_size))
        indexed |= chunk.has_offset_index or chunk.has_column_index
        indexed |= getattr(chunk, "bloom_filter_offset", None) is not None
    end = raw.size() - 8 - metadata.serialized_size
    reached, unseen = 4, 0
    for begin, behind in [*sorted(spans), (end, end)]:
        raw.file.seek(reached)
        rest = max(0, begin - reached)
        while rest:
            part = raw.file.read(min(CHUNK, rest))
            unseen += len(part.strip(b"\0"))
            rest -= len(part)
        reached = max(reached, behind)
    if unseen and not indexed:
        raise ByheartError(
            f"{raw.name}: {unseen:,} bytes belong to no column that its footer names; write it "
            "again."
        )
    return [Message(f"{unseen:,} bytes of the file are indexes, or read by nobody")] * bool(unseen)


def is_folder(path: Path) -> bool:
    """Whether a folder looks like one that `save_to_disk` of datasets has written."""
    return any((path / mark).is_file() for mark in (SPLITS, STATE))


def read_folder(raw: Raw, records: str | None, **how: Any) -> Dataset | Documents:
    """The dataset of such a folder; `records` is the name of one of its splits."""
    datasets, library = package("datasets", "datasets", raw.name), arrow(raw.name)
    datasets.disable_progress_bars()
    with readable(raw.name):
        notes = _checked_folder(library, raw.path)
        content = datasets.load_from_disk(str(raw.path))
    # the tables as they are stored: the package would open whatever file a picture names
    several = isinstance(content, dict)
    tables = {x: y.data.table for x, y in content.items()} if several else content.data.table
    with _reading(library, raw):
        chosen = objects.at(tables, records, raw.name)
        if isinstance(chosen, dict):
            objects.table(chosen, raw.name)  # refused, since it has several
        table = _table(raw, chosen.schema, chosen.num_rows, lambda _: chosen)
        dataset = read_rows(table, **how)
    return replace(dataset, notes=(*dataset.notes, *notes))


def _checked_folder(library: Any, folder: Path) -> list[Message]:
    """Which files of the folder, and of those of its splits, are not read.

    ByheartError if rows may stand in one of them, or behind the end of a shard.
    """
    names = {path.name for path in folder.iterdir()} - {STATE, INFO, SPLITS}
    if (folder / SPLITS).is_file():
        splits = json.loads((folder / SPLITS).read_text("utf-8"))["splits"]
        notes = [note for split in splits for note in _checked_folder(library, folder / split)]
        names -= {*splits}
    else:
        state = json.loads((folder / STATE).read_text("utf-8"))
        shards, notes = sorted(x["filename"] for x in state["_data_files"]), []
        there = sorted(x for x in names if x.endswith(".arrow") and not x.startswith(CACHED))
        if shards != there:
            raise ByheartError(
                f"{folder}: {STATE} names the shards {', '.join(shards)}, and the folder holds "
                f"{', '.join(there)}; take the others out."
            )
        for name in shards:
            with open(folder / name, "rb") as file:
                shard = Raw(str(folder / name), folder / name, ".arrow", file)
                with _reading(library, shard):
                    _mapped(shard)
        names -= {*shards}
    if names:
        shown = ", ".join(map(repr, sorted(names)[:LISTED]))
        more = f" and {len(names) - LISTED:,} more" if len(names) > LISTED else ""
        notes.append(Message(f"not read, since no rows stand there: {shown}{more}"))
    return notes
