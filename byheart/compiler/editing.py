"""edit and forget: the model of changed data, and the proof that it is nothing else.

A changed model is compile(changed data) with the folder's own options. For a label edit the
structure is that of the folder, which does not depend on labels, so only the stored numbers are
solved again; whatever else changes is compiled from the remaining data alone. `forget` takes
nothing from the old model but the options that its user chose: what it returns is a function of the
remaining data, and so holds nothing of what was removed.

A stock checkpoint is compiled again, too; its structure is short. A tokenizer that was trained on
the data holds something of every text: `edit` keeps it, so that token numbers stay what they were,
and says so; `forget` and `edit(rebuild=True)` train it again on the remaining data.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..constructions.base import Construction
from ..constructions.families import Labelled, Retrieval
from ..data.contexts import RESOLUTIONS
from ..data.dataset import Dataset
from ..data.edits import Items, joined, relabelled, without
from ..data.load import dataset_of
from ..data.readers.tokenizers import is_trained
from ..errors import ByheartError
from ..machine.watch import SILENT, Watch
from ..models.claim import Question
from ..models.difference import Difference, difference
from ..models.model import Model
from ..models.questions import from_line
from ..models.source import settlement, stored
from ..models.trace import made_by
from ..models.verification import PROVE_LIMIT
from ..stock.sources import trained_again
from ..stock.tokens import Vocabulary
from .compiling import compile, configured

EDIT, FORGET = KINDS = ("edit", "forget")
KEPT = "tokenizer.json"  # of the folder: how the data of an edited checkpoint was split


@dataclass(frozen=True)
class Change:
    """A changed model, verified on all of the changed data.

    kind        "edit" or "forget"
    changed, added, removed   how many items were
    rows        rows of the data that this touched
    rebuilt     whether it was compiled from the changed data alone
    same        whether structure and shape of the network stayed what they were
    tokenizer   how the tokenizer of a stock checkpoint had been trained before, if it was kept
    difference  the parameters that differ from the old model; None if the shape is another one
    """

    model: Model
    data: Dataset
    kind: str
    changed: int
    added: int
    removed: int
    rows: int
    rebuilt: bool
    same: bool
    difference: Difference | None
    tokenizer: str | None = None

    def json(self) -> dict:
        return {
            "kind": self.kind,
            "changed": self.changed,
            "added": self.added,
            "removed": self.removed,
            "rows": self.rows,
            "rebuilt": self.rebuilt,
            "structure_kept": self.same,
            "tokenizer_kept": self.tokenizer,
            "difference": None
            if self.difference is None
            else {name: x for name, x in self.difference.json().items() if name != "places"},
        }


def edit(
    model: Model,
    data: Dataset | Any,
    change: Sequence[tuple[Question, Any]] = (),
    add: Dataset | Sequence | None = None,
    remove: Sequence[Question] = (),
    *,
    rebuild: bool = False,
    prove_limit: float = PROVE_LIMIT,
    watch: Watch = SILENT,
) -> Change:
    """The model with some items changed, added or removed: that of the changed data, in its bytes.

    Args:
        model: A model compiled with editable=True, or by one-layer, token-averaging, gpt2 or llama.
        data: The data that it was compiled from.
        change: Pairs (input, new label); an input is a list of tokens, or text.
        add: Further rows (input, label), or a dataset; in text, further documents.
        remove: Inputs to remove; in text, documents.
        rebuild: Search the structure of a label edit again, instead of taking the model's; train
            the tokenizer of a stock checkpoint again, if it was trained on the data.
        prove_limit: Seconds; where proving distributions takes longer, they are observed.
        watch: Where progress is reported.

    Returns:
        The changed model with the changed data.

    Raises:
        ByheartError: The model cannot be edited, the data is not its data, an item is not in the
            data or is edited twice.

    Example:
        >>> import byheart
        >>> data = byheart.Dataset.from_rows([(["a", "b"], "x"), (["b", "b"], "y")])
        >>> model = byheart.compile(data, editable=True)
        >>> byheart.edit(model, data, change=[(["b", "b"], "x"), ("a b", "y")]).model.recall("a b")
        'y'
    """
    construction, items = _opened(model, data)
    more = None if add is None else (add if isinstance(add, Dataset) else dataset_of(add))
    found = _Found(model, items)
    changes = [(found.rows(x), found.tokens(x), label) for x, label in change]
    removed = [row for x in remove for row in found.rows(x)]
    if not (changes or removed or more is not None):
        raise ByheartError("there is nothing to edit; name an item to change, add or remove.")
    edited = relabelled(items, changes) if changes else items.dataset
    edited = without(edited, removed) if removed else edited
    added = 0
    if more is not None:
        others = replace(items, dataset=more)
        for key in others.rows():
            tokens = others.tokens(key)
            if found.has(tokens):
                raise ByheartError(f"{tokens!r} is in the data already; change it instead.")
            added += 1
        edited = joined(edited, more)
    if not rebuild and _same_inputs(items.dataset, edited) and isinstance(construction, Retrieval):
        record = (model.about.get("search") or {}).get("structure")
        record = record if isinstance(record, Mapping) else None
        construction = replace(construction, structure=record)
    edited = _split(model, edited, rebuild)
    rows = sum(len(rows) for rows, _, _ in changes) + len(removed) + (len(more) if more else 0)
    counts = {"changed": len(changes), "added": added, "removed": len(remove), "rows": rows}
    return _compiled(model, construction, edited, EDIT, counts, prove_limit, watch)


def forget(
    model: Model,
    data: Dataset | Any,
    items: Sequence[Question],
    *,
    label_only: bool = False,
    prove_limit: float = PROVE_LIMIT,
    watch: Watch = SILENT,
) -> Change:
    """The model of the data without some items: compiled from the remaining data alone.

    Args:
        model: A model compiled with editable=True, or by one-layer, token-averaging, gpt2 or llama.
        data: The data that it was compiled from.
        items: Inputs to forget: lists of tokens, or text; of texts, whole documents.
        label_only: Keep the inputs and give them a fixed label: the first, in sorted order, of
            those that the remaining items have.
        prove_limit: Seconds; where proving distributions takes longer, they are observed.
        watch: Where progress is reported.

    Returns:
        The model with the remaining data. Its weights hold nothing of the items (of their labels,
        with label_only) beyond what the remaining data says.

    Raises:
        ByheartError: The model cannot be edited, the data is not its data, an item is not in the
            data or is named twice.

    Example:
        >>> import byheart
        >>> data = byheart.Dataset.from_rows([(["a", "b"], "x"), (["b", "b"], "y")])
        >>> model = byheart.compile(data, editable=True)
        >>> byheart.forget(model, data, ["a b"]).data[0]
        (['b', 'b'], 'y')
    """
    construction, kept = _opened(model, data)
    found = _Found(model, kept)
    if not items:
        raise ByheartError("there is nothing to forget; name an item.")
    rows = [(found.rows(x), found.tokens(x)) for x in items]
    gone = [row for own, _ in rows for row in own]
    remaining = without(kept.dataset, gone)
    if label_only:
        dummy = remaining.label_names[0]
        every = kept.dataset.every
        changes = [(own, x, [dummy] * len(x) if every else dummy) for own, x in rows]
        remaining = relabelled(kept, changes)
    remaining = _split(model, remaining, rebuild=True)
    counts = {"changed": 0, "added": 0, "removed": len(rows), "rows": len(gone)}
    if label_only:
        counts |= {"changed": len(rows), "removed": 0}
    return _compiled(model, construction, remaining, FORGET, counts, prove_limit, watch)


def recompiled(
    model: Model, data: Dataset, prove_limit: float = PROVE_LIMIT, watch: Watch = SILENT
) -> Model:
    """The model that the folder's own options make of the data, from nothing else."""
    construction = construction_of(model)
    rule = _rule(model)
    if data.tokenizer is None and construction.stores == "recites":  # tokens, as in data.jsonl
        data = replace(data, tokenizer=model.about.get("tokenizer"))
    return compile(data, construction, on_conflict=rule, prove_limit=prove_limit, watch=watch)


