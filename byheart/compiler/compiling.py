"""compile: dataset in, verified model out."""

import math
import time
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np

from ..constructions import ALL, find
from ..constructions.base import Construction
from ..constructions.families import Labelled
from ..data.contexts import Contexts, contexts, resolve, settled
from ..data.dataset import Dataset
from ..data.load import dataset_of
from ..errors import AssumptionError, ByheartError
from ..machine.threads import single
from ..machine.watch import SILENT, Watch
from ..models.claims import CLAIMS
from ..models.model import Model
from ..models.verification import PROVE_LIMIT, verify
from ..theory.information import label_entropy

SAMPLE = 100  # sequences verified where all of them would take too long
# the options in the order of config.json; those that a method does not have keep their default
RECORDED = (
    "positions", "on_conflict", "reject_unknown", "minimise", "bits", "separation", "attention",
    "dimension", "heads", "head_dimension", "skip", "activation", "gap", "neurons", "tight",
    "encoder", "epsilon",
)  # fmt: skip


def compile(
    dataset: Dataset,
    method: str | Construction | None = None,
    form: str | None = None,
    *,
    on_conflict: str = "refuse",
    sample: int | None = None,
    prove_limit: float = PROVE_LIMIT,
    seed: int = 0,
    watch: Watch = SILENT,
    **options: Any,
) -> Model:
    """Build the network of a construction for a dataset, and verify it on all of the data.

    The model is verified before it is returned. Where a construction says that more contexts than
    it names take too long, a sample is verified, and the evidence says so.

    Args:
        dataset: What is to be memorised; `byheart.load` reads it from a file.
        method: A construction by its name ("one-layer", see `byheart.methods`) or as an object
            (`byheart.methods.OneLayer(gap=1e-9)`). Default: hash-fold-retrieve, or seq2seq if
            every token has a label.
        form: "small" (ours) or "faithful" (the paper's), of methods that have both.
        on_conflict: For contexts with two labels: "refuse", "majority" or "drop".
        sample: Verify only this many sequences; the evidence is then "sampled".
        prove_limit: Seconds; where proving distributions takes longer, they are observed.
        seed: Random seed of the construction and of the sample.
        watch: Where progress is reported.
        **options: The options of the method: `byheart.methods("one-layer")` lists them.

    Returns:
        A model whose claim holds.

    Example:
        >>> import byheart
        >>> data = byheart.Dataset.from_rows([(["a", "b"], "x"), (["b", "b"], "y")])
        >>> byheart.compile(data, "hash-fold-retrieve", reject_unknown=8).recall(["a", "b"])
        'x'
    """
    dataset = dataset_of(dataset)
    if sample is not None and sample < 1:
        raise ByheartError(f"sample must be an integer of at least 1, not {sample}.")
    construction = configured(method or default_method(dataset), form, seed, options)
    construction = with_positions(construction, dataset)
    started = time.perf_counter()
    check_fits(construction, dataset)
    dataset = construction.prepared(dataset)
    prepared, grouped = prepare(construction, dataset, on_conflict)
    with single() if construction.stores == "distributions" else nullcontext():
        built = construction.build(prepared, grouped, watch.note)
    seconds = {"build": time.perf_counter() - started}
    about = {
        "method": construction.name,
        "form": construction.form,
        "paper": construction.header.paper,
        "item": construction.header.item,
        "options": _recorded(construction, on_conflict),
        "loading": dict(prepared.loading),
        **sizes_of(prepared, built.network, grouped),
        "search": {"seed": construction.seed, "tries": built.tries}
        | ({} if built.structure is None else {"structure": built.structure}),
        "notes": list(built.notes),
        "conflicts": settled(dataset, prepared),
    }
    more = {
        "tokenizer": prepared.tokenizer,
        "unordered": order_note(construction, prepared, grouped),
    }
    about |= {name: value for name, value in more.items() if value is not None}
    words, claim = CLAIMS[construction.stores].of(prepared, built)
    model = Model(built.network, words, claim, about)
    if sample is None and len(grouped) > (construction.provable or math.inf):
        sample = SAMPLE
        watch.note(f"all of {len(prepared)} sequences take too long: verifying {sample} of them")
    found = verify(
        model, prepared, sample=sample, seed=seed, progress=watch.advance, prove_limit=prove_limit
    )
    if found.refuted:
        raise ByheartError(
            f"the network gives {found.correct} of {found.checked} {claim.noun} and is not "
            "returned: this is an error in byheart, please report it with the data and the seed."
        )
    seconds["verify"] = time.perf_counter() - started - seconds["build"]
    about |= {"verification": found, "seconds": seconds}
    return replace(model, claim=claim.recorded(model, prepared, found))


