"""Every construction and every bound for one dataset, side by side.

A construction is predicted or built: its size in closed form where there is one, or measured on a
network that was verified. One that does not apply says why, in the words of compile's refusal.
"""

import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..constructions import ALL, find
from ..constructions.base import Construction, Report
from ..constructions.families import Retrieval
from ..data.contexts import RESOLUTIONS, contexts, resolve
from ..data.dataset import Dataset
from ..data.load import dataset_of
from ..errors import ByheartError
from ..machine.tables import Content, Tabular, number
from ..machine.watch import SILENT, Noting, Watch
from ..machine.words import brief
from ..models.model import Model
from ..models.verification import verify
from ..theory import Question, answers
from ..theory.associative import LARGEST, smallest
from ..theory.dana2024.associations import Task
from ..theory.dana2024.associations import rows as associations
from ..theory.facts import data_facts
from ..theory.item import SIGNS
from ..theory.papers import cited
from .compiling import compile, configured, default_method, prepare, with_positions
from .growing import Crossing, Line, growing

PREDICTED = "predicted: nothing was built."
SEARCHED = "its size is found by a search: build=True measures it."
ESTIMATED = "estimated from its plan: build=True measures it."
QUICK = 100_000  # tokens of data for which the default method is built in seconds
FEWEST, BITS = "parameters", "bits"
COUNTS = ("sequences", "contexts", "labels", "length", "vocabulary")
COLUMNS = (
    "parameters", "dense", "bits", "longest", "units", "depth", "evidence", "kind", "",
)  # fmt: skip
ORDERS = ("parameters", "dense", "bits", "longest", "units", "depth", "name")
MOST_FACTS = 2_000  # tokens of an associative memory that is measured
LANES = 10  # of heads, and the dimension, as attention-only has them by default


@dataclass(frozen=True)
class Row:
    """One construction or bound.

    Attributes:
        name: The method with its form, or the theorem.
        kind: construction, measured, trained, saved or bound.
        direction: "at_most": this many are enough; "at_least": with fewer it is impossible.
        parameters: Nonzero ones; of a decoder, all. None where it is not known, here and below.
        bits: Of all parameters together.
        dense: Parameters of full matrices.
        longest: Bits of the longest parameter, in plain binary notation.
        units: Neurons and attention heads.
        evidence: For a network that was built.
        seconds: To build and to verify it.
        reason: Why it does not apply, or how its size is known.
    """

    name: str
    kind: str
    direction: str
    parameters: int | float | None = None
    bits: int | float | None = None
    depth: int | None = None
    evidence: str | None = None
    seconds: float | None = None
    applies: bool = True
    reason: str | None = None
    dense: int | None = None
    longest: int | None = None
    units: int | None = None

    def size(self, value: int | float | None) -> str | int | float | None:
        """A size for a table; of a bound with the sign that says in which direction it holds."""
        if self.reason == ESTIMATED and value is not None:
            return f"~ {number(value)}"
        bound = self.kind == "bound" and value is not None
        return f"{SIGNS[self.direction]} {number(value)}" if bound else value

    def json(self) -> dict:
        return asdict(self)


@dataclass(frozen=True)
class Choice:
    """What holds for all constructions; positions and on_conflict as in compile."""

    build: bool = False
    positions: bool | None = None
    on_conflict: str = "refuse"
    seed: int = 0


@dataclass(frozen=True)
class Step:
    """The rows of a dataset, or of its first sequences, with its counts."""

    dataset: dict[str, int]
    rows: tuple[Row, ...]

    def json(self) -> dict:
        return {"dataset": dict(self.dataset), "rows": [row.json() for row in self.rows]}


