"""The smallest network that memorises as a model folder, for recall, verify and compare."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import ByheartError
from .models import check_output, save
from .watch import Watch

if TYPE_CHECKING:
    from ..lab.material import Material
    from ..lab.results import Outcome
    from ..lab.sweep import Rows, Sweep


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

    def run(self, sweep: "Sweep", material: "Material", rows: "Rows", watch: Watch) -> dict | None:
        """Train the smallest again, which gives the same network, and write it.

        None if it is not asked for, or if nothing memorises.
        """
        chosen = None if self.folder is None else smallest(sweep, rows)
        if chosen is None or self.folder is None:
            return None
        from ..lab.convert import model

        watch.stage("saving")
        options = {"on_conflict": self.on_conflict, "report": watch.note}
        trained, _ = model(chosen.trial, material.dataset, **options)  # type: ignore[arg-type]
        save(trained, self.folder, self.force, None)
        return {
            "folder": str(self.folder),
            "sizes": dict(chosen.trial.sizes),
            "sequences": chosen.trial.data["sequences"],
            "evidence": trained.about["verification"].evidence,
        }


def smallest(sweep: "Sweep", rows: "Rows") -> "Outcome | None":
    """The first seed that memorises at the smallest size, of the last cell that has one."""
    from ..lab.results import cells

    points = [cell.smallest for cell in cells(sweep, rows)]
    found = [point for point in points if point is not None]
    return next(x for x in found[-1].outcomes if x.reached) if found else None
