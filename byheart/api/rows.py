"""The rows of a comparison: a construction, a model or a bound for one dataset.

A construction is predicted or built: its size in closed form where there is one, or measured on a
network that was verified. One that does not apply says why, in the words of compile's refusal.
"""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..claims.result import picked
from ..constructions import ALL, find
from ..constructions.base import Construction
from ..constructions.retrieval import Retrieval
from ..data.contexts import contexts, resolve
from ..data.dataset import Dataset
from ..errors import ByheartError, Message
from ..machine.tables import number
from ..machine.watch import SILENT, Watch
from ..machine.words import brief
from ..models.kinds import kind_of
from ..models.model import Model
from ..models.opening import open as open_folder
from ..models.verification import verify
from ..theory import Question, answers
from ..theory.associative import LARGEST, smallest
from ..theory.dana2024.associations import Task
from ..theory.dana2024.associations import rows as associations
from ..theory.item import SIGNS
from ..theory.papers import cited
from .compile import compile
from .configure import configured, default_method, prepare, titled, with_positions
from .reading import data_for_method

PREDICTED = "predicted: nothing was built."
SEARCHED = Message("its size is found by a search: `build=True` measures it.")
ESTIMATED = Message("estimated from its plan: `build=True` measures it.")
QUICK = 100_000  # tokens of data for which the default method is built in seconds
FEWEST, BITS = "parameters", "bits"
LABELS, DISTRIBUTIONS = "labels", "distributions"
MOST_FACTS = 2_000  # tokens of an associative memory that is measured
LANES = 10  # of heads, and the dimension, as attention-only has them by default


@dataclass(frozen=True)
class Row:
    """One construction or bound; sizes that are not known are None."""

    name: str  # the method with its form, or the theorem
    kind: str  # construction, measured, trained, saved or bound
    direction: str  # "at_most": this many are enough; "at_least": with fewer it is impossible
    parameters: int | float | None = None  # nonzero ones; of a decoder, all
    # of the code word for the whole network, or the limit of a bound
    bits: int | float | None = None
    depth: int | None = None
    evidence: str | None = None  # for a network that was built
    seconds: float | None = None  # to build and to verify it
    applies: bool = True
    reason: str | None = None  # why it does not apply, or how its size is known
    dense: int | None = None  # parameters of full matrices
    longest: int | None = None  # bits of the longest parameter, in plain binary notation
    units: int | None = None  # neurons and attention heads
    estimated: bool = False  # whether its size is that of a plan, not of a network
    stores: str = LABELS  # what a context gets, labels or distributions: only the same is compared

    @property
    def title(self) -> str:
        """The name for people; a trained model may have the name of a paper's architecture."""
        return cited(self.name) if self.kind == "bound" else self.name

    def size(self, value: int | float | None) -> str | int | float | None:
        """A size for a table; of a bound with the sign that says in which direction it holds."""
        if self.estimated and value is not None:
            return f"~ {number(value)}"
        bound = self.kind == "bound" and value is not None
        return f"{SIGNS[self.direction]} {number(value)}" if bound else value

    def json(self) -> dict:
        """The row without what its reason says."""
        return {name: x for name, x in vars(self).items() if name != "estimated"}


@dataclass(frozen=True)
class Choice:
    """What holds for all constructions; positions and on_conflict as in compile."""

    build: bool = False
    positions: bool | None = None
    on_conflict: str = "refuse"
    seed: int = 0


def construction_row(
    construction: Construction,
    dataset: Dataset,
    choice: Choice,
    watch: Watch,
    name: str | None = None,
    options: Mapping[str, Any] | None = None,
) -> Row:
    """The size of a construction, measured or predicted; or why it does not apply."""
    stores = DISTRIBUTIONS if construction.claim.probabilities else LABELS
    row = Row(name or titled(construction), "construction", "at_most", stores=stores)
    method, form, on_conflict = construction.name, construction.form, choice.on_conflict
    given: dict[str, Any] = {}
    if construction.claim.probabilities:  # it sees order and no conflicts
        on_conflict = "refuse"
    elif choice.positions or (choice.positions is False and "positions" in construction.options()):
        given = {"positions": choice.positions}  # without the option, order never counts
    given |= options or {}
    try:
        own = method == default_method(dataset) and form != "faithful"
        if not choice.build and not (own and dataset.lengths.sum() <= QUICK):
            chosen = with_positions(configured(method, form, choice.seed, given), dataset)
            prepared = prepare(chosen, data_for_method(dataset, chosen), on_conflict)
            size = chosen.predict(*prepared)
            if size is not None:
                return replace(row, **picked(size, "parameters depth units"), reason=PREDICTED)
            if own and isinstance(chosen, Retrieval):
                from ..constructions.retrieval.build import estimate  # numba is slow

                planned = estimate(*prepared, chosen)
                return replace(row, parameters=planned, reason=ESTIMATED, estimated=True)
            return replace(row, reason=SEARCHED)
        model = compile(
            dataset, method, form, on_conflict=on_conflict, seed=choice.seed, watch=watch, **given
        )
    except ByheartError as error:
        return replace(row, applies=False, reason=str(error))
    assert model.verification is not None
    evidence, seconds = model.verification.evidence, sum(model.record.seconds.values())
    return replace(row, **measured(model), evidence=evidence, seconds=seconds)


