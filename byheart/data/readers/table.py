"""Tables: values with a delimiter between them, in quotes where they contain it.

Tab-separated values (.tsv), and those with several characters between them, have no quotes.
"""

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, islice
from typing import Any

from ...errors import ByheartError, Message, OptionError
from ...machine.tables import plural
from ..columns import Table
from ..dataset import Dataset
from ..documents import Documents
from ..templates import fields as fields_of
from .raw import Raw
from .rows import read_rows
from .text import ENDS, decoded, read_text, unix

Fields = tuple[int, list[str]]  # a line number and the fields there
DELIMITERS = (",", ";", "\t", "|")  # that are tried, in this order
NAMES = {"tab": "\t", "\\t": "\t"}  # as a command line can write it
SPACES = "  "  # which is tried last
SAMPLE = 200  # rows that a delimiter is tried on


def read(
    raw: Raw,
    delimiter: str | None,
    header: str,
    input: Sequence[str],
    label: str | None,
    **how: Any,
) -> Dataset | Documents:
    """One sequence per row; the options are those of `load`."""
    stored = decoded(raw)
    lines = unix(stored).split("\n")
    plain = raw.kind == ".tsv" and NAMES.get(delimiter or "", delimiter) in (None, "\t")
    chosen = _named(header, [*input, *fields_of(how["template"], how["answer"])], label)
    if delimiter is not None:
        delimiter = NAMES.get(delimiter, delimiter)
        if not delimiter or {*delimiter} & {*'"\r\n'}:
            raise OptionError(
                "delimiter", delimiter, "must be characters such as ';' or 'tab' or '||'"
            )
    elif not plain:
        delimiter = sniffed(lines, chosen)
    rows = _split(lines, "\t") if plain else _rows(lines, str(delimiter), raw.name)
    first = next(rows, (1, []))
    names = first[1]
    if header == "none":
        names, rows = [str(i + 1) for i in range(len(names))], chain([first], rows)

    inner = False  # whether a line ends in a cell

    def select(chosen: Sequence[str]) -> tuple[list[int], list[list]]:
        nonlocal inner
        places: list[int] = []
        cells: list[list] = [[] for _ in chosen]
        wanted = [(names.index(name), column) for name, column in zip(chosen, cells, strict=True)]
        for place, row in rows:
            if len(row) != len(names):
                before = "first row" if header == "none" else "header"
                raise ByheartError(
                    f"{raw.name}, line {place}: the row has {plural(len(row), 'field')} and the "
                    f"{before} {len(names)}; quote or repair it, or give another `delimiter=...`."
                )
            places.append(place)
            for index, column in wanted:
                column.append(row[index])
                inner = inner or "\n" in row[index]
        return places, cells

    remark = "" if header == "none" else "`header='none'` if these are a row"
    table = Table(raw.name, "line", names, select, remark=remark, nested=False)
    data = read_rows(table, input=input, label=label, **how)
    more = {} if plain else {"delimiter": delimiter}
    if header == "none":
        more["header"] = header
    elif chosen and isinstance(data, Dataset):  # else its own words show that it is no row
        data = replace(data, left_out={**data.left_out, "header": 1})
    notes = [Message(ENDS)] if "\r" in stored and inner else []
    return replace(data, loading={**data.loading, **more}, notes=(*notes, *data.notes))


def detected(raw: Raw, loading: Mapping[str, Any]) -> str:
    """The delimiter of a table that would be read with these options, if they named none."""
    if raw.kind == ".tsv":
        return "\t"
    own = (loading.get("template", ()), loading.get("answer"))
    asked = [*loading.get("input", ()), *fields_of(*own)]
    names = _named(loading.get("header"), asked, loading.get("label"))
    return sniffed(read_text(raw).split("\n"), names)


def _named(header: str | None, input: Sequence[str], label: str | None) -> list[str]:
    return [] if header == "none" else [*input, *(() if label is None else (label,))]


def places(raw: Raw, loading: Mapping[str, object]) -> list[int]:
    """The line on which each row ends, of a table that was read with these options."""
    delimiter = loading.get("delimiter")
    lines = read_text(raw).split("\n")
    rows = _split(lines, "\t") if delimiter is None else _rows(lines, str(delimiter), raw.name)
    found = [place for place, _ in rows]
    return found if loading.get("header") == "none" else found[1:]


def header(raw: Raw) -> list[str]:
    lines = read_text(raw).split("\n")[: SAMPLE + 1]
    delimiter = "\t" if raw.kind == ".tsv" else sniffed(lines, ())
    return next(iter(_rows(lines, delimiter, raw.name)), (0, []))[1]


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


def _split(lines: Sequence[str], delimiter: str) -> Iterator[Fields]:
    return ((place, line.split(delimiter)) for place, line in enumerate(lines, 1) if line)


def _rows(lines: Sequence[str], delimiter: str, name: str) -> Iterator[Fields]:
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


def every(raw: Raw, loading: Mapping[str, Any]) -> Table:
    """The table with all its columns, as it would be read with these options."""
    delimiter = NAMES.get(loading.get("delimiter") or "", loading.get("delimiter"))
    lines = read_text(raw).split("\n")
    rows = list(
        _split(lines, "\t")
        if raw.kind == ".tsv" and delimiter in (None, "\t")
        else _rows(lines, delimiter or detected(raw, loading), raw.name)
    )
    first = rows[0][1] if rows else []
    names = first
    if loading.get("header") == "none":
        names = [str(i + 1) for i in range(len(first))]
    else:
        rows = rows[1:]
    for place, row in rows:
        if len(row) != len(names):
            raise ByheartError(
                f"{raw.name}, line {place}: the row has {plural(len(row), 'field')} and there are "
                f"{plural(len(names), 'column')}; quote or repair it."
            )

    def select(chosen: Sequence[str]) -> tuple[list[int], list[list]]:
        wanted = [names.index(name) for name in chosen]
        return [place for place, _ in rows], [[row[i] for _, row in rows] for i in wanted]

    return Table(raw.name, "line", names, select)
