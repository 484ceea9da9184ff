"""Tables with a header: comma-separated values with quotes, tab-separated values without."""

import csv
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from ...errors import ByheartError
from ..dataset import Dataset
from ..records import Placed, pack
from .text import WORD, read_text

Fields = tuple[int, list[str]]  # a line number and the fields there


def read(path: Path, input: Sequence[str], label: str | None, length: int | None) -> Dataset:
    """One sequence per row: the words of the input columns in order, and the label column."""
    fields = _fields(path)
    header = next(fields, (1, []))[1]
    columns = f"the columns are {', '.join(header)}"
    for name in (*input, *(() if label is None else (label,))):
        if header.count(name) != 1:
            wrong = "is not a column" if name not in header else "is the name of two columns"
            raise ByheartError(f'{path}: "{name}" {wrong}; {columns}.')
    if not input or label is None:
        raise ByheartError(
            f"{path}: choose the columns to read with input=... and label=...; {columns}."
        )
    inputs, target = [header.index(name) for name in input], header.index(label)
    cut = 0  # rows whose input is longer than `length`

    def rows() -> Iterator[Placed]:
        nonlocal cut
        for place, row in fields:
            if len(row) != len(header):
                raise ByheartError(
                    f"{path}, line {place}: the row has {len(row)} fields and the header "
                    f"{len(header)}; quote or repair it."
                )
            if not row[target]:
                raise ByheartError(f'{path}, line {place}: "{label}" is empty; give a label.')
            words = [word for column in inputs for word in re.findall(WORD, row[column])]
            if not words:
                raise ByheartError(f"{path}, line {place}: the input is empty; give some text.")
            cut += len(words[:length]) < len(words)
            yield place, (words[:length], row[target], 1)

    loading = {"input": list(input), "label": label, "length": length}
    loading = {name: value for name, value in loading.items() if value is not None}
    packed = pack(rows(), str(path))
    unused = tuple(name for name in header if name not in (*input, label))
    left_out = {"length": cut} if cut else {}
    return Dataset(**packed, loading=loading, left_out=left_out, unused=unused)


def _fields(path: Path) -> Iterator[Fields]:
    """The rows that are not blank, each with the number of its last line."""
    lines = read_text(path).split("\n")
    if path.suffix.lower() == ".tsv":
        yield from ((place, line.split("\t")) for place, line in enumerate(lines, 1) if line)
        return
    reader = csv.reader((line + "\n" for line in lines), strict=True)
    try:
        yield from ((reader.line_num, row) for row in reader if row)
    except csv.Error as error:
        raise ByheartError(
            f"{path}, line {reader.line_num}: not readable as a table ({error}); "
            "quote the field or shorten it."
        ) from None
