"""Every construction and every bound for one dataset, side by side.

A construction is predicted or built: its size in closed form where there is one, or measured on a
network that was verified. One that does not apply says why, in the words of compile's refusal.
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace

from ..constructions import ALL
from ..constructions.base import Construction, Options, Report
from ..data.dataset import Dataset
from ..errors import ByheartError
from ..theory import Question, answers
from ..theory.dana2024.associations import Row as Association
from ..theory.dana2024.associations import Task
from ..theory.dana2024.associations import rows as associations
from .compiling import compile, orders, prepare

PREDICTED = "predicted: nothing was built."
SEARCHED = "its size is found by a search: --build measures it."
FEWEST, BITS = "parameters", "bits"
LANES = 10  # of heads, and the dimension, as attention-only has them by default


@dataclass(frozen=True)
class Row:
    """What one construction or bound says.

    direction   "at_most": so many are enough; "at_least": with fewer it is impossible
    parameters  nonzero ones; of a decoder, all; None where it is not known, here and below
    bits        of all parameters together
    evidence    of a network that was built, else None
    seconds     to build and to verify it
    reason      why it does not apply, or how its size is known
    """

    name: str
    kind: str  # construction, trained, saved or bound
    direction: str
    parameters: int | float | None = None
    bits: int | float | None = None
    depth: int | None = None
    evidence: str | None = None
    seconds: float | None = None
    applies: bool = True
    reason: str | None = None

    def json(self) -> dict:
        return asdict(self)


@dataclass(frozen=True)
class Choice:
    """What holds for all constructions; positions and on_conflict as in compile."""

    build: bool = False
    positions: bool | None = None
    on_conflict: str = "refuse"
    seed: int = 0

    def of(self, construction: Construction) -> tuple[bool | None, str]:
        """The two for one construction: what stores distributions sees order and no conflicts."""
        if construction.stores == "distributions":
            return None, "refuse"
        return self.positions, self.on_conflict


def compare(
    dataset: Dataset,
    question: Question,
    choice: Choice = Choice(),  # noqa: B008 - frozen
    report: Report = lambda sentence: None,
    others: Iterable[Row] = (),
) -> list[Row]:
    """A row a construction and a bound, smallest first, with other rows among them."""
    found = list(others)
    for construction in ALL:
        report(named(construction))
        found.append(_row(construction, dataset, choice, report))
    return ordered([*found, *bound_rows(question), *association_rows(question)])


def named(construction: Construction) -> str:
    return construction.name + (f" ({construction.form})" if construction.form else "")


def ordered(rows: Iterable[Row]) -> list[Row]:
    """What applies first, by its parameters; those that are not known come last, by bits."""

    def place(row: Row) -> tuple:
        sizes = [float("inf") if x is None else x for x in (row.parameters, row.bits)]
        return not row.applies, *sizes, row.kind, row.name

    return sorted(rows, key=place)


def _row(construction: Construction, dataset: Dataset, choice: Choice, report: Report) -> Row:
    row = Row(named(construction), "construction", "at_most")
    fill = _built if choice.build else _predicted
    try:
        return fill(row, construction, dataset, choice, report)
    except ByheartError as error:
        return replace(row, applies=False, reason=str(error))


def _predicted(
    row: Row, construction: Construction, dataset: Dataset, choice: Choice, report: Report
) -> Row:
    asked, on_conflict = choice.of(construction)
    options = Options(positions=orders(construction, dataset, asked), seed=choice.seed)
    size = construction.predict(*prepare(construction, dataset, options, on_conflict), options)
    if size is None:
        return replace(row, reason=SEARCHED)
    return replace(row, parameters=size.parameters, depth=size.depth, reason=PREDICTED)


def _built(
    row: Row, construction: Construction, dataset: Dataset, choice: Choice, report: Report
) -> Row:
    positions, on_conflict = choice.of(construction)
    model = compile(
        dataset, method=construction.name, form=construction.form, positions=positions,
        on_conflict=on_conflict, seed=choice.seed, report=report,
    )  # fmt: skip
    counts, bits = model.about["parameters"], model.about["bits"]
    return replace(
        row,
        parameters=counts["counted"] + counts["outside"],
        bits=bits["total"],
        depth=model.network.depth,
        evidence=model.about["verification"].evidence,
        seconds=sum(model.about["seconds"].values()),
    )


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
    """What other models need for the same associations (dana2024, section 6)."""
    data = question.data
    if data is None or data.every or not (data.contexts and data.length and data.union):
        return []
    vocabulary = data.union + bool(data.padded)
    if vocabulary < 2:
        return []
    size = max(LANES, data.length + 2)  # what the assumptions of these rows ask for
    task = Task(data.contexts, vocabulary, data.length, size, size)
    return [_association(row, bool(data.conflicts)) for row in associations(task)[1:]]


def _association(found: Association, conflicts: bool) -> Row:
    """A row of section 6; the first of them, Theorem 1, is among the bounds."""
    row = Row(f"{found.reference}: {found.name} (labels)", "bound", "at_most")
    if conflicts:
        return replace(row, applies=False, reason="a context has two labels.")
    if found.fails:
        return replace(row, applies=False, reason=f"{' and '.join(found.fails)} does not hold.")
    if not found.exact:
        return replace(row, reason=f"only an order: {found.formula}.")
    return replace(row, parameters=found.parameters, reason=f"{found.formula}.")
