"""Tables of an SQLite database.

The file is copied into memory, so that nothing of it, beside it or behind it is opened or changed.
Only plain tables are read, and their stored columns: views, virtual tables and generated columns
would run what a stranger wrote, and triggers have no part in reading. An authorizer refuses the
rest. A file that SQLite would change before it reads it, or whose pages are not all of it, is
refused.
"""

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...errors import ByheartError
from ...machine.memory import require
from ..columns import LOOKED, NAMED, Table
from ..dataset import Dataset
from ..documents import Documents
from .raw import STANDARD_INPUT, Raw, readable, refuse_bomb
from .rows import read_rows

MAGIC, JOURNALS = b"SQLite format 3\0", slice(18, 20)  # its versions: 2, 2 with a log beside
BESIDE = {  # files of SQLite, how they begin if they count, and what they hold then
    "-wal": (
        b"",
        "changes that are not in it yet; close what writes there, or run PRAGMA wal_checkpoint",
    ),
    "-journal": (
        bytes.fromhex("d9d505f920a163d7"),
        "what an interrupted change left to be restored; open it with SQLite once",
    ),
}
ALLOWED = {  # actions, and the words that they may come with; None: any
    sqlite3.SQLITE_SELECT: None,
    sqlite3.SQLITE_READ: None,
    sqlite3.SQLITE_PRAGMA: "table_xinfo",
    sqlite3.SQLITE_FUNCTION: "count",
}
ASKED = (  # the number of pages and their size, and how many generated columns there are
    "PRAGMA page_count",
    "PRAGMA page_size",
    "SELECT count(*) FROM sqlite_master AS x, pragma_table_xinfo(x.name) WHERE hidden > 1",
)
LISTS = "SELECT name, type, rootpage FROM sqlite_master ORDER BY rowid"
CELL = 8  # bytes that a cell takes at least when it is read


def read(raw: Raw, table: str | None, **how: Any) -> Dataset | Documents:
    """The dataset of one table; the other options are those of `load`."""
    _refuse_beside(raw)
    require(3 * raw.size(), raw.name, "the database")
    content = bytearray(raw.file.read())
    if not content.startswith(MAGIC):
        raise ByheartError(f"{raw.name} is not an SQLite database.")
    content[JOURNALS] = b"\1\1"  # a database in memory has no log
    damaged = "it is damaged, truncated, or more than a database"
    errors = (sqlite3.Error, OverflowError, UnicodeError)
    with readable(raw.name, damaged, errors), sqlite3.connect(":memory:") as database:
        database.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        database.deserialize(bytes(content))
        database.execute("PRAGMA trusted_schema = OFF")
        database.execute("PRAGMA cell_size_check = ON")
        database.execute("PRAGMA ignore_check_constraints = ON")
        count, size, computed = (database.execute(x).fetchone()[0] for x in ASKED)
        if size * count != len(content):
            raise sqlite3.DatabaseError(f"its pages have {size * count:,} bytes")
        if not computed:  # the check would run what a stranger wrote
            (state,) = database.execute("PRAGMA quick_check(1)").fetchone()
            if state != "ok":
                raise sqlite3.DatabaseError(state.splitlines()[-1])
        database.set_authorizer(_allowed)
        try:
            return read_rows(_table(database, table, raw), **how)
        finally:
            database.set_authorizer(None)


def _refuse_beside(raw: Raw) -> None:
    """ByheartError if a file beside the database says what belongs into it."""
    for name, (begin, holds) in BESIDE.items():
        beside = Path(f"{raw.path}{name}")
        if str(raw.path) != STANDARD_INPUT and beside.is_file() and beside.stat().st_size:
            with open(beside, "rb") as file:
                if file.read(len(begin)) == begin:
                    raise ByheartError(f"{raw.name}: {beside.name} beside it holds {holds}.")


def _allowed(action: int, *words: str | None) -> int:
    """Whether SQLite may do what a statement asks it to."""
    if action in ALLOWED and (ALLOWED[action] is None or ALLOWED[action] in words):
        return sqlite3.SQLITE_OK
    return sqlite3.SQLITE_DENY


def _table(database: sqlite3.Connection, name: str | None, raw: Raw) -> Table:
    """The table of this name, or the only one."""
    listed = database.execute(LISTS).fetchall()
    found = {x: kind if kind != "table" or page else "virtual table" for x, kind, page in listed}
    tables = [x for x, kind in found.items() if kind == "table" and not x.startswith("sqlite_")]
    if name is None and len(tables) == 1:
        name = tables[0]
    if name not in tables:
        there = ", ".join(tables[:NAMED]) or "none that is stored"
        why = f"{name!r} is a {found[name]}, which is not read; " if name in found else ""
        raise ByheartError(
            f"{raw.name}: {why}`table=...` must name a table of the database; there are {there}."
        )
    columns = {x[1]: x[6] for x in database.execute(f"PRAGMA table_xinfo({_quoted(name)})")}

    def select(chosen: Sequence[str]) -> tuple[Sequence[int], list[list]]:
        for computed in filter(columns.__getitem__, chosen):
            raise ByheartError(
                f"{raw.name}: {computed!r} is generated, and only stored columns are read."
            )
        names, size = ", ".join(map(_quoted, chosen)), 0
        cells: list[list] = [[] for _ in chosen]
        for row in database.execute(f"SELECT {names} FROM {_quoted(name)} NOT INDEXED"):
            for column, cell in zip(cells, row, strict=True):
                if isinstance(cell, bytes):
                    raise ByheartError(
                        f"{raw.name}, row {len(column) + 1}: the cell is bytes, and no text; "
                        "choose other columns."
                    )
                size += CELL + (len(cell) if isinstance(cell, str) else 0)
                column.append(cell)
            refuse_bomb(raw.name, size, raw.size())
        return range(1, len(cells[0]) + 1), cells

    (count,) = database.execute(f"SELECT count(*) FROM {_quoted(name)} NOT INDEXED").fetchone()
    small = count <= LOOKED and not any(columns.values())
    return Table(f"{raw.name}, table {name!r}", "row", list(columns), select, small)


def _quoted(name: str | None) -> str:
    """The name as SQL takes it, whatever it holds."""
    return '"' + str(name).replace('"', '""') + '"'
