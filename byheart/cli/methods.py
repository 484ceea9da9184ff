"""methods: the constructions, as their file headers describe them, and their options."""

from typing import Annotated

import typer

from ..api.methods import methods
from ..views.methods import view
from .options import METHODS, Json
from .output import finish


def command(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]", help="One method, with its options.", autocompletion=METHODS
        ),
    ] = None,
    json: Json = False,
) -> None:
    """The constructions: paper, assumptions, guarantee. With NAME, the options of one."""
    finish(methods(name), json, view)
