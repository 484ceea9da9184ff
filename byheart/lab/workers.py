"""Train what a sweep lacks: where trials run, and whether they can, before the first one starts."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from ..errors import ByheartError
from ..machine.memory import require
from ..machine.watch import Watch
from .engines import Engine
from .material import Material
from .protocol import Protocol
from .sweeps.rows import check_configuration, check_rows, checked
from .sweeps.running import execute
from .sweeps.sweep import RowsByKey, Sweep
from .trial import Trial

ENGINES = ("processes", "ray")


@dataclass(frozen=True)
class Workers:
    """Where trials run: `jobs` processes of this machine (None: one per core), or a Ray cluster."""

    engine: str = "processes"
    jobs: int | None = None
    address: str | None = None

    def __post_init__(self) -> None:
        if self.engine not in ENGINES:
            raise ByheartError(f"engine must be {' or '.join(ENGINES)}, not {self.engine!r}.")
        if self.engine != "ray" and self.address is not None:
            raise ByheartError("address is that of a Ray cluster: use engine='ray' as well.")
        if self.engine == "ray" and self.jobs is not None:
            raise ByheartError(
                "jobs is for engine='processes': a Ray cluster runs one trial per core."
            )
        if self.jobs is not None and self.jobs < 1:
            raise ByheartError(f"jobs must be 1 or more, not {self.jobs}.")

    @property
    def here(self) -> int:
        """How many trials run on this machine at a time; a cluster counts as one."""
        if self.engine == "ray":
            return 1
        return self.jobs or len(os.sched_getaffinity(0))

    def start(self, folder: Path) -> Engine:
        """The engine; a search for hyper-parameters keeps its journal in the folder."""
        from .engines import cluster, processes

        if self.engine == "ray":
            return cluster.Engine(self.address)
        return processes.Engine(self.here, folder)


def rows_of(
    sweep: Sweep, material: Material, folder: Path, workers: Workers, watch: Watch
) -> tuple[RowsByKey, int]:
    """All rows of the folder, and how many are new. Trials that have a row are not run again."""
    before = {row["key"]: row for row in checked(folder)}
    check_rows(folder, before.values(), sweep.json())
    if not sweep.wanted(before):
        check_configuration(folder, sweep.json())
        return before, 0
    check_packages(sweep.protocol, workers)
    missing = [trial for trial in sweep.trials() if trial.key not in before]
    check_memory(missing, material, workers.here)
    with workers.start(folder) as engine:  # nothing is written if there is no cluster
        rows = execute(sweep, material.of, folder, engine, watch)
    after = {row["key"]: row for row in rows}
    return after, len(after.keys() - before.keys())


def check_packages(protocol: Protocol, workers: Workers = Workers()) -> None:  # noqa: B008
    """ByheartError if a library that training needs is not installed."""
    needed = {"torch": True, "optuna": protocol.search is not None}
    needed["pytorch_optimizer"] = any(x.optimiser == "soap" for x in protocol.attempts)
    missing = [name for name, is_needed in needed.items() if is_needed and find_spec(name) is None]
    if missing:
        name = "PyTorch" if "torch" in missing else missing[0]
        raise ByheartError(f"training needs {name}: pip install 'byheart[lab]'.")
    if workers.engine == "ray" and find_spec("ray") is None:
        raise ByheartError("engine='ray' needs Ray: pip install 'byheart[cluster]'.")


def check_memory(trials: Sequence[Trial], material: Material, jobs: int) -> None:
    """ByheartError if the largest trials do not fit together."""
    bytes_of = {trial.key: trial.memory(material.of(trial)) for trial in trials}
    largest = sorted(trials, key=lambda trial: (bytes_of[trial.key], trial.key))[-jobs:]
    sizes = ", ".join(f"{name} {size:,}" for name, size in largest[-1].sizes.items())
    what = f"training {sizes}" + (f" in {len(largest)} processes" if len(largest) > 1 else "")
    needed = sum(bytes_of[trial.key] for trial in largest)
    advice = "use smaller sizes, less data or a smaller jobs=..."
    require(needed, largest[-1].architecture, what, advice)
