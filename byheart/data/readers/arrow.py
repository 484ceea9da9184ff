"""Tables of Apache Arrow: .parquet, and .arrow as a file or as a stream."""

from collections.abc import Sequence
from typing import Any

from ...errors import ByheartError
from ..columns import LOOKED, Table, fields
from ..dataset import Dataset
from ..records import plain
from .raw import Raw, arrow


def read(raw: Raw, **how: Any) -> Dataset:
    """The dataset of a .parquet or .arrow file; the options are those of `load`."""
    package = arrow(raw.name)
    try:
        if raw.kind == ".parquet":
            from pyarrow import parquet

            file = parquet.ParquetFile(raw.file)
            schema, rows = file.schema_arrow, lambda chosen: file.read(columns=list({*chosen}))
            small = file.metadata.num_rows <= LOOKED
        else:
            found = _table(package, raw)
            schema, rows = found.schema, lambda chosen: found
            small = found.num_rows <= LOOKED
        names = _flat(schema.empty_table()).column_names

        def select(chosen: Sequence[str]) -> tuple[Sequence[int], list[list]]:
            """Only these columns are read; a column inside another is named with a dot."""
            found = rows(chosen)
            found.validate(full=True)  # what a damaged file says of lengths is used unchecked else
            table = _flat(found)
            cells = [list(map(plain, table[name].to_pylist())) for name in chosen]
            return range(1, table.num_rows + 1), cells

        return Dataset(**fields(Table(raw.name, "row", names, select, small), **how))
    except ByheartError:
        raise
    except (package.ArrowException, OSError, ValueError, OverflowError, MemoryError) as error:
        if getattr(error, "errno", None):  # of the system, not of the content
            raise
        reason = str(error).splitlines()[0].rstrip(".") if str(error) else type(error).__name__
        raise ByheartError(
            f"{raw.name} cannot be read ({reason}); it is damaged, truncated or not a "
            f"{raw.kind} file."
        ) from None


def _table(package: Any, raw: Raw) -> Any:
    """The table of a file, or of a stream as Hugging Face datasets writes it."""
    try:
        return package.ipc.open_file(raw.file).read_all()
    except package.ArrowInvalid:
        raw.file.seek(0)
        return package.ipc.open_stream(raw.file).read_all()


def _flat(table: Any) -> Any:
    """The table with the columns inside its columns as columns of their own."""
    nested = table
    while (flat := nested.flatten()).column_names != nested.column_names:
        nested = flat
    return nested
