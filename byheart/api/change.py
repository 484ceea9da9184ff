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

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from ..claims.answer import Question
from ..claims.location import Difference
from ..claims.result import picked
from ..claims.verification import PROVE_LIMIT
from ..constructions.base import Construction
from ..constructions.families import Labelled
from ..constructions.retrieval import Retrieval
from ..data.dataset import Dataset
from ..data.edits import Items
from ..data.load import write_jsonl
from ..data.readers.tokenizers import is_trained
from ..errors import ByheartError
from ..machine.files import refuse_existing, replacing
from ..machine.swap import check_place
from ..machine.watch import SILENT, Watch
from ..models.folder.write import save
from ..models.kinds import difference, kind_of
from ..models.model import Model
from ..models.questions import checked, from_line, tokens_of, values_of
from ..models.source import rule_of, settlement, stored, verify_command
from ..stock.answer import vocabulary
from ..stock.sources import ending, spelled_by, trained_again
from ..stock.tokens import Vocabulary
from .compile import compile
from .configure import check_prove_limit, construction_of
from .reading import model_of, weights_hash, whole_data
from .summary import Summary, summarise

EDIT, FORGET = "edit", "forget"
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
        counts = "kind changed added removed rows rebuilt structure_kept=same"
        rest = "tokenizer_kept=tokenizer difference weights written verify"
        answer = picked(self, f"{counts} {rest}")
        if self.difference is not None:
            del answer["difference"]["places"]
        return {**self.summary.json(), **answer}


class Task(NamedTuple):
    """A model that is changed, its data, and where the new folder and its data are written."""

    model: Model
    folder: Path | None
    construction: Construction
    selection: "Selection"
    loading: Mapping[str, Any]
    output: Path | None
    write_data: Path | None
    force: bool
    prove_limit: float
    watch: Watch

    @property
    def data(self) -> Dataset:
        return self.selection.items.dataset


