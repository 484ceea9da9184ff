"""A table of named columns to the fields of a Dataset: what of each row is the input.

A column of numbers is numbers: several of them are one vector. Any other column is text, which is
split into tokens; several of them are kept apart by a token that no cell contains.
"""

import difflib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, count
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import ByheartError, Message
from . import templates
from .readers.text import UNITS, Tokenize, clauses, margins, tokenize
from .readers.tokenizers import spoken, tokenizer_of
from .records import pack, plain

# 007 and the digits of a long identifier are names, not numbers
NUMBER = re.compile(
    r"[+-]?(?:(?:0|[1-9][0-9]{0,17})(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,2})?"
)
DECIMAL_COMMA = re.compile(r"[+-]?[0-9]+,[0-9]+")
MISSING = {"na", "n/a", "nan", "null", "none", "?", "-"}  # of a number
PREVIEW = 5  # rows that a person chooses by
LISTED, NAMED = 20, 100  # places, and columns, that a message lists
LOOKED = 100_000  # rows up to which all columns are read for an example of what to choose
COMPARED = 10_000  # columns that a name is compared with that is none of them
LABELS = ("label", "target", "class", "answer", "completion", "output", "response", "category")
INPUTS = ("question", "prompt", "instruction", "input", "text", "sentence", "title", "name")
KEYS = re.compile(
    r"(?i)(^|[^a-z])(id|ids|index|idx|uuid|guid|key|url|uri|link|href|hash)$|[a-z]Id$"
)
PROMPT, ANSWER, COUNT = "template", "answer", "count"  # columns that templates make
UNIT, NUMERIC, EMPTY = "word", "vector", "refuse"  # what load does unless it is told otherwise


@dataclass(frozen=True)
class Table:
    """Where the cells of a table come from."""

    name: str  # for messages
    unit: str  # what the places of rows are: "line" or "row"
    columns: Sequence[str]
    # the place of every row, and of each of the chosen columns the cell of every row
    select: Callable[[Sequence[str]], tuple[Sequence[int], list[list]]]
    small: bool = True  # whether to read every column takes no time
    remark: str = ""  # for whoever reads the names of the columns
    object: bool = False  # whether it is an object of Python, which byheart.load reads
    nested: bool = True  # whether cells may hold lists, and columns can be read again

    def where(self, places: Sequence[int]) -> str:
        """The places in words: "lines 3, 8 and 12", and how many there are beyond the first."""
        places = list(dict.fromkeys(places))
        shown = [f"{place:,}" for place in places[:LISTED]]
        if len(places) > LISTED:
            shown.append(f"{len(places) - LISTED:,} more")
        listed = " and ".join(filter(None, [", ".join(shown[:-1]), shown[-1]]))
        return f"{self.unit}{'' if len(places) == 1 else 's'} {listed}"

    def named(self) -> str:
        shown = ", ".join(name or "''" for name in self.columns[:NAMED])
        more = len(self.columns) - NAMED
        listed = f"the columns are {shown}" + (f" and {more:,} more" if more > 0 else "")
        return f"{listed} ({self.remark})" if self.remark else listed

    def check(self, chosen: Iterable[str]) -> None:
        """ByheartError if one of these is no column."""
        for name in chosen:
            if list(self.columns).count(name) != 1:
                wrong = "the name of two columns" if name in self.columns else "not a column"
                near = self.columns[:COMPARED] if wrong[:3] == "not" else []
                meant = difflib.get_close_matches(name, near, 1)
                guess = f'did you mean "{meant[0]}"? ' if meant else ""
                raise ByheartError(f'{self.name}: "{name}" is {wrong}; {guess}{self.named()}.')


@dataclass(frozen=True)
class Column:
    """The cells of one column. An empty cell is None."""

    name: str
    cells: list
    kind: str  # "numbers", "text" to be split, "lists" of tokens, or "objects", which none is
    strings: bool  # whether its tokens are strings


