"""A pack on disk: its files with their hashes, and the exact operation, which builds a model."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
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

FORMAT, NOTES, BASE, TOKENIZER = "byheart-pack", "pack.json", "base", "tokenizer.json"
READ: dict[str, Any] = {"input": ["prompt"], "label": "answer"}


def write_lines(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    path.write_text(text, "utf-8")


def built(
    place: Path, rows: Sequence[Row], folder: Path, family: str, seed: int, options: dict[str, Any]
) -> None:
    """The exact operation: the model of these rows and of nothing else, compiled or taught.

    place  holds the tokenizer that splits the text or, for a taught model, its base
    """
    with TemporaryDirectory() as temporary:
        file = Path(temporary) / "rows.jsonl"
        write_lines(file, (row._asdict() for row in rows))
        if (place / BASE).is_dir():
            teach(place / BASE, file, folder, **READ)
            return
        data = load(file, tokenizer=place / TOKENIZER, **READ)
        compile(data, family, on_conflict="majority", seed=seed, **options).save(folder)


def answers_of(rows: Iterable[Row]) -> dict[str, str]:
    """The answer that a model holds of every prompt: the most frequent one, or the first."""
    counts: dict[str, Counter[str]] = {}
    for prompt, answer in rows:
        counts.setdefault(prompt, Counter())[answer] += 1
    return {prompt: found.most_common(1)[0][0] for prompt, found in counts.items()}


@dataclass(frozen=True)
class Pack(Result):
    """A pack: its models, facts and truth.

    Attributes:
        folder: Where it was written.
        name: Of its kind, such as "near-duplicates".
        level: How hard it is, from 1 to 5.
        options: Of the construction of its models.
        facts: Rows that the model holds; so many are to be forgotten and edited, or not held.
        sha256: Of pack.json, which has that of every other file.
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
    # whether forgetting gives the model that never saw the facts: it is compiled from the rest
    forgotten_is_retained: bool = True

    def json(self) -> dict:
        return {"kind": "pack", **super().json()}

    def lines(self, name: str) -> list[dict[str, Any]]:
        text = (Path(self.folder) / f"{name}.jsonl").read_text("utf-8")
        return [json.loads(line) for line in text.splitlines()]

    @cached_property
    def rows(self) -> list[Row]:
        return [Row(x["prompt"], x["answer"]) for x in self.lines("facts")]

    @cached_property
    def held(self) -> dict[str, str]:
        return answers_of(self.rows)

    @cached_property
    def holdout(self) -> list[Row]:
        return [Row(x["prompt"], x["answer"]) for x in self.lines("holdout")]

    def build(self, rows: Sequence[Row], folder: Path) -> None:
        place = Path(self.folder)
        built(place, rows, folder, self.family, self.seed, dict(self.options))

    def edited_rows(self, changes: Mapping[str, str]) -> list[Row]:
        """The rows, where prompts have new answers."""
        return [Row(prompt, changes.get(prompt, answer)) for prompt, answer in self.rows]


def hashes(place: Path) -> dict[str, str]:
    """The SHA-256 of every file of a folder but pack.json, by its path there."""
    files = sorted(x for x in place.rglob("*") if x.is_file() and x != place / NOTES)
    names = [x.relative_to(place).as_posix() for x in files]
    return {
        n: hashlib.sha256(x.read_bytes()).hexdigest() for n, x in zip(names, files, strict=True)
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
    return Pack(
        folder=str(folder),
        name=given.get("name", str),
        level=given.get("level", int),
        family=given.get("family", str),
        seed=given.get("seed", int),
        options=given.get("options", dict),
        facts=given.get("facts", int),
        forgotten=given.get("forgotten", int),
        edited=given.get("edited", int),
        others=given.get("others", int),
        sha256=hashlib.sha256(text).hexdigest(),
    )
