"""tradeoff: parameters against bits per parameter."""

from typing import Any

from ..api.tradeoff import tradeoff
from ..views.tradeoff import draw, view
from . import options
from .declaring import option, taking
from .output import answer


@taking(
    *options.DATASET,
    options.numbers("bits", "Limits (default: smallest to 64).", "B,B,...", "16,24,32"),
    option("form", "small (ours), faithful or both.", default="small"),
    *options.CONFLICTS,
    *options.PICTURE_OUTPUT,
)
def command(**how: Any) -> None:
    """Compare parameters with bits per parameter, for one dataset."""
    answer(tradeoff, view, draw, **how)