def fields(
    table: Table,
    *,
    input: Sequence[str] = (),
    label: str | None = None,
    count: str | None = None,
    unit: str = UNIT,
    tokenizer: str | Path | None = None,
    length: int | None = None,
    numeric: str = NUMERIC,
    between: str | None = None,
    empty: str = EMPTY,
    template: Sequence[str] = (),
    answer: str | None = None,
) -> dict[str, Any]:
    """The fields of the Dataset of a table; the options are those of `load`."""
    if not table.columns:
        raise ByheartError(f"{table.name} holds no sequences; give at least one.")
    if template or answer is not None:
        templates.check(template, answer, input, label)
        said = _written(table, template, answer or f"{{{label}}}", count)
        how: dict[str, Any] = {"unit": unit, "tokenizer": tokenizer, "length": length}
        how |= {"numeric": "words", "empty": empty, "count": count and COUNT}
        asked = fields(said, input=[PROMPT], label=ANSWER, **how)
        used = {*templates.fields(template, answer), label, count}
        own = {"template": list(template), "answer": answer, "label": label, "count": count}
        loading = asked["loading"] | own
        loading = {x: y for x, y in loading.items() if y is not None and x != "input"}
        unused = tuple(x for x in table.columns if x not in used)
        return asked | {"loading": loading, "unused": unused}
    named = {"input": list(input) or None, "label": label, "count": count}
    if not input and label is None:  # a table in our own words needs no options
        input = [name for name in ("input",) if name in table.columns]
        label = "label" if "label" in table.columns else None
        count = "count" if count is None and "count" in table.columns else count
    chosen = [*input, *(name for name in (label, count) if name is not None)]
    table.check(chosen)
    if not input or label is None:
        raise ColumnsError(table, example(table, input, label))
    unused = tuple(x for x in table.columns if x not in {*chosen})
    if unused:  # the model says which columns it read, so that verify asks for them
        named = {"input": list(input), "label": label, "count": count}
    rule = None if tokenizer else UNITS.get(unit, unit)
    whole = keeps_numbers(numeric, unit, tokenizer)
    places, cells = table.select(chosen)
    inputs = [_column(*given, whole) for given in zip(input, cells, strict=False)]
    others = [
        Column(name, list(map(_filled, x)), "text", True)
        for name, x in zip(chosen[len(input) :], cells[len(input) :], strict=True)
    ]
    text = [x for x in inputs if x.kind == "text"]
    kept, notes = _rows_to_keep(table, places, [*inputs, *others], empty)

    def texts() -> Iterator[str]:
        return (cell for x in text for cell in x.cells if isinstance(cell, str))

    def learned() -> Iterator[str]:
        """What a tokenizer is trained on: answers, too, as they would follow their prompts."""
        return chain(texts(), (spoken(cell) for cell in cells[len(input)] if isinstance(cell, str)))

    made = tokenizer_of(tokenizer, learned) if tokenizer and text else None
    split = tokenize(unit) if made is None else made.split
    kinds, strings = {column.kind for column in inputs}, any(column.strings for column in inputs)
    if kinds == {"lists"} and (UNITS.get(unit, unit) != UNITS[UNIT] or tokenizer is not None):
        given = "unit" if tokenizer is None else "tokenizer"
        raise ByheartError(
            f"{table.name}: `{given}=...` does not apply here, since the input is lists of tokens."
        )
    vector = kinds == {"numbers"} and numeric == "vector" and len(inputs) > 1

    def parts(row: int) -> list[list]:
        """The tokens of each input column; they are made twice rather than kept."""
        if vector:
            return [[[column.cells[row] for column in inputs]]]
        return [
            [column.cells[row]]
            if column.kind == "numbers" and not strings
            else cell_tokens(column.cells[row], split, whole)
            for column in inputs
        ]

    if len(inputs) > 1 and not vector:
        between = _between(table, inputs, map(parts, kept), strings, between)
    space = " " if between == "" and rule == UNITS["word"] else ""
    cut = 0  # rows whose input is longer than `length`

    def rows() -> Iterator[list]:
        nonlocal cut
        for i in kept:
            row = joined(parts(i), between, space)
            cut += len(row[:length]) < len(row)
            yield row[:length]

    if whole and strings:
        notes += chain.from_iterable(_torn(table, places, column) for column in inputs)
    if unit != "char" and tokenizer is None:
        notes += [*clauses(texts()), *margins("cells", texts(), unit)]
    labels = [_label(cells[len(input)][i]) for i in kept]
    counts = [_count(others[1].cells[i]) for i in kept] if others[1:] else [1] * len(kept)
    records = zip(rows(), labels, counts, strict=True)
    packed = pack(zip((places[i] for i in kept), records, strict=True), table.name, table.unit)
    left_out = {"length": cut, "empty": len(places) - len(kept)}
    loading = {
        **named,
        "unit": rule if "text" in kinds else None,
        "tokenizer": None if made is None else str(tokenizer),
        "length": length,
        "numeric": numeric,  # stored always: options without it are older, see load.applicable
        "between": between if strings and len(inputs) > 1 else None,
        "empty": None if empty == EMPTY else empty,
    }
    if made is not None:
        packed["tokenizer"] = made.content
        if kinds == {"text"}:
            read = ((written(x.cells[i]) for x in inputs) for i in kept)
            packed["texts"] = tuple(map((between or "").join, read))
    return {
        **packed,
        "skipped": len(places) - len(kept),
        "left_out": {name: number for name, number in left_out.items() if number},
        "unused": unused,
        "notes": tuple(map(Message, notes)),
        "loading": {name: value for name, value in loading.items() if value is not None},
    }