def begin(
    model: Model | str | Path,
    data: Any,
    loading: Mapping[str, Any],
    output: str | Path | None,
    write_data: str | Path | None,
    force: bool,
    prove_limit: float,
    watch: Watch,
) -> Task:
    """A model that can be edited, with its data; ByheartError if the output cannot be written."""
    check_prove_limit(prove_limit)
    output = None if output is None else Path(output)
    write_data = None if write_data is None else Path(write_data)
    if output is not None:
        check_place(output, force)
    if write_data is not None:
        refuse_existing(write_data, force)
    watch.stage("opening")
    folder = Path(model) if isinstance(model, str | Path) else None
    model = model_of(model, "this")
    dataset, construction = whole_data(model, data, loading), construction_of(model)
    texts = construction.claim.texts
    wanted = ending(dataset) if texts else ".jsonl"
    if write_data is not None and write_data.suffix != wanted:
        raise ByheartError(f"{write_data}: the data is written as {wanted}; name it so.")
    if not construction.edits:
        retrieval = "editable" in construction.options()
        other = "" if retrieval else "`method='hash-fold-retrieve'` and "
        raise ByheartError(
            "the model is not editable: the labels of its data decided its structure; compile it "
            f"again with {other}`editable=True`."
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
    selection = Selection(model, items_of(dataset, construction))
    places = (output, write_data, force)
    return Task(model, folder, construction, selection, loading, *places, prove_limit, watch)


def items_of(dataset: Dataset, construction: Construction) -> Items:
    """The items of data, told apart as the construction does."""
    positions = not isinstance(construction, Labelled) or bool(construction.positions)
    return Items(dataset, positions, construction.last)


def recompiled(
    model: Model, data: Dataset, prove_limit: float = PROVE_LIMIT, watch: Watch = SILENT
) -> Model:
    """The model that the folder's own options make of the data, from nothing else."""
    construction = construction_of(model)
    if data.tokenizer is None and construction.claim.texts:  # tokens, as in data.jsonl
        data = replace(data, tokenizer=model.record.tokenizer, texts=())
    return compile(
        data, construction, on_conflict=rule_of(model), prove_limit=prove_limit, watch=watch
    )


def split_again(model: Model, data: Dataset, rebuild: bool) -> Dataset:
    """The data as a checkpoint's tokenizer splits it, which is trained again to `rebuild`."""
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
        return checked(self.model, tokens_of(self.model, question))

    def find(self, tokens: Sequence) -> list[int] | None:
        """The rows of an item of the data; None if it is none."""
        return self.all.get(self.items.key(tokens))

    def rows(self, question: Question) -> list[int]:
        key = self.items.key(self.tokens(question))
        rows = self.all.get(key)
        if rows is None:
            what = "a document of" if self.items.texts else "an item of"
            raise ByheartError(f"{question!r} is not {what} the data.")
        if key in self.used:
            raise ByheartError(f"{question!r} is named twice; name an item once.")
        self.used.add(key)
        return rows


def carry_out(
    task: Task, construction: Construction, data: Dataset, kind: str, counts: Mapping[str, int]
) -> Change:
    """Compile the changed data, and write the data and then the folder, if they are wanted.

    The hash of the old weights is in the answer alone: whoever has the remaining data could compile
    it with each guess of a removed item and compare.
    """
    old, watch, limit = task.model, task.watch, task.prove_limit
    watch.stage("building", len(data))
    model = compile(data, construction, on_conflict=rule_of(old), prove_limit=limit, watch=watch)
    kept = training(old) if data.loading.get("tokenizer") == KEPT else None
    solved = isinstance(construction, Retrieval) and construction.structure is not None
    rebuilt = kept is None and not solved
    change = {"kind": kind, "data": model.record.data.sha256, "rebuilt": rebuilt}
    search = model.record.search._replace(tokenizer=kept)
    model = replace(model, record=replace(model.record, search=search, change=change))
    compared = difference(old, model)
    before, after = (x.record.search.structure for x in (old, model))
    old_hash = weights_hash(old, task.folder)
    verify = _write(task, model, data)
    return Change(
        summary=summarise(model, model.verification, model.record.seconds),
        data=data,
        kind=kind,
        **counts,
        rebuilt=rebuilt,
        same=before == after and compared is not None,
        difference=compared,
        weights=WeightHashes(old_hash, weights_hash(model, task.output)),
        tokenizer=kept,
        written=None if task.output is None else str(task.output),
        verify=verify,
    )


def _write(task: Task, model: Model, data: Dataset) -> str | None:
    """Write the folder and its data; the command that proves the change, if there is a file."""
    output, path = task.output, task.write_data
    if output is None and path is None:
        return None
    task.watch.stage("writing")
    texts = None
    if path is not None and model.claim.texts:
        texts = spelled_by(data, vocabulary(model))

    def write_data() -> None:
        if texts is not None and path is not None:
            with replacing(path) as file:
                file.write(texts.encode())
        elif path is not None:
            write_jsonl(settlement(model, data)[1], path)

    if output is None:
        write_data()
    else:  # a run that is killed leaves no folder without its data
        save(model, output, force=task.force, before=write_data)
    if path is None:
        return None
    folder = "DIR" if output is None else str(output)
    return f"{verify_command(model, folder, str(path), canonical=texts is None)} --rebuild"


def objects(path: str | Path, example: str) -> Iterator[tuple[str, dict]]:
    """The JSON objects of a file, one per line, and where each stands."""
    empty = True
    for place, value in values_of(path, example, "utf-8-sig"):
        empty = False
        if not isinstance(value, dict):
            raise ByheartError(f"{place}: not a JSON object; write {example}.")
        yield place, value
    if empty:
        raise ByheartError(f"{path} holds no line; write {example}.")


def item(model: Model, value: dict, place: str, example: str) -> list:
    """The tokens of a line: a list of them, or text."""
    tokens = value.get("input")
    try:
        return from_line(model, tokens) if isinstance(tokens, str) else checked(model, tokens)
    except ByheartError as error:
        raise ByheartError(f"{place}: {error.message.marked} Write {example}.") from None
