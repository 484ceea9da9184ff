"""stats: how a file is understood, and what it asks of a model."""

from functools import partial
from pathlib import Path
from typing import Any

from ..api.stats import stats
from ..data.statistics import MEMORY
from ..errors import ByheartError
from ..machine.engines import Workers
from ..views.stats import view
from . import options
from .declaring import Values, listed, option, taking
from .output import answer

ENGINES = "Count a folder of shards (.bin, .parquet or .txt): processes (here) or ray (a cluster)."
WORK = "Folder of intermediate files, which all nodes share: run again to resume."
MEMORY_HELP = "Memory that a worker may take [1]."
SHARDS: dict[str, Any] = {"rich_help_panel": "Folders of shards"}


@taking(
    *options.DATASET,
    *listed("stats"),
    option("engine", ENGINES, **SHARDS),
    options.JOBS,
    options.ADDRESS,
    option("work", WORK, Path, metavar="DIR", **SHARDS),
    option("memory", MEMORY_HELP, float, metavar="GIB", **SHARDS),
    options.JSON,
)
def command(data: Path, loading: Values, engine: str | None, json: bool, **how: Any) -> None:
    """Count the contexts and conflicts of a dataset, its entropy and separation.

    With --show 5, first see how five rows are understood.

    Documents (.txt, .bin) are counted in place, so 200 million tokens of a .bin are fine.

    --engine counts more, in the shards of a folder, in bounded memory, with the same numbers.
    """
    shards = {name: how.pop(name) for name in ("jobs", "address", "work", "memory")}
    if engine is None:
        if names := [f"--{name}" for name, value in shards.items() if value is not None]:
            raise ByheartError(f"{names[0]} is for shards: give --engine as well.")
    elif names := [f"--{name}" for name, value in how.items() if value]:
        raise ByheartError(f"{names[0]} is for a file: leave it out with --engine.")
    else:
        memory = shards["memory"]
        size = MEMORY if memory is None else int(memory * 2**30)
        workers = Workers(engine, shards["jobs"], shards["address"])
        how = {"workers": workers, "work": shards["work"], "memory": size}
    answer(partial(stats, data), view, json=json, kept=shards["work"], **how, **loading)
