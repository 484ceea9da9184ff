"""Material: a dataset, and the problems that its prefixes pose to an architecture."""

from dataclasses import dataclass
from functools import cached_property

from ..architectures.trainable import trainable
from ..data.dataset import Dataset
from .problem import Problem, labelled, next_token
from .trial import Trial

PROBLEMS = {"next_token": next_token, "labelled": labelled}


@dataclass(frozen=True)
class Material:
    """A dataset for one architecture.

    squared  the loss is the squared distance from -1 or +1
    """

    dataset: Dataset
    architecture: str
    squared: bool = False

    def part(self, sequences: int) -> Dataset:
        """The first sequences of the data."""
        whole = sequences == len(self.dataset)
        return self.dataset if whole else self.dataset.prefix(sequences)

    @cached_property
    def _problems(self) -> dict[int, Problem]:
        return {}

    def problem(self, sequences: int) -> Problem:
        """The problem of the first sequences, made once, as many trials share it."""
        if sequences not in self._problems:
            options = {"squared": True} if self.squared else {}
            pose = PROBLEMS[trainable(self.architecture).problem]
            self._problems[sequences] = pose(self.part(sequences), **options)
        return self._problems[sequences]

    def of(self, trial: Trial) -> Problem:
        """The problem that a trial is about."""
        return self.problem(trial.data["sequences"])
