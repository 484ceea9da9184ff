"""JSON: one sequence or any other record per line, or a document that holds records."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from ...errors import ByheartError
from ...machine.files import replacing
from ..columns import NUMERIC, Table, fields
from ..dataset import Dataset
from ..documents import Documents
from ..records import Placed, pack
from ..templates import fields as fields_of
from ..values import Fault
from .objects import record_table, table
from .raw import Raw
from .rows import read_rows
from .text import read_text

EXAMPLE = '{"input": ["a", "b"], "label": "c"}'
LINES = 1 << 14
OWN = ((None, None), ("input", "label", "count"))  # ways to name what a sequence has
KEYS = {"input", "label", "count"}  # that a sequence has
BLANK = b" \t\r\n"


def read(raw: Raw, **how: Any) -> Dataset | Documents:
    """The sequences of a .jsonl file; blank lines are skipped. The options are those of `load`.

    Lists of tokens without options are read at once; anything else is a table.
    """
    records = _records(raw)
    first = next(records, (0, {}))
    placed = chain([first] if first[0] else [], records)
    ours = {"input", "label"} & {*first[1]} and not isinstance(first[1].get("input"), str)
    free = {"shape": None, "window": None, **(fields.__kwdefaults__ or {})}
    unnamed = {**how, "input": (), "label": None, "count": None} == free
    if ours and unnamed and (*how["input"], how["label"], how["count"]) in OWN:
        others: dict[str, None] = {}
        packed = pack(_sequences(placed, raw.name, others), raw.name)
        if not others and not how["input"]:
            return Dataset(**packed)
        counted = {"count": "count"} if (packed["counts"] != 1).any() else {}
        loading = {"input": ["input"], "label": "label", **counted, "numeric": NUMERIC}
        return Dataset(**packed, unused=tuple(others), loading=loading)
    wanted = [*how["input"], *(how[name] for name in ("label", "count") if how[name] is not None)]
    wanted += fields_of(how["template"], how["answer"])
    if not wanted and {"input", "label"} <= {*first[1]}:
        wanted = ["input", "label", "count"]
    return read_rows(record_table(placed, raw.name, "line", wanted), **how)


def holds_tokens(raw: Raw) -> bool:
    """Whether the first line is a sequence as `write` writes them, which needs no options."""
    first = next(_records(raw), (0, {}))[1]
    return {"input", "label"} <= {*first} <= KEYS and isinstance(first["input"], list)


def every(raw: Raw) -> Table:
    """The table of all records of a .jsonl file, with every column."""
    return record_table(_records(raw), raw.name, "line")


def every_of_document(raw: Raw, records: str | None) -> Table | list[str]:
    """The table that a .json file holds; or its strings, if it is a list of these."""
    value = _document(raw)
    if isinstance(value, list) and value and all(isinstance(x, str) for x in value):
        return value
    return table(value, raw.name, records)


def places(raw: Raw, loading: Mapping[str, object]) -> list[int]:
    return [place for place, line in enumerate(raw.file, 1) if line.strip(BLANK)]


def decoder() -> json.JSONDecoder:
    """Reads JSON without the constants that are not numbers, and without keys that stand twice."""

    def constant(name: str) -> float:
        if name == "NaN":  # an empty cell
            return float("nan")
        raise Fault(f"{name} is not a number that a token can be; leave such rows out")

    def distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):  # it means two things to two readers
            often = Counter(key for key, _ in pairs)
            twice = next(key for key in often if often[key] > 1)
            raise Fault(f"the key {twice!a} stands twice; leave one out")
        return found

    return json.JSONDecoder(object_pairs_hook=distinct, parse_constant=constant)


def _sequences(
    records: Iterator[tuple[int, dict]], name: str, others: dict[str, None]
) -> Iterator[Placed]:
    """The rows with their line numbers; ByheartError names the first line that lacks a key.

    others  where the keys are noted that are not read
    """
    for place, record in records:
        if not record.keys() <= KEYS:
            others.update(dict.fromkeys(key for key in record if key not in KEYS))
        for key in ("input", "label"):
            if key not in record:
                raise ByheartError(
                    f'{name}, line {place}: the key "{key}" is missing; write {EXAMPLE}.'
                )
        yield place, (record["input"], record["label"], record.get("count", 1))


def _records(raw: Raw) -> Iterator[tuple[int, dict]]:
    """The records with their line numbers; ByheartError names the first line that is none."""
    decode = decoder().decode
    for place, line in enumerate(raw.file, 1):  # bytes: only \n ends a line, whatever Unicode says
        try:
            if not line.strip(BLANK):
                continue
            text = line.decode("utf-8")
            if text[0] == "\ufeff":
                raise Fault("a byte order mark stands before the JSON; save the file without")
            value = decode(text)
            if not isinstance(value, dict):
                raise Fault(f"the line is not a JSON object; write {EXAMPLE}")
            yield place, value
        except UnicodeDecodeError as error:
            problem = f"byte {error.start + 1} is not UTF-8; save the file as UTF-8"
            raise ByheartError(f"{raw.name}, line {place}: {problem}.") from None
        except (Fault, RecursionError, ValueError) as error:
            problem = _problem(error, f"write {EXAMPLE}", f"write {EXAMPLE}")
            raise ByheartError(f"{raw.name}, line {place}: {problem}.") from None


def _problem(error: Exception, repair: str, flatten: str) -> str:
    """Why JSON cannot be decoded, and what to do if it is no JSON or nested too deeply."""
    if isinstance(error, Fault):
        return str(error)
    if isinstance(error, json.JSONDecodeError):
        return f"not valid JSON ({error.msg}, column {error.colno}); {repair}"
    if isinstance(error, RecursionError):
        return f"the JSON is nested too deeply; {flatten}"
    return "a number has too many digits; use a string"


def read_document(raw: Raw, records: str | None, **how: Any) -> Dataset | Documents:
    """The dataset of a .json file: a list or a mapping of records, or either inside another."""
    return read_rows(table(_document(raw), raw.name, records), **how)


def _document(raw: Raw) -> Any:
    text = read_text(raw)
    try:
        return decoder().decode(text)
    except (Fault, RecursionError, ValueError) as error:
        where, repair = raw.name, "repair it"
        if isinstance(error, json.JSONDecodeError):
            where += f", line {error.lineno}"
            ends = {line.strip()[-1:] for line in text.strip().split("\n")}
            if error.msg == "Extra data" and ends <= {"}", ""}:
                repair = "if every line is a record, say so with `format='jsonl'`"
        raise ByheartError(f"{where}: {_problem(error, repair, 'flatten it')}.") from None


def write(dataset: Dataset, path: str | Path) -> None:
    """Write the canonical data.jsonl: reading it back gives the same sha256.

    json writes a float64 by its shortest decimal form that reads back as the same float64.
    """
    values: list = list(dataset.tokens) if dataset.kind == "string" else dataset.vectors.tolist()
    if dataset.kind == "number":
        values = [vector[0] for vector in values]
    tokens, labels = list(map(json.dumps, values)), list(map(json.dumps, dataset.label_names))
    with replacing(path) as file:
        for start in range(0, len(dataset), LINES):
            stop = min(start + LINES, len(dataset))
            begin, end = dataset.starts[start], dataset.starts[stop]
            words = [tokens[i] for i in dataset.ids[begin:end].tolist()]
            places = (dataset.starts[start : stop + 1] - begin).tolist()
            first, last = (begin, end) if dataset.every else (start, stop)
            names = [labels[i] for i in dataset.labels[first:last].tolist()]
            for row, count in enumerate(dataset.counts[start:stop].tolist()):
                own = slice(places[row], places[row + 1])
                label = f"[{', '.join(names[own])}]" if dataset.every else names[row]
                line = ", ".join(words[own])
                text = f'{{"input": [{line}], "label": {label}, "count": {count}}}\n'
                file.write(text.encode("ascii"))
