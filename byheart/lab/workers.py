"""Train what a sweep lacks: where trials run, and whether they can, before the first one starts."""

from collections.abc import Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from ..errors import ByheartError
from ..machine.engines import Workers
from ..machine.memory import require
from ..machine.watch import Watch
from .material import Material
from .problem import Problem
from .protocol import Protocol
from .sweeps.rows import check_configuration, check_rows, checked
from .sweeps.running import execute
from .sweeps.sweep import RowsByKey, Sweep
from .trial import Row, Trial


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
    from . import train

    run = train.run if workers.engine == "ray" else partial(searched, folder)
    with workers.start(run) as engine:  # nothing is written if there is no cluster
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
    workers.check()


def check_memory(trials: Sequence[Trial], material: Material, jobs: int) -> None:
    """ByheartError if the largest trials do not fit together."""
    bytes_of = {trial.key: trial.memory(material.of(trial)) for trial in trials}
    largest = sorted(trials, key=lambda trial: (bytes_of[trial.key], trial.key))[-jobs:]
    sizes = ", ".join(f"{name} {size:,}" for name, size in largest[-1].sizes.items())
    what = f"training {sizes}" + (f" in {len(largest)} processes" if len(largest) > 1 else "")
    needed = sum(bytes_of[trial.key] for trial in largest)
    advice = "use smaller sizes, less data or a smaller `jobs=...`"
    require(needed, largest[-1].architecture, what, advice)


def searched(folder: Path, trial: Trial, problem: Problem) -> Row:
    """train.run, except that a search for hyper-parameters that was killed resumes.

    Its journal is in the folder. A cluster keeps none, as nodes need not share a disk.
    """
    from . import train

    if trial.protocol.search is None:
        return train.run(trial, problem)
    journals = folder / "journals"
    journals.mkdir(exist_ok=True)
    return train.train(trial, problem, str(journals / f"{trial.key}.log"))[0]
