"""forget: a model folder without some items, compiled from the remaining data alone."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from ..compiler.editing import forget
from ..errors import ByheartError
from ..machine.watch import Watch
from ..models.verification import PROVE_LIMIT
from . import changing, options
from .changing import New, Place, WriteData
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

    Needs a folder compiled with --editable (or by one-layer, token-averaging, gpt2 or llama) and
    its data. In text, an item is a whole document.
    """
    check_prove_limit(prove_limit)
    gone: list = list(item or ())
    if not gone and items is None:
        raise ByheartError("there is nothing to forget; name it with --item or --items.")
    place = Place(output, write_data, force)
    with watching() as watch:
        old = changing.opened(directory, data, loading, place, watch)
        if items is not None:
            listed = changing.objects(items, EXAMPLE)
            gone += [changing.item(old.model, value, at, EXAMPLE) for at, value in listed]
        answer = forgotten(old, place, watch, gone, label_only, prove_limit)
    finish(answer, json, changing.view)
    if not json:
        changing.written(answer)


def forgotten(
    old: changing.Old,
    place: Place,
    watch: Watch,
    items: Sequence[str | list],
    label_only: bool = False,
    prove_limit: float = PROVE_LIMIT,
) -> dict:
    """The answer of the command, once the folder is written."""
    limits: dict[str, Any] = {"prove_limit": prove_limit, "watch": watch}
    found = forget(old.model, old.data, items, label_only=label_only, **limits)
    return changing.saved(found, old, place, watch)
