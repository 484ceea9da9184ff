"""Tables with a header: values with a delimiter between them, in quotes where they contain it.

Tab-separated values (.tsv) have no quotes.
"""

import csv
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from ...errors import ByheartError
from ..columns import Table, fields
from ..dataset import Dataset
from .raw import Raw
from .text import read_text

Fields = tuple[int, list[str]]  # a line number and the fields there
DELIMITERS = (",", ";", "\t", "|")  # that are tried, in this order
NAMES = {"tab": "\t", "\\t": "\t"}  # as a command line can write it
SAMPLE = 200  # rows that a delimiter is tried on


def read(
    raw: Raw, delimiter: str | None, input: Sequence[str], label: str | None, **how: Any
) -> Dataset:
    """One sequence per row; the options are those of `load`."""
    lines = read_text(raw).split("\n")
    plain = raw.kind == ".tsv" and NAMES.get(delimiter or "", delimiter) in (None, "\t")
    if delimiter is not None:
        delimiter = NAMES.get(delimiter, delimiter)
        if len(delimiter) != 1 or delimiter in '"\r\n':
            raise ByheartError(
                f"delimiter must be one character such as ';' or 'tab', not {delimiter!r}."
            )
    elif not plain:
        delimiter = sniffed(lines, [*input, *(() if label is None else (label,))])
    rows = _split(lines) if plain else _quoted(lines, str(delimiter), raw.name)
    header = next(rows, (1, []))[1]

    def select(chosen: Sequence[str]) -> tuple[list[int], list[list]]:
        places: list[int] = []
        cells: list[list] = [[] for _ in chosen]
        wanted = [(header.index(name), column) for name, column in zip(chosen, cells, strict=True)]
        for place, row in rows:
            if len(row) != len(header):
                raise ByheartError(
                    f"{raw.name}, line {place}: the row has {len(row)} fields and the header "
                    f"{len(header)}; quote or repair it, or give another delimiter=...."
                )
            places.append(place)
            for index, column in wanted:
                column.append(row[index])
        return places, cells

    data = Dataset(
        **fields(Table(raw.name, "line", header, select), input=input, label=label, **how)
    )
    return data if plain else replace(data, loading={**data.loading, "delimiter": delimiter})


def sniffed(lines: Sequence[str], names: Sequence[str]) -> str:
    """The delimiter of a table: that under which it is one.

    Its header has the named columns and at least two; the rows after it have as many fields. If
    several delimiters do that, or none, the first of `DELIMITERS` that comes closest.
    """

    def fits(delimiter: str) -> tuple[bool, bool, bool]:
        try:
            sample = [row for _, row in islice(_quoted(lines, delimiter, ""), SAMPLE)]
        except ByheartError:
            sample = []
        header = sample[0] if sample else []
        several = len(header) > 1
        alike = several and all(len(row) == len(header) for row in sample)
        return several and set(names) <= set(header), alike, several

    return max(DELIMITERS, key=fits)  # the first of those that are equal


def _split(lines: Sequence[str]) -> Iterator[Fields]:
    """The rows of a table without quotes."""
    return ((place, line.split("\t")) for place, line in enumerate(lines, 1) if line)


def _quoted(lines: Sequence[str], delimiter: str, name: str) -> Iterator[Fields]:
    """The rows that are not blank, each with the number of its last line."""
    reader = csv.reader((line + "\n" for line in lines), delimiter=delimiter, strict=True)
    try:
        yield from ((reader.line_num, row) for row in reader if row)
    except csv.Error as error:
        raise ByheartError(
            f"{name}, line {reader.line_num}: not readable as a table ({error}); "
            "quote the field or shorten it."
        ) from None
