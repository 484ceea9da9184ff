"""edit: a model folder with some items changed, added or removed."""

from pathlib import Path
from typing import Annotated

import typer

from ..api.edit import EXAMPLE, edit
from ..claims.verification import PROVE_LIMIT
from ..views.change import view, written
from . import options
from .output import copied, finish
from .progress import watching


@options.repeating
def command(
    directory: options.Directory,
    data: options.Data,
    output: options.NewFolder,
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
    write_data: options.WriteData = None,
    prove_limit: options.ProveLimit = PROVE_LIMIT,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Change, add or remove items of a model; the new folder is the one that compile would write.

    Needs a folder compiled with --editable (or by one-layer, token-averaging, gpt2 or llama) and
    its data.
    """
    with watching() as watch:
        change = edit(
            directory, data, set=set or (), add=add, edits=edits, rebuild=rebuild, output=output,
            write_data=write_data, force=force, prove_limit=prove_limit, watch=watch, **loading,
        )  # fmt: skip
    finish(change, json, view)
    if not json:
        copied(written(change))
