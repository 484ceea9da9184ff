"""statements: what the papers state, and where byheart shows it."""

from typing import Annotated

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from ..errors import ByheartError
from ..theory.statements import PAPERS, STATEMENTS
from .options import Json, beginning
from .output import columns, finish


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
    if paper is not None and paper not in PAPERS:
        raise ByheartError(f"there is no paper {paper!r}; there are: {', '.join(PAPERS)}.")
    rows = [x.json() for x in STATEMENTS if paper in (None, x.paper)]
    finish({"rows": rows}, json, view)


def view(answer: dict) -> Group:
    parts: list[RenderableType] = []
    for paper in dict.fromkeys(row["paper"] for row in answer["rows"]):
        table = columns()
        for name in ("statement", "where", "says, and the command that shows it"):
            table.add_column(name)
        for row in answer["rows"]:
            if row["paper"] == paper:
                says = Text(row["says"]).append(f"\n{row['command']}", "cyan")
                table.add_row(Text(row["item"]), Text("\n".join(row["shown"]), style="dim"), says)
        parts += [Text(PAPERS[paper], style="bold"), table, Text()]
    return Group(*parts[:-1])
