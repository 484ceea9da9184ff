"""Material: a dataset, and the problems that its prefixes pose to an architecture."""

from dataclasses import dataclass, field

from ..architectures.trainable import trainable
from ..data.dataset import Dataset
from .problem import Problem, labelled, next_token, prefixes
from .trial import Trial

PROBLEMS = {"next_token": next_token, "labelled": labelled, "prefixes": prefixes}


@dataclass(frozen=True)
class Material:
    """A dataset for one architecture."""

    dataset: Dataset
    architecture: str
    squared: bool = False  # the loss is the squared distance from -1 or +1
    _problems: dict[int, Problem] = field(default_factory=dict, compare=False, repr=False)

    def part(self, sequences: int) -> Dataset:
        whole = sequences == len(self.dataset)
        return self.dataset if whole else self.dataset.prefix(sequences)

    def problem(self, sequences: int) -> Problem:
        """The problem of the first sequences, made once, as many trials share it."""
        if sequences not in self._problems:
            options = {"squared": True} if self.squared else {}
            pose = PROBLEMS[trainable(self.architecture).problem]
            self._problems[sequences] = pose(self.part(sequences), **options)
        return self._problems[sequences]

    def of(self, trial: Trial) -> Problem:
        return self.problem(trial.data["sequences"])