@dataclass(frozen=True, repr=False)
class Comparison(Tabular):
    """Every construction and bound for a dataset, smallest first.

    Attributes:
        built: Whether sizes were measured on networks that were built, not predicted.
        steps: Growing prefixes of the data, or the data alone.
        swept: Whether prefixes were asked for.
        lines: Closed forms for more contexts than the data has, if they were asked for.
        crossings: Where one of them becomes smaller than another.
    """

    built: bool
    steps: tuple[Step, ...]
    swept: bool
    lines: tuple[Line, ...] = ()
    crossings: tuple[Crossing, ...] = ()

    @property
    def dataset(self) -> dict[str, int]:
        """Counts of the data, or of its longest prefix."""
        return self.steps[-1].dataset

    @property
    def rows(self) -> tuple[Row, ...]:
        """The rows of the data, or of its longest prefix."""
        return self.steps[-1].rows

    def json(self) -> dict:
        return {
            "dataset": dict(self.dataset),
            "built": self.built,
            "rows": [row.json() for row in self.rows],
            "sweep": [step.json() for step in self.steps] if self.swept else [],
            "lines": [line.json() for line in self.lines],
            "crossings": [crossing.json() for crossing in self.crossings],
        }

    def table(self) -> Content:
        title = ", ".join(f"{name} {self.dataset[name]:,}" for name in COUNTS)
        rows: list[tuple[object, ...]] = [
            (
                x.size(x.parameters),
                x.dense,
                x.size(x.bits),
                x.longest,
                x.units,
                x.depth,
                x.evidence,
                x.kind,
                titled(x.name, x.kind),
            )
            for x in self.rows
            if x.applies
        ]
        return title, COLUMNS, rows


def compare(
    data: Dataset,
    sweep: Iterable[int] | None = None,
    build: bool = False,
    models: Mapping[str, Model] | None = None,
    *,
    positions: bool | None = None,
    on_conflict: str = "refuse",
    seed: int = 0,
    sort: str = "parameters",
    until: int | None = None,
    watch: Watch = SILENT,
) -> Comparison:
    """Every construction and every bound for a dataset, side by side.

    Args:
        data: What is to be memorised.
        sweep: Numbers of sequences: compare for the first of them, each; by default for all.
        build: Build and verify each construction: sizes are measured, not predicted.
        models: Models by the names of their folders, to be verified on the data and to stand
            beside the constructions.
        positions: As in `compile`.
        on_conflict: As in `compile`.
        seed: Random seed.
        sort: The column that orders the rows, or "name".
        until: Add, for growing numbers of contexts up to this one, the closed forms of the methods
            that have one.
        watch: Told of each construction before it is tried.

    Returns:
        The rows, smallest first; what does not apply has the reason, in the words of `compile`.

    Example:
        >>> from byheart import from_rows
        >>> found = compare(from_rows([(["a"], "x"), (["b"], "y")]))
        >>> next(row.parameters for row in found.rows if row.name == "one-layer")
        21
    """
    data = dataset_of(data)
    if on_conflict not in RESOLUTIONS:
        names = ", ".join(RESOLUTIONS)
        raise ByheartError(f"on_conflict must be one of {names}, not {on_conflict!r}.")
    counts = sorted(set(sweep or ())) or [len(data)]
    if counts[0] < 1 or counts[-1] > len(data):
        wrong = counts[0] if counts[0] < 1 else counts[-1]
        raise ByheartError(
            f"sweep must be at most the {len(data):,} sequences of the data, not {wrong:,}."
        )
    if sort not in ORDERS:
        raise ByheartError(f"sort must be one of {', '.join(ORDERS)}, not {sort!r}.")
    choice = Choice(build, positions, on_conflict, seed)
    steps = []
    for count in counts:
        part = data if count == len(data) else data.prefix(count)
        facts = data_facts(part)
        watch.stage("comparing")
        others = [
            model_row(name, model, part, on_conflict) for name, model in (models or {}).items()
        ]
        rows = ordered(all_rows(part, Question(facts), choice, watch.note, others), sort)
        steps.append(Step({name: getattr(facts, name) for name in COUNTS}, tuple(rows)))
    built = {row.name for row in steps[-1].rows if row.applies and row.kind == "construction"}
    lines, crossings = growing(data, built, until) if until else ((), ())
    return Comparison(build, tuple(steps), sweep is not None, lines, crossings)


def all_rows(
    dataset: Dataset,
    question: Question,
    choice: Choice = Choice(),  # noqa: B008 - frozen
    report: Report = lambda sentence: None,
    others: Iterable[Row] = (),
) -> list[Row]:
    """One row per construction and bound, smallest first, with other rows among them."""
    found = list(others)
    for construction in ALL:
        report(named(construction))
        found.append(construction_row(construction, dataset, choice, report))
    found += related_rows(dataset, choice, report)
    return ordered([*found, *bound_rows(question), *association_rows(question)])


def named(construction: Construction) -> str:
    return construction.name + (f" ({construction.form})" if construction.form else "")


