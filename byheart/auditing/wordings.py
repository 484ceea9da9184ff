"""The wordings in which the rows of a table are put to a language model.

A model recites what it has learnt in the words in which it has learnt it. A row is asked in the
templates that the user gives; without any, as lines `Column: value` and as a line of csv, and the
answer says that these are guesses.
"""

import csv
import io
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..data.columns import Table
from ..data.dataset import Dataset
from ..data.load import OBJECTS, kind_of
from ..data.readers import jsonl, objects, table
from ..data.readers.raw import opened
from ..data.templates import FIELD, fields, written
from ..errors import ByheartError

PROSE = ("text", "content", "document", "body", "story")  # a column that is documents
OWN = ("input", "label")
TABLES = (".csv", ".tsv", ".jsonl", ".json", OBJECTS)
WHOLE = re.compile(r"\s*-?[0-9]+\s*")
Text = tuple[str, str]  # what is given, and what is predicted after it


@dataclass(frozen=True)
class Wording:
    """One way to write a row: its name, the first row's pattern, and whether it is a guess."""

    name: str
    pattern: str
    guessed: bool = True


AS_IT_IS = Wording("as the file has it", "", guessed=False)


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of a table as texts, in each wording; and what else the file says of them."""

    wordings: tuple[Wording, ...]
    texts: tuple[tuple[Text, ...], ...]  # of each wording, of every row
    labelled: bool
    rows: tuple[int, ...]  # their numbers from 1
    lines: tuple[int, ...]
    columns: Mapping[str, tuple]  # that are in no text
    empty: int = 0  # rows that were left out, because there is nothing to predict


def rows_of(
    data: Any, loading: Mapping[str, Any], templates: Sequence[str], answer: str | None
) -> Rows | list[str] | None:
    """The rows of a table of text; texts, if it is a list of these; None if it is neither."""
    found = _table(data, loading)
    if found is None or isinstance(found, list):
        if templates:
            raise ByheartError("`template=...` is for a table; this data has no columns.")
        return found
    names = list(found.columns)
    chosen, label = list(loading.get("input") or ()), loading.get("label")
    if not chosen and label is None and not templates and set(OWN) <= set(names):
        chosen, label = [OWN[0]], OWN[1]
    found.check([*chosen, *filter(None, [label]), *fields(templates, answer)])
    if not chosen and label is None and not templates:
        prose = [key for key in names if key.lower() in PROSE] or names
        chosen = prose[:1] if len(prose) == 1 or prose != names else names
    elif not chosen:
        chosen = [key for key in names if key != label]
    every = list(dict.fromkeys(names))
    places, cells = found.select(every)
    columns = dict(zip(every, cells, strict=True))
    asked = [columns[key] for key in (*chosen, *filter(None, [label]))]
    first = [column[0] for column in asked if column]
    if not templates and (
        any(isinstance(cell, list | dict) for cell in first)
        or all(isinstance(x, int | float) or WHOLE.fullmatch(str(x)) for x in first)
    ):
        return None  # tokens, or their ids
    if loading.get("between") is not None:
        raise ByheartError("`between=...` does not apply to an audit; give `template=...`.")
    forms = _forms(chosen, label, templates, answer)
    made = [{key: _cell(column[i]) for key, column in columns.items()} for i in range(len(places))]
    texts = [[write(row) for row in made] for _, write, _ in forms]
    kept = [i for i in range(len(made)) if all(text[i][1].strip() for text in texts)]
    if not kept:
        raise ByheartError(f"{found.name} holds no row with a text to predict.")
    used = {key for _, _, some in forms for key in some}
    return Rows(
        tuple(wording for wording, _, _ in forms),
        tuple(tuple(text[i] for i in kept) for text in texts),
        label is not None or answer is not None,
        tuple(i + 1 for i in kept),
        tuple(int(places[i]) for i in kept),
        {key: tuple(columns[key][i] for i in kept) for key in every if key not in used},
        len(made) - len(kept),
    )


Form = tuple[Wording, Callable[[Mapping[str, str]], Text], Sequence[str]]


def _forms(
    chosen: Sequence[str], label: str | None, templates: Sequence[str], answer: str | None
) -> list[Form]:
    """The wordings, how each writes a row, and the columns that it writes."""
    if templates:
        return [_template(i, x, label, answer) for i, x in enumerate(templates, 1)]
    if answer is not None:
        raise ByheartError("`answer=...` needs `template=...`, which asks for it.")
    every = [*chosen, *([] if label is None else [label])]

    def last(row: Mapping[str, str]) -> str:
        return f" {row[label]}" if label and row[label] else ""

    def lines(row: Mapping[str, str]) -> Text:
        said = "\n".join(f"{name}: {row[name]}" for name in chosen if row[name])
        return (f"{said}\n{label}:", last(row)) if label else ("", said)

    def values(row: Mapping[str, str]) -> Text:
        whole = _csv([row[name] for name in every])
        last = _csv([row[label]]) if label else whole
        return whole[: len(whole) - len(last)], last

    def prose(row: Mapping[str, str]) -> Text:
        said = row[chosen[0]]
        return (said, last(row)) if label else ("", said)

    pattern = "\n".join(f"{name}: {{{name}}}" for name in every)
    forms: list[Form] = []
    if len(chosen) == 1:
        name = AS_IT_IS.name if label is None else "the text, then the label"
        said = " ".join(f"{{{x}}}" for x in every)
        forms.append((Wording(name, said, label is not None), prose, every))
        if label is None:
            return forms
    forms.append((Wording("lines `Column: value`", pattern), lines, every))
    listed = ",".join(f"{{{name}}}" for name in every)
    return [*forms, (Wording("a line of csv", listed), values, every)]


def _template(number: int, text: str, label: str | None, answer: str | None) -> Form:
    """Up to the label's place, or the end, it is given; without a label all of it is predicted."""
    wording = Wording(f"template {number}", text, guessed=False)
    used = fields([text], answer)
    if answer is not None:
        return wording, lambda row: (written(text, row), f" {written(answer, row).strip()}"), used
    if label is None:
        return wording, lambda row: ("", written(text, row)), used
    place = next((x.start() for x in FIELD.finditer(text) if x[1] == label), None)
    before = text[:place].rstrip(" ")
    gap = " " if place is None else text[len(before) : place]

    def write(row: Mapping[str, str]) -> Text:
        return written(before, row), f"{gap}{row[label]}" if row[label].strip() else ""

    return wording, write, [*used, label]


def _csv(cells: Sequence[str]) -> str:
    file = io.StringIO()
    csv.writer(file, lineterminator="").writerow(cells)
    return file.getvalue()


def _cell(value: Any) -> str:
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return ""
    return str(value)


def _table(data: Any, loading: Mapping[str, Any]) -> Table | list[str] | None:
    """The whole table of a file or object; None if this is no table of named columns."""
    kind = kind_of(data, loading.get("format"))
    if isinstance(data, Dataset) or kind not in TABLES:
        return None
    if kind == OBJECTS:
        if isinstance(data, list | tuple) and data and all(isinstance(x, str) for x in data):
            return list(data)
        return objects.table(data, objects.NAME, loading.get("records"))
    if not Path(data).is_file() and str(data) != "-":
        return None  # whoever reads it says why
    with opened(Path(data), kind) as raw:
        if raw.size() == 0:
            raise ByheartError(f"{raw.name} is empty; give at least one row.")
        if kind == ".jsonl":
            return jsonl.every(raw)
        if kind == ".json":
            return jsonl.every_of_document(raw, loading.get("records"))
        return table.every(raw, loading)
