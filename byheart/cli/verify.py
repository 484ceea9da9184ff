"""verify: does a model folder hold what it claims?"""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from ..commands import models
from .options import Directory, Json
from .output import finish, number, rows, size_rows, stores_distributions, timed, verdict
from .progress import watching


def command(
    directory: Directory,
    data: Annotated[
        Path | None, typer.Argument(metavar="DATA", help="What it was compiled from.")
    ] = None,
    checker: Annotated[
        bool, typer.Option("--checker", help="Run the independent checker instead.")
    ] = False,
    engine: Annotated[str, typer.Option(help="auto, exact or limbs.")] = "auto",
    sample: Annotated[
        int | None, typer.Option(metavar="K", help="Only K random sequences: no proof.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Random seed of the sample.")] = 0,
    prove_limit: Annotated[
        float,
        typer.Option(metavar="SECONDS", help="Distributions: prove if that takes less time."),
    ] = 60.0,
    json: Json = False,
) -> None:
    """Check a model folder; with DATA, every label in exact arithmetic.

    A model that stores distributions: every context's divergence from the data, by rigorous bounds.
    """
    with watching() as watch:
        answer = models.verify(
            directory,
            data,
            checker=checker,
            engine=engine,
            sample=sample,
            seed=seed,
            prove_limit=prove_limit,
            watch=watch,
        )
    finish(answer, json, view)
    if answer["failures"]:
        raise typer.Exit(1)


def view(answer: dict) -> Group:
    """The verdict, the failures, and the size of the network."""
    checker, data = answer.get("checker"), answer["dataset"]
    said = [Text(f"the independent checker says {checker}")] if checker else []
    failures = [Text(f"  {sentence}") for sentence in answer["failures"]]
    about: RenderableType = Text(
        f"{answer['method']}: {number(data['sequences'])} sequences, "
        f"{number(answer['parameters']['nonzero'])} nonzero parameters, "
        f"depth {number(answer['depth'])}"
    )
    if stores_distributions(answer):
        about = rows(size_rows(answer))
    return Group(*said, verdict(answer), *failures, about, timed(answer))
