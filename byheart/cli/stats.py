"""stats: how a file is understood, and what it asks of a model."""

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from ..api.stats import stats
from ..data.statistics import MEMORY
from ..errors import ByheartError
from ..machine.engines import Workers
from ..views.stats import view
from .options import Address, Data, Jobs, Json, Loading, reading
from .output import finish
from .progress import keeping, watching

SHARDS = "Folders of shards"


@reading
def command(
    data: Data,
    loading: Loading,
    show: Annotated[
        int, typer.Option(metavar="N", min=0, help="First show N rows as they are understood.")
    ] = 0,
    conflicts: Annotated[
        int,
        typer.Option(
            metavar="N", min=0, help="Show N contexts that have two labels, and their lines."
        ),
    ] = 0,
    engine: Annotated[
        str | None,
        typer.Option(
            help="Count a folder of shards (.bin, .parquet or .txt): processes (here) or ray "
            "(a cluster).",
            rich_help_panel=SHARDS,
        ),
    ] = None,
    jobs: Jobs = None,
    address: Address = None,
    work: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Folder of intermediate files, which all nodes share: run again to resume.",
            rich_help_panel=SHARDS,
        ),
    ] = None,
    memory: Annotated[
        float | None,
        typer.Option(
            metavar="GIB", help="Memory that a worker may take [1].", rich_help_panel=SHARDS
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Count the contexts and conflicts of a dataset, its entropy and separation.

    With --show 5, first see how five rows are understood.

    Documents (.txt, .bin) are counted in place, so 200 million tokens of a .bin are fine.

    --engine counts more, in the shards of a folder, in bounded memory, with the same numbers.
    """
    given = {"jobs": jobs, "address": address, "work": work, "memory": memory}
    how: dict[str, Any] = {"show": show, "conflicts": conflicts}
    if engine is None:
        if names := [f"--{name}" for name, value in given.items() if value is not None]:
            raise ByheartError(f"{names[0]} is for shards: give --engine as well.")
    elif show or conflicts:
        name = "--show" if show else "--conflicts"
        raise ByheartError(f"{name} is for a file: leave it out with --engine.")
    else:
        size = MEMORY if memory is None else int(memory * 2**30)
        how = {"workers": Workers(engine, jobs, address), "work": work, "memory": size}
    with keeping(work) if work else nullcontext(), watching() as watch:
        found = stats(data, watch=watch, **how, **loading)
    finish(found, json, view)
