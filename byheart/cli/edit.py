"""edit: a model folder with some items changed, added or removed."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from ..compiler.editing import edit
from ..data.dataset import Dataset
from ..errors import ByheartError
from ..machine.watch import Watch
from ..models.model import Model
from ..models.questions import from_line
from ..models.source import load_whole
from ..models.verification import PROVE_LIMIT
from . import options
from .changing import New, Old, Place, WriteData, item, objects, opened, saved, view, written
from .output import check_prove_limit, finish
from .progress import watching

KINDS = ("change", "add", "remove")
EXAMPLE = '{"edit": "change", "input": ["a", "b"], "label": "c"}'


@options.repeating
def command(
    directory: options.Directory,
    data: options.Data,
    output: New,
    loading: options.Loading,
    set: Annotated[
        list[str] | None,
        typer.Option(metavar="INPUT=LABEL", help="Change a label; may be repeated."),
    ] = None,
    add: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Add the rows or documents of a file.")
    ] = None,
    edits: Annotated[
        Path | None, typer.Option(metavar="FILE", help=f".jsonl, lines like {EXAMPLE}.")
    ] = None,
    rebuild: Annotated[
        bool, typer.Option("--rebuild", help="Compile the changed data from nothing else.")
    ] = False,
    write_data: WriteData = None,
    prove_limit: options.ProveLimit = PROVE_LIMIT,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Change, add or remove items of a model; the new folder is the one that compile would write.

    Needs a folder compiled with --editable (or by one-layer, token-averaging, gpt2 or llama) and
    its data.
    """
    check_prove_limit(prove_limit)
    place = Place(output, write_data, force)
    with watching() as watch:
        old = opened(directory, data, loading, place, watch)
        answer = edited(old, place, watch, set or (), add, edits, rebuild, prove_limit)
    finish(answer, json, view)
    if not json:
        written(answer)


def edited(
    old: Old,
    place: Place,
    watch: Watch,
    settings: Sequence[str] = (),
    add: Path | None = None,
    edits: Path | None = None,
    rebuild: bool = False,
    prove_limit: float = PROVE_LIMIT,
) -> dict:
    """The answer of the command, once the folder is written."""
    changes = [split(old, text) for text in settings]
    added: list = []
    removed: list = []
    for kind, tokens, label in lines(old.model, edits) if edits is not None else ():
        if kind == "change":
            changes.append((tokens, label))
        elif kind == "add":
            added.append((tokens, label))
        else:
            removed.append(tokens)
    if add is not None and added:
        raise ByheartError("--add and lines that add in --edits do not go together; use one file.")
    more = more_rows(old, add) if add is not None else added or None
    limits: dict[str, Any] = {"rebuild": rebuild, "prove_limit": prove_limit, "watch": watch}
    return saved(edit(old.model, old.data, changes, more, removed, **limits), old, place, watch)


def more_rows(old: Old, path: Path) -> Dataset:
    """The rows or documents of another file; a stock checkpoint's own tokenizer splits them."""
    own = {"tokenizer": old.directory} if old.data.tokenizer is not None else {}
    return load_whole(old.model, path, old.given | own)


def split(old: Old, text: str) -> tuple[list, Any]:
    """Tokens and label of INPUT=LABEL, apart at the last = sign."""
    tokens, mark, label = text.rpartition("=")
    if not mark or not tokens.strip() or not label.strip():
        raise ByheartError(f"--set takes INPUT=LABEL, such as 'capital of france=paris': {text!r}.")
    return from_line(old.model, tokens.strip()), label_of(old.data, label.strip())


def label_of(data: Dataset, text: str) -> Any:
    """The label that a person typed: one, or one for every token."""
    words = text.split() if data.every else [text]
    if isinstance(data.label_names[0], int):
        try:
            words = [int(word) for word in words]  # type: ignore[misc]
        except ValueError:
            raise ByheartError(
                f"the labels of this model are integers, and {text!r} is not one."
            ) from None
    return list(words) if data.every else words[0]


def lines(model: Model, path: Path) -> Iterator[tuple[str, list, Any]]:
    """Kind, tokens and label of each line of a file of edits."""
    for place, value in objects(path, EXAMPLE):
        kind = value.get("edit")
        if kind not in KINDS:
            raise ByheartError(f'{place}: "edit" must be one of {", ".join(KINDS)}, not {kind!r}.')
        tokens = item(model, value, place, EXAMPLE)
        if ("label" in value) == (kind == "remove"):
            has = "has no label" if kind == "remove" else "needs a label"
            raise ByheartError(f"{place}: an edit of the kind {kind} {has}.")
        yield kind, tokens, value.get("label")