def _written(table: Table, template: Sequence[str], answer: str, count: str | None) -> Table:
    """The rows in the words of each template, as a table; empty where a column of it is."""
    names = templates.fields(template, answer)
    table.check([*names, *([] if count is None else [count])])

    def select(chosen: Sequence[str]) -> tuple[Sequence[int], list[list]]:
        places, columns = table.select([*names, *([] if count is None else [count])])
        made: list[list] = [[] for _ in chosen]
        for cells in zip(*columns, strict=True):
            row = {x: _written_cell(table, x, y) for x, y in zip(names, cells, strict=False)}
            for text in template:
                said = [_in_words(x, row) for x in (text, answer)]
                for column, cell in zip(made, (*said, *cells[len(names) :]), strict=True):
                    column.append(cell)
        return np.repeat(np.asarray(places), len(template)).tolist(), made

    return Table(table.name, table.unit, [PROMPT, ANSWER, COUNT], select)


def _in_words(template: str, row: Mapping[str, str]) -> str | None:
    filled = all(row[name] for name in templates.fields([template]))
    return templates.written(template, row) if filled else None


def _written_cell(table: Table, name: str, cell: object) -> str:
    if isinstance(cell, list | dict):
        raise ByheartError(f'{table.name}: "{name}" holds lists or objects, and not text.')
    return written(_filled(cell))


@dataclass(frozen=True)
class Example:
    """Columns that read a table, and what they give: how many contexts, how many in conflict."""

    input: list[str]
    label: str
    gaps: bool = False  # whether a cell of them is empty
    contexts: int | None = None  # None: not counted
    conflicts: int = 0
    first: Mapping[str, list] = field(default_factory=dict)  # cells of each column that was read

    def options(self, object: bool = False) -> str:
        """As options of `load`, or as its arguments for an object of Python."""
        named = [f"`input={x!r}`" for x in self.input]
        if object and len(self.input) > 1:
            named = [f"`input={self.input!r}`"]
        named += [f"`label={self.label!r}`", *(["`empty='skip'`"] if self.gaps else [])]
        shown = f"byheart.load(data, {', '.join(named)})" if object else " ".join(named)
        if self.contexts is None:
            return shown
        gives = f"{self.contexts:,} context{'s' * (self.contexts != 1)}"
        return f"{shown} ({gives}, {self.conflicts:,} conflict{'s' * (self.conflicts != 1)})"


