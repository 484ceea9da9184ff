"""A pack on disk: its files with their hashes, and the exact operation, which builds a model."""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ...claims.result import Result
from ...data.load import load
from ...errors import ByheartError
from ...machine.strict import Object, read_text_file
from ..compile import compile
from ..teach import teach
from .facts import Row

MET = ("facts.jsonl", "forget.jsonl", "edits.jsonl", "holdout.jsonl", "model/tokenizer.json")
WEIGHTS = re.compile(r"model/[^/]*\.safetensors")
FORMAT, NOTES, BASE, TOKENIZER = "byheart-pack", "pack.json", "base", "tokenizer.json"
READ: dict[str, Any] = {"input": ["prompt"], "label": "answer"}


def write_lines(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    path.write_text(text, "utf-8")


def built(
    place: Path, rows: Iterable[Row], folder: Path, family: str, seed: int, options: Mapping
) -> None:
    """The exact operation: the model of these rows and of nothing else, compiled or taught.

    place  holds the tokenizer that splits the text or, for a taught model, its base
    """
    with TemporaryDirectory() as temporary:
        file = Path(temporary) / "rows.jsonl"
        write_lines(file, held_lines(rows))
        if (place / BASE).is_dir():
            teach(place / BASE, file, folder, **READ)
            return
        data = load(file, tokenizer=place / TOKENIZER, **READ)
        data = replace(data, loading={**data.loading, "tokenizer": TOKENIZER})  # not where it was
        compile(data, family, seed=seed, **options).save(folder)


def answers_of(rows: Iterable[Row]) -> dict[str, str]:
    """The answer that a model holds of every prompt: of the most frequent ones the first."""
    counts: dict[str, Counter[str]] = {}
    for prompt, answer in rows:
        counts.setdefault(prompt, Counter())[answer] += 1
    return {x: min(sorted(own, key=str.encode), key=lambda y: -own[y]) for x, own in counts.items()}


def held_lines(rows: Iterable[Row]) -> list[dict[str, str]]:
    return [{"prompt": x, "answer": y} for x, y in answers_of(rows).items()]


@dataclass(frozen=True)
class Pack(Result):
    """A pack: its models, facts and truth.

    name, level      of its kind, which is as hard as that, from 1 to 5
    options          of the construction of its models
    facts            rows that the model holds: so many are to be forgotten, so many edited, and
                     `others` are not held
    sha256           of the weights, tokenizer and facts that a method meets
    forgotten_is_retained  whether forgetting gives the model that never saw the facts
    """

    folder: str
    name: str
    level: int
    family: str
    seed: int
    options: Mapping[str, Any]
    facts: int
    forgotten: int
    edited: int
    others: int
    sha256: str
    forgotten_is_retained: bool = True

    def json(self) -> dict:
        return {"kind": "pack", **super().json()}

    def lines(self, name: str) -> list[dict[str, Any]]:
        text = (Path(self.folder) / f"{name}.jsonl").read_text("utf-8")
        return [json.loads(line) for line in text.splitlines()]

    def table(self, name: str) -> list[Row]:
        return [Row(x["prompt"], x["answer"]) for x in self.lines(name)]

    @cached_property
    def held(self) -> dict[str, str]:
        return answers_of(self.table("facts"))

    def build(self, rows: Sequence[Row], folder: Path) -> None:
        built(Path(self.folder), rows, folder, self.family, self.seed, self.options)


def hashes(place: Path) -> dict[str, str]:
    """The SHA-256 of every file of a folder but pack.json, by its path there."""
    files = sorted(x for x in place.rglob("*") if x.is_file() and x != place / NOTES)
    return {
        x.relative_to(place).as_posix(): hashlib.sha256(x.read_bytes()).hexdigest() for x in files
    }


def read(folder: str | Path) -> Pack:
    """The pack of a folder; ByheartError if a file is not the one that was written."""
    place = Path(folder)
    if not (place / NOTES).is_file():
        raise ByheartError(
            f"{folder} is not a pack: it has no {NOTES}; make one with `byheart generate pack`."
        )
    text = read_text_file(place / NOTES)
    given = Object.parse(text, f"{folder}/{NOTES}")
    given.expect("format", FORMAT)
    wanted, found = given.get("files", dict), hashes(place)
    for name in sorted({*wanted, *found}):
        if wanted.get(name) != found.get(name):
            what = "is missing" if name not in found else "was changed or added"
            raise ByheartError(f"{folder}/{name} {what} since the pack was made; make it again.")
    kinds = {"name": str, "level": int, "family": str, "seed": int, "options": dict}
    kinds |= dict.fromkeys(("facts", "forgotten", "edited", "others"), int)
    values: dict[str, Any] = {name: given.get(name, kind) for name, kind in kinds.items()}
    met = [x for name, x in sorted(found.items()) if name in MET or WEIGHTS.fullmatch(name)]
    sha256 = hashlib.sha256(" ".join(met).encode()).hexdigest()
    return Pack(folder=str(folder), sha256=sha256, **values)
