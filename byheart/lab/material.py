"""Material: a dataset, and the problems that its beginnings pose to an architecture."""

from dataclasses import dataclass
from functools import cached_property

from ..data.dataset import Dataset
from .learners import PROBLEMS
from .problem import Problem
from .trial import Trial


@dataclass(frozen=True)
class Material:
    """A dataset for one architecture.

    squared  the loss is the squared distance from -1 or +1
    """

    dataset: Dataset
    architecture: str
    squared: bool = False

    def part(self, sequences: int) -> Dataset:
        """The first so many sequences."""
        whole = sequences == len(self.dataset)
        return self.dataset if whole else self.dataset.prefix(sequences)

    @cached_property
    def _problems(self) -> dict[int, Problem]:
        return {}

    def problem(self, sequences: int) -> Problem:
        """Made once, as many trials ask for it."""
        if sequences not in self._problems:
            options = {"squared": True} if self.squared else {}
            pose = PROBLEMS[self.architecture]
            self._problems[sequences] = pose(self.part(sequences), **options)
        return self._problems[sequences]

    def of(self, trial: Trial) -> Problem:
        """The problem that a trial is about."""
        return self.problem(trial.data["sequences"])