def default_method(dataset: Dataset) -> str:
    """The method that stores the labels of this data, if none is named."""
    return "seq2seq" if dataset.every else "hash-fold-retrieve"


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
    if options.get("editable") is True and construction.edits:  # it is without being asked
        options = {name: value for name, value in options.items() if name != "editable"}
    for name in options:
        if name not in construction.options():
            own = f" in its {construction.form} form" if construction.form else ""
            others = dict.fromkeys(c.name for c in ALL if name in c.options())
            own_ones = f"it takes {', '.join(construction.options())}"
            instead = f"these do: {', '.join(others)}" if others else own_ones
            raise ByheartError(
                f"the method {construction.name}{own} does not take {name}=...; {instead}."
            )
    return replace(construction, seed=seed, **options)


def with_positions(construction: Construction, dataset: Dataset) -> Construction:
    """The construction with `positions` decided: as asked for, otherwise order counts for words.

    So it does for the ids of a corpus and for columns of numbers. Other numbers, and vectors, are a
    multiset, as in the papers.
    """
    if not isinstance(construction, Labelled) or construction.positions is not None:
        return construction
    text = bool({"documents", "separator", "dtype"} & set(dataset.loading))
    columns = dataset.loading.get("numeric") == "tokens"  # a number is that of its column
    return replace(construction, positions=dataset.kind == "string" or text or columns)


def order_note(construction: Construction, dataset: Dataset, grouped: Contexts) -> str | None:
    """What is lost where order does not count and contexts of words differ by nothing else."""
    if dataset.kind != "string" or not isinstance(construction, Labelled) or construction.positions:
        return None
    alike = len(contexts(dataset, positions=True)) - len(grouped)
    other = "positions=True tells them apart"
    if "positions" not in construction.options():
        form = f" ({construction.form})" if construction.form else ""
        other = f"{construction.name}{form} cannot tell them apart"
    noun = "context differs" if alike == 1 else "contexts differ"
    return f"{alike:,} {noun} from others only in the order of words; {other}" if alike else None


def prepare(
    construction: Construction, dataset: Dataset, on_conflict: str
) -> tuple[Dataset, Contexts]:
    """What is to be built: a dataset without conflicts, and its contexts.

    Refused if this construction cannot build it.
    """
    check_fits(construction, dataset)
    dataset = construction.prepared(dataset)
    if not CLAIMS[construction.stores].conflicts:
        if on_conflict != "refuse":
            raise ByheartError(
                f"{construction.name} does not take on_conflict=...; "
                "the methods that store labels do."
            )
        return dataset, contexts(dataset, positions=True)
    positions = not isinstance(construction, Labelled) or bool(construction.positions)
    grouped = contexts(dataset, positions, construction.last)
    resolved = resolve(dataset, grouped, on_conflict, construction.advice)
    if resolved is dataset:
        return dataset, grouped
    return resolved, contexts(resolved, positions, construction.last)


def check_fits(construction: Construction, dataset: Dataset) -> None:
    """AssumptionError if the construction cannot build data of this kind."""
    if construction.every is not None and construction.every != dataset.every:
        has = "every token has a label" if dataset.every else "a sequence has one label"
        other = "seq2seq or sparse-attention" if dataset.every else "another method"
        raise AssumptionError(f"{construction.name}: in this data {has}; use {other}.")
    if construction.stores == "distributions" and not dataset.has_vocabulary:
        raise AssumptionError(
            f"A1 fails: {construction.name} reads words or integers, and this data has tokens that "
            "are neither; use one of the methods that store labels."
        )
    if not construction.empty and not dataset.lengths.all():
        first = int(np.argmin(dataset.lengths))
        raise AssumptionError(
            f"sequence {first + 1} is empty; leave it out, or use method='deep-sets', "
            "where order does not count."
        )


def _recorded(construction: Construction, on_conflict: str) -> dict[str, Any]:
    """The options as config.json records them; further ones of a method last, if they are set."""
    defaults = {name: x.default for c in ALL for name, x in c.options().items()}
    own = {name: getattr(construction, name) for name in construction.options()}
    known = {**defaults, "positions": False, "on_conflict": on_conflict, **own}
    further = [x for x in own if x not in RECORDED and own[x] != defaults[x]]
    return {name: known[name] for name in (*RECORDED, *further)}


def sizes_of(dataset: Dataset, network: Any, grouped: Contexts) -> dict[str, Any]:
    """The sizes of the data and the network, as config.json records them.

    Labels have an entropy where each context has one.
    """
    parameters, bits = network.counts()
    labels = len(dataset.label_names)
    beginnings = dataset.beginnings
    ambiguous = bool(grouped.conflicts(dataset).any())
    counts = np.bincount(dataset.labels[grouped.first], minlength=1).tolist()
    needed = {
        "entropy": None if ambiguous else label_entropy(counts),
        "information": len(grouped) * math.log2(labels),
    }
    return {
        "data": {
            "sha256": dataset.sha256(),
            "sequences": len(dataset),
            "contexts": len(grouped),
            "labels": labels,
            "length": dataset.length,
            "vocabulary": len(dataset.tokens),
            **({} if beginnings is None else {"beginnings": list(beginnings)}),
        },
        "parameters": parameters,
        "bits": {**bits, "encoded": network.code_bits(), **needed},
    }
