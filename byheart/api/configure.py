"""What is decided before a network is built: the construction, its options, and its data."""

from dataclasses import replace
from typing import Any

import numpy as np

from ..constructions import ALL, find
from ..constructions.base import Construction
from ..constructions.families import Labelled
from ..data.contexts import Contexts, contexts, order_counts, resolve
from ..data.dataset import Dataset
from ..errors import ByheartError, Message, OptionError
from ..models.kinds import made_by
from ..models.model import Model
from .reading import check_fits, meant

RENAMED = {"places": "context_length"}  # older names of options


def titled(construction: Construction) -> str:
    return construction.name + (f" ({construction.form})" if construction.form else "")


def default_method(dataset: Dataset) -> str:
    """The method that stores the labels of this data, if none is named."""
    return "seq2seq" if dataset.every else "hash-fold-retrieve"


ARGUMENTS = ("on_conflict", "sample", "prove_limit", "seed", "form", "method", "watch")  # compile's


def configured(
    method: str | Construction, form: str | None, seed: int, options: dict[str, Any]
) -> Construction:
    """The construction with these options; ByheartError if it does not take one of them."""
    if isinstance(method, type):
        raise ByheartError(f"give a method with its options: {method.__name__}(), not the class.")
    if isinstance(method, Construction):
        if options or form is not None:
            named = ", ".join([*options, *(["form"] if form else [])])
            raise ByheartError(f"pass {named} to the method itself: {type(method).__name__}(...).")
        return method if method.seed or not seed else replace(method, seed=seed)
    construction = find(method, form)
    options = {RENAMED.get(name, name): value for name, value in options.items()}
    if options.get("editable") is True and construction.edits:  # it is without being asked
        options = {name: value for name, value in options.items() if name != "editable"}
    for name in options:
        if name not in construction.options():
            own = f" in its {construction.form} form" if construction.form else ""
            others = dict.fromkeys(c.name for c in ALL if name in c.options())
            own_ones = f"it takes {', '.join(construction.options())}"
            instead = f"these do: {', '.join(others)}" if others else own_ones
            instead += "" if others else meant(name, (*construction.options(), *ARGUMENTS))
            raise ByheartError(
                f"the method {construction.name}{own} does not take `{name}=...`; {instead}."
            )
    return replace(construction, seed=seed, **options)


def construction_of(model: Model) -> Construction:
    """The construction that made the model, with the options that its folder records."""
    construction = made_by(model)
    if construction is None:
        raise ByheartError("the model was not built by a construction that this version has.")
    recorded = {RENAMED.get(name, name): x for name, x in model.record.options.items()}
    own = {name: recorded[name] for name in construction.options() if name in recorded}
    try:
        return configured(construction.name, construction.form, model.record.search.seed or 0, own)
    except TypeError as error:
        raise ByheartError(f"config.json contains invalid options: {error}.") from None


def with_positions(construction: Construction, dataset: Dataset) -> Construction:
    """The construction with `positions` decided: as asked for, or as the data suggests."""
    if not isinstance(construction, Labelled) or construction.positions is not None:
        return construction
    return replace(construction, positions=order_counts(dataset))


def order_note(construction: Construction, dataset: Dataset, grouped: Contexts) -> Message | None:
    """What is lost where order does not count and contexts of words differ by nothing else."""
    if dataset.kind != "string" or not isinstance(construction, Labelled) or construction.positions:
        return None
    alike = len(contexts(dataset, positions=True)) - len(grouped)
    if not alike:
        return None
    other = f"{titled(construction)} cannot distinguish them"
    if "positions" in construction.options():
        other = "`positions=True` distinguishes them"
    noun = "context differs" if alike == 1 else "contexts differ"
    return Message(f"{alike:,} {noun} from others only in the order of words; {other}")


def frequent_note(construction: Construction, dataset: Dataset) -> Message | None:
    """Which option keeps a frequent label from costing less than a bit for each context."""
    options = [x for x in ("editable", "reject_unknown") if getattr(construction, x, None)]
    counts = np.bincount(dataset.labels)
    if not options or 3 * counts.max() <= 2 * counts.sum():
        return None
    name, count = dataset.label_names[int(counts.argmax())], int(counts.max())
    return Message(
        f"{count:,} of {int(counts.sum()):,} labels are {name!r}: with "
        f"`{options[0]}={getattr(construction, options[0])}` each of them takes stored bits of its "
        "own, without it most of them take none"
    )


def prepare(
    construction: Construction, dataset: Dataset, on_conflict: str
) -> tuple[Dataset, Contexts]:
    """A dataset without conflicts, and its contexts; refused if this cannot be built."""
    check_fits(construction, dataset)
    dataset = construction.prepared(dataset)
    if not construction.claim.conflicts:
        if on_conflict != "refuse":
            raise ByheartError(
                f"{construction.name} does not take `on_conflict=...`; "
                "the methods that store labels do."
            )
        return dataset, contexts(dataset, positions=True)
    positions = not isinstance(construction, Labelled) or bool(construction.positions)
    grouped = contexts(dataset, positions, construction.last)
    resolved = resolve(dataset, grouped, on_conflict, construction.advice)
    if resolved is dataset:
        return dataset, grouped
    return resolved, contexts(resolved, positions, construction.last)


def check_prove_limit(seconds: Any) -> None:
    """ByheartError if proving cannot be limited to this time; nan is not a limit."""
    if not isinstance(seconds, int | float) or not seconds >= 0:
        raise OptionError("prove_limit", seconds, "must be a number of seconds of at least 0")
