"""Model folders as rows of compare: their sizes, and whether they know this data."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ..data.dataset import Dataset
from ..errors import ByheartError
from ..models.folder.read import open as open_folder
from ..models.model import Model
from ..models.source import resolved
from ..models.verification import verify
from .comparing import Row

Models = Mapping[str, Model]


def opened(folders: Sequence[str | Path]) -> Models:
    """The models by the names of their folders."""
    models: dict[str, Model] = {}
    for path in folders:
        if str(path) in models:
            raise ByheartError(f"--with names {path} twice.")
        models[str(path)] = open_folder(path)
    return models


def row(path: str, model: Model, dataset: Dataset) -> Row:
    """The model beside the constructions; it applies if it knows all of the data.

    Of a trained model the parameters that were trained count. Folding and rounding give its network
    others, but they hold no more.
    """
    counts, bits = model.parameters, model.bits
    own, depth, said = counts.counted + counts.outside, model.network.depth, model.claim.sentence
    name, training = Path(path).name, model.about.get("training")
    if training is None:
        title = f"{name}: {model.about['method']}"
        found = Row(title, "saved", "at_most", own, bits.total, depth, reason=said)
    else:
        learnt, trial = training.get("parameters"), training.get("trial")
        if type(learnt) is not int or type(trial) is not dict:  # a folder may come from anywhere
            raise ByheartError(f"{path}/config.json does not say what was trained.")
        title = f"{name}: {trial.get('architecture')}, trained"
        reason = f"{said} Certified with {own:,} parameters."
        found = Row(title, "trained", "at_most", learnt, bits.total, depth, reason=reason)
    unfit = model.claim.unfitting(model, dataset)
    if unfit:
        return replace(found, applies=False, reason=f"{unfit}.")
    started = time.perf_counter()
    checked = verify(model, resolved(model, dataset))
    seconds = time.perf_counter() - started
    found = replace(found, evidence=checked.evidence, seconds=seconds)
    if checked.holds:
        return found
    return replace(found, applies=False, reason=f"{checked.failures[0]}.")
