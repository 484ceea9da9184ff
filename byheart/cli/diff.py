"""diff: what differs between two model folders."""

from pathlib import Path
from typing import Annotated

import typer

from .. import pictures
from ..api.diff import diff
from ..views.diff import draw, view
from . import options
from .output import finish, pictured
from .progress import watching


@options.repeating
def command(
    directory: options.Directory,
    other: Annotated[Path, typer.Argument(metavar="NEW", help="Another model folder.")],
    loading: options.Loading,
    data: Annotated[
        Path | None, typer.Argument(metavar="DATA", help="A file whose inputs both are asked.")
    ] = None,
    plot: options.Picture = None,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Compare two model folders of one shape: parameters, bits and, with DATA, answers."""
    picture = pictures.checked(plot, force)
    with watching() as watch:
        result = diff(directory, other, data, watch=watch, **loading)
        result = pictured(result, draw, picture, watch)
    finish(result, json, view)
