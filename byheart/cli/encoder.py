"""encoder: how close to the data a model of dimension d can come."""

from typing import Annotated

import typer

from .. import pictures
from ..api.encoder import GAP, encoder
from ..views.encoder import draw, view
from .options import Data, Force, Json, Loading, PictureOutput, Seed, reading, whole_numbers
from .output import finish, pictured
from .progress import watching


@reading
def command(
    data: Data,
    loading: Loading,
    dimensions: Annotated[
        str | None, typer.Option(metavar="D,D,...", help="Default: from 2 to where it is 0.")
    ] = None,
    gap: Annotated[
        float, typer.Option(metavar="NATS", help="What counts as 0 where the data has zeros.")
    ] = GAP,
    seed: Seed = 0,
    plot: PictureOutput = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Estimate how close to a dataset a model of dimension D can come.

    No model whose last layer has dimension D diverges less than the best encoder of dimension D,
    which gives every context a vector of its own. Where there is a closed form, its divergence is
    exact: 0 up to the gap. Elsewhere the best encoder found is shown, an upper bound on it.
    """
    wanted = whole_numbers(dimensions, "--dimensions", "2,5,10")
    picture = pictures.checked(plot, force)
    with watching() as watch:
        result = encoder(data, wanted, gap, seed, loading=loading, watch=watch)
        result = pictured(result, draw, picture, watch)
    finish(result, json, view)
