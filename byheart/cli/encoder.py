"""encoder: how close to the data a model of dimension d can come."""

from typing import Any

from ..api.encoder import GAP, encoder
from ..views.encoder import draw, view
from . import options
from .options import option
from .output import answer


@options.taking(
    options.DATA,
    options.READING,
    option("dimensions", "Default: from 2 to where it is 0.", metavar="D,D,..."),
    option("gap", "What counts as 0 where the data has zeros.", float, GAP, "NATS"),
    options.SEED,
    options.PLOT_OR_OUTPUT,
    options.FORCE,
    options.JSON,
)
def command(dimensions: str | None, **how: Any) -> None:
    """Estimate how close to a dataset a model of dimension D can come.

    No model whose last layer has dimension D diverges less than the best encoder of dimension D,
    which gives every context a vector of its own. Where there is a closed form, its divergence is
    exact: 0 up to the gap. Elsewhere the best encoder found is shown, an upper bound on it.
    """
    numbers = options.whole_numbers(dimensions, "--dimensions", "2,5,10")
    answer(encoder, view, draw, dimensions=numbers, **how)
