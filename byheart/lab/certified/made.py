"""Made: what a trained model was made of, and what its folder records of that."""

from typing import Any, NamedTuple, TypeVar

from ...architectures import Architecture
from ...compiler.compiling import sizes_of
from ...constructions.base import Report
from ...data.dataset import Dataset
from ...errors import ByheartError
from ...exact.network import Network
from ...models.language_model import LanguageModel
from ...models.model import Model
from ...models.verification import Verification
from ...softmax.decoder import Decoder
from ..trial import Row, Trial

METHOD = "trained"
AnyModel = TypeVar("AnyModel", Model, LanguageModel)


class Made(NamedTuple):
    """The trial, its architecture, its row and its data; `seconds` that the training took."""

    trial: Trial
    architecture: Architecture
    row: Row
    dataset: Dataset
    seconds: float
    report: Report

    def about(
        self, found: Network | Decoder, dataset: Dataset, contexts: int, on_conflict: str
    ) -> dict[str, Any]:
        """What config.json records, as compile has it; `training` is the row of the trial.

        dataset  what is certified: the data of the trial with one label a context
        """
        paper, _, item = self.architecture.reference.partition(", ")
        return {
            "method": METHOD,
            "form": None,
            "paper": paper,
            "item": item,
            "options": {"on_conflict": on_conflict},
            "loading": dict(dataset.loading),
            **sizes_of(dataset, found, contexts),
            "search": {"seed": self.trial.seed, "tries": len(self.row["attempts"])},
            "training": {name: value for name, value in self.row.items() if name != "curve"},
            "notes": [f"{self.row['parameters']:,} parameters were trained"],
        }

    def verified(self, model: AnyModel, found: Verification, seconds: float) -> AnyModel:
        """The model with its verification; one that fails it is not returned."""
        if not found.holds:
            raise ByheartError(
                f"the trained network keeps {found.correct} of {found.checked} claims and is not "
                f"returned: {found.failures[0]}."
            )
        model.about["verification"] = found
        model.about["seconds"] = {"build": self.seconds, "verify": seconds}
        return model