def measured(model: Model) -> dict[str, Any]:
    return {
        "parameters": model.parameters.counted + model.parameters.outside,
        "bits": kind_of(model).store.code_bits(model.network),
        "depth": model.network.depth,
        "dense": model.parameters.dense,
        "longest": model.bits.largest,
        "units": model.network.units,
    }


def related_rows(dataset: Dataset, choice: Choice, watch: Watch) -> list[Row]:
    """Systems of related work that are a method of ours with options of their own."""
    if dataset.every or not len(dataset):
        return []
    name = f"one-layer without positions, after {cited('kajitsuka2024')}"
    plain = {"positions": False, "skip": True}
    rows = [construction_row(find("one-layer"), dataset, choice, watch, name, plain)]
    rank = min(dataset.length, LANES)  # H (r - 1) + 1 contexts for H heads of rank r
    if rank > 1 and LANES >= dataset.length:
        heads = max(1, -(-(len(contexts(dataset, positions=True)) - 1) // (rank - 1)))
        sizes = {"heads": heads, "dimension": LANES, "head_dimension": LANES}
        name = f"attention-only with the heads of {cited('mahdavi2024')}"
        rows.append(construction_row(find("attention-only"), dataset, choice, watch, name, sizes))
    row = Row(f"linear associative memory, after {cited('cabannes2024')}", "measured", "at_most")
    if dataset.length > 1 or not dataset.has_vocabulary:
        return [*rows, replace(row, applies=False, reason="it reads single words or integers.")]
    grouped = contexts(dataset, positions=True)
    small = choice.build and len(dataset.tokens) <= MOST_FACTS
    if not small or grouped.conflicts(dataset).any():
        return rows
    # the smallest W of a linear associative memory that recalls all of the data
    _, wanted = np.unique(dataset.labels[grouped.first], return_inverse=True)
    memory = smallest(wanted)
    if memory is None:
        reason = f"no dimension up to {LARGEST:,} recalls all tokens."
        return [*rows, replace(row, applies=False, reason=reason)]
    d = memory.dimension
    signs = d * (len(wanted) + int(wanted.max()) + 1)
    reason = f"d = {d}, all labels recalled in whole numbers; its random encoders have "
    reason += f"{signs:,} signs more."
    return [*rows, replace(row, parameters=d * d, dense=d * d, depth=1, reason=reason)]


def own_row(dataset: Dataset, watch: Watch, positions: bool | None = None) -> Row | None:
    """Our own network for this data: the default method or, where labels conflict, one-layer."""
    for name in (default_method(dataset), "one-layer"):
        row = construction_row(find(name), dataset, Choice(positions=positions), watch)
        if row.applies and row.parameters is not None:
            return row
    return None


def opened(models: Mapping[str, Model] | Iterable[str | Path]) -> dict[str, Model]:
    if isinstance(models, Mapping):
        return dict(models)
    folders: dict[str, Model] = {}
    for path in models:
        if str(path) in folders:
            raise ByheartError(f"the model {path} is named twice; name it once.")
        folders[str(path)] = open_folder(path)
    return folders


def model_row(name: str, model: Model, dataset: Dataset, on_conflict: str) -> Row:
    """A model beside the constructions; it applies if it knows all of the data.

    Conflicts are settled as the user asks, or not at all: what the model's folder says of them does
    not count. Of a trained model the parameters that were trained count: folding and rounding give
    its network others, but they hold no more.
    """
    sizes, claim, training = measured(model), model.claim.sentence, model.record.training
    if training is None:
        title = f"{Path(name).name}: {brief(model.record.method)}"
        row = Row(title, "saved", "at_most", reason=claim, **sizes)
    else:
        learnt, trial = training.get("parameters"), training.get("trial")
        if type(learnt) is not int or type(trial) is not dict:  # a folder may come from anywhere
            raise ByheartError(f"{name}/config.json does not say what was trained.")
        title = f"{Path(name).name}: {brief(trial.get('architecture'))}, trained"
        reason = f"{claim} Certified with {sizes['parameters']:,} parameters."
        row = Row(title, "trained", "at_most", learnt, sizes["bits"], sizes["depth"], reason=reason)
    row = replace(row, stores=DISTRIBUTIONS if model.claim.probabilities else LABELS)
    prove = kind_of(model).prove
    dataset = prove.reads(model, dataset)
    unfit = prove.unfitting(model, dataset)
    if unfit:
        return replace(row, applies=False, reason=f"{unfit}.")
    started = time.perf_counter()
    if on_conflict != "refuse" and model.claim.conflicts:
        dataset = resolve(dataset, prove.contexts(model, dataset), on_conflict)
    verification = verify(model, dataset)
    row = replace(row, evidence=verification.evidence, seconds=time.perf_counter() - started)
    if verification.refuted:
        right = f"{verification.correct:,} of {verification.checked:,} {model.claim.noun}"
        reason = f"refuted, {right} hold: {verification.failures[0]}."
        return replace(row, applies=False, reason=reason)
    return row


def bound_rows(question: Question) -> list[Row]:
    """The bounds of a dataset that are about parameters or bits."""
    rows = []
    for bound in answers(question):
        kept, _, what = bound.quantity.partition(" ")
        if kept not in (FEWEST, BITS):
            continue
        thumb = ", rule of thumb" if bound.kind == "rule_of_thumb" else ""
        name = f"{bound.paper}, {bound.item}{f' {what}' if what else ''}{thumb}"
        sizes = (bound.value, None) if kept == FEWEST else (None, bound.value)
        stores = DISTRIBUTIONS if DISTRIBUTIONS in what else LABELS
        row = Row(name, "bound", bound.direction, sizes[0], sizes[1], stores=stores)
        rows.append(replace(row, applies=bound.applies, reason=bound.reason))
    return rows


def association_rows(question: Question) -> list[Row]:
    """What other models need for the same associations (dana2024, section 6, from row 2 on)."""
    data = question.data
    if data is None or data.every or not (data.contexts and data.length and data.union):
        return []
    vocabulary = data.union + bool(data.padded)
    if vocabulary < 2:
        return []
    size = max(LANES, data.length + 2)  # what the assumptions of these rows ask for
    task = Task(data.ordered or data.contexts, vocabulary, data.length, size, size)
    rows = []
    for x in associations(task)[1:]:
        applies = not (data.conflicts or x.fails)
        reason = f"{x.formula}." if x.exact else f"only an order: {x.formula}."
        if not applies:
            fails = f"{' and '.join(x.fails)} does not hold."
            reason = "a context has two labels." if data.conflicts else fails
        parameters = x.parameters if applies and x.exact else None
        name = f"{x.reference}: {x.name} (labels)"
        rows.append(Row(name, "bound", "at_most", parameters, applies=applies, reason=reason))
    return rows


def all_rows(
    dataset: Dataset,
    question: Question,
    choice: Choice = Choice(),  # noqa: B008 - frozen
    watch: Watch = SILENT,
    others: Iterable[Row] = (),
) -> list[Row]:
    """One row per construction and bound, smallest first, with other rows among them."""
    rows = list(others)
    for construction in ALL:
        watch.note(titled(construction))
        rows.append(construction_row(construction, dataset, choice, watch))
    rows += related_rows(dataset, choice, watch)
    return ordered([*rows, *bound_rows(question), *association_rows(question)])


def ordered(rows: Iterable[Row], sort: str = "parameters") -> list[Row]:
    """What applies first, labels before distributions, then by a column or the name.

    What is not known comes last, by parameters.
    """

    def place(row: Row) -> tuple:
        if sort == "name":
            return not row.applies, row.stores != LABELS, row.kind == "bound", row.name
        columns = (getattr(row, sort), row.parameters, row.bits)
        sizes = [float("inf") if x is None else x for x in columns]
        return not row.applies, row.stores != LABELS, *sizes, row.kind, row.name

    return sorted(rows, key=place)
