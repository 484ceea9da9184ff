"""edit: a model folder with some items changed, added or removed."""

import hashlib
import json as decoder
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Group
from rich.text import Text

from ..compiler.editing import Change, edit
from ..data.load import write_jsonl
from ..errors import ByheartError
from ..machine.files import refuse_existing
from ..machine.watch import SILENT, Watch
from ..models.folder.read import open as open_folder
from ..models.folder.swap import check_place
from ..models.model import Model
from ..models.questions import checked, from_line
from ..models.source import load_whole, settlement, verify_command
from ..models.verification import PROVE_LIMIT
from . import options
from .output import (
    check_prove_limit,
    copied,
    finish,
    model_answer,
    number,
    plural,
    rows,
    size_rows,
    timed,
    verdict,
)
from .progress import watching

KINDS = ("change", "add", "remove")
EXAMPLE = '{"edit": "change", "input": ["a", "b"], "label": "c"}'
New = Annotated[Path, typer.Option("-o", "--output", help="The model folder to write.")]
WriteData = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Write the data that the new model holds, as .jsonl."),
]


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

    Needs a folder compiled with --editable (or by one-layer or token-averaging) and its data.
    """
    check_prove_limit(prove_limit)
    with watching() as watch:
        answer = edited(
            directory,
            data,
            output,
            loading,
            set or (),
            add,
            edits,
            rebuild,
            write_data,
            prove_limit,
            force,
            watch,
        )
    finish(answer, json, view)
    if not json:
        written(answer)


def edited(
    directory: Path,
    data: Path,
    output: Path,
    loading: options.Loading | None = None,
    settings: Any = (),
    add: Path | None = None,
    edits: Path | None = None,
    rebuild: bool = False,
    write_data: Path | None = None,
    prove_limit: float = PROVE_LIMIT,
    force: bool = False,
    watch: Watch = SILENT,
) -> dict:
    """The answer of the command, once the folder is written."""
    check_places(output, write_data, force)
    watch.stage("opening")
    model, before = opened(directory)
    given = dict(loading or {})
    dataset = load_whole(model, data, given)
    changes = [split(model, text) for text in settings]
    added: list = []
    removed: list = []
    for kind, tokens, label in lines(model, edits) if edits is not None else ():
        if kind == "change":
            changes.append((tokens, label))
        elif kind == "add":
            added.append((tokens, label))
        else:
            removed.append(tokens)
    more: Any = None
    if add is not None and added:
        raise ByheartError("--add and lines that add in --edits do not go together; use one file.")
    if add is not None:
        more = load_whole(model, add, given)
    elif added:
        more = added
    found = edit(
        model,
        dataset,
        changes,
        more,
        removed,
        rebuild=rebuild,
        prove_limit=prove_limit,
        watch=watch,
    )
    return saved(found, output, before, write_data, force, watch)


def check_places(output: Path, write_data: Path | None, force: bool) -> None:
    """ByheartError if the new folder or the data file cannot be written there."""
    check_place(output, force)
    if write_data is not None:
        refuse_existing(write_data, force)
        if write_data.suffix != ".jsonl":
            raise ByheartError(f"{write_data}: the data is written as .jsonl; name it so.")


def opened(directory: Path) -> tuple[Model, str]:
    """The model of a folder, and the hash of its weights."""
    model = open_folder(directory)
    with open(Path(directory) / model.claim.weights_file, "rb") as file:
        return model, hashlib.file_digest(file, "sha256").hexdigest()


def saved(
    found: Change, output: Path, before: str, write_data: Path | None, force: bool, watch: Watch
) -> dict:
    """Write the folder, then the data; the answer says what changed.

    The hash of the old weights is in the answer alone: whoever has the remaining data could compile
    it with each guess of a removed item and compare.
    """
    watch.stage("writing")
    model = found.model
    _, held, _ = settlement(model, found.data)
    model.save(output, force=force)
    with open(output / model.claim.weights_file, "rb") as file:
        after = hashlib.file_digest(file, "sha256").hexdigest()
    verify = None
    if write_data is not None:
        write_jsonl(held, write_data)
        verify = verify_command(model, str(output), str(write_data), canonical=True) + " --rebuild"
    return {
        **model_answer(model, model.verification, model.about["seconds"]),
        **found.json(),
        "weights": {"before": before, "after": after},
        "written": str(output),
        "verify": verify,
    }


def split(model: Model, text: str) -> tuple[list, Any]:
    """Tokens and label of INPUT=LABEL, apart at the last = sign."""
    tokens, mark, label = text.rpartition("=")
    if not mark or not tokens.strip() or not label.strip():
        raise ByheartError(f"--set takes INPUT=LABEL, such as 'capital of france=paris': {text!r}.")
    return from_line(model, tokens.strip()), label_of(model, label.strip())


def label_of(model: Model, text: str) -> Any:
    """The label that a person typed: one, or one for every token."""
    words = text.split() if model.every else [text]
    if isinstance(model.labels[0], int):
        try:
            words = [int(word) for word in words]  # type: ignore[misc]
        except ValueError:
            raise ByheartError(
                f"the labels of this model are integers, and {text!r} is not one."
            ) from None
    return list(words) if model.every else words[0]


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


def item(model: Model, value: dict, place: str, example: str) -> list:
    """The tokens of a line: a list of them, or text."""
    found = value.get("input")
    try:
        return from_line(model, found) if isinstance(found, str) else checked(model, found)
    except ByheartError as error:
        raise ByheartError(f"{place}: {error} Write {example}.") from None


def objects(path: Path, example: str) -> Iterator[tuple[str, dict]]:
    """The JSON objects of a file, one per line, and where each stands."""
    try:
        content = path.read_text("utf-8-sig")
    except OSError as error:
        raise ByheartError(f"{path} cannot be read: {error.strerror or error}.") from error
    except UnicodeDecodeError:
        raise ByheartError(f"{path} is not UTF-8; save it as UTF-8.") from None
    found = [(i, line) for i, line in enumerate(content.split("\n"), 1) if line.strip()]
    if not found:
        raise ByheartError(f"{path} holds no line; write {example}.")
    for i, line in found:
        try:
            value = decoder.loads(line)
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            raise ByheartError(f"{path}, line {i}: not a JSON object; write {example}.")
        yield f"{path}, line {i}", value


def view(answer: dict) -> Group:
    """What changed, on what evidence, and the size of the network."""
    counted = [plural(answer[name], "item") + f" {name}" for name in ("changed", "added")]
    gone = "forgotten" if answer["kind"] == "forget" else "removed"
    counted.append(f"{plural(answer['removed'], 'item')} {gone}")
    lines = [("items", number(answer["rows"]), "rows: " + ", ".join(nonzero(counted)))]
    found = answer["difference"]
    if found is None:
        lines.append(("parameters", "all", "the network has another shape"))
    else:
        of = f"of {number(found['of'])} differ, in {number(found['bits'])} bits"
        lines.append(("parameters", number(found["parameters"]), of))
    how = "compiled from the changed data alone" if answer["rebuilt"] else "solved again in place"
    kept = "structure kept" if answer["structure_kept"] else "structure found anew"
    lines.append(("how", "", f"{how}; {kept}"))
    hashes = [Text(f"weights {when} {answer['weights'][when]}") for when in ("before", "after")]
    return Group(
        rows(lines),
        *hashes,
        Text(),
        rows(size_rows(answer)),
        Text(),
        verdict(answer),
        timed(answer),
    )


def nonzero(counted: list[str]) -> list[str]:
    return [words for words in counted if not words.startswith("0 ")]


def written(answer: dict) -> None:
    words = f"\nwritten to {answer['written']}"
    if answer["verify"]:
        words += f"\nprove it: {answer['verify']}"
    else:
        words += "\n--write-data FILE also writes the data to verify it against"
    copied(words)
