"""reproduce: figures of the papers from trained rows."""

from math import floor, log10
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from ..errors import ByheartError
from ..machine.engines import Workers
from ..reproduce import FIGURES
from ..reproduce.redraw import reproduce
from .options import Json, beginning
from .output import columns, finish, number
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
        found = reproduce(
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
    finish(found.json(), json, view)


def view(answer: dict) -> Group:
    """Each figure: what it shows, its fits, its caption, where it is."""
    parts: list[RenderableType] = []
    for figure in answer["figures"]:
        trials = f"{number(figure['trials'])} trials, {number(figure['censored'])} censored"
        parts.append(Text(f"{figure['name']}  {figure['title']}", style="bold"))
        parts.append(Text(f"{figure['paper']}; {trials}", style="dim"))
        if figure["fits"]:
            table = columns()
            for name in ("fit", "least squares", "residual"):
                table.add_column(name, justify="right" if name == "residual" else "left")
            for fit in figure["fits"]:
                table.add_row(Text(fit["name"]), Text(formula(fit)), f"{fit['residual']:.3g}")
            parts.append(table)
        parts.append(Text(figure["caption"]))
        parts += [Text(f"drawn in {path}") for path in figure["files"]]
        parts.append(Text())
    missing = answer["missing"]
    left = [Text(f"\nno rows to draw: {', '.join(missing)}")] if missing else []
    return Group(*parts[:-1], *left)


def formula(fit: dict) -> str:
    """The law, each coefficient with its standard error, to two digits of the error.

    >>> formula({"terms": ["1", "n"], "coefficients": [2, -0.5], "errors": [0.25, 0.125]})
    '2.00 ± 0.25 + (-0.50 ± 0.12) n'
    """
    parts = []
    errors = fit["errors"] or [None] * len(fit["terms"])
    for term, coefficient, error in zip(fit["terms"], fit["coefficients"], errors, strict=True):
        value = f"{coefficient:.4g}"
        if error:
            digits = max(0, 1 - floor(log10(error)))
            value = f"{coefficient:,.{digits}f} ± {error:,.{digits}f}"
        parts.append(value if term == "1" else f"({value}) {term}")
    return " + ".join(parts)
