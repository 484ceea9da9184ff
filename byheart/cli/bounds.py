"""bounds: how small a model can be, how much it can hold, whether a dataset fits."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from .. import pictures
from ..api.bounds import bounds
from ..architectures import NAMES
from ..errors import ByheartError
from ..views.bounds import draw, view
from .options import Force, Json, Loading, Picture, Sizes, beginning, reading, sizing
from .output import finish, pictured
from .progress import watching


@reading
@sizing
def command(
    loading: Loading,
    sizes: Sizes,
    dataset: Annotated[
        Path | None,
        typer.Option("--dataset", metavar="DATA", help="A data file, as in the other commands."),
    ] = None,
    architecture: Annotated[
        str | None,
        typer.Option(
            metavar="PRESET",
            help="gpt2, llama-3.1-8b, madden2024, ..., or config.json.",
            autocompletion=beginning(NAMES),
        ),
    ] = None,
    table: Annotated[
        bool, typer.Option("--table", help="Table 1 of kajitsuka2025 and of madden2024.")
    ] = False,
    effective: Annotated[
        bool,
        typer.Option(
            "--effective", help="Measure the number of effective parameters (at most 2,000)."
        ),
    ] = False,
    all: Annotated[
        bool, typer.Option("--all", help="Every row, also rates and what does not apply.")
    ] = False,
    models: Annotated[
        list[Path] | None,
        typer.Option(
            "--with",
            metavar="DIR",
            help="A model folder: what it takes for this dataset; repeatable.",
        ),
    ] = None,
    plot: Picture = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """How small a model can be, how much it can hold, whether a dataset fits.

    For a dataset, for an architecture (a preset, a config.json or sizes), or for both: the verdict,
    then the theorems that apply; of many, the tightest of each quantity.
    --length truncates documents, and sets the context length of an architecture without one.
    """
    picture = pictures.checked(plot, force)
    if dataset is None and picture is not None:
        raise ByheartError("--plot needs --dataset: it marks the size of the data.")
    if dataset is None and models:
        raise ByheartError("--with needs --dataset: the models are verified on it.")
    with watching() as watch:
        result = bounds(
            dataset,
            architecture,
            table=table,
            effective=effective,
            models=models or (),
            network=picture is not None,
            loading=loading,
            watch=watch,
            **sizes,
        )
        result = pictured(result, draw, picture, watch)
    finish(result, json, partial(view, all=all))
