"""encoder: how close to the data a model of dimension d can come."""

from typing import Any

from ..api.encoder import GAP, encoder
from ..views.encoder import draw, view
from . import options
from .declaring import option, taking
from .output import answer


@taking(
    *options.DATASET,
    options.numbers("dimensions", "Default: from 2 to where it is 0.", "D,D,...", "2,5,10"),
    option("gap", "What counts as 0 where the data has zeros.", float, GAP, "NATS"),
    options.SEED,
    *options.PICTURE_OUTPUT,
)
def command(**how: Any) -> None:
    """Estimate how close to a dataset a model of dimension D can come.

    No model whose last layer has dimension D diverges less than the best encoder of dimension D,
    which gives every context a vector of its own. Where there is a closed form, its divergence is
    exact: 0 up to the gap. Elsewhere the best encoder found is shown, an upper bound on it.
    """
    answer(encoder, view, draw, **how)
