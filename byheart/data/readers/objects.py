"""Python objects, and what JSON holds: data frames, records, pairs; one place for all of them.

A record is a mapping from names to cells. A mapping inside it is columns of its own: the record
{"a": {"b": 1}} has the column "a.b".
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ...errors import ByheartError
from ..columns import LOOKED, NAMED, Table, example
from ..dataset import Dataset
from ..documents import Documents
from ..records import plain, plain_rows
from .rows import read_rows

NAME = "the data"
DEPTH, PATH = 4, 10_000  # of mappings that are searched for records; characters of a path to them
WANTED = "give a path, a data frame, a list of records, or a list of pairs (input, label)"


def read(given: Any, records: str | None, **how: Any) -> Dataset | Documents:
    """The dataset of a data frame, of records or of pairs; the options are those of `load`."""
    return read_rows(replace(table(given, NAME, records), object=True), **how)


def table(value: Any, name: str, records: str | None = None) -> Table:
    """The table that an object is, or that is found in it at the path `records`."""
    value = within(value, records, name)
    if hasattr(value, "with_format"):  # a datasets.Dataset gives its cells as Python values
        value = value.with_format(None)
    columns = getattr(value, "column_names", getattr(value, "columns", None))
    if columns is not None and not callable(columns) and not isinstance(columns, Mapping):
        return _frame(value, columns, name)
    if isinstance(value, Mapping):
        return _mapping(value, name)
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise ByheartError(f"{name} is {type(value).__name__}, which holds no rows; {WANTED}.")
    rows = list(value)
    if rows and all(isinstance(x, str) for x in rows):
        rows = [{"text": x} for x in rows]
    if not rows or isinstance(rows[0], Mapping):
        return record_table(enumerate(rows, 1), name, "row")
    names = ["input", "label", "count"]
    cells = zip(*(row for _, row in plain_rows(rows, name)), strict=True)
    return _frame(dict(zip(names, cells, strict=True)), names, name)


def has_names(value: Any) -> bool:
    """Whether the columns of an object have names of their own, which those of pairs have not."""
    frame = hasattr(value, "column_names") or hasattr(value, "columns")
    if frame or isinstance(value, Mapping) or not isinstance(value, Iterable):
        return True
    return isinstance(next(iter(value), {}), Mapping)


def holds_tokens(value: Any) -> bool:
    """Whether an object holds lists of tokens with their labels, which need no options."""
    try:
        as_table = table(value, NAME)
        if not {"input", "label"} <= {*as_table.columns} <= {"input", "label", "count"}:
            return False
        return isinstance(next(iter(as_table.select(["input"])[1][0]), None), list)
    except ByheartError:  # whoever reads it says why
        return False


def record_table(
    placed: Iterable[tuple[int, Any]], name: str, unit: str, wanted: Sequence[str] = ()
) -> Table:
    """The table of records; a record that lacks a column has an empty cell there.

    If only some columns are wanted, the others are forgotten as soon as they are read.
    """
    records_: list[tuple[int, Mapping]] = []
    shapes: set[tuple] = set()  # records of one shape have the same columns
    columns: dict[str, None] = {}
    kept: set[str] = set()
    starts = tuple(f"{column}." for column in wanted)
    for place, record in placed:
        if not isinstance(record, Mapping):
            raise ByheartError(
                f"{name}, {unit} {place}: not a record as the others are; give names and values."
            )
        try:
            if (shape := _shape(record)) not in shapes:
                shapes.add(shape)
                columns.update(dict.fromkeys(_names(record)))
                kept.update(x for x in record if any(y.startswith(f"{x}.") for y in starts))
        except RecursionError:
            raise ByheartError(
                f"{name}, {unit} {place}: the record is nested too deeply; flatten it."
            ) from None
        records_.append((place, {x: record[x] for x in kept if x in record} if wanted else record))

    def select(chosen: Sequence[str]) -> tuple[list[int], list[list]]:
        cells = [[plain(_cell(record, column)) for _, record in records_] for column in chosen]
        return [place for place, _ in records_], cells

    return Table(name, unit, list(columns), select)


def _frame(frame: Any, columns: Iterable, name: str) -> Table:
    """The table of an object whose columns have names: of pandas, polars, pyarrow or datasets."""
    keys = {str(column): column for column in columns}  # pandas numbers columns without a name

    def cells(column: str) -> list:
        values = frame[keys[column]]  # whose numbers of numpy become those of Python
        listed = getattr(values, "to_list", getattr(values, "to_pylist", lambda: values))
        return [plain(value) for value in listed()]

    def select(chosen: Sequence[str]) -> tuple[Sequence[int], list[list]]:
        columns = [cells(column) for column in chosen]
        return range(1, len(columns[0]) + 1), columns

    small = hasattr(frame, "__len__") and len(frame) <= LOOKED
    return Table(name, "row", list(keys), select, small)


def _mapping(value: Mapping, name: str) -> Table:
    """The table of a mapping: of records or single values by key, or of columns by name."""
    entries = list(value.values())
    if entries and all(hasattr(entry, "column_names") for entry in entries):
        raise ByheartError(
            f"{name} has several splits, {', '.join(value)}; choose one, such as "
            f"{_with_columns(value, next(iter(value)), name)}."
        )
    if {"columns", "data"} <= {*value} <= {"columns", "index", "data"}:  # of orient="split"
        names, rows = value["columns"], value["data"]
        sound = isinstance(names, list) and all(isinstance(x, str) for x in names)
        if sound and isinstance(rows, list) and all(isinstance(x, list) for x in rows):
            numbered = [*range(len(rows))]
            if (index := value.get("index", numbered)) != numbered:  # cells, and no numbers
                names, index = [*names, "index"], index if isinstance(index, list) else []
                rows = [[*row, x] for row, x in zip(rows, index, strict=False)]
                rows *= len(index) == len(numbered)
            if {len(row) for row in rows} == {len(names)} and len(set(names)) == len(names):
                columns = {x: [row[i] for row in rows] for i, x in enumerate(names)}
                return _frame(columns, names, name)
    first = entries[0] if entries and isinstance(entries[0], Mapping) else {}
    numbered = [str(i) for i in range(len(first))]
    if first and all(isinstance(x, Mapping) and [*map(str, x)] == numbered for x in entries):
        # DataFrame.to_json writes columns, and numbers the rows in each of them
        return _frame({x: [*y.values()] for x, y in value.items()}, list(value), name)
    if entries and all(isinstance(entry, Mapping) for entry in entries):
        records = ({"key": key, **record} for key, record in value.items())
        return record_table(enumerate(records, 1), name, "row")
    if entries and all(entry is None or isinstance(entry, str | int | float) for entry in entries):
        records = ({"key": key, "value": entry} for key, entry in value.items())
        return record_table(enumerate(records, 1), name, "row")
    lists = [entry for entry in map(plain, entries) if isinstance(entry, list)]
    same = len(lists) == len(entries) > 1 and len(set(map(len, lists))) == 1
    if same and not any(isinstance(cell, Mapping) for entry in lists for cell in entry[:1]):
        return _frame(value, list(value), name)
    paths = list(_paths(value, DEPTH))[:NAMED]
    where = f"choose them with {_with_columns(value, paths[0], name)}" if paths else WANTED
    where += f"; there are also {', '.join(paths[1:])}" if paths[1:] else ""
    raise ByheartError(f"{name} is not a list of records; {where}.")


def _with_columns(value: Any, path: str, name: str) -> str:
    """The options that choose the records at a path, and columns unless they are in our words."""
    try:
        as_table = table(value, name, path)
        ours = {"input", "label"} <= {*as_table.columns}
        return f"`records={path!r}`" + ("" if ours else f" {example(as_table).options()}")
    except ByheartError:  # something is wrong with the records; whoever chooses them gets to know
        return f"`records={path!r}`"


def _paths(value: Mapping, depth: int) -> Iterator[str]:
    """Where there are records inside a mapping."""
    for key, entry in value.items():
        holds = list(entry.values())[:1] if isinstance(entry, Mapping) else entry
        if isinstance(holds, list) and holds and isinstance(holds[0], Mapping):
            simple = [x for x in holds[0].values() if not isinstance(x, list | dict)]
            if len(simple) < 2 and depth and isinstance(entry, list):  # records stand in records
                yield from (f"{key}[].{path}" for path in _paths(holds[0], depth - 1))
            yield str(key)
        elif isinstance(entry, Mapping) and depth:
            yield from (f"{key}.{path}" for path in _paths(entry, depth - 1))


def within(value: Any, path: str | None, name: str) -> Any:
    """What is found at a path; after [], in each element of a list there, or value of a mapping.

    Records that are found in this way have the texts and numbers of what they stand in as well.
    """
    if path and len(path) > PATH:
        raise ByheartError(f"{name}: `records=...` has more than {PATH:,} characters.")
    head, flat, rest = (path or "").partition("[]")
    outer = at(value, head.removesuffix(".") or None, name)
    if not flat:
        return outer
    if not isinstance(outer, list | Mapping):
        raise ByheartError(f"{name}: `records={path!r}`: {head!r} is neither a list nor a mapping.")
    found: list = []
    for key, element in outer.items() if isinstance(outer, Mapping) else enumerate(outer):
        inner = within(element, rest.removeprefix("."), name) if rest else element
        about = {"key": key} if isinstance(outer, Mapping) else {}
        if isinstance(element, Mapping):
            about |= {x: y for x, y in element.items() if not isinstance(y, list | dict)}
        several = isinstance(inner, list) and (rest or not isinstance(element, Mapping))
        rows = inner if several else [inner]
        found += [{**about, **x} if isinstance(x, Mapping) else x for x in rows]
    return found


def at(value: Any, path: str | None, name: str) -> Any:
    """What is found at a path of keys and numbers with dots between them; a key may hold dots."""

    def has(key: str) -> bool:
        if isinstance(value, Mapping):
            return key in value
        return isinstance(value, list) and key.isascii() and key.isdigit() and int(key) < len(value)

    rest = path.split(".") if path else []
    while rest:
        sizes = [x for x in range(len(rest), 0, -1) if has(".".join(rest[:x]))]
        if not sizes:
            there = [str(key) for key in value] if isinstance(value, Mapping) else []
            holds = f"there are {', '.join(there[:NAMED])}" if there else "nothing is there"
            raise ByheartError(f"{name}: `records={path!r}` leads nowhere at {rest[0]!r}; {holds}.")
        key, rest = ".".join(rest[: sizes[0]]), rest[sizes[0] :]
        value = value[key] if isinstance(value, Mapping) else value[int(key)]
    return value


def _shape(record: Mapping) -> tuple:
    """The keys of a record, and those of the mappings in it."""
    return tuple(
        [
            (x, _shape(y[0] if isinstance(y, list) else y)) if _inner(y) is not None else x
            for x, y in record.items()
        ]
    )


def _inner(cell: Any) -> Mapping | None:
    """The mapping in a cell: itself, or the first of a list of them."""
    if isinstance(cell, list) and cell and isinstance(cell[0], dict):
        cell = cell[0]
    return cell if isinstance(cell, dict) and cell else None


def _names(record: Mapping) -> Iterator[str]:
    """The columns of a record, those of the mappings in it with a dot."""
    for name, cell in record.items():
        inner = _inner(cell)
        if inner is None or isinstance(cell, list):
            yield str(name)
        if inner is not None:
            place = "" if isinstance(cell, dict) else "0."
            yield from (f"{name}.{place}{x}" for x in _names(inner))


def _cell(record: Mapping, column: str) -> Any:
    """The cell of a column; None if the record lacks it."""
    if column in record:
        return record[column]
    parts = column.split(".")
    for size in range(len(parts) - 1, 0, -1):
        inner = record.get(".".join(parts[:size]))
        if isinstance(inner, list) and parts[size] == "0" and inner and size + 1 < len(parts):
            inner, size = inner[0], size + 1
        if isinstance(inner, dict):
            return _cell(inner, ".".join(parts[size:]))
    return None