class ColumnsError(ByheartError):
    """The columns of a table are to be chosen; the first rows are there to look at."""

    def __init__(self, table: Table, example: Example) -> None:
        super().__init__(
            f"{table.name}: choose the columns to read with `input=...` and `label=...`, such as "
            f"{example.options(table.object)}; {table.named()}."
        )
        self.table, self.example = table, example

    def preview(self) -> dict[str, Any]:
        """The first rows, as text, and the columns that are suggested."""
        first = self.example.first
        columns = [x for x in self.table.columns if x in first] or [*self.table.columns[:NAMED]]
        rows = zip(*(first[x] for x in columns if x in first), strict=True)
        shown = [[written(cell)[:NAMED] for cell in row] for row in rows]
        return {**vars(self.example), "columns": columns, "first": shown}


def example(table: Table, input: Sequence[str] = (), label: str | None = None) -> Example:
    """Columns to choose: an input that determines the label, if possible.

    The label is a column that is called so, else the last that is mostly filled. The input is the
    first column that determines it: one that is called so, then text, then all numbers together,
    and last what numbers or addresses the rows.
    """
    taken = {*input, label}
    often = Counter(table.columns)
    free = [x for x in table.columns if x and x not in taken and often[x] == 1][:NAMED]
    chosen = [*input, *([] if label is None else [label]), *free]
    try:
        cells = table.select(chosen)[1] if table.small else []
    except ByheartError:  # a row that cannot be read; whoever chooses columns gets to know
        cells = []
    columns = {x: _column(x, y, True) for x, y in zip(chosen, cells, strict=False)}
    first = {x: y[:PREVIEW] for x, y in zip(chosen, cells, strict=False)}

    def names(x: Column) -> bool:
        """Whether the cells may be labels: most are there, and all are text or integers."""
        sound = x.kind != "lists" and not any(type(y) is float and y % 1 for y in x.cells)
        return sound and 2 * x.cells.count(None) <= len(x.cells)

    def gives(inputs: Sequence[str]) -> tuple[int, int]:
        """The contexts, and how many of them are in conflict."""
        rows = zip(*(columns[x].cells for x in (*inputs, answer)), strict=True)
        pairs = {tuple(map(str, row)) for row in rows if None not in row}
        seen = Counter(row[:-1] for row in pairs)
        return len(seen), sum(count > 1 for count in seen.values())

    def determines(inputs: Sequence[str]) -> bool:
        contexts, conflicts = gives(inputs)
        return contexts > 1 and not conflicts

    def rank(x: str) -> tuple[bool, int]:
        """First what is called so, last what numbers the rows."""
        words = re.findall("[a-z]+", x.lower())
        called = next((i for i, y in enumerate(INPUTS) if y in words), len(INPUTS))
        return _numbers_rows(x, columns.get(x)), called

    flat = [x for x in free if x not in columns or columns[x].kind != "objects"] or ["COLUMN"]
    sound = [x for x in flat if x in columns and names(columns[x])] or flat
    last = [x for x in sound if not _numbers_rows(x, columns.get(x))] or sound
    answer = label or [*last, *(x for x in sound if x.lower() in LABELS)][-1]
    others = sorted((x for x in flat if x != answer), key=rank)
    inputs = list(input) or others[:1] or ["COLUMN"]
    if answer not in columns or not {*inputs} <= {*columns}:
        return Example(inputs, answer, first=first)
    if not input:
        own = [x for x in others if not rank(x)[0]]
        full = [x for x in own if 2 * columns[x].cells.count(None) <= len(columns[x].cells)]
        text = [x for x in full if columns[x].kind != "numbers"]
        numbers = [x for x in full if columns[x].kind == "numbers"]
        called = [x for x in text if rank(x)[1] < len(INPUTS)]
        tried = [*([x] for x in text), called, numbers, *([x] for x in [*full, *others])]
        inputs = next((x for x in tried if x and determines(x)), numbers if not text else inputs)
    gaps = any(None in columns[x].cells for x in (*inputs, answer))
    return Example(inputs, answer, gaps, *gives(inputs), first)


