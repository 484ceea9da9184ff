"""The rows of a table by their shape: as they stand, or as people keep chats, tasks and texts.

A shape is recognised by its columns if nobody names any, and it is named in a note. `--shape rows`
reads a table as it stands.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from string import ascii_uppercase
from typing import Any

from ...errors import ByheartError, Message
from ..columns import Table, fields, written
from ..dataset import Dataset
from ..documents import Documents
from .corpus import documents_of
from .text import margins

ROWS, TEXTS = "rows", "texts"
TURNS = (("role", "content"), ("from", "value"))  # how a turn says who speaks, and what
CHATS = ("messages", "conversations", "conversation")  # columns that hold turns
ANSWERS = ("assistant", "gpt", "model", "bot", "chatgpt")
ASKED, ANSWERED = "input", "label"  # columns of what is made
Pair = tuple[Any, Any]  # what is asked, and the answer


def read_rows(
    table: Table, *, shape: str | None = None, window: int | str | None = None, **how: Any
) -> Dataset | Documents:
    """The dataset of a table, or its documents; the options are those of `load`."""
    named = how["input"] or how["label"] or how["template"] or how["answer"]
    found = shape or (ROWS if named else recognised(table))
    if found != ROWS and named:
        raise ByheartError(f"`shape={found!r}` names its columns itself; leave out the others.")
    if found == TEXTS:
        return _texts(table, window, how)
    if window is not None:
        raise ByheartError(
            f"{table.name}: `window=...` is for documents, and these are rows with a label."
        )
    if found == ROWS:
        return Dataset(**fields(table, **how))
    note, used, make = SHAPES[found]
    columns = [x for x in used if x in table.columns]
    if not columns:
        raise ByheartError(f"{table.name} has no {found}: {table.named()}.")
    asked = {**how, "input": [ASKED], "label": ANSWERED, "numeric": "words"}
    unread: dict[str, None] = {}
    made = Dataset(**fields(_made(table, columns, make, how["count"], unread), **asked))
    loading = {x: y for x, y in made.loading.items() if x not in ("input", "label", "between")}
    unused = [x for x in table.columns if x.partition(".")[0] not in (*columns, how["count"])]
    unused += unread
    notes = (Message(f"{note} ({', '.join(columns)})"), *made.notes)
    loading["shape"] = found
    return replace(made, loading=loading, unused=tuple(unused), notes=notes)


def recognised(table: Table) -> str:
    """The shape of a table by the names of its columns and its first cells."""
    names = {*table.columns}
    if names == {"text"}:
        return TEXTS
    if {"instruction", "output"} <= names:
        return "tasks"
    if not table.nested:
        return ROWS
    if {"instruction", "instances"} <= names:
        return "tasks"
    if {"question", "choices", "answer"} <= names:
        return "choices"
    for name in names.intersection(CHATS):
        first = next((x for x in table.select([name])[1][0] if x), None)
        if isinstance(first, list) and isinstance(first[0], Mapping) and _turn(first[0]):
            return "chat"
    return ROWS


def _made(
    table: Table, columns: Sequence[str], make: Callable, count: str | None, unread: dict[str, None]
) -> Table:
    """The table of what is asked and answered in the rows of another one.

    unread  where it is noted what of the columns is neither
    """

    def select(chosen: Sequence[str]) -> tuple[Sequence[int], list[list]]:
        places, cells = table.select([*columns, *([] if count is None else [count])])
        found: list[int] = []
        made: list[list] = [[] for _ in chosen]
        for place, row in zip(places, zip(*cells, strict=True), strict=True):
            try:
                pairs = list(make(dict(zip(columns, row, strict=False)), unread))
            except (TypeError, ValueError, LookupError, AttributeError):
                raise ByheartError(
                    f"{table.name}, {table.unit} {place}: not of the shape of the others; give "
                    "`input=...` and `label=...`."
                ) from None
            for asked, answer in pairs:
                found.append(place)
                for column, cell in zip(made, (asked, answer, row[-1]), strict=False):
                    column.append(cell)
        return found, made

    names = [ASKED, ANSWERED, *([] if count is None else [count])]
    return Table(table.name, table.unit, names, select)


def _turn(turn: Mapping) -> tuple[str, str] | None:
    return next((keys for keys in TURNS if {*keys} <= {*turn}), None)


def _text(cell: Any) -> str:
    """A cell as text; TypeError if it holds more than one."""
    if isinstance(cell, list | Mapping):
        raise TypeError
    return written(cell)


def _chat(row: Mapping[str, Any], unread: dict[str, None]) -> Iterator[Pair]:
    """Each turn of the assistant after all that precedes it; an empty pair if there is none."""
    for column, turns in row.items():
        said = last = ""
        for turn in turns or ():
            who, what = _turn(turn) or TURNS[0]
            speaker = str(turn[who])
            text = _spoken(turn, who, what, column, unread)
            if speaker.lower() in ANSWERS and said:
                yield f"{said}{speaker}:", text
                last = f"{said}{speaker}: {text}\n"
            said += f"{speaker}: {text}\n"
        if turns and not last:
            yield None, None
        elif said != last:
            unread[f"{column} after the last answer"] = None


def _spoken(turn: Mapping, who: str, what: str, column: str, unread: dict[str, None]) -> str:
    """What a turn says: its text, that of its parts, or the call that it makes instead."""
    content, others = turn.get(what), {x: y for x, y in turn.items() if x not in (who, what) and y}
    if isinstance(content, list):
        strange = [x for x in content if not {*x} <= {"type", "text"} or "text" not in x]
        unread.update((f"{column}.{what}.{x.get('type', 'part')}", None) for x in strange)
        content = "".join(str(part["text"]) for part in content if "text" in part)
    if content:
        unread.update((f"{column}.{x}", None) for x in others)
        return str(content)
    return json.dumps(others, ensure_ascii=False) if others else ""


def _tasks(row: Mapping[str, Any], unread: dict[str, None]) -> Iterator[Pair]:
    """The instruction, with its input below if there is one, and the output."""
    instances = row.get("instances")
    if instances:
        unread.update((x, None) for x in ("input", "output") if row.get(x))
    for instance in instances or [row]:
        if instances:
            others = (x for x in instance if x not in ("input", "output"))
            unread.update((f"instances.{x}", None) for x in others)
        parts = [_text(x) for x in (row["instruction"], instance.get("input"))]
        yield "\n".join(x for x in parts if x.strip()), _text(instance["output"])


def _choices(row: Mapping[str, Any], unread: dict[str, None]) -> Iterator[Pair]:
    given, answer = row["choices"], row["answer"]
    if not isinstance(given, list) or len(given) > len(ascii_uppercase) or isinstance(answer, bool):
        raise ValueError
    choices = list(map(_text, given))
    lines = [f"{letter}. {x}" for letter, x in zip(ascii_uppercase, choices, strict=False)]
    if isinstance(answer, str):
        answer = answer.strip()
        letter = len(answer) == 1 and answer in ascii_uppercase
        answer = ascii_uppercase.index(answer) if letter else int(answer)
    if not 0 <= answer < len(choices):
        raise ValueError
    yield "\n".join([_text(row["question"]), *lines]), choices[answer]


SHAPES: dict[str, tuple[str, tuple[str, ...], Callable]] = {  # a note, columns, what they make
    "chat": ("each answer of the assistant after what precedes it", CHATS, _chat),
    "tasks": (
        "an instruction, its input below it, and the output",
        ("instruction", "input", "output", "instances"),
        _tasks,
    ),
    "choices": (
        "a question with its choices, and the right one",
        ("question", "choices", "answer"),
        _choices,
    ),
}


def _texts(table: Table, window: int | str | None, how: Mapping[str, Any]) -> Documents:
    name = table.columns[0]
    places, (cells,) = table.select([name])
    for place, cell in zip(places, cells, strict=True):
        if not isinstance(cell, str):
            raise ByheartError(f"{table.name}, {table.unit} {place}: {name!r} is no text.")
    given = {name: how[name] for name in ("unit", "tokenizer", "length")}
    read = documents_of(table.name, cells, window=window, **given)
    notes = ["every text is a document, whose next tokens are predicted"]
    notes += margins("documents", cells, read.loading.get("unit"))
    others = tuple(x for x in table.columns if x != name)
    loading = {**read.loading, "shape": TEXTS}
    return replace(read, loading=loading, notes=(*map(Message, notes), *read.notes), unused=others)