def construction_of(model: Model) -> Construction:
    """The construction that made the model, with the options that its folder records."""
    made = made_by(model)
    if made is None:
        raise ByheartError("the model was not built by a construction that this version has.")
    recorded, search = model.about.get("options"), model.about.get("search")
    recorded = recorded if isinstance(recorded, Mapping) else {}
    own = {name: recorded[name] for name in made.options() if name in recorded}
    seed = search.get("seed", 0) if isinstance(search, Mapping) else 0
    try:
        return configured(made.name, made.form, seed, own)
    except TypeError as error:
        raise ByheartError(f"config.json records options that cannot be: {error}.") from None


def _rule(model: Model) -> str:
    recorded = model.about.get("options")
    rule = recorded.get("on_conflict") if isinstance(recorded, Mapping) else None
    claims = model.claim.conflicts
    return rule if claims and rule in RESOLUTIONS else RESOLUTIONS[0]


def _opened(model: Model, data: Any) -> tuple[Construction, Items]:
    """The construction of a model that can be edited, and the items of its data."""
    if not isinstance(model, Model):
        raise ByheartError("this takes a Model; byheart.open reads one from its folder.")
    dataset, construction = dataset_of(data), construction_of(model)
    if not construction.edits:
        retrieval = "editable" in construction.options()
        again = "compile it again with editable=True" if retrieval else "compile it again with "
        again += "" if retrieval else "method='hash-fold-retrieve' and editable=True"
        raise ByheartError(
            f"the model is not editable: the labels of its data decided its structure; {again}."
        )
    recites = construction.stores == "recites"
    if recites and dataset.tokenizer is None:
        raise ByheartError(
            "a stock checkpoint is edited by its texts, and this data is tokens; give the file "
            "that it was compiled from."
        )
    _, left, _ = settlement(model, model.claim.reads(model, dataset))
    if left.sha256() != (model.about.get("data") or {}).get("sha256"):
        raise ByheartError(
            "the data is not what the model was made from: its hash differs; give that data."
        )
    if is_trained(str(stored(model).get("tokenizer", ""))) and not recites:
        raise ByheartError(
            "the tokenizer was trained on all of this text, so it holds something of every "
            "document; write the changed text and compile it again."
        )
    positions = not isinstance(construction, Labelled) or bool(construction.positions)
    return construction, Items(dataset, positions, construction.last)