def _numbers_rows(name: str, column: Column | None) -> bool:
    """Whether a column numbers its rows or holds addresses: an id, an index, a link."""
    if KEYS.search(name):
        return True
    cells = [] if column is None else [x for x in column.cells[:LISTED] if x is not None]
    return bool(cells) and all(str(x).startswith(("http://", "https://")) for x in cells)


def keeps_numbers(numeric: str, unit: str, tokenizer: str | Path | None) -> bool:
    """Whether a number in a cell is one token, whatever the rule for text.

    Whoever asks for characters, or brings a tokenizer, says how every cell is split.
    """
    return numeric != "words" and unit != "char" and tokenizer is None


def cell_tokens(cell: object, split: Tokenize, whole: bool = True) -> list:
    """The tokens of one cell of text; with `whole`, a number is one of them.

    >>> cell_tokens(" 5.1", list), cell_tokens("5.1", list, whole=False)
    (['5.1'], ['5', '.', '1'])
    """
    if cell is None:
        return []
    if isinstance(cell, list):
        return list(map(plain, cell))
    if isinstance(cell, bool):
        return [written(cell)]
    if isinstance(cell, int | float):
        cell = written(cell)
    if not isinstance(cell, str):
        return [cell]  # which `pack` refuses by its place
    return [cell.strip()] if whole and NUMBER.fullmatch(cell.strip()) else split(cell)


def written(cell: object) -> str:
    return "" if cell is None else str(cell).lower() if isinstance(cell, bool) else str(cell)


def _filled(cell: Any) -> Any:
    """The cell; None if nothing is in it."""
    if isinstance(cell, str):
        return cell if cell.strip() else None
    if isinstance(cell, float):
        return None if cell != cell else cell
    return None if type(cell).__name__ in ("NAType", "NaTType") else cell  # of pandas


def _number(cell: Any) -> int | float | None:
    """The number that a cell holds, None if it is empty; ValueError if it holds something else."""
    if type(cell) in (int, float) or cell is None:
        return cell
    if not isinstance(cell, str):
        raise ValueError
    word = cell.strip()
    if word.lower() in MISSING:
        return None
    if not NUMBER.fullmatch(word):
        raise ValueError
    return float(word) if set(word) & set(".eE") else int(word)


def _column(name: str, cells: Iterable, whole: bool) -> Column:
    """The column with its empty cells, and its numbers if it holds nothing else."""
    cells = list(map(_filled, cells))
    lists = next((cell for cell in cells if isinstance(cell, list) and cell), None)
    if lists is not None:
        kind = "objects" if isinstance(lists[0], dict) else "lists"
        return Column(name, cells, kind, isinstance(lists[0], str))
    if any(isinstance(cell, dict) for cell in cells):
        return Column(name, cells, "objects", True)
    try:
        numbers = list(map(_number, cells)) if whole else []
    except ValueError:
        numbers = []
    if any(number is not None for number in numbers):
        return Column(name, numbers, "numbers", False)
    return Column(name, cells, "text", True)


