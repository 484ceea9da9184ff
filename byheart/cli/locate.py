"""locate: which parameters hold an answer, and which answers a parameter."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from .. import pictures
from ..api.locate import lit, locate, locate_readers
from ..errors import ByheartError
from ..models.opening import open as open_folder
from ..models.questions import from_words
from ..views.locate import readers_view, view
from ..views.network import draw
from . import options
from .output import finish
from .progress import watching

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
    words = tokens or []
    if reversed is not None:
        if len(words) != 1:
            raise ByheartError("--reverse needs the data; name its file after the model folder.")
        with watching() as watch:
            readers = locate_readers(directory, Path(words[0]), reversed, watch=watch, **loading)
        finish(readers, json, readers_view)
        return
    if not words:
        raise ByheartError("name the tokens of one question, such as: capital of france.")
    picture = pictures.checked(plot, force)
    with watching() as watch:
        watch.stage("opening")
        model = open_folder(directory)
        result = locate(model, from_words(model, words), watch=watch)
        if picture is not None:
            watch.stage("drawing")
            location = result.location
            whole = lit(model, location.answer.input, location.read, directory.name)
            pictures.write(draw, whole, picture)
            result = replace(result, picture=str(picture))
    finish(result, json, view)