def ordered(rows: Iterable[Row], sort: str = "parameters") -> list[Row]:
    """What applies first, by a column or its name; what is not known comes last, by parameters."""

    def place(row: Row) -> tuple:
        if sort == "name":
            return not row.applies, row.kind == "bound", row.name
        columns = (getattr(row, sort), row.parameters, row.bits)
        sizes = [float("inf") if x is None else x for x in columns]
        return not row.applies, *sizes, row.kind, row.name

    return sorted(rows, key=place)


def construction_row(
    construction: Construction,
    dataset: Dataset,
    choice: Choice,
    report: Report,
    name: str | None = None,
    options: Mapping[str, Any] | None = None,
) -> Row:
    """The size of a construction, measured or predicted; or why it does not apply.

    name, options  of a row for the construction with options of its own
    """
    row = Row(name or named(construction), "construction", "at_most")
    on_conflict, positions = choice.on_conflict, choice.positions
    takes = positions or "positions" in construction.options()  # without them, order never counts
    given: dict[str, Any] = {} if positions is None or not takes else {"positions": positions}
    if construction.stores == "distributions":  # it sees order and no conflicts
        on_conflict, given = "refuse", {}
    given |= options or {}
    try:
        own = construction.name == default_method(dataset) and construction.form != "faithful"
        if not choice.build and not (own and dataset.lengths.sum() <= QUICK):
            made = configured(construction.name, construction.form, choice.seed, given)
            made = with_positions(made, dataset)
            prepared = prepare(made, dataset, on_conflict)
            size = made.predict(*prepared)
            if size is not None:
                total, depth = size.parameters, size.depth
                row = replace(row, parameters=total, depth=depth, units=size.units)
                return replace(row, reason=PREDICTED)
            if own and isinstance(made, Retrieval):
                from ..constructions.hash_fold_retrieve.build import estimate  # numba is slow

                return replace(row, parameters=estimate(*prepared, made), reason=ESTIMATED)
            return replace(row, reason=SEARCHED)
        model = compile(
            dataset,
            construction.name,
            construction.form,
            on_conflict=on_conflict,
            seed=choice.seed,
            watch=Noting(report),
            **given,
        )
    except ByheartError as error:
        return replace(row, applies=False, reason=str(error))
    assert model.verification is not None
    return replace(
        row,
        parameters=model.parameters.counted + model.parameters.outside,
        bits=model.bits.total,
        depth=model.network.depth,
        evidence=model.verification.evidence,
        seconds=sum(model.about["seconds"].values()),
        **measured(model),
    )


def measured(model: Model) -> dict[str, Any]:
    """What else is counted in the weights of a model."""
    dense, longest = model.parameters.dense, model.bits.largest
    return {"dense": dense, "longest": longest, "units": model.network.units}


