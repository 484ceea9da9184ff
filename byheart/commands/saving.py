"""The smallest network that memorises as a model folder, for recall, verify and compare."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import ByheartError
from .models import check_output, save
from .watch import Watch

if TYPE_CHECKING:
    from ..lab.material import Material
    from ..lab.sweeps.results import Result
    from ..lab.sweeps.sweep import RowsByKey, Sweep
    from ..lab.trial import Trial
    from .loading import AnyModel


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
        from ..contexts import RESOLUTIONS

        if self.on_conflict not in RESOLUTIONS:
            names = ", ".join(RESOLUTIONS)
            raise ByheartError(f"--on-conflict is one of {names}, not {self.on_conflict!r}.")
        if self.folder is not None:
            check_output(self.folder, self.force)

    def check(self, sweep: "Sweep", material: "Material") -> None:
        """ByheartError, before anything is trained, if a network could not hold these labels."""
        labels = sweep.architecture == "kajitsuka2025"
        if self.folder is None or not labels or self.on_conflict != "refuse":
            return
        if any(material.of(trial).best_accuracy < 1 for trial in sweep.trials()):
            raise ByheartError(
                "--save: some contexts have two labels, and a network says one; "
                "use --on-conflict majority or drop."
            )

    def run(
        self, sweep: "Sweep", material: "Material", rows: "RowsByKey", watch: Watch
    ) -> dict | None:
        """Train the smallest again and write it; None if nothing is asked for, or memorises.

        On the machine that trained it, it is the same network; on another one it may not be.
        """
        chosen = None if self.folder is None else smallest(sweep, rows)
        if chosen is None or self.folder is None:
            return None
        watch.stage("saving")
        trained = self._again(chosen.trial, material, watch)
        sequences = chosen.trial.data["sequences"]
        some = material.part(sequences) if sequences < len(material.dataset) else None
        save(trained, self.folder, self.force, some)  # its own data, where the file has more
        return {
            "folder": str(self.folder),
            "sizes": dict(chosen.trial.sizes),
            "sequences": sequences,
            "data": None if some is None else str(self.folder / "data.jsonl"),
            "evidence": trained.about["verification"].evidence,
        }

    def _again(self, trial: "Trial", material: "Material", watch: Watch) -> "AnyModel":
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


def smallest(sweep: "Sweep", rows: "RowsByKey") -> "Result | None":
    """The first seed that memorises at the smallest size, of the last cell that has one."""
    from ..lab.sweeps.results import cells

    points = [cell.smallest for cell in cells(sweep, rows)]
    found = [point for point in points if point is not None]
    return next(x for x in found[-1].results if x.reached) if found else None
