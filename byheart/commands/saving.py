"""The smallest network that memorises as a model folder, for recall, verify and compare."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import ByheartError
from ..machine.watch import Watch
from .models import check_output, save
from .training import check_packages

if TYPE_CHECKING:
    from ..lab.material import Material
    from ..lab.problem import Problem
    from ..lab.sweeps.sweep import RowsByKey, Sweep
    from ..lab.trial import Trial
    from ..models.model import Model


@dataclass(frozen=True)
class Saving:
    """Where a network goes; None: nowhere.

    force        replaces an older model there
    on_conflict  as in compile, for networks that store labels
    """

    folder: Path | None = None
    force: bool = False
    on_conflict: str = "refuse"

    def __post_init__(self) -> None:
        from ..data.contexts import RESOLUTIONS

        if self.on_conflict not in RESOLUTIONS:
            names = ", ".join(RESOLUTIONS)
            raise ByheartError(f"--on-conflict is one of {names}, not {self.on_conflict!r}.")
        if self.folder is not None:
            check_output(self.folder, self.force)

    def check(self, sweep: "Sweep", material: "Material", rows: Path) -> None:
        """ByheartError, before anything is trained, if a network could not be saved.

        rows  the folder of the rows, which is another one
        """
        if self.folder is None:
            return
        if self.folder.resolve() == rows.resolve():
            raise ByheartError(f"--save: {rows} is the folder of the rows; give another one.")
        if sweep.architecture == "kajitsuka2025":
            self._check_labels({material.of(trial) for trial in sweep.trials()})

    def _check_labels(self, problems: "Iterable[Problem]") -> None:
        """A network says one label: which one, must be clear."""
        from ..lab.certified.labels import tied

        if self.on_conflict == "refuse" and any(x.best_accuracy < 1 for x in problems):
            raise ByheartError(
                "--save: some contexts have two labels, and a network says one; "
                "use --on-conflict majority or drop."
            )
        if self.on_conflict == "majority" and any(map(tied, problems)):
            raise ByheartError(
                "--save: some contexts have two labels equally often, and neither is the one that "
                "training must make larger; use --on-conflict drop."
            )

    def run(
        self, sweep: "Sweep", material: "Material", rows: "RowsByKey", watch: Watch
    ) -> dict | None:
        """Train the smallest again and write it; None if nothing is asked for, or memorises.

        Of the seeds that memorise, the first that can be certified. On the machine that trained it,
        it is the same network; on another one it may not be.
        """
        chosen = [] if self.folder is None else smallest(sweep, rows)
        if not chosen or self.folder is None:
            return None
        check_packages(sweep.protocol)
        watch.stage("saving")
        trial, trained = self._certified(chosen, material, watch)
        sequences = trial.data["sequences"]
        some = material.part(sequences) if sequences < len(material.dataset) else None
        save(trained, self.folder, self.force, some)  # its own data, where the file has more
        return {
            "folder": str(self.folder),
            "sizes": dict(trial.sizes),
            "sequences": sequences,
            "data": None if some is None else str(self.folder / "data.jsonl"),
            "evidence": trained.about["verification"].evidence,
        }

    def _certified(
        self, chosen: "Sequence[Trial]", material: "Material", watch: Watch
    ) -> "tuple[Trial, Model]":
        """The first that can be certified, with its model; the reason of the last if none can."""
        for trial in chosen[:-1]:
            with suppress(ByheartError):
                return trial, self._again(trial, material, watch)
        return chosen[-1], self._again(chosen[-1], material, watch)

    def _again(self, trial: "Trial", material: "Material", watch: Watch) -> "Model":
        from ..lab.certified.convert import model

        trained, row = model(
            trial, material.dataset, on_conflict=self.on_conflict, report=watch.note
        )
        if row["reached"]:
            return trained
        raise ByheartError(
            "--save: its row says that it memorises, and trained again it does not; rows of "
            "another machine, or of other versions, cannot be repeated to the bit."
        )


def smallest(sweep: "Sweep", rows: "RowsByKey") -> "list[Trial]":
    """The seeds that memorise at the smallest size, of the last cell that has one."""
    from ..lab.sweeps.results import cells

    points = [cell.smallest for cell in cells(sweep, rows)]
    found = [point for point in points if point is not None]
    return [x.trial for x in found[-1].results if x.reached] if found else []
