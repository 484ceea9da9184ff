"""Trained: a training and its data, and what the model folder records of them."""

from dataclasses import replace
from typing import NamedTuple

from ...architectures import Architecture
from ...claims.record import Record, Search
from ...claims.verification import Verification
from ...data.dataset import Dataset
from ...errors import ByheartError
from ...machine.watch import Watch
from ...models.model import Model
from ..trial import Row, Trial

METHOD = "trained"


class Trained(NamedTuple):
    """The trial, its architecture, its row and its data; `seconds` that the training took."""

    trial: Trial
    architecture: Architecture
    row: Row
    dataset: Dataset
    seconds: float
    watch: Watch

    def record(self, dataset: Dataset, on_conflict: str) -> Record:
        """How the network was trained; `training` is the trial's row.

        dataset  the certified data: that of the trial with one label per context
        """
        paper, _, item = self.architecture.reference.partition(", ")
        return Record(
            method=METHOD,
            paper=paper,
            item=item,
            options={"on_conflict": on_conflict},
            loading=dict(dataset.loading),
            search=Search(self.trial.seed, len(self.row["attempts"])),
            training={name: value for name, value in self.row.items() if name != "curve"},
            notes=(f"{self.row['parameters']:,} parameters were trained",),
        )

    def verified(self, model: Model, checked: Verification, seconds: float) -> Model:
        """The model with its verification; ByheartError if it fails."""
        if checked.refuted:
            raise ByheartError(
                f"the trained network keeps {checked.correct} of {checked.checked} claims and is "
                f"not returned: {checked.failures[0]}."
            )
        spent = {"build": self.seconds, "verify": seconds}
        return replace(model, record=replace(model.record, verification=checked, seconds=spent))
