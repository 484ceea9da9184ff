"""size: how big a model a dataset needs."""

from typing import Any

from ..api.size import size
from ..views.size import view
from . import options
from .declaring import taking
from .output import answer


@taking(*options.DATASET, options.POSITIONS, options.ON_CONFLICT, options.JSON)
def command(**how: Any) -> None:
    """How big a model the data needs: built exactly, as a stock checkpoint, or trained.

    Nothing is built. `byheart bounds` has all theorems, and `byheart compare` all methods.
    """
    answer(size, view, **how)
