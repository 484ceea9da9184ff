"""Model folders as rows of compare: what they hold, and whether they know this data."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import ByheartError
from .comparing import unfitting

if TYPE_CHECKING:
    from ..compiler.comparing import Row
    from ..data.dataset import Dataset
    from .loading import AnyModel

Models = Mapping[str, "AnyModel"]


def opened(folders: Sequence[str | Path]) -> Models:
    """The models by the names of their folders."""
    from ..models import folder

    models: dict[str, AnyModel] = {}
    for path in folders:
        if str(path) in models:
            raise ByheartError(f"--with names {path} twice.")
        models[str(path)] = folder.open(path)
    return models


def row(path: str, model: "AnyModel", dataset: "Dataset") -> "Row":
    """The model beside the constructions; it applies if it knows all of the data.

    Of a trained model the parameters that were trained count. Folding and rounding give its network
    others, but they hold no more.
    """
    from ..models.verification import verify
    from .loading import resolved

    found = _sizes(path, model)
    unfit = unfitting(model, dataset)
    if unfit:
        return replace(found, applies=False, reason=f"{unfit}.")
    started = time.perf_counter()
    checked = verify(model, resolved(model, dataset))
    seconds = time.perf_counter() - started
    found = replace(found, evidence=checked.evidence, seconds=seconds)
    if checked.holds:
        return found
    return replace(found, applies=False, reason=f"{checked.failures[0]}.")


def _sizes(path: str, model: "AnyModel") -> "Row":
    from ..compiler.comparing import Row

    counts, bits = model.network.counts()
    own, kept, depth = counts["counted"] + counts["outside"], bits["total"], model.network.depth
    name, training = Path(path).name, model.about.get("training")
    if training is None:
        said = f"{name}: {model.about['method']}"
        return Row(said, "saved", "at_most", own, kept, depth, reason=_claim(model))
    learnt, trial = training.get("parameters"), training.get("trial")
    if type(learnt) is not int or type(trial) is not dict:  # a folder may come from anywhere
        raise ByheartError(f"{path}/config.json does not say what was trained.")
    said = f"{name}: {trial.get('architecture')}, trained"
    reason = f"{_claim(model)} Certified with {own:,} parameters."
    return Row(said, "trained", "at_most", learnt, kept, depth, reason=reason)


def _claim(model: "AnyModel") -> str:
    from ..models.language_model import LanguageModel

    if isinstance(model, LanguageModel):
        return f"Distributions within {model.gap:g} nats."
    return "Labels."
