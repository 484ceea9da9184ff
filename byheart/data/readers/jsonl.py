"""One sequence per line: {"input": [...], "label": ..., "count": ...}."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...errors import ByheartError
from ...machine.files import replacing
from ..dataset import Dataset
from ..records import Placed, pack
from ..values import Fault

EXAMPLE = '{"input": ["a", "b"], "label": "c"}'
LINES = 1 << 14


def read(path: Path) -> Dataset:
    """The sequences of a .jsonl file; blank lines are skipped."""
    return Dataset(**pack(_rows(path), str(path)))


def _rows(path: Path) -> Iterator[Placed]:
    """The rows with their line numbers; ByheartError names the first line that is not a row."""

    def refuse_constant(name: str) -> None:
        raise Fault(f"{name} is not a number that a token can be; leave such rows out")

    def distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):  # it means two things to two readers
            twice = next(key for i, (key, _) in enumerate(pairs) if key in dict(pairs[:i]))
            raise Fault(f"the key {twice!a} stands twice; leave one out")
        return found

    decode = json.JSONDecoder(object_pairs_hook=distinct, parse_constant=refuse_constant).decode
    with open(path, "rb") as file:  # bytes: only \n ends a line, whatever Unicode says
        for place, line in enumerate(file, 1):
            try:
                if not line.strip(b" \t\r\n"):
                    continue
                text = line.decode("utf-8")
                if text[0] == "\ufeff":
                    raise Fault("a byte order mark stands before the JSON; save the file without")
                value = decode(text)
                if not isinstance(value, dict):
                    raise Fault(f"the line is not a JSON object; write {EXAMPLE}")
                for key in ("input", "label"):
                    if key not in value:
                        raise Fault(f'the key "{key}" is missing; write {EXAMPLE}')
                yield place, (value["input"], value["label"], value.get("count", 1))
                continue
            except Fault as fault:
                reason = str(fault)
            except UnicodeDecodeError as error:
                reason = f"byte {error.start + 1} is not UTF-8; save the file as UTF-8"
            except json.JSONDecodeError as error:
                reason = f"not valid JSON ({error.msg}, column {error.colno}); write {EXAMPLE}"
            except RecursionError:
                reason = f"the JSON is nested too deeply; write {EXAMPLE}"
            except ValueError:
                reason = "a number has too many digits; use a string"
            raise ByheartError(f"{path}, line {place}: {reason}.")


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
            lines = []
            for row, count in enumerate(dataset.counts[start:stop].tolist()):
                own = slice(places[row], places[row + 1])
                label = f"[{', '.join(names[own])}]" if dataset.every else names[row]
                line = ", ".join(words[own])
                lines.append(f'{{"input": [{line}], "label": {label}, "count": {count}}}\n')
            file.write("".join(lines).encode("ascii"))
