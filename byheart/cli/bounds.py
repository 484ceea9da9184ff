"""bounds: how small a model can be, how much it can hold, whether a dataset fits."""

from functools import partial
from pathlib import Path
from typing import Any

from .. import pictures
from ..api.bounds import bounds
from ..architectures import NAMES
from ..errors import ByheartError
from ..views.bounds import draw, view
from . import options
from .declaring import flag, listed, option, taking
from .output import answer

DATASET = ("--dataset",)
PANEL = "Architecture (--length is its longest context as well)"


@taking(
    options.READING,
    *listed("bounds", rich_help_panel=PANEL),
    option("data", "A data file, as in the other commands.", Path, None, "DATA", flags=DATASET),
    option(
        "architecture",
        "gpt2, llama-3.1-8b, madden2024, ..., or config.json.",
        metavar="PRESET",
        names=NAMES,
    ),
    *listed("bounds of adapters"),
    options.POSITIONS,
    flag("tables", "Table 1 of kajitsuka2025 and of madden2024."),
    flag("effective", "Measure the number of effective parameters (at most 2,000)."),
    flag("all", "Every row, also rates and what does not apply."),
    options.with_models("A model folder: what it takes for this dataset; repeatable."),
    *options.PICTURE,
)
def command(
    data: Path | None, all: bool, models: list[Path], plot: Path | None, force: bool, **how: Any
) -> None:
    """How small a model can be, how much it can hold, whether a dataset fits.

    For a dataset, for an architecture (a preset, a config.json or sizes), or for both: the verdict,
    then the theorems that apply; of many, the tightest of each quantity.
    --length truncates documents, and sets the context length of an architecture without one.
    """
    if data is None and pictures.checked(plot, force) is not None:
        raise ByheartError("--plot needs --dataset: it marks the size of the data.")
    if data is None and models:
        raise ByheartError("--with needs --dataset: the models are verified on it.")
    how |= {"models": models, "network": plot is not None, "plot": plot, "force": force}
    answer(bounds, partial(view, all=all), draw, data=data, **how)
