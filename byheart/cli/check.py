"""check: does a statement of a paper hold for these numbers, this data or this model?"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import typer

from ..api.check import check, find, list_checks
from ..api.checks import CHECKS
from ..errors import ByheartError
from ..theory.madden2024.balls import FUNCTIONS
from ..theory.papers import cited
from ..views.check import list_view, view
from . import options
from .declaring import Command, Group, Values, argument, listed, option, taking
from .output import answer, finish

# what stands on the command line without a flag, in this order
PLACES = {"model": ("a model folder", "DIR"), "data": ("a data file", "DATA")}


def command_for(arguments: Sequence[str]) -> Command:
    """The command; its help lists the options of the check that the arguments name."""
    name = next((word for word in arguments if word in CHECKS), None)
    panel = f"What {name} takes" if name else None
    taken = CHECKS[name].takes if name else ()
    numbers = listed("check", taken, ", ".join(FUNCTIONS), rich_help_panel=panel)
    function = taking(
        options.READING,
        Group("chosen", numbers),
        argument("name", "madden-theorem-2, separation, ...", str, None, "[NAME]", CHECKS),
        argument(
            "places",
            "A model folder, a data file: as NAME needs.",
            list[Path],
            None,
            "[DIR] [DATA]",
        ),
        option(
            "numbers", ".json or .npz with lists named as the options are.", Path, metavar="FILE"
        ),
        options.ACCEPT,
        options.SEED,
        options.JSON,
    )(command)
    if name:
        check_ = CHECKS[name]
        about = f"{cited(check_.paper)}, {check_.item}: {check_.says}"
        function.__doc__ = f"{about}\n\nExample: byheart check {name} {check_.example}"
    return function


def command(
    loading: Values, chosen: Values, name: str | None, places: list[Path], json: bool, **how: Any
) -> None:
    """Check a statement of a paper on your own numbers, data or model. Without NAME, list them.

    Numbers are exact: 0.1 is 1/10, and 2/7 is a number too.

    Exit codes: 0 it holds, 1 it does not hold or is not decided, 2 bad input.
    """
    seed = how.pop("seed")
    if name is None:
        finish(list_checks(), json, list_view)
        return
    chosen_check = find(name)
    wanted = [place for place in PLACES if place in chosen_check.takes]
    if len(places) > len(wanted):
        raise ByheartError(f"{name} takes {len(wanted)} files or folders, not {len(places)}.")
    for place in wanted[len(places) :]:
        if place in chosen_check.required:
            usage = " ".join([name, *(PLACES[x][1] for x in wanted)])
            raise ByheartError(f"{name} needs {PLACES[place][0]}: byheart check {usage}.")
    if "length" in chosen_check.takes and not places:
        chosen["length"], loading = loading["length"], {**loading, "length": None}
    if "seed" in chosen_check.takes:
        chosen["seed"] = seed
    how |= {"loading": loading, **chosen, **dict(zip(wanted, places, strict=False))}
    if not answer(partial(check, name), view, json=json, **how).settled:
        raise typer.Exit(1)