def _split(model: Model, data: Dataset, rebuild: bool) -> Dataset:
    """The changed data as a stock checkpoint's tokenizer splits it; other data as it is.

    rebuild  whether a tokenizer that was trained on the data is trained again on the changed data
    """
    if data.tokenizer is None:
        return data
    trained = _trained(model)
    if trained is None:  # the user's own
        return data
    content = model.about["tokenizer"]
    if rebuild:
        return trained_again(data, Vocabulary(content, model.claim.end), trained)  # type: ignore[attr-defined]
    return replace(data, tokenizer=content, loading={**data.loading, "tokenizer": KEPT})


def _trained(model: Model) -> str | None:
    """How the model's tokenizer was trained, be it before an edit that kept it."""
    now = str(stored(model).get("tokenizer", ""))
    before = (model.about.get("search") or {}).get("tokenizer")
    return next((x for x in (now, before) if isinstance(x, str) and is_trained(x)), None)


class _Found:
    """Finds items of the data, each once."""

    def __init__(self, model: Model, items: Items) -> None:
        self.model, self.items, self.all = model, items, items.rows()
        self.used: set[Hashable] = set()

    def tokens(self, question: Question) -> list:
        """The tokens of a question; text is read as `recall` reads it."""
        return from_line(self.model, question) if isinstance(question, str) else list(question)

    def has(self, tokens: Sequence) -> bool:
        key = self.items.key(tokens)
        return key is not None and key in self.all

    def rows(self, question: Question) -> list[int]:
        tokens = self.tokens(question)
        key = self.items.key(tokens)
        if key is None or key not in self.all:
            what = "a document of" if self.items.texts else "an item of"
            raise ByheartError(f"{question!r} is not {what} the data.")
        if key in self.used:
            raise ByheartError(f"{question!r} is named twice; name an item once.")
        self.used.add(key)
        return self.all[key]


def _same_inputs(one: Dataset, other: Dataset) -> bool:
    """Whether two datasets differ in their labels alone, which need words of one length."""
    digits = [(len(data.label_names) - 1).bit_length() for data in (one, other)]
    return (
        digits[0] == digits[1]
        and np.array_equal(one.starts, other.starts)
        and np.array_equal(one.ids, other.ids)
        and np.array_equal(one.vectors, other.vectors)
    )


def _compiled(
    model: Model,
    construction: Construction,
    data: Dataset,
    kind: str,
    counts: dict[str, int],
    prove_limit: float,
    watch: Watch,
) -> Change:
    watch.stage("building", len(data))
    made = compile(
        data, construction, on_conflict=_rule(model), prove_limit=prove_limit, watch=watch
    )
    kept = _trained(model) if data.loading.get("tokenizer") == KEPT else None
    if kept is not None:
        made.about["search"]["tokenizer"] = kept
    solved = isinstance(construction, Retrieval) and construction.structure is not None
    rebuilt = kept is None and not solved
    made.about["change"] = {
        "kind": kind,
        "data": made.about["data"]["sha256"],
        "rebuilt": rebuilt,
    }
    found = difference(model, made)
    before, after = (x.about.get("search", {}).get("structure") for x in (model, made))
    same = before == after and found is not None
    return Change(
        made, data, kind, **counts, rebuilt=rebuilt, same=same, difference=found, tokenizer=kept
    )
