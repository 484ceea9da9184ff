"""Train what a sweep lacks: where trials run, and whether they can, before the first one starts."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import ByheartError
from ..machine.watch import Watch

if TYPE_CHECKING:
    from ..lab.engines import Engine
    from ..lab.material import Material
    from ..lab.protocol import Protocol
    from ..lab.sweeps.sweep import RowsByKey, Sweep
    from ..lab.trial import Trial

ENGINES = ("processes", "ray")


@dataclass(frozen=True)
class Workers:
    """Where trials run: so many processes of this machine (None: one a core), or a Ray cluster."""

    engine: str = "processes"
    jobs: int | None = None
    address: str | None = None

    def __post_init__(self) -> None:
        if self.engine not in ENGINES:
            raise ByheartError(f"--engine is {' or '.join(ENGINES)}, not {self.engine!r}.")
        if self.engine != "ray" and self.address is not None:
            raise ByheartError("--address is that of a Ray cluster: use --engine ray.")
        if self.engine == "ray" and self.jobs is not None:
            raise ByheartError("--jobs is for --engine processes: a Ray cluster runs one a core.")
        if self.jobs is not None and self.jobs < 1:
            raise ByheartError(f"--jobs is 1 or more, not {self.jobs}.")

    @property
    def here(self) -> int:
        """How many trials run on this machine at a time; of a cluster, one counts as here."""
        if self.engine == "ray":
            return 1
        return self.jobs or len(os.sched_getaffinity(0))

    def start(self, folder: Path) -> "Engine":
        """The engine; a search for hyper-parameters keeps its journal in the folder."""
        if self.engine == "ray":
            from ..lab.engines import cluster

            return cluster.Engine(self.address)
        from ..lab.engines import processes

        return processes.Engine(self.here, folder)


def rows_of(
    sweep: "Sweep", material: "Material", folder: Path, workers: Workers, watch: Watch
) -> "tuple[RowsByKey, int]":
    """All rows of the folder, and how many are new. What is there is not trained again."""
    from ..lab.sweeps.rows import check_configuration, check_rows, checked
    from ..lab.sweeps.running import execute

    before = {row["key"]: row for row in checked(folder)}
    check_rows(folder, before.values(), sweep.json())
    if not sweep.wanted(before):
        check_configuration(folder, sweep.json())
        return before, 0
    check_packages(sweep.protocol, workers)
    missing = [trial for trial in sweep.trials() if trial.key not in before]
    check_memory(missing, material, workers.here)
    with workers.start(folder) as engine:  # nothing is written if there is no cluster
        found = execute(sweep, material.of, folder, engine, watch)
    after = {row["key"]: row for row in found}
    return after, len(after.keys() - before.keys())


def check_packages(protocol: "Protocol", workers: Workers = Workers()) -> None:  # noqa: B008
    """ByheartError if what trains is not installed."""
    needed = {"torch": True, "optuna": protocol.search is not None}
    needed["pytorch_optimizer"] = any(x.optimiser == "soap" for x in protocol.attempts)
    lacks = [name for name, is_needed in needed.items() if is_needed and not _there(name)]
    if lacks:
        word = "PyTorch" if "torch" in lacks else lacks[0]
        raise ByheartError(f"training needs {word}: pip install 'byheart[lab]'.")
    if workers.engine == "ray" and not _there("ray"):
        raise ByheartError("--engine ray needs Ray: pip install 'byheart[cluster]'.")


def _there(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ImportError:
        return False


def check_memory(trials: "Sequence[Trial]", material: "Material", jobs: int) -> None:
    """ByheartError if the largest trials do not fit together."""
    from ..lab.footprint import bytes_of
    from ..machine.memory import require

    found = sorted((bytes_of(trial, material.of(trial)), trial.key) for trial in trials)[-jobs:]
    largest = next(trial for trial in trials if trial.key == found[-1][1])
    sizes = ", ".join(f"{name} {size:,}" for name, size in largest.sizes.items())
    what = f"training {sizes}" + (f" in {len(found)} processes" if len(found) > 1 else "")
    needed = sum(size for size, _ in found)
    require(needed, largest.architecture, what, "use smaller sizes, less data or fewer --jobs")
