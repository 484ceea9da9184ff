"""Trained: a training and its data, and what the model folder records of them."""

from typing import Any, NamedTuple

from ...architectures import Architecture
from ...compiler.compiling import sizes_of
from ...constructions.base import Report
from ...data.contexts import Contexts
from ...data.dataset import Dataset
from ...errors import ByheartError
from ...exact.network import Network
from ...models.model import Model
from ...models.verification import Verification
from ...softmax.decoder import Decoder
from ..trial import Row, Trial

METHOD = "trained"


class Trained(NamedTuple):
    """The trial, its architecture, its row and its data; `seconds` that the training took."""

    trial: Trial
    architecture: Architecture
    row: Row
    dataset: Dataset
    seconds: float
    report: Report

    def about(
        self, network: Network | Decoder, dataset: Dataset, contexts: Contexts, on_conflict: str
    ) -> dict[str, Any]:
        """The content of config.json, as for compiled models; `training` is the trial's row.

        dataset  the certified data: that of the trial with one label per context
        """
        paper, _, item = self.architecture.reference.partition(", ")
        return {
            "method": METHOD,
            "form": None,
            "paper": paper,
            "item": item,
            "options": {"on_conflict": on_conflict},
            "loading": dict(dataset.loading),
            **sizes_of(dataset, network, contexts),
            "search": {"seed": self.trial.seed, "tries": len(self.row["attempts"])},
            "training": {name: value for name, value in self.row.items() if name != "curve"},
            "notes": [f"{self.row['parameters']:,} parameters were trained"],
        }

    def verified(self, model: Model, checked: Verification, seconds: float) -> Model:
        """The model with its verification; ByheartError if it fails."""
        if checked.refuted:
            raise ByheartError(
                f"the trained network keeps {checked.correct} of {checked.checked} claims and is "
                f"not returned: {checked.failures[0]}."
            )
        model.about["verification"] = checked
        model.about["seconds"] = {"build": self.seconds, "verify": seconds}
        return model
