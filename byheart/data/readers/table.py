"""Tables: values with a delimiter between them, in quotes where they contain it.

Tab-separated values (.tsv), and those with several characters between them, have no quotes.
"""

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import Any

from ...errors import ByheartError, Message, OptionError
from ...machine.tables import plural
from .. import templates
from ..columns import Table
from ..dataset import Dataset
from ..documents import Documents
from .raw import Raw
from .rows import read_rows
from .text import ENDS, read_text, stored, unix

Row = tuple[int, list[str]]  # a line number and the fields there
DELIMITERS = (",", ";", "\t", "|")  # that are tried, in this order
NAMES = {"tab": "\t", "\\t": "\t"}  # as a command line can write it
SPACES = "  "  # which is tried last
SAMPLE = 200  # rows that a delimiter is tried on


@dataclass
class Fields:
    """A file cut into fields: its delimiter (None: tabs, and no quotes), columns and rows."""

    name: str
    delimiter: str | None
    header: bool  # whether the first line has the names of the columns
    columns: list[str]
    rows: Iterator[Row]  # which are read once
    inner: bool = False  # whether a line ends in a cell that was selected

    def select(self, chosen: Sequence[str]) -> tuple[list[int], list[list]]:
        places: list[int] = []
        cells: list[list] = [[] for _ in chosen]
        wanted = [(self.columns.index(x), column) for x, column in zip(chosen, cells, strict=True)]
        for place, row in self.rows:
            if len(row) != len(self.columns):
                before = "header" if self.header else "first row"
                raise ByheartError(
                    f"{self.name}, line {place}: the row has {plural(len(row), 'field')} and the "
                    f"{before} {len(self.columns)}; quote or repair it, or give another "
                    "`delimiter=...`."
                )
            places.append(place)
            for index, column in wanted:
                column.append(row[index])
                self.inner = self.inner or "\n" in row[index]
        return places, cells

    def table(self) -> Table:
        remark = "`header='none'` if these are a row" if self.header else ""
        return Table(self.name, "line", self.columns, self.select, remark=remark, nested=False)


def fields(raw: Raw, text: str, options: Mapping[str, Any]) -> Fields:
    """The fields of a file that is this text, as these options of `load` read it."""
    lines, delimiter = text.split("\n"), options.get("delimiter")
    delimiter = NAMES.get(delimiter or "", delimiter)
    plain = raw.kind == ".tsv" and delimiter in (None, "\t")
    if delimiter is not None and (not delimiter or {*delimiter} & {*'"\r\n'}):
        raise OptionError("delimiter", delimiter, "must be characters such as ';' or 'tab' or '||'")
    if not plain and delimiter is None:
        delimiter = sniffed(lines, _named(options))
    rows = _split(lines, "\t") if plain else _rows(lines, str(delimiter), raw.name)
    first = next(rows, (1, []))
    names, header = first[1], options.get("header") != "none"
    if not header:
        names, rows = [str(i + 1) for i in range(len(names))], chain([first], rows)
    return Fields(raw.name, None if plain else delimiter, header, names, rows)


def _named(options: Mapping[str, Any]) -> list[str]:
    """The columns that options name, if there are names."""
    if options.get("header") == "none":
        return []
    of_templates = templates.fields(options.get("template", ()), options.get("answer"))
    return [*options.get("input", ()), *of_templates, *filter(None, [options.get("label")])]


def read(raw: Raw, delimiter: str | None, header: str, **how: Any) -> Dataset | Documents:
    """One sequence per row; the options are those of `load`."""
    text, options = stored(raw).text, {**how, "delimiter": delimiter, "header": header}
    found = fields(raw, unix(text), options)
    data = read_rows(found.table(), **how)
    more = {} if found.delimiter is None else {"delimiter": found.delimiter}
    if not found.header:
        more["header"] = header
    elif _named(options) and isinstance(data, Dataset):  # else its own words show that it is no row
        data = replace(data, left_out={**data.left_out, "header": 1})
    notes = [Message(ENDS)] if "\r" in text and found.inner else []
    return replace(data, loading={**data.loading, **more}, notes=(*notes, *data.notes))


def detected(raw: Raw, loading: Mapping[str, Any]) -> str:
    """The delimiter of a table that would be read with these options, if they named none."""
    return fields(raw, read_text(raw), {**loading, "delimiter": None}).delimiter or "\t"


def places(raw: Raw, loading: Mapping[str, object]) -> list[int]:
    """The line on which each row ends, of a table that was read with these options."""
    return [place for place, _ in fields(raw, read_text(raw), loading).rows]


def every(raw: Raw, loading: Mapping[str, Any]) -> Table:
    """The table with all its columns, as it would be read with these options."""
    return fields(raw, read_text(raw), loading).table()


def sniffed(lines: Sequence[str], names: Sequence[str]) -> str:
    """The delimiter of a table: that under which it is one.

    Its header has the named columns and at least two; the rows after it have as many fields. If
    several delimiters do that, or none, the first of them that comes closest.
    """

    def fits(delimiter: str) -> tuple[bool, bool, bool]:
        try:
            sample = [row for _, row in islice(_rows(lines, delimiter, ""), SAMPLE)]
        except ByheartError:
            sample = []
        header = sample[0] if sample else []
        several = len(header) > 1
        alike = several and all(len(row) == len(header) for row in sample)
        return several and set(names) <= set(header), alike, several

    return max((*DELIMITERS, SPACES), key=fits)  # the first of those that are equal


def _split(lines: Sequence[str], delimiter: str) -> Iterator[Row]:
    return ((place, line.split(delimiter)) for place, line in enumerate(lines, 1) if line)


def _rows(lines: Sequence[str], delimiter: str, name: str) -> Iterator[Row]:
    """The rows that are not blank, each with the number of its last line."""
    if len(delimiter) > 1:
        yield from _split(lines, delimiter)
        return
    reader = csv.reader((line + "\n" for line in lines), delimiter=delimiter, strict=True)
    try:
        yield from ((reader.line_num, row) for row in reader if row)
    except csv.Error as error:
        raise ByheartError(
            f"{name}, line {reader.line_num}: not readable as a table ({error}); "
            "quote the field or shorten it."
        ) from None
