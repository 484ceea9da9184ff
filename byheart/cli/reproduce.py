"""reproduce: figures of the papers from trained rows."""

from pathlib import Path
from typing import Annotated

import typer

from ..api.reproduce import reproduce
from ..errors import ByheartError
from ..figures import FIGURES
from ..machine.engines import Workers
from ..views.reproduce import view
from .options import Json, beginning
from .output import finish
from .progress import keeping, watching


def command(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME",
            help="madden-1, dana-1a, ...",
            autocompletion=beginning(figure.name for figure in FIGURES),
        ),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Every figure that has rows.")] = False,
    rows: Annotated[
        Path, typer.Option("--rows", metavar="DIR", help="DIR/NAME/LABEL/rows.jsonl.")
    ] = Path("results"),
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="DIR", help="For the pictures (default: beside the rows)."
        ),
    ] = None,
    train: Annotated[
        bool, typer.Option("--train", help="Train what the rows lack; resumes where it stopped.")
    ] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="Train a small version, in DIR/NAME-quick.")
    ] = False,
    data: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Training data: a file, a folder, or huggingface."),
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(help="Seeds to train (default: the figure's own).")
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(help="Training processes (default: one per core).")
    ] = None,
    json: Json = False,
) -> None:
    """Redraw figures of the papers from trained rows, beside published numbers and bounds.

    Drawing needs the rows alone. Training is for --train and --quick.
    """
    if everything == bool(names):
        known = ", ".join(figure.name for figure in FIGURES)
        raise ByheartError(f"name figures or give --all, not both; there are: {known}.")
    with keeping(rows), watching("training") as watch:
        result = reproduce(
            names or None,
            rows=rows,
            output=output,
            train=train,
            quick=quick,
            data=data,
            seeds=seeds,
            workers=Workers(jobs=jobs),
            watch=watch,
        )
    finish(result, json, view)
