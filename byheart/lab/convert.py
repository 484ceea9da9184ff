"""A trained network as a model that byheart certifies: for recall, verify and compare.

folded, distributions    madden2024, dana2024 and dana2024-mlp: a Decoder, and what it claims
rounded, readout, labels kajitsuka2025: a Network of weights with few bits, proved

Training is deterministic, so a row of a measurement is enough to train its network again.
"""

import time

import numpy as np
from numpy.typing import NDArray

from ..certificate import PROVE_LIMIT
from ..construction import Report
from ..dataset import Dataset
from ..errors import ByheartError
from ..language_model import LanguageModel
from ..model import Model
from ..presets import Preset
from .distributions import distributions
from .folded import FOLDED, decoder
from .labels import labels
from .learners import Learner
from .made import Made
from .material import Material
from .train import train
from .trial import Row, Trial


def model(
    trial: Trial,
    dataset: Dataset,
    *,
    on_conflict: str = "refuse",
    prove_limit: float = PROVE_LIMIT,
    journal: str | None = None,
    report: Report = lambda sentence: None,
) -> tuple[Model | LanguageModel, Row]:
    """The network of a trial as a verified model, and the row of its training.

    dataset      the data of the measurement: the trial has learnt its first sequences
    on_conflict  as in compile, for networks that store labels
    prove_limit  seconds; where proving distributions takes longer, they are observed
    journal      as in train
    """
    given = material(trial, dataset)
    problem, preset = given.of(trial), trial.preset(given.of(trial))
    report(f"training {trial.architecture} again")
    started = time.perf_counter()
    row, learner = train(trial, problem, journal)
    learnt = given.part(trial.data["sequences"])
    made = Made(trial, preset, row, learnt, time.perf_counter() - started, report)
    tensors = tensors_of(learner)
    if preset.name in FOLDED:
        found = decoder(preset, {**tensors, **fixed(preset)})
        return distributions(made, found, prove_limit), row
    return labels(made, tensors, problem, on_conflict), row


def material(trial: Trial, dataset: Dataset) -> Material:
    """The dataset as the trial reads it."""
    count = trial.data["sequences"]
    if count > len(dataset):
        raise ByheartError(f"the trial learnt {count} sequences, and the data has {len(dataset)}.")
    return Material(dataset, trial.architecture, trial.data.get("loss") == "squared")


def tensors_of(learner: Learner) -> dict[str, NDArray]:
    """Its tensors by the names of the preset; some learners keep many of them in one."""
    named = getattr(learner, "named", None)
    tensors = learner.tensors if named is None else named()
    return {name: tensor.detach().numpy().copy() for name, tensor in tensors.items()}


def fixed(preset: Preset) -> dict[str, NDArray]:
    """The tensors that are not learnt: sinusoidal positions."""
    from .learners.decoders import sinusoids

    return {name: np.asarray(sinusoids(*shape)) for name, shape in preset.fixed.items()}
