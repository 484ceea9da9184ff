"""The data that a model was compiled on: how it was loaded, and whether a file is that data.

A model folder may come from anywhere, so the options that it records are checked.
"""

from collections.abc import Mapping
from pathlib import Path

from ..data.contexts import contexts, resolve
from ..data.dataset import Dataset
from ..data.load import LOADING, applicable, load
from ..errors import ByheartError
from .model import Model
from .verification import PROVED

TYPES = {option.name: option.accepts for option in LOADING}


def stored(model: Model) -> dict:
    """How the model's data was loaded; ByheartError if an option has an impossible value."""
    loading: Mapping = model.about.get("loading") or {}
    for name, value in loading.items():
        if name in TYPES and (not isinstance(value, TYPES[name]) or isinstance(value, bool)):
            raise ByheartError(f"config.json holds the loading option {name!r} with a wrong value.")
    return {name: value for name, value in loading.items() if name in TYPES}


def load_for(model: Model, data: str | Path) -> Dataset:
    """The data as the model was compiled on it: same loading options, conflicts resolved alike."""
    return resolved(model, load(data, **applicable(data, stored(model))))  # type: ignore[arg-type]


def on_conflict(model: Model) -> str:
    return str((model.about.get("options") or {}).get("on_conflict", "refuse"))


def resolved(model: Model, dataset: Dataset) -> Dataset:
    """One label per context, as `on_conflict` asked; after "refuse", verifying finds conflicts."""
    rule = on_conflict(model)
    if rule == "refuse" or not model.claim.conflicts:
        return dataset
    reads = model.network.input
    return resolve(dataset, contexts(dataset, reads.positions, reads.padding is not None), rule)


def differences(model: Model, dataset: Dataset) -> list[str]:
    """Why this is not the data that the folder names."""
    named, claim = model.about["data"], model.claim
    if len(dataset) != named["sequences"]:
        return [
            f"the data has {len(dataset)} sequences, the model was made from {named['sequences']}"
        ]
    if dataset.sha256() != named["sha256"]:
        return ["the data is not what the model was made from: its hash differs"]
    whole = claim.whole(dataset)
    if claim.counted == "contexts" and named["contexts"] != whole:
        return [f"the data has {whole} contexts, the model was made from {named['contexts']}"]
    claimed = model.verification
    if claimed is not None and claimed.evidence == PROVED and claimed.checked != whole:
        return [f"certificate.json claims {claimed.checked} {claim.noun}, the data has {whole}"]
    return []
