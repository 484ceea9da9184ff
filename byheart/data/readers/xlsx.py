"""Sheets of Excel workbooks (.xlsx).

What a workbook unpacks to is bounded before it is read, and by its cells while it is. Parts that
declare entities are refused; formulas are not computed, and links to other files are not followed.
The package passes over rows and cells that are out of order, so these are refused, and so is what a
reader of archives would not see.
"""

import re
import zipfile
from collections.abc import Callable, Iterator, Sequence
from datetime import date, datetime, time
from functools import partial
from typing import Any, BinaryIO
from xml.parsers import expat

from ...errors import ByheartError
from ...machine.memory import require
from ..columns import NAMED, Table
from ..dataset import Dataset
from ..documents import Documents
from .npz import refuse_unseen
from .raw import CHUNK, Raw, package, readable, refuse_bomb
from .rows import read_rows

CELL, ROWS = 64, 1 << 20  # bytes of memory that a cell takes; rows of a sheet
ESCAPED = re.compile("_x([0-9A-Fa-f]{4})_")  # a character that XML cannot hold, as _x000D_
DECLARES, XML = (b"<!DOCTYPE", b"<!ENTITY"), (".xml", ".rels", ".vml")


def read(raw: Raw, table: str | None, **how: Any) -> Dataset | Documents:
    """The dataset of one sheet, whose first row names the columns; other options as in `load`."""
    library = package("openpyxl", "xlsx", raw.name)
    with readable(raw.name, "it is damaged, truncated or no .xlsx file"):
        _check(raw)
        book = library.load_workbook(raw.file, read_only=True, data_only=True, keep_links=False)
        sheet = _sheet(book, table, raw)
        with sheet._get_source() as source:
            _check_order(source, raw, library.utils.cell.coordinate_to_tuple)
        rows = list(_rows(sheet, raw))
    if not rows:
        raise ByheartError(f"{raw.name}: the sheet {sheet.title!r} is empty.")
    (_, first), *rest = rows
    width = max((i + 1 for i, x in enumerate(first) if x is not None), default=0)
    names = [str(i + 1) if x is None else str(x) for i, x in enumerate(first[:width])]
    for place, row in rest:
        if any(x is not None for x in row[width:]):
            raise ByheartError(
                f"{raw.name}, row {place}: a cell stands beyond the last column that the first row "
                "names; name it there."
            )

    def select(chosen: Sequence[str]) -> tuple[Sequence[int], list[list]]:
        places = [names.index(x) for x in chosen]
        columns = [[row[i] if i < len(row) else None for _, row in rest] for i in places]
        return [place for place, _ in rest], columns

    return read_rows(Table(f"{raw.name}, sheet {sheet.title!r}", "row", names, select), **how)


def _check(raw: Raw) -> None:
    """ByheartError if the parts unpack to too much, or declare entities."""
    with zipfile.ZipFile(raw.file) as archive:
        refuse_unseen(archive, raw, "save it again")
        total = sum(member.file_size for member in archive.infolist())
        refuse_bomb(raw.name, total, raw.size())
        require(total, raw.name, "its content")
        unpacked = 0
        for member in archive.infolist():
            before = b""
            with archive.open(member) as part:
                for piece in iter(partial(part.read, CHUNK), b""):
                    unpacked += len(piece)
                    refuse_bomb(raw.name, unpacked, raw.size())
                    seen = before + piece.replace(b"\0", b"")  # of two bytes a letter
                    if any(x in seen for x in DECLARES) and member.filename.endswith(XML):
                        raise ByheartError(
                            f"{raw.name}: {member.filename!a} declares entities, which no workbook "
                            "needs; save it again."
                        )
                    before = seen[-len(DECLARES[0]) :]
    raw.file.seek(0)


def _check_order(source: BinaryIO, raw: Raw, coordinate: Callable[[str], tuple[int, int]]) -> None:
    """ByheartError unless each row, and each cell of it, stands behind those before it."""
    row = column = 0

    def begin(name: str, about: dict[str, str]) -> None:
        nonlocal row, column
        before, owner, kind = (row, column), row, name.rpartition(" ")[2]
        if kind == "row":
            owner = row = int(about.get("r", row + 1))
            column = 0
        elif kind == "c":
            owner, column = coordinate(about["r"]) if "r" in about else (row, column + 1)
        if row > ROWS:
            raise ByheartError(f"{raw.name} names row {row:,}, and a sheet has up to {ROWS:,}.")
        if kind in ("row", "c") and (owner != row or (row, column) <= before):
            raise ByheartError(
                f"{raw.name}, row {row}: a row or a cell is out of order or stands twice; save the "
                "workbook again."
            )

    parser = expat.ParserCreate(namespace_separator=" ")
    parser.StartElementHandler = begin
    parser.ParseFile(source)


def _sheet(book: Any, name: str | None, raw: Raw) -> Any:
    """The sheet of this name, or the only one."""
    sheets = {sheet.title: sheet for sheet in book.worksheets}
    if name is None and len(sheets) == 1:
        name = next(iter(sheets))
    if name not in sheets:
        there = ", ".join([*sheets][:NAMED])
        raise ByheartError(f"{raw.name}: `table=...` must name a sheet; there are {there}.")
    return sheets[name]


def _rows(sheet: Any, raw: Raw) -> Iterator[tuple[int, list]]:
    """The rows that are not empty, with their numbers."""
    sheet.reset_dimensions()  # which the file only claims
    cells = 0
    for place, row in enumerate(sheet.iter_rows(values_only=True), 1):
        cells += 1 + len(row)
        refuse_bomb(raw.name, CELL * cells, raw.size())
        if any(x is not None for x in row):
            yield place, [_plain(x) for x in row]


def _plain(cell: Any) -> Any:
    """A cell as text or a number; moments as they are written internationally."""
    if isinstance(cell, str):
        return ESCAPED.sub(lambda x: chr(int(x[1], 16)), cell)
    if isinstance(cell, datetime) and cell.time() == time():
        cell = cell.date()
    if isinstance(cell, date | time):
        return cell.isoformat()
    return cell if cell is None or isinstance(cell, int | float) else str(cell)
