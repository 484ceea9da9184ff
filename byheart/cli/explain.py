"""explain: the network of a method for a dataset, stage by stage."""

from collections.abc import Sequence
from typing import Any

from ..api.explain import explain
from ..views.explain import view
from ..views.network import draw
from . import options
from .declaring import Command, argument
from .output import answer

OPTIONS = (
    argument("model", "See byheart methods.", str, metavar="METHOD", names=options.METHODS),
    *options.DATASET,
    options.CHOSEN,
    options.FORM,
    options.ON_CONFLICT,
    options.PROVE_LIMIT,
    options.SEED,
    *options.PICTURE_OUTPUT,
)


def command_for(arguments: Sequence[str]) -> Command:
    """The command; its help lists the options of the method that the arguments name."""
    method = next((word for word in arguments if word in options.METHODS), None)
    return options.building(OPTIONS, method, arguments)(command)


def command(**how: Any) -> None:
    """Show the network of a method for a dataset: its stages and the cost of each.

    Each method has its own options: `byheart methods NAME` lists them.
    """
    answer(explain, view, draw, **how)
