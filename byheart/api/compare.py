"""compare: every construction and every bound for one dataset, side by side."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..claims.record import DataSizes
from ..claims.result import picked
from ..data.contexts import RESOLUTIONS
from ..data.load import dataset_of, name_of
from ..errors import ByheartError, one_of
from ..machine.tables import Content, Tabular
from ..machine.watch import SILENT, Watch
from ..models.model import Model
from ..theory import Question
from ..theory.facts import data_facts
from ..theory.growing import Crossing, Line, growing
from .reading import reading_of
from .rows import Choice, Row, all_rows, model_row, opened, ordered

COUNTS = ("sequences", "contexts", "labels", "length", "vocabulary")
KNOWN = ("sweep", "build", "models", "positions", "on_conflict", "seed", "sort", "until")
ORDERS = ("parameters", "dense", "bits", "longest", "units", "depth", "name")


@dataclass(frozen=True)
class Step:
    """The rows of a dataset, or of its first sequences, with its counts."""

    dataset: DataSizes
    rows: tuple[Row, ...]

    def json(self) -> dict:
        return {"dataset": self.dataset.counts(), "rows": [row.json() for row in self.rows]}


@dataclass(frozen=True, repr=False)
class Comparison(Tabular):
    """Every construction and bound for a dataset, smallest first."""

    name: str
    built: bool  # whether sizes were measured on networks that were built, not predicted
    steps: tuple[Step, ...]  # growing prefixes of the data, or the data alone
    swept: bool  # whether prefixes were asked for
    lines: tuple[Line, ...] = ()  # closed forms for more contexts than the data has
    crossings: tuple[Crossing, ...] = ()  # where one of them becomes smaller than another
    picture: str | None = None
    # contexts with several labels; without any, distributions are beside the point
    conflicts: int = 0

    @property
    def dataset(self) -> DataSizes:
        """Counts of the data, or of its longest prefix."""
        return self.steps[-1].dataset

    @property
    def rows(self) -> tuple[Row, ...]:
        """The rows of the data, or of its longest prefix."""
        return self.steps[-1].rows

    def json(self) -> dict:
        return {
            "dataset": {"name": self.name, **self.dataset.counts()},
            **picked(self, "built conflicts rows"),
            "sweep": [step.json() for step in self.steps] if self.swept else [],
            **picked(self, "lines crossings picture"),
        }

    def table(self) -> Content:
        title = ", ".join(f"{name} {getattr(self.dataset, name):,}" for name in COUNTS)
        rows: list[tuple[object, ...]] = []
        for x in self.rows:
            if x.applies:
                sizes = (x.size(x.parameters), x.dense, x.size(x.bits), x.longest, x.units, x.depth)
                rows.append((*sizes, x.evidence, x.kind, x.title))
        return title, (*ORDERS[:-1], "evidence", "kind", ""), rows


def compare(
    data: Any,
    sweep: Iterable[int] | None = None,
    build: bool = False,
    models: Mapping[str, Model] | Iterable[str | Path] = (),
    *,
    loading: Mapping[str, Any] | None = None,
    positions: bool | None = None,
    on_conflict: str = "refuse",
    seed: int = 0,
    sort: str = "parameters",
    until: int | None = None,
    watch: Watch = SILENT,
    **reading: Any,
) -> Comparison:
    """Every construction and every bound for a dataset, side by side.

    Args:
        data: What is to be memorised: a Dataset, or whatever `load` reads.
        sweep: Numbers of sequences: compare for the first of them, each; by default for all.
        build: Build and verify each construction: sizes are measured, not predicted.
        models: Folders of models, or models by name, to be verified on the data and to stand
            beside the constructions.
        loading: The options of `load` for a file.
        positions: As in `compile`.
        on_conflict: As in `compile`.
        seed: Random seed.
        sort: The column that orders the rows, or "name".
        until: Add, for growing numbers of contexts up to this one, the closed forms of the methods
            that have one, shifted to go through the sizes that the data has.
        watch: Told of each construction before it is tried.
        **reading: The options of `load`, one by one.

    Returns:
        The rows, smallest first; what does not apply has the reason, in the words of `compile`.

    Example:
        >>> from byheart import from_rows
        >>> answer = compare(from_rows([(["a"], "x"), (["b"], "y")]))
        >>> next(row.parameters for row in answer.rows if row.name == "one-layer")
        21
    """
    loading, _ = reading_of(loading, reading, KNOWN)
    watch.stage("loading")
    others = opened(models)
    dataset = dataset_of(data, loading)
    one_of(RESOLUTIONS, on_conflict=on_conflict)
    sizes = sorted(set(sweep or ())) or [len(dataset)]
    if sizes[0] < 1 or sizes[-1] > len(dataset):
        wrong = sizes[0] if sizes[0] < 1 else sizes[-1]
        raise ByheartError(
            f"`sweep` must be at most the {len(dataset):,} sequences of the data, not {wrong:,}."
        )
    one_of(ORDERS, sort=sort)
    choice = Choice(build, positions, on_conflict, seed)
    steps = []
    for size in sizes:
        part = dataset if size == len(dataset) else dataset.prefix(size)
        facts = data_facts(part, positions=positions)
        watch.stage("comparing")
        saved = [model_row(title, model, part, on_conflict) for title, model in others.items()]
        rows = ordered(all_rows(part, Question(facts), choice, watch, saved), sort)
        counts = {count: getattr(facts, count) for count in COUNTS}
        steps.append(Step(DataSizes(**counts), tuple(rows)))
    ours = [row for row in steps[-1].rows if row.applies and row.kind == "construction"]
    known = {row.name: row.parameters for row in ours}
    forms = growing(dataset, known, until) if until else ((), ())
    found = (name_of(data), build, tuple(steps), sweep is not None)
    return Comparison(*found, *forms, conflicts=facts.conflicts or 0)
