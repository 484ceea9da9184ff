"""verify: does a model folder hold what a file states?"""

from pathlib import Path
from typing import Annotated

import typer

from ..api.verify import verify
from ..claims.verification import PROVE_LIMIT
from ..exports.runtimes import RUNTIMES
from ..views.verify import view
from . import options
from .options import Directory, Json, ProveLimit
from .output import copied, finish
from .progress import watching


@options.repeating
def command(
    directory: Directory,
    loading: options.Loading,
    data: Annotated[
        Path | None, typer.Argument(metavar="DATA", help="The file that it is judged on.")
    ] = None,
    accept: options.Accept = None,
    checker: Annotated[
        bool, typer.Option("--checker", help="Run the independent checker instead.")
    ] = False,
    rebuild: Annotated[
        bool, typer.Option("--rebuild", help="Also compile DATA again, and compare the weights.")
    ] = False,
    engine: Annotated[str, typer.Option(help="auto, exact or limbs.")] = "auto",
    sample: Annotated[
        int | None, typer.Option(metavar="K", help="Only K random sequences: not a proof.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Random seed of the sample.")] = 0,
    prove_limit: ProveLimit = PROVE_LIMIT,
    runtime: Annotated[
        str | None,
        typer.Option(
            help=f"Stock checkpoints: run in {', '.join(RUNTIMES[:-1])} or {RUNTIMES[-1]}.",
            autocompletion=options.beginning(RUNTIMES),
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Check a model folder; with DATA, every prediction of that file as it stands there.

    Labels are evaluated in exact arithmetic; of a model that stores distributions, every context's
    divergence from the data is enclosed by rigorous bounds; of a stock checkpoint in float32, the
    margin of every next token (16-bit types are observed in NumPy). --runtime runs every prediction
    in another library instead. The exit code is 0 only if every prediction of the file is proved,
    or there is evidence that --accept names.
    """
    with watching() as watch:
        result = verify(
            directory, data, engine, sample=sample, seed=seed, prove_limit=prove_limit,
            accept=accept or (), checker=checker, rebuild=rebuild, runtime=runtime, watch=watch,
            **loading,
        )  # fmt: skip
    finish(result, json, view)
    if result.command and not json:
        copied(f"\nto accept what was left out, run: {result.command}")
    if not result.holds:
        raise typer.Exit(1)
