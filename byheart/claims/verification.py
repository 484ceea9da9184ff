"""Verification: which evidence there is that a model keeps its claim."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from .result import picked

PROVED, SAMPLED, OBSERVED, REFUTED = "proved", "sampled", "observed", "refuted"
ACCEPTED = (SAMPLED, OBSERVED)  # evidence short of a proof, if the user says so
PROVE_LIMIT = 60.0  # seconds that proving distributions may take
ENGINES = ("auto", "exact", "limbs")


class Fit(NamedTuple):
    """How well distributions are stored, in nats; bounds from above where that is proved.

    Only `max` is rounded upwards; mean and loss are sums in doubles of such bounds.
    """

    mean: float  # mean, max: divergence of a context from its target, the mean weighted by count
    max: float
    loss: float  # cross-entropy of all predictions, summed (madden2024, Lemma 2)
    entropy: float  # the least it can be
    accuracy: float  # share of predictions for which the likeliest token is correct
    predictions: int | None = None  # their number

    def json(self) -> dict:
        return {
            "divergence": {"mean": self.mean, "max": self.max},
            "loss": {"total": self.loss, "entropy": self.entropy},
            "accuracy": self.accuracy,
            "predictions": self.predictions,
        }


FIT = ("divergence", "loss", "accuracy", "predictions")  # the keys of its JSON


@dataclass(frozen=True)
class Verification:
    """The outcome of evaluating a network on data.

    checked   labels: one per sequence, or one per token; contexts, where distributions are claimed
    evidence  "proved": exact arithmetic or rigorous bounds, all correct; "sampled": k of N, all
              correct; "observed": a float run found all correct; "refuted": one is wrong; None:
              nothing was checked, or a part of the data was left out
    failures  the first that are wrong, as sentences
    fit       how well distributions are stored
    accept    weaker evidence that whoever asked takes for enough: "sampled", "observed"
    margin    where the likeliest token is claimed: by how much its logit exceeds the others, at
              least, in nats
    margins   the same of every sequence that was checked, in their order
    """

    checked: int
    correct: int
    evidence: str | None
    engine: str
    failures: tuple[str, ...] = ()
    fit: Fit | None = None
    accept: tuple[str, ...] = ()
    margin: float | None = None
    margins: np.ndarray | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Where nothing was evaluated, nothing is refuted, whatever else is wrong."""
        if self.evidence == REFUTED and not self.checked:
            object.__setattr__(self, "evidence", None)

    @property
    def holds(self) -> bool:
        """Whether it is proved, or there is evidence that was accepted beforehand."""
        return self.evidence == PROVED or self.evidence in self.accept

    def __bool__(self) -> bool:
        """So that `assert byheart.verify(model, data)` says what it seems to say."""
        return self.holds

    @property
    def refuted(self) -> bool:
        return self.evidence == REFUTED

    def json(self) -> dict:
        return picked(self, "checked correct evidence")


@dataclass(frozen=True)
class Judging:
    """How a model is verified."""

    engine: str = "auto"  # for exact networks: "auto", "exact" or "limbs"
    sample: int | None = None  # verify only this many items, chosen by the seed
    seed: int = 0
    # seconds; where rigorous bounds take longer, a float run observes
    prove_limit: float = PROVE_LIMIT
    progress: Callable[[int], None] | None = None  # called with the number of items done

    def chosen(self, count: int) -> np.ndarray | None:
        """The numbers of the items of the sample, in order; None if all are verified."""
        if self.sample is None or self.sample >= count:
            return None
        return np.sort(np.random.default_rng(self.seed).choice(count, self.sample, replace=False))
