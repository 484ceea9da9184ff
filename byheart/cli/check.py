"""check: does a statement of a paper hold for these numbers, this data or this model?"""

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from ..api.check import check, find, list_checks
from ..api.checks import CHECKS
from ..errors import ByheartError
from ..theory.madden2024.balls import FUNCTIONS
from ..theory.papers import cited
from ..views.check import list_view, view
from .options import (
    Accept,
    Command,
    Json,
    Loading,
    MethodOptions,
    Seed,
    beginning,
    option,
    reading,
    spread,
)
from .output import finish
from .progress import watching

# what stands on the command line without a flag, in this order
PLACES = {"model": ("a model folder", "DIR"), "data": ("a data file", "DATA")}
OPTIONS = (
    (str, "coefficients", "Of the polynomial: of 1, x, x^2, ...", "C,..."),
    (str, "activation", f"{', '.join(FUNCTIONS)}.", "NAME"),
    (str, "inputs", "Numbers of the contexts, b.", "X,..."),
    (str, "weights", "Weights of the neurons, a; drawn if not given.", "W,..."),
    (int, "neurons", "How many weights to draw (default: as many as inputs).", "M"),
    (str, "token-values", "z, one per token; drawn if not given.", "Z,..."),
    (str, "position-values", "u, one per position; drawn if not given.", "U,..."),
    (int, "vocabulary", "Number of tokens, if there is no data.", "N"),
    (int, "contexts", "Number of contexts, if there is no data.", "T"),
    (int, "dimension", "Dimension of embedded tokens.", "D"),
    (int, "heads", "Number of heads.", "H"),
    (int, "head-dimension", "Dimension of queries, keys and values [D].", "D"),
    (str, "radius", "r: the largest norm, or id, that is allowed.", "R"),
    (str, "distance", "delta: the smallest distance that is allowed.", "D"),
    (bool, "every", "Ids of all tokens, or of the last (default: where the model answers).", None),
    (str, "delta", "delta of eq. (16) [1/10].", "D"),
)


def command_for(arguments: Sequence[str]) -> Command:
    """The command; its help lists the options of the check that the arguments name."""
    name = next((word for word in arguments if word in CHECKS), None)
    own = CHECKS[name].takes if name else ()
    options = tuple(
        option(
            f"What {name} takes" if name else None,
            kind | None,
            flag,
            help,
            metavar=metavar,
            hidden=flag.replace("-", "_") not in own,
        )
        for kind, flag, help, metavar in OPTIONS
    )
    function = reading(functools.partial(spread, place="chosen", options=options)(command))
    if name:
        check_ = CHECKS[name]
        about = f"{cited(check_.paper)}, {check_.item}: {check_.says}"
        function.__doc__ = f"{about}\n\nExample: byheart check {name} {check_.example}"
    return function


def command(
    loading: Loading,
    chosen: MethodOptions,
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]",
            help="madden-theorem-2, separation, ...",
            autocompletion=beginning(CHECKS),
        ),
    ] = None,
    places: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[DIR] [DATA]", help="A model folder, a data file: as NAME needs."),
    ] = None,
    numbers: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help=".json or .npz with lists named as the options are."),
    ] = None,
    accept: Accept = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Check a statement of a paper on your own numbers, data or model. Without NAME, list them.

    Numbers are exact: 0.1 is 1/10, and 2/7 is a number too.

    Exit codes: 0 it holds, 1 it does not hold or is not decided, 2 bad input.
    """
    if name is None:
        finish(list_checks(), json, list_view)
        return
    chosen_check = find(name)
    given = dict(chosen)
    wanted = [x for x in PLACES if x in chosen_check.takes]
    files = places or []
    if len(files) > len(wanted):
        raise ByheartError(f"{name} takes {len(wanted)} files or folders, not {len(files)}.")
    for place in wanted[len(files) :]:
        if place in chosen_check.required:
            usage = " ".join([name, *(PLACES[x][1] for x in wanted)])
            raise ByheartError(f"{name} needs {PLACES[place][0]}: byheart check {usage}.")
    if "length" in chosen_check.takes and not files:
        given["length"], loading = loading["length"], {**loading, "length": None}
    if "seed" in chosen_check.takes:
        given["seed"] = seed
    given |= dict(zip(wanted, files, strict=False))
    with watching() as watch:
        result = check(
            name, numbers=numbers, accept=accept or (), loading=loading, watch=watch, **given
        )
    finish(result, json, view)
    if not result.settled:
        raise typer.Exit(1)
