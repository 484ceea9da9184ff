"""The network of a trial, trained again and made a model.

Training is deterministic on one machine, so there a row of a measurement is enough to get its
network again.
"""

import time

from ...architectures.trainable import trainable
from ...claims.verification import PROVE_LIMIT
from ...data.dataset import Dataset
from ...errors import ByheartError
from ...machine.tables import plural
from ...machine.watch import SILENT, Watch
from ...models.model import Model
from ..material import Material
from ..train import train
from ..trial import Row, Trial
from .distributions import distributions
from .folded import decoder
from .labels import labels
from .trained import Trained


def model(
    trial: Trial,
    dataset: Dataset,
    *,
    on_conflict: str = "refuse",
    prove_limit: float = PROVE_LIMIT,
    watch: Watch = SILENT,
) -> tuple[Model, Row]:
    """The network of a trial as a verified model, and the row of its training.

    dataset      the data of the measurement: the trial has learnt its first sequences
    on_conflict  as in compile, for networks that store labels
    prove_limit  seconds; where proving distributions takes longer, they are observed
    """
    count = trial.data["sequences"]
    if count > len(dataset):
        raise ByheartError(
            f"the trial learnt {plural(count, 'sequence')}, and the data has {len(dataset)}."
        )
    material = Material(dataset, trial.architecture, trial.data.get("loss") == "squared")
    problem = material.of(trial)
    architecture = trial.architecture_for(problem)
    watch.note(f"training {trial.architecture} again")
    started = time.perf_counter()
    row, learner = train(trial, problem)
    seconds = time.perf_counter() - started
    trained = Trained(trial, architecture, row, material.part(count), seconds, watch)
    every = {**learner.named(), **learner.fixed}
    tensors = {name: tensor.detach().numpy().copy() for name, tensor in every.items()}
    if not trainable(trial.architecture).decoder:
        return labels(trained, tensors, problem, on_conflict), row
    return distributions(trained, decoder(architecture, tensors), prove_limit), row
