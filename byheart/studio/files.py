"""Files of the server and its workers: their folder, and long tables, read a window at a time."""

import json
import os
import re
import shutil
import stat
import tempfile
from array import array
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from ..machine.files import locked

MODEL = "model"  # the folder that a job writes, inside its own
MOST = 500  # rows of a window
WHOLE = "Q"  # offsets of rows, 8 bytes each
HOME = "byheart-studio-", ".locked"  # how names of temporary folders begin and end


def new_home() -> tuple[Path, int | None]:
    """A new temporary folder and its lock, which the system releases when this process ends.

    Folders of servers that were killed are removed first. Another server may take the new one for
    such a folder before it is locked: then another is made.
    """
    first, last = HOME
    for other in Path(tempfile.gettempdir()).glob(f"{first}*{last}"):
        # ours by its name, owner and mode, and no process has locked it
        ours = re.fullmatch("[a-z0-9_]{8}".join(map(re.escape, HOME)), other.name)
        if not ours or (lock := locked(other)) is None:
            continue
        about = os.fstat(lock)
        if about.st_uid == os.geteuid() and stat.S_IMODE(about.st_mode) == 0o700:
            shutil.rmtree(other, ignore_errors=True)
        os.close(lock)
    while True:
        home = Path(tempfile.mkdtemp(last, first))
        lock = locked(home, wait=True)
        if home.is_dir():
            return home, lock
        if lock is not None:
            os.close(lock)


def write_table(
    place: Path, name: str, rows: Iterable[Any], orders: dict[str, Sequence[int]] | None = None
) -> int:
    """Write the rows as lines of JSON, and where each of them begins; returns how many there are.

    orders  by name, other orders in which the rows can be read: the numbers of the rows
    """
    offsets = array(WHOLE)
    with open(place / f"{name}.jsonl", "wb") as file:
        for row in rows:
            offsets.append(file.tell())
            file.write(json.dumps(row, ensure_ascii=False).encode("utf-8", "backslashreplace"))
            file.write(b"\n")
    for order, numbers in {"": range(len(offsets)), **(orders or {})}.items():
        with open(place / f"{name}{'-' if order else ''}{order}.index", "wb") as file:
            array(WHOLE, (offsets[i] for i in numbers)).tofile(file)
    return len(offsets)


def read_window(place: Path, name: str, first: int, count: int) -> bytes:
    """{"total", "first", "rows"} as JSON: some rows of a table; name may end in -ORDER."""
    table = place / f"{name.partition('-')[0]}.jsonl"
    index = place / f"{name}.index"
    total = index.stat().st_size // 8
    first, count = max(0, min(first, total)), max(0, min(count, MOST))
    offsets = array(WHOLE)
    with open(index, "rb") as file:
        file.seek(8 * first)
        offsets.fromfile(file, min(count, total - first))
    rows = []
    with open(table, "rb") as file:
        for offset in offsets:
            file.seek(offset)
            rows.append(file.readline().rstrip(b"\n"))
    head = f'{{"total": {total}, "first": {first}, "rows": ['.encode()
    return head + b", ".join(rows) + b"]}"
