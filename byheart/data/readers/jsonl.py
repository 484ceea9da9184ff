"""A line a sequence: {"input": [...], "label": ..., "count": ...}."""

import json
from collections.abc import Iterator
from pathlib import Path

from ...errors import ByheartError
from ...machine.files import replacing
from ..dataset import Dataset
from ..records import Placed, Row, pack
from ..values import Fault

EXAMPLE = '{"input": ["a", "b"], "label": "c"}'
LINES = 1 << 14


def read(path: Path) -> Dataset:
    """The sequences of a .jsonl file; blank lines are passed over."""
    return pack(_rows(path), str(path))


def _rows(path: Path) -> Iterator[Placed]:
    decode = json.JSONDecoder(parse_constant=_refuse_constant).decode
    with open(path, "rb") as file:  # bytes: only \n ends a line, whatever Unicode says
        for place, line in enumerate(file, 1):
            try:
                text = line.decode("utf-8-sig" if place == 1 else "utf-8")
                if text.strip():
                    yield place, _row(decode(text))
            except Fault as fault:
                raise ByheartError(f"{path}, line {place}: {fault}.") from None
            except (ValueError, RecursionError) as error:
                raise ByheartError(f"{path}, line {place}: {_reason(error)}.") from None


def _refuse_constant(name: str) -> None:
    raise Fault(f"{name} is not a number that a token can be; leave such rows out")


def _row(value: object) -> Row:
    if not isinstance(value, dict):
        raise Fault(f"the line is no JSON object; write {EXAMPLE}")
    for key in ("input", "label"):
        if key not in value:
            raise Fault(f'the key "{key}" is missing; write {EXAMPLE}')
    return value["input"], value["label"], value.get("count", 1)


def _reason(error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return f"byte {error.start + 1} is not UTF-8; save the file as UTF-8"
    if isinstance(error, json.JSONDecodeError):
        return f"not valid JSON ({error.msg}, column {error.colno}); write {EXAMPLE}"
    if isinstance(error, RecursionError):
        return f"the JSON is nested too deeply; write {EXAMPLE}"
    return "a number has too many digits; use a string"


def write(dataset: Dataset, path: str | Path) -> None:
    """Write the canonical data.jsonl: reading it back gives the same sha256.

    json writes a float64 by its shortest decimal form that reads back as the same float64.
    """
    tokens = list(map(json.dumps, _tokens(dataset)))
    labels = list(map(json.dumps, dataset.label_names))
    with replacing(path) as file:
        for start in range(0, len(dataset), LINES):
            stop = min(start + LINES, len(dataset))
            file.write("".join(_lines(dataset, tokens, labels, start, stop)).encode("ascii"))


def _tokens(dataset: Dataset) -> list:
    """The distinct tokens as JSON values."""
    if dataset.kind == "string":
        return list(dataset.tokens)
    vectors = dataset.vectors.tolist()
    return vectors if dataset.kind == "vector" else [vector[0] for vector in vectors]


def _lines(
    dataset: Dataset, tokens: list[str], labels: list[str], start: int, stop: int
) -> Iterator[str]:
    begin = dataset.starts[start]
    words = [tokens[i] for i in dataset.ids[begin : dataset.starts[stop]].tolist()]
    places = (dataset.starts[start : stop + 1] - begin).tolist()
    counts = dataset.counts[start:stop].tolist()
    first, last = (begin, dataset.starts[stop]) if dataset.every else (start, stop)
    names = [labels[i] for i in dataset.labels[first:last].tolist()]
    for row, count in enumerate(counts):
        own = slice(places[row], places[row + 1])
        label = f"[{', '.join(names[own])}]" if dataset.every else names[row]
        line = ", ".join(words[own])
        yield f'{{"input": [{line}], "label": {label}, "count": {count}}}\n'
