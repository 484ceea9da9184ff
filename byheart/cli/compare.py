"""compare: every construction and every bound for a dataset."""

from functools import partial
from typing import Any

from ..api.compare import ORDERS, compare
from ..errors import ByheartError
from ..views.compare import draw, view
from . import options
from .declaring import flag, listed, option, taking
from .output import answer

SWEEP = "Repeat for the first N sequences, for each N."
ORDER = f"Order of the rows: {', '.join(ORDERS)}."


@taking(
    *options.DATASET,
    options.numbers("sweep", SWEEP, "N,N,...", "100,1000"),
    flag("build", "Build and verify each: measured, not predicted."),
    options.PLOT,
    options.with_models("A model folder, such as a trained one; repeatable."),
    option("sort", ORDER, str, "parameters", "COLUMN", names=ORDERS),
    *listed("compare"),
    *options.CONFLICTS,
    flag("all", "Also what distributions take, where each context has one label."),
    options.FORCE,
    options.JSON,
)
def command(until: float | None, all: bool, **how: Any) -> None:
    """Every construction and every bound for a dataset, side by side, smallest first.

    Sizes in closed form are predicted. The default method is built, or estimated if that takes
    long; other sizes that a search finds are known with --build only.
    Models named by --with are verified on this data and listed among them.
    """
    most = None if until is None else int(until)
    if most and not (how["plot"] or how["json"]):
        raise ByheartError("`until` draws closed forms: name the picture by `plot=...`.")
    answer(compare, partial(view, all=all), draw, until=most, **how)