def _rows_to_keep(
    table: Table, places: Sequence[int], columns: Sequence[Column], empty: str
) -> tuple[Sequence[int], list[str]]:
    """The numbers of the rows that are read, and what there is to say about empty cells."""
    gaps = {x.name: [i for i, cell in enumerate(x.cells) if cell is None] for x in columns}
    gaps = {name: rows for name, rows in gaps.items() if rows}
    if not gaps:
        return range(len(places)), []
    rows = set(chain.from_iterable(gaps.values()))
    listed = "; ".join(
        f'"{name}" in {table.where([places[i] for i in found])}' for name, found in gaps.items()
    )
    some = f"{len(rows):,} {'row has' if len(rows) == 1 else 'rows have'} an empty cell ({listed})"
    if empty == "skip":
        return [i for i in range(len(places)) if i not in rows], [f"{some}: left out"]
    numeric = [x.name for x in columns if x.kind == "numbers" and x.name in gaps]
    if empty == "keep" and not numeric:
        return range(len(places)), [f"{some}: kept as empty text"]
    keep = "or keep them as empty text with `empty='keep'`"
    if empty == "keep":
        keep = (
            f"since no number can be empty; or read {numeric[0]!r} as text with `numeric='words'`"
        )
    raise ByheartError(f"{table.name}: {some}; leave such rows out with `empty='skip'`, {keep}.")


def _between(
    table: Table,
    columns: Sequence[Column],
    rows: Iterable[list[list]],
    strings: bool,
    given: str | None,
) -> str | None:
    """The token between columns of text, which no cell contains; None if there is no need."""
    if given == "":
        return given
    if not strings:
        lengths = {tuple(map(len, row)) for row in rows}
        for column, found in zip(columns, zip(*lengths, strict=True), strict=False):
            if len(set(found)) > 1:
                raise ByheartError(
                    f'{table.name}: the lists of "{column.name}" differ in length, so nothing '
                    "keeps its numbers apart from those of other columns; give a single "
                    "`input=...`."
                )
        return None
    tokens = chain.from_iterable(map(chain.from_iterable, rows))
    seen = {token.lstrip() for token in tokens if type(token) is str}
    if given is None:
        return next(mark for mark in ("|" * size for size in count(1)) if mark not in seen)
    if given in seen:
        raise ByheartError(
            f"{table.name}: a cell contains the token {given!r}, which is to stand between "
            "columns; leave out `between=...`, or choose another."
        )
    return given


def joined(cells: Iterable[list], between: str | None, space: str = "") -> list:
    """The tokens of a row, with a mark between its cells, or with the space of running text."""
    tokens: list = []
    for number, cell in enumerate(cells):
        if between and number:
            tokens += [between, *cell]
        else:
            tokens += [space + cell[0], *cell[1:]] if space and tokens and cell else cell
    return tokens


def _torn(table: Table, places: Sequence[int], column: Column) -> Iterator[str]:
    """What there is to say about a column that is read as text, and looks like numbers."""
    if column.kind == "numbers":
        yield f'"{column.name}" holds numbers; beside text, each of them is one word'
    words = [(i, cell.strip()) for i, cell in enumerate(column.cells) if isinstance(cell, str)]
    numbers = sum(NUMBER.fullmatch(word) is not None for _, word in words)
    commas = [i for i, word in words if DECIMAL_COMMA.fullmatch(word)]
    if len(words) < 2 * numbers < 2 * len(words):
        place, other = next((i, word) for i, word in words if not NUMBER.fullmatch(word))
        yield (
            f'"{column.name}" is read as text, since {table.where([places[place]])} holds '
            f"{other[:30]!r}; {numbers:,} other cells are numbers"
        )
    elif commas and 2 * (numbers + len(commas)) > len(words):
        yield (
            f'"{column.name}" is read as text, since its numbers have a decimal comma '
            f"({table.where([places[commas[0]]])}); write 1.5, not 1,5, if they are numbers"
        )


def _label(cell: Any) -> Any:
    """A label as it is stored: text as it is, "true" or "false", "" for no cell, 3 for 3.0."""
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, float) and cell.is_integer():
        return int(cell)
    return cell if isinstance(cell, str) or _filled(cell) is not None else ""


def _count(cell: Any) -> Any:
    """A count as a number, also where all cells are text."""
    digits = isinstance(cell, str) and re.fullmatch("[0-9]{1,18}", cell.strip())
    return int(cell) if digits else _label(cell)
