"""forget: a model folder without some items, compiled from the remaining data alone."""

from pathlib import Path
from typing import Annotated

import typer

from ..compiler.editing import forget
from ..errors import ByheartError
from ..machine.watch import SILENT, Watch
from ..models.source import load_whole
from ..models.verification import PROVE_LIMIT
from . import options
from .edit import New, WriteData, check_places, item, objects, opened, saved, view, written
from .output import check_prove_limit, finish
from .progress import watching

EXAMPLE = '{"input": ["a", "b"]}'


@options.repeating
def command(
    directory: options.Directory,
    data: options.Data,
    output: New,
    loading: options.Loading,
    item: Annotated[
        list[str] | None,
        typer.Option(metavar="INPUT", help="An item to forget; may be repeated."),
    ] = None,
    items: Annotated[
        Path | None, typer.Option(metavar="FILE", help=f".jsonl, lines like {EXAMPLE}.")
    ] = None,
    label_only: Annotated[
        bool, typer.Option("--label-only", help="Keep the input, with a fixed label.")
    ] = False,
    write_data: WriteData = None,
    prove_limit: options.ProveLimit = PROVE_LIMIT,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Forget items: the new folder is compiled from the remaining data and holds nothing of them.

    Needs a folder compiled with --editable (or by one-layer or token-averaging) and its data. In
    text, an item is a whole document.
    """
    check_prove_limit(prove_limit)
    with watching() as watch:
        answer = forgotten(
            directory,
            data,
            output,
            loading,
            item or (),
            items,
            label_only,
            write_data,
            prove_limit,
            force,
            watch,
        )
    finish(answer, json, view)
    if not json:
        written(answer)


def forgotten(
    directory: Path,
    data: Path,
    output: Path,
    loading: options.Loading | None = None,
    named: list[str] | tuple[str, ...] = (),
    listed: Path | None = None,
    label_only: bool = False,
    write_data: Path | None = None,
    prove_limit: float = PROVE_LIMIT,
    force: bool = False,
    watch: Watch = SILENT,
) -> dict:
    """The answer of the command, once the folder is written."""
    if not named and listed is None:
        raise ByheartError("there is nothing to forget; name it with --item or --items.")
    check_places(output, write_data, force)
    watch.stage("opening")
    model, before = opened(directory)
    dataset = load_whole(model, data, dict(loading or {}))
    gone: list = list(named)
    if listed is not None:
        gone += [item(model, value, place, EXAMPLE) for place, value in objects(listed, EXAMPLE)]
    found = forget(
        model, dataset, gone, label_only=label_only, prove_limit=prove_limit, watch=watch
    )
    return saved(found, output, before, write_data, force, watch)
