"""The file of results: one complete line per finished trial, and no line is ever changed.

A line is one write to a file that is open for appending, so a run that is killed leaves whole lines
and at most one torn end, which the next run cuts off. Whoever appends holds a lock on the file: a
second run is refused, or both would train the same trials.

A file may come from an older version, or from an editor: a field that does not fit is described in
words, before anything is computed from it.
"""

import fcntl
import json
import math
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Self

from ...errors import ByheartError
from ...machine.files import replacing
from ..trial import Row, trial

NAME = "rows.jsonl"
CONFIGURATION = "configuration.json"
GROWS = ("axes", "seeds")  # what may differ: a sweep can be extended
LARGEST = 2**63  # more than any count


class Rows:
    """The rows of a folder by key, held by one run at a time."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.path = self.folder / NAME
        self.rows: dict[str, Row] = {}

    def __enter__(self) -> Self:
        self.folder.mkdir(parents=True, exist_ok=True)
        self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            content = self.path.read_bytes()
            whole = _whole(content)
            if len(whole) < len(content):
                os.ftruncate(self._file, len(whole))
            self.rows = _parsed(whole, self.path)
        except BlockingIOError:
            os.close(self._file)
            raise ByheartError(
                f"another run is writing {self.path}; wait for it, or use another folder."
            ) from None
        except BaseException:
            os.close(self._file)
            raise
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._file)  # which releases the lock, as the end of the process does

    def add(self, row: Row) -> None:
        """Append the row of a trial that has none yet; it is on the disk when this returns."""
        if row["key"] in self.rows:
            raise ByheartError(f"{self.path} has a row of the trial {row['key'][:12]} already.")
        line = json.dumps(row, allow_nan=False).encode() + b"\n"
        before = os.fstat(self._file).st_size
        try:
            if os.write(self._file, line) < len(line):
                raise OSError(0, "the disk is full")
            os.fsync(self._file)
        except OSError as error:
            os.ftruncate(self._file, before)
            raise ByheartError(f"{self.path} cannot be written: {error.strerror}.") from error
        self.rows[row["key"]] = json.loads(line)  # as another run will read it


def read(folder: str | Path) -> list[Row]:
    """The rows in the order in which they were finished, without a half-written last line."""
    path = Path(folder) / NAME
    if not path.exists():
        return []
    return list(_parsed(_whole(path.read_bytes()), path).values())


def checked(folder: str | Path) -> list[Row]:
    """The rows of a folder, one per line; ByheartError names the first line that cannot be used."""
    rows = read(folder)
    for number, row in enumerate(rows, 1):
        wrong = fault(row)
        if wrong:
            raise ByheartError(
                f"{Path(folder) / NAME}: line {number} {wrong}; delete the line, and its trial can "
                "be trained again."
            )
    check_rows(folder, rows)
    return rows


def _whole(content: bytes) -> bytes:
    return content[: content.rfind(b"\n") + 1]


def _parsed(content: bytes, path: Path) -> dict[str, Row]:
    """The rows by key; ByheartError names the first line that is not a row, or repeats one."""
    rows: dict[str, Row] = {}
    for number, line in enumerate(content.split(b"\n")[:-1], 1):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            row = None
        if not isinstance(row, dict) or not isinstance(row.get("key"), str):
            raise ByheartError(f"{path}: line {number} is not the row of a trial.")
        if row["key"] in rows:
            raise ByheartError(f"{path}: line {number} repeats the trial of a line above.")
        rows[row["key"]] = row
    return rows


def settle(folder: str | Path, configuration: Mapping[str, Any]) -> None:
    """Write the configuration beside the rows; ByheartError if they are of another one."""
    check_configuration(folder, configuration)
    path = Path(folder) / CONFIGURATION
    if path.exists() and _configuration(path) == configuration:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as file:
        file.write(json.dumps(configuration, indent=2).encode() + b"\n")


def check_configuration(folder: str | Path, configuration: Mapping[str, Any]) -> None:
    """ByheartError if the folder is of another configuration; axes and seeds may change."""
    path = Path(folder) / CONFIGURATION
    if path.exists():
        old = _configuration(path)
        _check_same(str(path), old, configuration, {*old, *configuration}.difference(GROWS))


def check_rows(
    folder: str | Path, rows: Iterable[Row], configuration: Mapping[str, Any] | None = None
) -> None:
    """ByheartError if a row is of another configuration than this, or than the one beside it."""
    path = Path(folder) / CONFIGURATION
    if configuration is None and not path.exists():
        return
    asked = _of_all(_configuration(path) if configuration is None else configuration)
    for number, row in enumerate(rows, 1):
        own = _of_all(row["trial"])
        if own != asked:
            _check_same(f"{Path(folder) / NAME}: line {number}", own, asked, asked)


def _of_all(configuration: Mapping[str, Any]) -> dict[str, Any]:
    """What all trials of a configuration have in common."""
    names = ("architecture", "protocol", "criterion", "data")
    common = {name: configuration.get(name) for name in names}
    if isinstance(common["data"], dict):
        common["data"] = {name: x for name, x in common["data"].items() if name != "sequences"}
    return common


def _check_same(
    where: str, old: Mapping[str, Any], new: Mapping[str, Any], names: Iterable[str]
) -> None:
    differ = (x for x in sorted(names) if old.get(x) != new.get(x))
    named = [_difference(x, old.get(x), new.get(x)) for x in differ]
    if named:
        raise ByheartError(
            f"{where} is of another measurement ({'; '.join(named)}); use another folder."
        )


def _configuration(path: Path) -> dict[str, Any]:
    try:
        configuration = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        configuration = None
    if not isinstance(configuration, dict):
        raise ByheartError(f"{path} is not the configuration of a measurement; use another folder.")
    return configuration


def _difference(name: str, old: Any, new: Any) -> str:
    """The difference in words, "protocol fast, here paper": of names, or of the first part."""
    if isinstance(old, dict) and isinstance(new, dict):
        parts = sorted({*old, *new}, key=lambda part: part not in ("name", "kind"))
        part = next(x for x in parts if old.get(x) != new.get(x))
        inner = name if part in ("name", "kind") else f"{name} {part}"
        return _difference(inner, old.get(part), new.get(part))
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        was, now = next(pair for pair in zip(old, new, strict=True) if pair[0] != pair[1])
        return _difference(name, was, now)
    return f"{name} {short(old)}, here {short(new)}"


def short(value: Any) -> str:
    text = value if isinstance(value, str) else "none" if value is None else json.dumps(value)
    return text if len(text) <= 40 else f"{text[:40]}..."


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < LARGEST


def _number(value: Any) -> bool:
    """Python reads NaN from JSON, which is not a number."""
    return math.isfinite(value) if isinstance(value, float) else _is_count(value)


def _loss(value: Any) -> bool:
    """None for a training that diverged."""
    return value is None or _number(value)


def _attempts(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(x, dict) and _is_count(x.get("steps")) and _is_count(x.get("planned", 0))
        for x in value
    )


def _curve(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(x, list) and len(x) == 3 and _is_count(x[0]) and _loss(x[1]) and _number(x[2])
        for x in value
    )


COUNT = ("a whole number from 1 on", lambda value: _is_count(value) and value > 0)
NUMBER = ("a number", _number)
FIELDS: dict[str, tuple[str, Callable[[Any], bool]]] = {  # the values in words, and as a test
    "key": ("a text", lambda value: isinstance(value, str)),
    "trial": ("an object", lambda value: isinstance(value, dict)),
    "parameters": COUNT,
    **dict.fromkeys(("contexts", "vocabulary", "outputs", "predictions"), COUNT),
    **dict.fromkeys(("entropy", "best_accuracy"), NUMBER),
    "loss": ("a number or null", _loss),
    "accuracy": NUMBER,
    "reached": ("true or false", lambda value: isinstance(value, bool)),
    "steps": ("a whole number", _is_count),
    "attempts": ("a list of attempts, each with its steps", _attempts),
    "curve": ("a list of steps, losses and accuracies", _curve),
    "seconds": NUMBER,
}


def fault(row: Mapping[str, Any]) -> str | None:
    """The fault of a row (its key is the hash of its trial), in words; None if it can be used."""
    lacks = [name for name in FIELDS if name not in row]
    if lacks:
        return f"has no {', '.join(lacks)}"
    for name, (words, holds) in FIELDS.items():
        if not holds(row[name]):
            return f"has a field {name} that is not {words}"
    try:
        key = trial(row["trial"]).key
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError):
        key = None  # it is not a trial
    return None if key == row["key"] else "has a key that is not that of its trial"
