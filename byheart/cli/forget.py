"""forget: a model folder without some items, compiled from the remaining data alone."""

from pathlib import Path
from typing import Annotated

import typer

from ..api.forget import EXAMPLE, forget
from ..claims.verification import PROVE_LIMIT
from ..errors import ByheartError
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
    write_data: options.WriteData = None,
    prove_limit: options.ProveLimit = PROVE_LIMIT,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Forget items: the new folder is compiled from the remaining data and holds nothing of them.

    Needs a folder compiled with --editable (or by one-layer, token-averaging, gpt2 or llama) and
    its data. In text, an item is a whole document.
    """
    if not item and items is None:
        raise ByheartError("there is nothing to forget; name it with --item or --items.")
    with watching() as watch:
        change = forget(
            directory, data, item or (), file=items, label_only=label_only, output=output,
            write_data=write_data, force=force, prove_limit=prove_limit, watch=watch, **loading,
        )  # fmt: skip
    finish(change, json, view)
    if not json:
        copied(written(change))
