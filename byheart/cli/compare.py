"""compare: every construction and every bound for a dataset."""

from pathlib import Path
from typing import Annotated

import typer

from .. import pictures
from ..api.compare import ORDERS, compare
from ..views.compare import draw, view
from . import options
from .output import finish, pictured
from .progress import watching


@options.reading
def command(
    data: options.Data,
    loading: options.Loading,
    sweep: Annotated[
        str | None,
        typer.Option(metavar="N,N,...", help="Repeat for the first N sequences, for each N."),
    ] = None,
    build: Annotated[
        bool, typer.Option("--build", help="Build and verify each: measured, not predicted.")
    ] = False,
    plot: options.Picture = None,
    models: Annotated[
        list[Path] | None,
        typer.Option(
            "--with", metavar="DIR", help="A model folder, such as a trained one; repeatable."
        ),
    ] = None,
    sort: Annotated[
        str,
        typer.Option(
            metavar="COLUMN",
            help=f"Order of the rows: {', '.join(ORDERS)}.",
            autocompletion=options.beginning(ORDERS),
        ),
    ] = "parameters",
    until: Annotated[
        float | None,
        typer.Option(
            metavar="N", help="Draw closed forms up to N contexts, such as 1e9 (with --plot)."
        ),
    ] = None,
    positions: options.Positions = None,
    on_conflict: options.OnConflict = "refuse",
    seed: options.Seed = 0,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Every construction and every bound for a dataset, side by side, smallest first.

    Sizes in closed form are predicted. The default method is built, or estimated if that takes
    long; other sizes that a search finds are known with --build only.
    Models named by --with are verified on this data and listed among them.
    """
    sizes = options.whole_numbers(sweep, "--sweep", "100,1000")
    picture = pictures.checked(plot, force)
    with watching() as watch:
        result = compare(
            data,
            sizes,
            build,
            models or (),
            loading=loading,
            positions=positions,
            on_conflict=on_conflict,
            seed=seed,
            sort=sort,
            until=None if until is None else int(until),
            watch=watch,
        )
        result = pictured(result, draw, picture, watch)
    finish(result, json, view)
