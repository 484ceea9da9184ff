"""explain: the network of a method for a dataset, stage by stage."""

from collections.abc import Sequence
from typing import Annotated

import typer

from .. import pictures
from ..api.explain import explain
from ..claims.verification import PROVE_LIMIT
from ..constructions import METHODS
from ..views.explain import view
from ..views.network import draw
from . import options
from .output import finish, pictured
from .progress import watching


def command_for(arguments: Sequence[str]) -> options.Command:
    """The command; its help lists the options of the method that the arguments name."""
    method = next((word for word in arguments if word in METHODS), None)
    return options.building(command, method, arguments)


@options.reading
def command(
    method: Annotated[
        str,
        typer.Argument(
            metavar="METHOD", help="See byheart methods.", autocompletion=options.METHODS
        ),
    ],
    data: options.Data,
    loading: options.Loading,
    chosen: options.MethodOptions,
    form: options.Form = None,
    on_conflict: options.OnConflict = "refuse",
    prove_limit: options.ProveLimit = PROVE_LIMIT,
    seed: options.Seed = 0,
    plot: options.PictureOutput = None,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Show the network of a method for a dataset: its stages and the cost of each.

    Each method has its own options: `byheart methods NAME` lists them.
    """
    picture = pictures.checked(plot, force)
    how = {"on_conflict": on_conflict, "prove_limit": prove_limit, "seed": seed, **chosen}
    with watching() as watch:
        result = explain(method, data, form, loading=loading, watch=watch, **how)
        result = pictured(result, draw, picture, watch)
    finish(result, json, view)
