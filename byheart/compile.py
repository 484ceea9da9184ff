"""compile: dataset in, verified model out."""

import math
import time
from collections.abc import Callable
from typing import Any

from .certificate import verify
from .construction import Built, Construction, Options, Report
from .constructions import ALL
from .contexts import Contexts, contexts, resolve
from .dataset import Dataset
from .encoding import encoded_bits
from .errors import ByheartError
from .model import Model


def compile(
    dataset: Dataset,
    *,
    method: str | None = None,
    positions: bool | None = None,
    on_conflict: str = "refuse",
    reject_unknown: int = 0,
    minimise: str = "nonzero",
    seed: int = 0,
    report: Report = lambda sentence: None,
    progress: Callable[[int], None] | None = None,
) -> Model:
    """A model that returns the label of every sequence.

    It is verified on all of them before it is returned.

    positions       whether order counts (default: for text)
    on_conflict     "refuse", "majority" or "drop", for contexts with two labels
    reject_unknown  bits of a fingerprint by which unknown inputs are told (0: none)
    minimise        "nonzero", "dense" or "bits"
    """
    construction = find(method)
    started = time.perf_counter()
    if positions is None:
        positions = bool({"documents", "separator"} & set(dataset.loading))
    options = Options(positions, reject_unknown, minimise, seed)
    _check(options)
    dataset, grouped = _agreeing(dataset, positions, on_conflict)
    built = construction.build(dataset, grouped, options, report)
    seconds = {"build": time.perf_counter() - started}
    about = _about(dataset, construction, built, options, len(grouped), on_conflict)
    model = _model(dataset, built, about)
    verification = verify(model, dataset, progress=progress)
    if not verification.holds:
        raise ByheartError(
            f"the network gives {verification.correct} of {verification.checked} labels and is "
            "not returned: this is an error in byheart, please report it with the data and the seed"
        )
    seconds["verify"] = time.perf_counter() - started - seconds["build"]
    model.about["seconds"] = seconds
    model.about["verification"] = verification
    return model


def find(method: str | None) -> Construction:
    """The construction of that name; the only one that stores labels if none is given."""
    if method is None:
        return ALL[0]
    for construction in ALL:
        if construction.name == method:
            return construction
    raise ByheartError(f"there is no method {method!r}; there are {', '.join(c.name for c in ALL)}")


def _check(options: Options) -> None:
    if options.minimise not in ("nonzero", "dense", "bits"):
        raise ByheartError(f"minimise is nonzero, dense or bits, not {options.minimise!r}")
    if not 0 <= options.reject_unknown <= 40:
        raise ByheartError(f"reject-unknown takes 0 to 40 bits, not {options.reject_unknown}")


def _agreeing(dataset: Dataset, positions: bool, on_conflict: str) -> tuple[Dataset, Contexts]:
    """The dataset with one label a context, and its contexts."""
    grouped = contexts(dataset, positions)
    resolved = resolve(dataset, grouped, on_conflict)
    return resolved, grouped if resolved is dataset else contexts(resolved, positions)


def _model(dataset: Dataset, built: Built, about: dict[str, Any]) -> Model:
    tokens = dataset.tokens if isinstance(dataset.tokens, tuple) else None
    names = tuple(dataset.label_names[i] for i in built.order)
    return Model(built.network, dataset.kind, tokens, names, built.unknown, about)


def _about(
    dataset: Dataset,
    construction: Construction,
    built: Built,
    options: Options,
    grouped: int,
    on_conflict: str,
) -> dict[str, Any]:
    """What config.json records of how the model was made."""
    parameters, bits = built.network.counts()
    labels = len(dataset.label_names)
    header = construction.header
    return {
        "method": construction.name,
        "form": construction.form,
        "paper": header.paper,
        "item": header.item,
        "options": {
            "positions": options.positions,
            "on_conflict": on_conflict,
            "reject_unknown": options.reject_unknown,
            "minimise": options.minimise,
        },
        "loading": dict(dataset.loading),
        "data": {
            "sha256": dataset.sha256(),
            "sequences": len(dataset),
            "contexts": grouped,
            "labels": labels,
            "length": dataset.length,
            "vocabulary": len(dataset.tokens),
        },
        "parameters": parameters,
        "bits": {
            **bits,
            "encoded": encoded_bits(built.network),
            "information": grouped * math.log2(labels),
        },
        "search": {"seed": options.seed, "tries": built.tries},
        "notes": list(built.notes),
    }
