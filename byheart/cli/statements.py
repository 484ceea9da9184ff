"""statements: what the papers state, and where byheart shows it."""

from typing import Annotated

import typer

from ..api.statements import statements
from ..theory.statements import PAPERS
from ..views.statements import view
from .options import Json, beginning
from .output import finish


def command(
    paper: Annotated[
        str | None,
        typer.Argument(
            metavar="[PAPER]", help=f"{', '.join(PAPERS)}.", autocompletion=beginning(PAPERS)
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Every numbered statement of the papers, and the command that shows it."""
    finish(statements(paper), json, view)
