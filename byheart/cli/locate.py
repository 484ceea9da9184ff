"""locate: which parameters hold an answer, and which answers a parameter."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from .. import pictures
from ..compiler.explaining import explain
from ..errors import ByheartError
from ..machine.watch import SILENT, Watch
from ..models.difference import Place
from ..models.folder.read import open as open_folder
from ..models.locating import reverse
from ..models.model import Model
from ..models.placing import placed
from ..models.questions import from_words
from ..models.source import load_whole
from ..models.trace import followed
from . import options
from .explain_picture import draw
from .output import columns, drawn, finish, number, pictured, plural
from .progress import watching

SHOWN = 20  # parameters, or items
SETTINGS = {"ignore_unknown_options": False}


@options.repeating
def command(
    directory: options.Directory,
    loading: options.Loading,
    tokens: Annotated[
        list[str] | None,
        typer.Argument(metavar="[TOKENS]...", help="One question; with --reverse, the data file."),
    ] = None,
    reversed: Annotated[
        tuple[int, str, int, int] | None,
        typer.Option(
            "--reverse",
            metavar="LAYER TENSOR ROW COLUMN",
            help="The items of DATA whose answers read this parameter.",
        ),
    ] = None,
    plot: options.Picture = None,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Which parameters hold an answer, and which would have to change.

    byheart locate DIR TOKENS... names those that one answer reads; byheart locate DIR DATA
    --reverse LAYER TENSOR ROW COLUMN names the items that read one parameter.
    """
    with watching() as watch:
        if reversed is not None:
            answer = readers(directory, tokens or [], Place(*reversed), loading, watch)
        else:
            answer = located(directory, tokens or [], plot, force, watch)
    finish(answer, json, readers_view if reversed is not None else view)


def located(
    directory: Path,
    words: list[str],
    plot: Path | None = None,
    force: bool = False,
    watch: Watch = SILENT,
) -> dict:
    """The answer of the command for one question."""
    if not words:
        raise ByheartError("name the tokens of one question, such as: capital of france.")
    picture = pictures.checked(plot, force)
    watch.stage("opening")
    model = open_folder(directory)
    watch.stage("locating")
    tokens = placed(model, from_words(model, words)).tokens
    found = model.locate(tokens)
    stages = staged(model, found.read)
    answer = {**found.json(), "method": model.about.get("method"), "stages": stages}
    if picture is not None:
        pictured(lit(model, tokens, found.read, directory.name), draw, picture, watch)
    return answer | {"picture": None if picture is None else str(picture)}


def lit(model: Model, tokens: Sequence, read: Sequence[Place], name: str) -> dict:
    """The network as `explain` shows it, with what one answer reads and the lanes that it fills.

    Lanes are those of the column that has the answer; only exact networks have them.
    """
    whole = explain(model).json()
    whole["dataset"]["name"] = name
    whole["asked"] = list(tokens)
    for stage, own in zip(whole["stages"], staged(model, read), strict=True):
        stage["read"] = own["read"]
    if model.claim.name == "labels":
        streams, fired, _ = followed(model, tokens)
        for stage in whole["stages"]:
            own_layers = [i for first, last in stage["layers"] for i in range(first, last + 1)]
            stage["lanes"] = sorted(streams[own_layers[-1]])
            stage["fired"] = sum(len(fired[i]) for i in own_layers)
    return whole


def staged(model: Model, places: Sequence[Place]) -> list[dict]:
    """How many parameters of each stage are read."""
    result = []
    for stage in model.network.stages():
        own = {i for first, last in stage.runs for i in range(first, last + 1)}
        read = sum(place.layer in own for place in places)
        result.append({"stage": stage.name, "parameters": stage.nonzero, "read": read})
    return result


def readers(
    directory: Path,
    words: list[str],
    place: Place,
    loading: options.Loading | None = None,
    watch: Watch = SILENT,
) -> dict:
    """The answer of the command for one parameter."""
    if len(words) != 1:
        raise ByheartError("--reverse needs the data; name its file after the model folder.")
    watch.stage("opening")
    model = open_folder(directory)
    dataset = load_whole(model, Path(words[0]), dict(loading or {}))
    watch.stage("locating", len(dataset))
    found = reverse(model, dataset, place, watch.advance)
    return {"parameter": list(place), "items": found, "of": len(dataset)}


def shown(place: list) -> str:
    layer, tensor, row, column = place
    return f"{tensor}[{row},{column}] of layer {layer}"


def view(answer: dict) -> Group:
    """The answer, what it reads stage by stage, and what would have to change."""
    parts: list[RenderableType] = [Text(f"answer  {answer['label']!r}")]
    read = len(answer["read"])
    parts.append(Text(f"reads {number(read)} of {plural(answer['of'], 'parameter')}"))
    parts.append(Text(f"  {answer['holds']}"))
    if answer["bits"]:
        parts.append(Text(f"  bits {', '.join(map(str, answer['bits']))}, counted from the lowest"))
    if answer["neurons"]:
        parts.append(Text(f"  neurons {', '.join(map(str, answer['neurons']))}"))
    table = columns()
    for name in ("stage", "parameters", "read"):
        table.add_column(name, justify="left" if name == "stage" else "right")
    for stage in answer["stages"]:
        if stage["read"]:
            numbers = [number(stage[name]) for name in ("parameters", "read")]
            table.add_row(Text(stage["stage"]), *numbers)
    parts += [Text(), table, Text()]
    parts += [Text(f"  {shown(place)}") for place in answer["read"][:SHOWN]]
    if read > SHOWN:
        parts.append(Text(f"  and {number(read - SHOWN)} more, listed by --json"))
    if answer["changes"]:
        one = answer["changes"][0]
        places = " and ".join(map(shown, one["places"][:2]))
        if len(one["places"]) > 2:
            places = f"{plural(len(one['places']), 'parameter')} ({places}, ...)"
        parts.append(
            Text(f"\nto alter it, {places} suffices: the answer is then {one['label']!r}, ")
            + Text(f"{one['evidence']}; other answers may change too")
        )
        if len(answer["changes"]) > 1:
            parts.append(Text(f"so do {number(len(answer['changes']) - 1)} others, by --json"))
    return Group(*parts, *drawn(answer))


def readers_view(answer: dict) -> Group:
    found = answer["items"]
    many = f"{number(len(found))} of {plural(answer['of'], 'sequence')}"
    parts = [Text(f"{shown(answer['parameter'])} is read by the answers to {many}")]
    parts += [Text(f"  {tokens}") for tokens in found[:SHOWN]]
    if len(found) > SHOWN:
        parts.append(Text(f"  and {number(len(found) - SHOWN)} more, listed by --json"))
    return Group(*parts)
