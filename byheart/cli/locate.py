"""locate: which parameters hold an answer, and which answers a parameter."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from .. import pictures
from ..api.locate import lit, locate, locate_readers
from ..auditing.closed import is_taught
from ..errors import ByheartError
from ..models.opening import open as open_folder
from ..models.questions import from_words
from ..views.locate import readers_view, view
from ..views.network import draw
from ..views.taught import located
from . import options
from .declaring import argument, option, taking
from .output import answer, finish
from .progress import watching

PARAMETER = "LAYER TENSOR ROW COLUMN"
READERS = "The items of DATA whose answers read this parameter."


@taking(
    options.DIRECTORY,
    options.FOLDER_READING,
    argument(
        "tokens", "One question; with --reverse, the data file.", list[str], None, "[TOKENS]..."
    ),
    option("reverse", READERS, tuple[int, str, int, int], metavar=PARAMETER),
    *options.PICTURE,
)
def command(
    model: Path,
    tokens: list[str],
    reverse: tuple[int, str, int, int] | None,
    plot: Path | None,
    force: bool,
    json: bool,
    **loading: Any,
) -> None:
    """Which parameters hold an answer, and which would have to change.

    byheart locate DIR TOKENS... names those that one answer reads; byheart locate DIR DATA
    --reverse LAYER TENSOR ROW COLUMN names the items that read one parameter.
    """
    if reverse is not None:
        if len(tokens) != 1:
            raise ByheartError("--reverse needs the data; name its file after the model folder.")
        verb = partial(locate_readers, model, Path(tokens[0]), reverse)
        answer(verb, readers_view, json=json, **loading)
        return
    if not tokens:
        raise ByheartError("name the tokens of one question, such as: capital of france.")
    if is_taught(model):
        answer(locate, located, json=json, model=model, question=" ".join(tokens))
        return
    picture = pictures.checked(plot, force)
    with watching() as watch:
        watch.stage("opening")
        opened = open_folder(model)
        result = locate(opened, from_words(opened, tokens), watch=watch)
        if picture is not None:
            watch.stage("drawing")
            location = result.location
            whole = lit(opened, location.answer.input, location.read, model.name)
            pictures.write(draw, whole, picture)
            result = replace(result, picture=str(picture))
    finish(result, json, view)
