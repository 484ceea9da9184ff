"""verify: does a model folder hold what a file states?"""

from pathlib import Path
from typing import Any

import typer

from ..api.verify import verify
from ..exports.runtimes import RUNTIMES
from ..models.checker import CHECKERS
from ..views.verify import view
from . import options
from .declaring import argument, listed, option, taking
from .output import answer, copied

RUN_IN = f"Stock checkpoints: run in {options.either(RUNTIMES)}."


@taking(
    options.DIRECTORY,
    options.FOLDER_READING,
    argument("data", "The file that it is judged on.", default=None),
    options.ACCEPT,
    option("checker", "Run a checker of its own instead [independent].", names=CHECKERS),
    *listed("verify"),
    options.PROVE_LIMIT,
    option("runtime", RUN_IN, names=RUNTIMES),
    option("base", "Taught folders: what it was before.", Path, metavar="DIR"),
    options.KEEP,
    option("bound", "Taught folders: bound K contexts to first order.", int, metavar="K"),
    options.JSON,
)
def command(json: bool, **how: Any) -> None:
    """Check a model folder; with DATA, every prediction of that file as it stands there.

    Labels are evaluated in exact arithmetic; of a model that stores distributions, every context's
    divergence from the data is enclosed by rigorous bounds; of a stock checkpoint in float32, the
    margin of every next token (16-bit types are observed in NumPy). --runtime runs every prediction
    in another library instead; transformers loads DIR itself, and generates every text as well. Of
    a taught folder, the structure is compared with --base exactly, and the rest is observed. The
    exit code is 0 only if every prediction of the file is proved, or there is evidence that
    --accept names.
    """
    how["checker"] = how["checker"] or False
    result = answer(verify, view, json=json, **how)
    if result.command and not json:
        what = "that" if result.unclaimed else "what was left out"
        copied(f"\nto accept {what}, run: {result.command}")
    if not result.holds:
        raise typer.Exit(1)
