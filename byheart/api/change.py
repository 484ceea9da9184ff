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

import json
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from ..claims.answer import Question
from ..claims.location import Difference
from ..claims.verification import PROVE_LIMIT
from ..constructions.base import Construction
from ..constructions.families import Labelled
from ..constructions.retrieval import Retrieval
from ..data.contexts import RESOLUTIONS
from ..data.dataset import Dataset
from ..data.edits import Items
from ..data.load import write_jsonl
from ..data.readers.tokenizers import is_trained
from ..errors import ByheartError
from ..machine.files import refuse_existing
from ..machine.swap import check_place
from ..machine.watch import SILENT, Watch
from ..models.difference import difference
from ..models.kinds import kind_of
from ..models.model import Model
from ..models.questions import checked, from_line
from ..models.source import settlement, stored, verify_command
from ..stock.answer import vocabulary
from ..stock.sources import ending, spelled_by, trained_again
from ..stock.tokens import Vocabulary
from .compile import compile
from .configure import construction_of
from .reading import model_of, weights_hash, whole_data
from .summary import Summary, summarise

EDIT, FORGET = KINDS = ("edit", "forget")
KEPT = "tokenizer.json"  # of the folder: how the data of an edited checkpoint was split


class WeightHashes(NamedTuple):
    """The SHA-256 of the weights before and after a change."""

    before: str
    after: str


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
    written     the new folder, if one was written
    verify      the command that proves the change, if the data was written, too
    """

    summary: Summary
    data: Dataset = field(repr=False)
    kind: str
    changed: int
    added: int
    removed: int
    rows: int
    rebuilt: bool
    same: bool
    difference: Difference | None = field(repr=False)
    weights: WeightHashes
    tokenizer: str | None = None
    written: str | None = None
    verify: str | None = None

    @property
    def model(self) -> Model:
        return self.summary.model

    def json(self) -> dict:
        """The answer of `byheart edit --json` and `byheart forget --json`."""
        compared = None
        if self.difference is not None:
            compared = {x: y for x, y in self.difference.json().items() if x != "places"}
        return {
            **self.summary.json(),
            "kind": self.kind,
            "changed": self.changed,
            "added": self.added,
            "removed": self.removed,
            "rows": self.rows,
            "rebuilt": self.rebuilt,
            "structure_kept": self.same,
            "tokenizer_kept": self.tokenizer,
            "difference": compared,
            "weights": self.weights._asdict(),
            "written": self.written,
            "verify": self.verify,
        }


class Target(NamedTuple):
    """Where the new folder and its data are written, if they are."""

    output: Path | None
    data: Path | None
    force: bool


def target_at(output: str | Path | None, data: str | Path | None, force: bool) -> Target:
    """Where the output goes; ByheartError if it cannot be written there."""
    target = Target(
        None if output is None else Path(output), None if data is None else Path(data), force
    )
    if target.output is not None:
        check_place(target.output, force)
    if target.data is not None:
        refuse_existing(target.data, force)
    return target


class Old(NamedTuple):
    """The model that is changed, with its data.

    folder   that it was read from, if it was
    loading  the options of the file that the user gave
    """

    model: Model
    folder: Path | None
    construction: Construction
    items: Items
    loading: Mapping[str, Any]

    @property
    def data(self) -> Dataset:
        return self.items.dataset


def opened(
    model: Model | str | Path, data: Any, loading: Mapping[str, Any], target: Target, watch: Watch
) -> Old:
    """A model that can be edited, with the items of its data."""
    watch.stage("opening")
    folder = Path(model) if isinstance(model, str | Path) else None
    model = model_of(model, "this")
    dataset, construction = whole_data(model, data, loading), construction_of(model)
    texts = construction.claim.texts
    wanted = ending(dataset) if texts else ".jsonl"
    if target.data is not None and target.data.suffix != wanted:
        raise ByheartError(f"{target.data}: the data is written as {wanted}; name it so.")
    if not construction.edits:
        retrieval = "editable" in construction.options()
        again = "compile it again with `editable=True`" if retrieval else "compile it again with "
        again += "" if retrieval else "`method='hash-fold-retrieve'` and `editable=True`"
        raise ByheartError(
            f"the model is not editable: the labels of its data decided its structure; {again}."
        )
    if texts and dataset.tokenizer is None:
        raise ByheartError(
            "a stock checkpoint is edited by its texts, and this data is tokens; give the file "
            "that it was compiled from."
        )
    _, left, _ = settlement(model, kind_of(model).prove.reads(model, dataset))
    if left.sha256() != model.record.data.sha256:
        raise ByheartError(
            "the data is not what the model was made from: its hash differs; give that data."
        )
    if is_trained(str(stored(model).get("tokenizer", ""))) and not texts:
        raise ByheartError(
            "the tokenizer was trained on all of this text, so it holds something of every "
            "document; write the changed text and compile it again."
        )
    return Old(model, folder, construction, items_of(dataset, construction), loading)


def items_of(dataset: Dataset, construction: Construction) -> Items:
    """The items of data, told apart as the construction does."""
    positions = not isinstance(construction, Labelled) or bool(construction.positions)
    return Items(dataset, positions, construction.last)


def recompiled(
    model: Model, data: Dataset, prove_limit: float = PROVE_LIMIT, watch: Watch = SILENT
) -> Model:
    """The model that the folder's own options make of the data, from nothing else."""
    construction = construction_of(model)
    rule = rule_of(model)
    if data.tokenizer is None and construction.claim.texts:  # tokens, as in data.jsonl
        data = replace(data, tokenizer=model.record.tokenizer)
    return compile(data, construction, on_conflict=rule, prove_limit=prove_limit, watch=watch)


