"""tradeoff: parameters against bits per parameter."""

from typing import Any

from ..api.tradeoff import tradeoff
from ..views.tradeoff import draw, view
from . import options
from .options import option
from .output import answer


@options.taking(
    options.DATA,
    options.READING,
    option("bits", "Limits (default: smallest to 64).", metavar="B,B,..."),
    option("form", "small (ours), faithful or both.", default="small"),
    options.POSITIONS,
    options.ON_CONFLICT,
    options.SEED,
    options.PLOT_OR_OUTPUT,
    options.FORCE,
    options.JSON,
)
def command(bits: str | None, **how: Any) -> None:
    """Compare parameters with bits per parameter, for one dataset."""
    limits = options.whole_numbers(bits, "--bits", "16,24,32")
    answer(tradeoff, view, draw, bits=limits, **how)
