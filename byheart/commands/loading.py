"""The loading options in a model folder. It may come from anywhere, so they are checked."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import ByheartError

if TYPE_CHECKING:
    from ..data.dataset import Dataset
    from ..models.language_model import LanguageModel
    from ..models.model import Model

    AnyModel = Model | LanguageModel

TYPES: dict[str, tuple[type, ...]] = {
    "input": (list, tuple, str),
    "label": (str,),
    "unit": (str,),
    "tokenizer": (str,),
    "documents": (str,),
    "length": (int,),
    "window": (int,),
    "dtype": (str,),
    "separator": (int,),
}


def stored(model: "AnyModel") -> dict:
    """How the model's data was loaded; ByheartError if an option is not what an option can be."""
    loading: Mapping = model.about.get("loading") or {}
    for name, value in loading.items():
        if name in TYPES and (not isinstance(value, TYPES[name]) or isinstance(value, bool)):
            raise ByheartError(f"config.json holds the loading option {name!r} with a wrong value.")
    return {name: value for name, value in loading.items() if name in TYPES}


def load_for(model: "AnyModel", data: str | Path) -> "Dataset":
    """The data as the model was compiled on it: same loading options, conflicts resolved alike."""
    from ..data.load import applicable, load

    return resolved(model, load(data, **applicable(data, stored(model))))  # type: ignore[arg-type]


def on_conflict(model: "AnyModel") -> str:
    return str((model.about.get("options") or {}).get("on_conflict", "refuse"))


def resolved(model: "AnyModel", dataset: "Dataset") -> "Dataset":
    """One label a context, as --on-conflict said; after refuse, verifying finds conflicts."""
    from ..data.contexts import contexts, resolve
    from ..models.language_model import LanguageModel

    rule = on_conflict(model)
    if rule == "refuse" or isinstance(model, LanguageModel):
        return dataset
    reads = model.network.input
    return resolve(dataset, contexts(dataset, reads.positions, reads.padding is not None), rule)