def related_rows(dataset: Dataset, choice: Choice, report: Report) -> list[Row]:
    """Systems of related work that are a method of ours with options of their own."""
    if dataset.every or not len(dataset):
        return []
    rows = []
    one_layer, only = find("one-layer"), find("attention-only")
    plain = {"positions": False, "skip": True}
    name = f"one-layer without positions, after {cited('kajitsuka2024')}"
    rows.append(construction_row(one_layer, dataset, choice, report, name, plain))
    rank = min(dataset.length, LANES)  # H (r - 1) + 1 contexts for H heads of rank r
    if rank > 1 and LANES >= dataset.length:
        ordered_contexts = len(contexts(dataset, positions=True))
        heads = max(1, -(-(ordered_contexts - 1) // (rank - 1)))
        sizes = {"heads": heads, "dimension": LANES, "head_dimension": LANES}
        name = f"attention-only with the heads of {cited('mahdavi2024')}"
        rows.append(construction_row(only, dataset, choice, report, name, sizes))
    row = Row(f"linear associative memory, after {cited('cabannes2024')}", "measured", "at_most")
    if dataset.length > 1 or not dataset.has_vocabulary:
        return [*rows, replace(row, applies=False, reason="it reads single words or integers.")]
    if (
        choice.build
        and len(dataset.tokens) <= MOST_FACTS
        and not contexts(dataset, True).conflicts(dataset).any()
    ):
        rows.append(replace(row, **associative(dataset)))
    return rows


def associative(dataset: Dataset) -> dict[str, Any]:
    """The smallest W of a linear associative memory that recalls all of the data."""
    first = contexts(dataset, positions=True).first
    _, wanted = np.unique(dataset.labels[first], return_inverse=True)
    found = smallest(wanted)
    if found is None:
        return {"applies": False, "reason": f"no dimension up to {LARGEST:,} recalls all tokens."}
    d = found.dimension
    return {
        "parameters": d * d,
        "dense": d * d,
        "depth": 1,
        "reason": f"d = {d}, all labels recalled in whole numbers; its random encoders have "
        f"{d * (len(wanted) + int(wanted.max()) + 1):,} signs more.",
    }


def own_row(dataset: Dataset, report: Report) -> Row | None:
    """Our own network for this data: the default method or, where labels conflict, one-layer."""
    for name in (default_method(dataset), "one-layer"):
        for construction in ALL:
            if construction.name == name and construction.form != "faithful":
                row = construction_row(construction, dataset, Choice(), report)
                if row.applies and row.parameters is not None:
                    return row
    return None


def titled(name: str, kind: str) -> str:
    """The name of a row for people; a trained model may have the name of a paper's architecture."""
    return cited(name) if kind == "bound" else name


def model_row(name: str, model: Model, dataset: Dataset, on_conflict: str) -> Row:
    """A model beside the constructions; it applies if it knows all of the data.

    Conflicts are settled as the user asks, or not at all: what the model's folder says of them does
    not count.

    Of a trained model the parameters that were trained count. Folding and rounding give its network
    others, but they hold no more.
    """
    own, bits = model.parameters.counted + model.parameters.outside, model.bits.total
    depth, claim, training = model.network.depth, model.claim.sentence, model.about.get("training")
    if training is None:
        title = f"{Path(name).name}: {brief(model.about['method'])}"
        row = Row(title, "saved", "at_most", own, bits, depth, reason=claim, **measured(model))
    else:
        learnt, trial = training.get("parameters"), training.get("trial")
        if type(learnt) is not int or type(trial) is not dict:  # a folder may come from anywhere
            raise ByheartError(f"{name}/config.json does not say what was trained.")
        title = f"{Path(name).name}: {brief(trial.get('architecture'))}, trained"
        reason = f"{claim} Certified with {own:,} parameters."
        row = Row(title, "trained", "at_most", learnt, bits, depth, reason=reason)
    dataset = model.claim.reads(model, dataset)
    unfit = model.claim.unfitting(model, dataset)
    if unfit:
        return replace(row, applies=False, reason=f"{unfit}.")
    started = time.perf_counter()
    if on_conflict != "refuse" and model.claim.conflicts:
        dataset = resolve(dataset, model.claim.contexts(model, dataset), on_conflict)
    found = verify(model, dataset)
    row = replace(row, evidence=found.evidence, seconds=time.perf_counter() - started)
    if found.refuted:
        right = f"{found.correct:,} of {found.checked:,} {model.claim.noun}"
        return replace(row, applies=False, reason=f"refuted, {right} hold: {found.failures[0]}.")
    return row


def bound_rows(question: Question) -> list[Row]:
    """The bounds of a dataset that are about parameters or bits."""
    found = []
    for bound in answers(question):
        kept, _, what = bound.quantity.partition(" ")
        if kept not in (FEWEST, BITS):
            continue
        thumb = ", rule of thumb" if bound.kind == "rule_of_thumb" else ""
        name = f"{bound.paper}, {bound.item}{f' {what}' if what else ''}{thumb}"
        sizes = (bound.value, None) if kept == FEWEST else (None, bound.value)
        row = Row(name, "bound", bound.direction, *sizes)
        found.append(replace(row, applies=bound.applies, reason=bound.reason))
    return found


def association_rows(question: Question) -> list[Row]:
    """What other models need for the same associations (dana2024, section 6).

    The first row of that section, Theorem 1, is among the bounds.
    """
    data = question.data
    if data is None or data.every or not (data.contexts and data.length and data.union):
        return []
    vocabulary = data.union + bool(data.padded)
    if vocabulary < 2:
        return []
    size = max(LANES, data.length + 2)  # what the assumptions of these rows ask for
    task = Task(data.contexts, vocabulary, data.length, size, size)
    rows = []
    for found in associations(task)[1:]:
        row = Row(f"{found.reference}: {found.name} (labels)", "bound", "at_most")
        if data.conflicts:
            row = replace(row, applies=False, reason="a context has two labels.")
        elif found.fails:
            row = replace(row, applies=False, reason=f"{' and '.join(found.fails)} does not hold.")
        elif not found.exact:
            row = replace(row, reason=f"only an order: {found.formula}.")
        else:
            row = replace(row, parameters=found.parameters, reason=f"{found.formula}.")
        rows.append(row)
    return rows
