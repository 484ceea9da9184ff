"""Tables with a header: comma-separated values with quotes, tab-separated values without."""

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from ...errors import ByheartError
from ..dataset import Dataset
from ..records import Placed, pack
from .text import WORD, read_text

Fields = tuple[int, list[str]]  # a line number and the fields there


def read(path: Path, input: Sequence[str], label: str | None, length: int | None) -> Dataset:
    """A sequence a row: the words of the input columns in order, the label column as a string."""
    rows = _fields(path)
    header = next(rows, (1, []))[1]
    inputs = [_column(path, header, name) for name in input]
    if not inputs or label is None:
        raise ByheartError(
            f"{path}: say which columns to read with --input and --label; {_columns(header)}."
        )
    target = _column(path, header, label)
    dataset = pack(_rows(path, rows, header, inputs, target, length), str(path))
    loading = {"input": list(input), "label": label}
    return replace(dataset, loading=loading if length is None else loading | {"length": length})


def _fields(path: Path) -> Iterator[Fields]:
    """The rows that are not blank, each with the number of its last line."""
    lines = read_text(path).split("\n")
    if path.suffix.lower() == ".tsv":
        rows: Iterable[Fields] = ((n, line.split("\t")) for n, line in enumerate(lines, 1) if line)
    else:
        rows = _quoted(path, lines)
    yield from rows


def _quoted(path: Path, lines: list[str]) -> Iterator[Fields]:
    reader = csv.reader((line + "\n" for line in lines), strict=True)
    try:
        for row in reader:
            if row:
                yield reader.line_num, row
    except csv.Error as error:
        raise ByheartError(
            f"{path}, line {reader.line_num}: not readable as a table ({error}); "
            "quote the field or shorten it."
        ) from None


def _column(path: Path, header: list[str], name: str) -> int:
    if header.count(name) != 1:
        wrong = "is no column" if name not in header else "is the name of two columns"
        raise ByheartError(f'{path}: "{name}" {wrong}; {_columns(header)}.')
    return header.index(name)


def _columns(header: list[str]) -> str:
    return "the columns are " + ", ".join(header)


def _rows(
    path: Path,
    rows: Iterator[Fields],
    header: list[str],
    inputs: list[int],
    label: int,
    length: int | None,
) -> Iterator[Placed]:
    for place, row in rows:
        if len(row) != len(header):
            raise ByheartError(
                f"{path}, line {place}: the row has {len(row)} fields and the header "
                f"{len(header)}; quote or repair it."
            )
        if not row[label]:
            raise ByheartError(f'{path}, line {place}: "{header[label]}" is empty; give a label.')
        words = [word for column in inputs for word in re.findall(WORD, row[column])]
        if not words:
            raise ByheartError(f"{path}, line {place}: the input is empty; give some text.")
        yield place, (words[:length], row[label], 1)
