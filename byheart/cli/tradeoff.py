"""tradeoff: parameters against bits per parameter."""

from typing import Annotated

import typer

from .. import pictures
from ..api.tradeoff import tradeoff
from ..views.tradeoff import draw, view
from . import options
from .output import finish, pictured
from .progress import watching


@options.reading
def command(
    data: options.Data,
    loading: options.Loading,
    bits: Annotated[
        str | None, typer.Option(metavar="B,B,...", help="Limits (default: smallest to 64).")
    ] = None,
    form: Annotated[str, typer.Option(help="small (ours), faithful or both.")] = "small",
    positions: options.Positions = None,
    on_conflict: options.OnConflict = "refuse",
    seed: options.Seed = 0,
    plot: options.PictureOutput = None,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Compare parameters with bits per parameter, for one dataset."""
    limits = options.whole_numbers(bits, "--bits", "16,24,32")
    picture = pictures.checked(plot, force)
    with watching() as watch:
        how = {"positions": positions, "on_conflict": on_conflict, "seed": seed}
        result = tradeoff(data, limits, form, loading=loading, watch=watch, **how)
        result = pictured(result, draw, picture, watch)
    finish(result, json, view)