def rule_of(model: Model) -> str:
    """How conflicts of the model's data were resolved."""
    rule = model.record.options.get("on_conflict")
    return rule if model.claim.conflicts and rule in RESOLUTIONS else RESOLUTIONS[0]


def split_again(model: Model, data: Dataset, rebuild: bool) -> Dataset:
    """The changed data as a stock checkpoint's tokenizer splits it; other data as it is.

    rebuild  whether a tokenizer that was trained on the data is trained again on the changed data
    """
    if data.tokenizer is None:
        return data
    trained = training(model)
    if trained is None:  # the user's own
        return data
    content = model.record.tokenizer
    assert content is not None
    if rebuild:
        return trained_again(data, Vocabulary(content, model.claim.end), trained)  # type: ignore[attr-defined]
    return replace(data, tokenizer=content, loading={**data.loading, "tokenizer": KEPT})


def training(model: Model) -> str | None:
    """How the model's tokenizer was trained, be it before an edit that kept it."""
    now = str(stored(model).get("tokenizer", ""))
    before = model.record.search.tokenizer
    return next((x for x in (now, before) if x is not None and is_trained(x)), None)


class Selection:
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


def carry_out(
    old: Old,
    construction: Construction,
    data: Dataset,
    kind: str,
    counts: Mapping[str, int],
    target: Target,
    prove_limit: float,
    watch: Watch,
) -> Change:
    """Compile the changed data, and write the folder and then the data, if they are wanted.

    The hash of the old weights is in the answer alone: whoever has the remaining data could compile
    it with each guess of a removed item and compare.
    """
    watch.stage("building", len(data))
    model = compile(
        data, construction, on_conflict=rule_of(old.model), prove_limit=prove_limit, watch=watch
    )
    kept = training(old.model) if data.loading.get("tokenizer") == KEPT else None
    solved = isinstance(construction, Retrieval) and construction.structure is not None
    rebuilt = kept is None and not solved
    change = {"kind": kind, "data": model.record.data.sha256, "rebuilt": rebuilt}
    search = model.record.search._replace(tokenizer=kept)
    model = replace(model, record=replace(model.record, search=search, change=change))
    compared = difference(old.model, model)
    before, after = (x.record.search.structure for x in (old.model, model))
    before_hash = weights_hash(old.model, old.folder)
    verify = _write(model, data, target, watch)
    return Change(
        summary=summarise(model, model.verification, model.record.seconds),
        data=data,
        kind=kind,
        **counts,
        rebuilt=rebuilt,
        same=before == after and compared is not None,
        difference=compared,
        weights=WeightHashes(before_hash, weights_hash(model, target.output)),
        tokenizer=kept,
        written=None if target.output is None else str(target.output),
        verify=verify,
    )


def _write(model: Model, data: Dataset, target: Target, watch: Watch) -> str | None:
    """Write the folder and its data; the command that proves the change, if there is a file."""
    if target.output is None and target.data is None:
        return None
    watch.stage("writing")
    texts = None
    if target.data is not None and model.claim.texts:
        texts = spelled_by(data, vocabulary(model))
    if target.output is not None:
        model.save(target.output, force=target.force)
    if target.data is None:
        return None
    if texts is None:
        write_jsonl(settlement(model, data)[1], target.data)
    else:
        target.data.write_text(texts, encoding="utf-8", newline="")
    folder = "DIR" if target.output is None else str(target.output)
    return f"{verify_command(model, folder, str(target.data), canonical=texts is None)} --rebuild"


def objects(path: str | Path, example: str) -> Iterator[tuple[str, dict]]:
    """The JSON objects of a file, one per line, and where each stands."""
    try:
        content = Path(path).read_text("utf-8-sig")
    except OSError as error:
        raise ByheartError(f"{path} cannot be read: {error.strerror or error}.") from error
    except UnicodeDecodeError:
        raise ByheartError(f"{path} is not UTF-8; save it as UTF-8.") from None
    lines = [(i, line) for i, line in enumerate(content.split("\n"), 1) if line.strip()]
    if not lines:
        raise ByheartError(f"{path} holds no line; write {example}.")
    for i, line in lines:
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            raise ByheartError(f"{path}, line {i}: not a JSON object; write {example}.")
        yield f"{path}, line {i}", value


def item(model: Model, value: dict, place: str, example: str) -> list:
    """The tokens of a line: a list of them, or text."""
    tokens = value.get("input")
    try:
        return from_line(model, tokens) if isinstance(tokens, str) else checked(model, tokens)
    except ByheartError as error:
        raise ByheartError(f"{place}: {error.message.marked} Write {example}.") from None
