"""How the data of a verb is read: a file, objects or a Dataset, as a method or a model needs it."""

import hashlib
from collections.abc import Collection, Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np

from ..constructions import find
from ..constructions.base import Construction
from ..data.dataset import Dataset
from ..data.load import LOADING, dataset_of, load
from ..errors import AssumptionError, ByheartError
from ..models.folder.read import weights_file
from ..models.kinds import kind_of
from ..models.model import Model
from ..models.opening import open as open_folder
from ..models.source import load_for, stored, unaccepted


def reading_of(
    loading: Mapping[str, Any] | None,
    given: Mapping[str, Any],
    known: Collection[str] = (),
    aside: Collection[str] = (),
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The options of `load` among the keyword arguments, and the others.

    known  names of other arguments: where these are given, nothing else is let through
    aside  names that mean something else here

    >>> reading_of({"input": ["a"]}, {"label": "b", "bits": 3})
    ({'input': ['a'], 'label': 'b'}, {'bits': 3})
    """
    names = {option.name for option in LOADING} - {*aside}
    rest = {name: value for name, value in given.items() if name not in names}
    for name in rest if known else ():
        raise ByheartError(f"there is no option `{name}=...`{meant(name, {*names, *known})}.")
    own = {name: value for name, value in given.items() if name in names}
    return {**(loading or {}), **own}, rest


def meant(name: str, known: Iterable[str]) -> str:
    """A question for an option that there is not: whether one with a similar name was meant.

    >>> meant("on_conflicts", ["on_conflict", "seed"])
    '; did you mean `on_conflict=...`?'
    """
    found = get_close_matches(name, list(known), 1)
    return f"; did you mean `{found[0]}=...`?" if found else ""


def model_of(model: Model | str | Path, verb: str) -> Model:
    if isinstance(model, str | Path):
        return open_folder(model)
    if not isinstance(model, Model):
        raise ByheartError(f"{verb} takes a Model or the path of its folder, not {model!r:.40}.")
    return model


def data_for_method(
    data: Any, method: str | Construction | None, loading: Mapping[str, Any] | None = None
) -> Dataset:
    """The data as a method reads it; its own tokenizer splits text, if the user names none."""
    named = find(method) if isinstance(method, str) else method
    if named is not None and isinstance(data, Dataset):
        check_fits(named, data)
    given = dict(loading or {})
    chosen = given.get("unit", "word") != "word" or given.get("tokenizer") is not None
    tokenizer = named.tokenizer if isinstance(named, Construction) and not chosen else None
    if named is None or tokenizer is None:
        return data if isinstance(data, Dataset) else load(data, **given)
    if isinstance(data, Dataset):
        from ..stock.sources import holds_text, split_by  # most commands do not split anything

        if data.tokenizer is not None:
            return data
        if holds_text(dataset_of(data)):
            return split_by(data, tokenizer)
        raise _no_text(named, data, "")
    try:
        return load(data, **{**given, "tokenizer": tokenizer})
    except ByheartError:
        dataset = load(data, **given)  # it may be refused for a reason of its own
        if "unit" in dataset.loading:
            raise
        raise _no_text(named, dataset, str(data) if isinstance(data, str | Path) else "") from None


def check_fits(construction: Construction, dataset: Dataset) -> None:
    """AssumptionError if the construction cannot build data of this kind."""
    if construction.every is not None and construction.every != dataset.every:
        has = "every token has a label" if dataset.every else "a sequence has one label"
        other = "seq2seq or sparse-attention" if dataset.every else "another method"
        raise AssumptionError(f"{construction.name}: in this data {has}; use {other}.")
    if construction.claim.probabilities and not dataset.has_vocabulary:
        raise AssumptionError(
            f"A1 fails: {construction.name} reads words or integers, and this data has tokens that "
            "are neither; use one of the methods that store labels."
        )
    if not construction.empty and not dataset.lengths.all():
        first = int(np.argmin(dataset.lengths))
        raise AssumptionError(
            f"sequence {first + 1} is empty; leave it out, or use `method='deep-sets'`, "
            "where order does not count."
        )


def _no_text(method: Construction, dataset: Dataset, name: str) -> ByheartError:
    if "unit" in dataset.loading:
        return ByheartError(
            f"the method {method.name} needs text that a tokenizer split, and this data was split "
            f"into words or is cut; load it with `tokenizer={method.tokenizer!r}`."
        )
    where = f"{name}: " if name else ""
    kind = {"string": "lists of tokens", "number": "numbers", "vector": "vectors"}[dataset.kind]
    return ByheartError(
        f"{where}{method.name} reads text, and the input is {kind}; write each input as one "
        "string, or use another method."
    )


def data_for_model(model: Model, data: Any, loading: Mapping[str, Any] | None = None) -> Dataset:
    """The data as the model's own was read; a Dataset of words is split by its tokenizer."""
    if not isinstance(data, Dataset):
        return load_for(model, data, loading)
    for name in loading or ():
        raise ByheartError(f"the dataset is loaded already, so `{name}=...` does not apply.")
    tokenizer, content = stored(model).get("tokenizer"), model.record.tokenizer
    if content and tokenizer and data.tokenizer is None:
        from ..stock.sources import holds_text, split_by

        if holds_text(data):
            return split_by(data, str(tokenizer), content)
    return data


def whole_data(model: Model, data: Any, loading: Mapping[str, Any] | None = None) -> Dataset:
    """The same, all of it; refused if the model would leave out a part that nobody named."""
    dataset = data_for_model(model, data, loading)
    if model.claim.texts and "unit" in dataset.loading:
        kind_of(model).prove.reads(model, dataset)  # which refuses it
    left_out = [] if isinstance(data, Dataset) else unaccepted(data, dataset, loading or {})
    if left_out:
        name = data if isinstance(data, str | Path) else "the data"
        raise ByheartError(
            f"{name}: {left_out[0].marked}; repeat that option to say that the rest does not count."
        )
    if not len(dataset):
        raise ByheartError("the data has no sequences.")
    return dataset


def weights_hash(model: Model, folder: str | Path | None = None) -> str:
    """The SHA-256 of the weights: of the file in the folder, or of what would be written."""
    if folder is not None and Path(folder).is_dir():
        with open(Path(folder) / weights_file(kind_of(model).store), "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    digest = hashlib.sha256()
    for piece in kind_of(model).store.weights(model):
        digest.update(piece)
    return digest.hexdigest()
