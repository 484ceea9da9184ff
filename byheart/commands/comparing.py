"""Whether data is what a model was compiled on, before any network is run."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..data.dataset import Dataset
    from ..models.language_model import LanguageModel
    from .loading import AnyModel


def unfitting(model: "AnyModel", dataset: "Dataset") -> str | None:
    """Why the network cannot even read this data."""
    from ..models.language_model import LanguageModel

    if isinstance(model, LanguageModel):
        reads, fewest = 1, 1
    else:
        reads, fewest = model.network.input.dimension, int(model.network.input.padding is not None)
    dimension = dataset.vectors.shape[1]
    if (dataset.kind, dimension) != (model.kind, reads):
        return (
            f"the model reads {model.kind} tokens with {reads} coordinates, "
            f"the data holds {dataset.kind} tokens with {dimension}"
        )
    if dataset.every != model.every:
        each, other = ("every token", "the sequence")[:: 1 if model.every else -1]
        return f"the model gives a label for {each}, the data has one for {other}"
    if fewest and not dataset.lengths.all():
        return "the model reads 1 token or more, the data has a sequence without any"
    if dataset.length > model.length:
        return (
            f"the model reads at most {model.length} tokens, the data has a sequence with "
            f"{dataset.length}"
        )
    return _strange(model, dataset) if isinstance(model, LanguageModel) else None


def _strange(model: "LanguageModel", dataset: "Dataset") -> str | None:
    """A token or label that is no word of the model's vocabulary."""
    known = set(model.words)
    tokens = dataset.tokens if dataset.kind == "string" else dataset.vectors[:, 0].tolist()
    for word in (*tokens, *dataset.label_names):
        if word not in known:  # 2.0 equals 2
            return f"the data has {word!r}, which is not in the model's vocabulary"
    return None


def differences(model: "AnyModel", dataset: "Dataset") -> list[str]:
    """Why this is not the data that the folder names."""
    from ..models.verification import PROVED

    named = model.about["data"]
    if len(dataset) != named["sequences"]:
        return [f"the data has {len(dataset)} sequences, the model names {named['sequences']}"]
    if dataset.sha256() != named["sha256"]:
        return ["the data is not the data that the model names: its hash differs"]
    noun, whole = _claimable(model, dataset)
    if noun == "contexts" and named["contexts"] != whole:
        return [f"the data has {whole} contexts, the model names {named['contexts']}"]
    claimed = model.about["verification"]
    if claimed.evidence == PROVED and claimed.checked != whole:
        return [f"certificate.json claims {claimed.checked} {noun}, the data has {whole}"]
    return []


def _claimable(model: "AnyModel", dataset: "Dataset") -> tuple[str, int]:
    """What a certificate counts, and how many of it the data has."""
    from ..data.contexts import contexts
    from ..models.language_model import LanguageModel

    if isinstance(model, LanguageModel):
        return "contexts", len(contexts(dataset, positions=True))
    return "labels", len(dataset.labels)
