"""Tables of Apache Arrow: .parquet, .arrow as a file or as a stream, and folders of datasets."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...errors import ByheartError
from ..columns import LOOKED, Table, fields
from ..dataset import Dataset
from ..records import plain
from .objects import table as table_of
from .raw import Raw, arrow, package, reason


def read(raw: Raw, **how: Any) -> Dataset:
    """The dataset of a .parquet or .arrow file; the options are those of `load`."""
    library = arrow(raw.name)
    try:
        if raw.kind == ".parquet":
            from pyarrow import parquet

            file = parquet.ParquetFile(raw.file)
            schema, rows = file.schema_arrow, lambda chosen: file.read(columns=list({*chosen}))
            small = file.metadata.num_rows <= LOOKED
        else:
            table = _table(library, raw)
            schema, rows = table.schema, lambda chosen: table
            small = table.num_rows <= LOOKED
        names = _flat(schema.empty_table()).column_names

        def select(chosen: Sequence[str]) -> tuple[Sequence[int], list[list]]:
            """Only these columns are read; a column inside another is named with a dot."""
            content = rows(chosen)
            content.validate(full=True)  # else what a damaged file says of lengths is not checked
            flat = _flat(content)
            cells = [list(map(plain, flat[name].to_pylist())) for name in chosen]
            return range(1, flat.num_rows + 1), cells

        return Dataset(**fields(Table(raw.name, "row", names, select, small), **how))
    except ByheartError:
        raise
    except (library.ArrowException, OSError, ValueError, OverflowError, MemoryError) as error:
        if getattr(error, "errno", None):  # of the system, not of the content
            raise
        raise ByheartError(
            f"{raw.name} cannot be read ({reason(error)}); it is damaged, truncated or not a "
            f"{raw.kind} file."
        ) from None


def is_folder(path: Path) -> bool:
    """Whether a folder looks like one that `save_to_disk` of datasets has written."""
    marks = ("dataset_dict.json", "state.json")  # of a folder of splits, and of one split
    return any((path / mark).is_file() for mark in marks)


def read_folder(raw: Raw, records: str | None, **how: Any) -> Dataset:
    """The dataset of such a folder; `records` is the name of one of its splits."""
    datasets = package("datasets", "datasets", raw.name)
    datasets.disable_progress_bars()
    try:
        content = datasets.load_from_disk(str(raw.path))
    except Exception as error:  # the package raises whatever a damaged file leads to
        raise ByheartError(f"{raw.name} cannot be read ({reason(error)}).") from None
    return Dataset(**fields(table_of(content, raw.name, records), **how))


def _table(library: Any, raw: Raw) -> Any:
    """The table of a file, or of a stream as Hugging Face datasets writes it."""
    try:
        return library.ipc.open_file(raw.file).read_all()
    except library.ArrowInvalid:
        raw.file.seek(0)
        source = library.PythonFile(raw.file, "r")
        table, end = library.ipc.open_stream(source).read_all(), source.tell()
        if end != source.size():
            raise ByheartError(
                f"{raw.name}: the stream ends after {end:,} of {source.size():,} bytes; write all "
                "rows as one stream, or as a file."
            ) from None
        return table


def _flat(table: Any) -> Any:
    """The table with the columns inside its columns as columns of their own."""
    nested = table
    while (flat := nested.flatten()).column_names != nested.column_names:
        nested = flat
    return nested
