"""The network of a trial, trained again and made a model.

Training is deterministic on one machine, so there a row of a measurement is enough to get its
network again.
"""

import time

import numpy as np
from numpy.typing import NDArray

from ...architectures import Architecture
from ...constructions.base import Report
from ...data.dataset import Dataset
from ...errors import ByheartError
from ...models.language_model import LanguageModel
from ...models.model import Model
from ...models.verification import PROVE_LIMIT
from ..learners import Learner
from ..material import Material
from ..train import train
from ..trial import Row, Trial
from .distributions import distributions
from .folded import FOLDED, decoder
from .labels import labels
from .made import Made


def model(
    trial: Trial,
    dataset: Dataset,
    *,
    on_conflict: str = "refuse",
    prove_limit: float = PROVE_LIMIT,
    report: Report = lambda sentence: None,
) -> tuple[Model | LanguageModel, Row]:
    """The network of a trial as a verified model, and the row of its training.

    dataset      the data of the measurement: the trial has learnt its first sequences
    on_conflict  as in compile, for networks that store labels
    prove_limit  seconds; where proving distributions takes longer, they are observed
    """
    given = material(trial, dataset)
    problem, architecture = given.of(trial), trial.architecture_for(given.of(trial))
    report(f"training {trial.architecture} again")
    started = time.perf_counter()
    row, learner = train(trial, problem)
    learnt = given.part(trial.data["sequences"])
    made = Made(trial, architecture, row, learnt, time.perf_counter() - started, report)
    tensors = _arrays(learner)
    if architecture.name in FOLDED:
        found = decoder(architecture, {**tensors, **_fixed(architecture)})
        return distributions(made, found, prove_limit), row
    return labels(made, tensors, problem, on_conflict), row


def material(trial: Trial, dataset: Dataset) -> Material:
    """The dataset as the trial reads it."""
    count = trial.data["sequences"]
    if count > len(dataset):
        raise ByheartError(f"the trial learnt {count} sequences, and the data has {len(dataset)}.")
    return Material(dataset, trial.architecture, trial.data.get("loss") == "squared")


def _arrays(learner: Learner) -> dict[str, NDArray]:
    """Its tensors by the names of the architecture."""
    return {name: tensor.detach().numpy().copy() for name, tensor in learner.named().items()}


def _fixed(architecture: Architecture) -> dict[str, NDArray]:
    """The tensors that are not learnt: sinusoidal positions."""
    from ..learners.decoders.decoder import sinusoids

    return {name: np.asarray(sinusoids(*shape)) for name, shape in architecture.fixed.items()}
