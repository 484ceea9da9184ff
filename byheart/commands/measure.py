"""measure: train every size of an architecture, and say which is the smallest that memorises."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import ByheartError
from ..machine.watch import SILENT, Watch
from .measured import answer, dataset_facts
from .saving import Saving
from .training import Workers, rows_of

if TYPE_CHECKING:
    from ..lab.material import Material
    from ..lab.sweeps.sweep import RowsByKey, Sweep

LOSSES = ("cross-entropy", "squared")
SEEDS = 3
MOST = 100_000  # trials


def measure(
    data: str | Path,
    output: str | Path,
    *,
    architecture: str,
    axis: Sequence[str],
    fixed: Sequence[str] = (),
    protocol: str = "fast",
    criterion: str | None = None,
    seeds: int = SEEDS,
    steps: int | None = None,
    find: bool = False,
    loss: str = LOSSES[0],
    workers: Workers = Workers(),  # noqa: B008 - frozen
    saving: Saving = Saving(),  # noqa: B008 - frozen
    loading: Mapping | None = None,
    watch: Watch = SILENT,
) -> dict:
    """Train what the rows in the folder `output` do not have yet, and say what all of them say.

    axis    texts such as "width=4,8,16"; the last one is searched for its smallest value
    fixed   texts such as "dimension=16"
    saving  where the smallest that memorises is kept as a model folder
    """
    from ..data.load import load
    from ..lab.material import Material

    started = time.perf_counter()
    asked = _asked(architecture, axis, fixed, protocol, steps, criterion, seeds, find, loss)
    _check_folder(Path(output))
    watch.stage("loading")
    material = Material(load(data, **(loading or {})), architecture, loss == "squared")
    sweep = _with_data(asked, material)
    _check_data(sweep, material)
    saving.check(sweep, material, Path(output))
    rows, ran = rows_of(sweep, material, Path(output), workers, watch)
    found = answer(sweep, rows, ran)
    found["dataset"] = {"name": Path(data).name, **dataset_facts(material, _sequences(sweep)[-1])}
    found |= {"folder": str(output)} | _saved(saving, sweep, material, rows, watch)
    found["seconds"]["this run"] = round(time.perf_counter() - started, 3)
    return found


def _asked(
    architecture: str,
    axis: Sequence[str],
    fixed: Sequence[str],
    protocol: str,
    steps: int | None,
    criterion: str | None,
    seeds: int,
    find: bool,
    loss: str,
) -> "Sweep":
    """What is asked, before any data is read."""
    from ..lab.learners import known
    from ..lab.protocol import protocol as protocol_of
    from ..lab.sweeps import axes
    from ..lab.sweeps.sweep import Sweep
    from ..lab.trial import DEFAULTS
    from ..lab.trial import criterion as criterion_of

    known(architecture)
    _check_loss(architecture, loss)
    varies, sizes = axes.axes(architecture, axis), axes.fixed(architecture, fixed)
    how = protocol_of(architecture, protocol, steps)
    when = DEFAULTS[architecture] if criterion is None else criterion_of(criterion)
    sweep = Sweep(architecture, sizes, varies, {}, how, when, seeds, find)
    axes.check_complete(architecture, sizes, [name for name, _ in varies])
    if sweep.size > MOST:
        raise ByheartError(f"that is {sweep.size:,} trials; {MOST:,} are the most.")
    return sweep


def _check_folder(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise ByheartError(f"{folder} is a file; rows go to a folder.")
    if (folder / "config.json").exists():
        raise ByheartError(f"{folder} is a model folder; rows go to another one.")


def _saved(
    saving: Saving, sweep: "Sweep", material: "Material", rows: "RowsByKey", watch: Watch
) -> dict:
    """What was saved and where, or why it was not: what was measured counts all the same."""
    found: dict = {"save": None if saving.folder is None else str(saving.folder)}
    try:
        return {**found, "saved": saving.run(sweep, material, rows, watch), "not_saved": None}
    except ByheartError as error:
        return {**found, "saved": None, "not_saved": str(error)}


def _check_loss(architecture: str, loss: str) -> None:
    if loss not in LOSSES:
        raise ByheartError(f"--loss is {' or '.join(LOSSES)}, not {loss!r}.")
    if loss == "squared" and architecture != "kajitsuka2025":
        raise ByheartError("the squared loss is that of kajitsuka2025 for two labels.")


def _with_data(sweep: "Sweep", material: "Material") -> "Sweep":
    """The sweep of this data; trials without an axis of sequences take all of them."""
    count = len(material.dataset)
    data = {"sha256": material.dataset.sha256(), "sequences": count}
    if material.squared:
        data["loss"] = "squared"
    most = max(_sequences(sweep), default=count)
    if most > count:
        raise ByheartError(f"--axis: the data has {count:,} sequences, not {most:,}.")
    return replace(sweep, data=data)


def _sequences(sweep: "Sweep") -> tuple[int, ...]:
    """The values of the axis of the data; without one, what the data has."""
    from ..lab.sweeps.sweep import SEQUENCES

    own = (sweep.data[SEQUENCES],) if SEQUENCES in sweep.data else ()
    return dict(sweep.axes).get(SEQUENCES, own)


def _check_data(sweep: "Sweep", material: "Material") -> None:
    """ByheartError if the data, or a beginning of it, cannot be judged by the criterion."""
    for count in _sequences(sweep):
        try:
            sweep.criterion.check(material.problem(count))
        except ByheartError as error:
            if count == len(material.dataset):
                raise
            raise ByheartError(f"--axis sequences={count}: {error}") from error
