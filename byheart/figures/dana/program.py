"""dana-program: eq. (2) of dana2024 beside the architecture of the program that was published.

In the program all heads share one map to d_h dimensions and one back, so that d_h is the size of
one bottleneck. In eq. (2) every head has its own maps of rank d_h. Where d = d_h they differ only
in the scale of the scores and in positions, which the program's skip connection does not have.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from .. import plotting
from ..figure import Caption, Figure, Part, RowsByLabel, Settings, Table
from ..fits import Fit, curve, least_squares, power
from ..published import column
from . import accuracies, sweeps
from .accuracies import Points
from .scaling import LETTERS, WORDS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Picture

VOCABULARY = 50
MODELS = {  # beginning of a label: architecture, name, colour
    "eq2": ("dana2024", "eq. (2)", plotting.OURS),
    "program": (sweeps.ARCHITECTURE, "the program", plotting.PUBLISHED),
}
NAMES = tuple(name for _, name, _ in MODELS.values())
THEIRS = "the published numbers"
CLEAR = 2  # standard errors, from which on a curve counts as bent
WAYS = {1: "upwards", -1: "downwards", 0: "neither way clearly"}


@dataclass(frozen=True)
class Panel:
    """Accuracy over one size, for both architectures and as it was published.

    name        the end of its labels
    axis        the size that grows, with its values, and quick a few of them
    sizes       the other sizes of the model
    protocol    by which both are trained
    experiment  of the published numbers, None if there are none of these sizes
    """

    name: str
    title: str
    axis: str
    values: tuple[int, ...]
    quick: tuple[int, ...]
    sizes: dict[str, int]
    protocol: str = "fast"
    experiment: str | None = None

    @property
    def letter(self) -> str:
        return LETTERS[self.axis]

    def parts(self, settings: Settings) -> list[Part]:
        values, dataset = self.quick if settings.quick else self.values, sweeps.table(VOCABULARY)
        how, axis = (self.protocol, sweeps.SEEDS), (self.axis, values)
        return [
            sweeps.part(
                settings, f"{label}-{self.name}", dataset, self.sizes, axis, *how, architecture
            )
            for label, (architecture, _, _) in MODELS.items()
            if values
        ]

    def rows(self, rows: RowsByLabel) -> RowsByLabel:
        """Those of this panel, by model."""
        found = {label: rows.get(f"{label}-{self.name}", ()) for label in MODELS}
        return {label: some for label, some in found.items() if some}

    def ours(self, rows: RowsByLabel) -> dict[str, Points]:
        """Our points, by model."""
        return {label: accuracies.points(x, self.axis) for label, x in self.rows(rows).items()}

    @cached_property
    def theirs(self) -> Points:
        """The published points."""
        if self.experiment is None:
            return {}
        table = accuracies.published(self.experiment, vocabulary=VOCABULARY, **self.sizes)
        return accuracies.exact(column(table, self.axis), column(table, "accuracy"))

    def series(self, rows: RowsByLabel) -> dict[str, tuple[str, Points]]:
        """All points by name, with the colours of their architectures."""
        ours = self.ours(rows)
        models = {MODELS[label][1]: (MODELS[label][2], some) for label, some in ours.items()}
        return {**models, **({THEIRS: (plotting.PUBLISHED, x)} if (x := self.theirs) else {})}

    def named(self, name: str) -> str:
        """A series as its fits are named; the published one is the same in two panels."""
        return name if name == THEIRS else f"{self.title}: {name}"

    def bends(self, rows: RowsByLabel) -> dict[str, Fit]:
        """A quadratic polynomial through the unsaturated sizes of each series."""
        return {
            name: fit
            for name, (_, some) in self.series(rows).items()
            for fit in accuracies.law(self.named(name), some, 2, self.letter)
            if fit.errors is not None
        }

    def laws(self, rows: RowsByLabel) -> dict[str, list[Fit]]:
        """a + b x and a + b x^2, the paper's law over d_h, at the same sizes."""
        return {name: self._laws(name, some) for name, (_, some) in self.series(rows).items()}

    def _laws(self, name: str, points: Points) -> list[Fit]:
        kept = accuracies.unsaturated(points)
        x, y = list(kept), accuracies.means(kept)
        return [
            least_squares(
                f"{self.named(name)}, a + b {power(self.letter, k)}",
                {"1": [1] * len(x), power(self.letter, k): [value**k for value in x]},
                y,
            )
            for k in (1, 2)
            if len(kept) > 2
        ]

    def common(self, rows: RowsByLabel) -> list[int]:
        """The published sizes at which both models are trained."""
        ours = self.ours(rows)
        both = [x for x in self.theirs if all(x in some for some in ours.values())]
        return both if len(ours) == len(MODELS) else []

    def away(self, rows: RowsByLabel) -> dict[str, float]:
        """How far each model is from the published points on average, at the common sizes."""
        common = self.common(rows)
        return {
            label: sum(abs(some[x][0] - self.theirs[x][0]) for x in common) / len(common)
            for label, some in self.ours(rows).items()
            if common
        }


WIDE = {"dimension": 10, "heads": 20}
TO_TEN, SOME = tuple(range(1, 11)), (1, 2, 4, 6, 8, 10)
OVER = "head_dimension"
SCRIPT = Panel("script", "20 heads (script)", OVER, SOME, (), WIDE, "script", "head-dimension")
FAST = Panel("1b", "20 heads (fast)", OVER, TO_TEN, (2, 6, 10), WIDE, "fast", "head-dimension")
FEWER = Panel("fewer-heads", "8 heads (fast)", OVER, SOME, (), {"dimension": 10, "heads": 8})
ACROSS, HIGH = "dimension", {"head_dimension": 10, "heads": 20}
NARROW = Panel(
    "2a-script", "d_h = 10, 20 heads (script)", ACROSS, (5, 7, 9), (), HIGH, "script", "dimension"
)
EMBEDDING = Panel(
    name="2a",
    title="d_h = 10, 20 heads (fast)",
    axis=ACROSS,
    values=tuple(range(5, 16)),
    quick=(6, 10, 13),
    sizes=HIGH,
    experiment="dimension",
)
PANELS = (SCRIPT, FAST, FEWER, NARROW, EMBEDDING)


def parts(settings: Settings) -> list[Part]:
    return [part for panel in PANELS for part in panel.parts(settings)]


def fits(rows: RowsByLabel) -> list[Fit]:
    """Over d_h: how each curve bends, and the paper's law beside a straight line."""
    by_name = {
        fit.name: fit
        for panel in PANELS
        if panel.axis == OVER
        for name, bent in panel.bends(rows).items()
        for fit in (bent, *panel.laws(rows)[name])
    }
    return list(by_name.values())


def draw(rows: RowsByLabel, picture: "Picture") -> None:
    """Over d_h above, over d below; the last place has the legend."""
    *places, last = picture.subplots(2, 3, sharey=True).flat
    for axes, panel in zip(places, PANELS, strict=True):
        _draw_panel(axes, panel, rows)
    for axes in (*places[1:3], places[4]):
        axes.set_ylabel("")
    handles, labels = places[1].get_legend_handles_labels()
    plotting.legend(last, handles=handles, labels=labels, loc="upper left")
    last.set_axis_off()


def _draw_panel(axes: "Axes", panel: Panel, rows: RowsByLabel) -> None:
    bends = panel.bends(rows) if panel.axis == OVER else {}
    for name, (colour, some) in panel.series(rows).items():
        if name == THEIRS:
            plotting.published(axes, list(some), accuracies.means(some), "published by Dana et al.")
        else:
            plotting.ours(axes, list(some), list(some.values()), f"ours, {name}", colour)
        if name in bends:
            xs = accuracies.fine(list(accuracies.unsaturated(some)))
            plotting.fitted(axes, xs, curve(bends[name], xs), None, colour)
    accuracies.finish(axes, panel.title, f"{WORDS[panel.axis]} {panel.letter}")


def table(rows: RowsByLabel) -> Table:
    """By panel and series: accuracy at the ends, how it bends over d_h, distance to published."""
    lines = []
    for panel in PANELS:
        bends = panel.bends(rows) if panel.axis == OVER else {}
        away = {MODELS[label][1]: x for label, x in panel.away(rows).items()}
        for name, (_, some) in panel.series(rows).items():
            first, last = min(some), max(some)
            ends = f"{some[first][0]:.3f} at {first}, {some[last][0]:.3f} at {last}"
            bend = leading(bends[name]) if name in bends else ""
            distance = f"{away[name]:.3f}" if name in away else ""
            lines.append((panel.title, panel.letter, name, ends, bend, distance))
    head = ("panel", "over", "model", "accuracy", "coefficient of d_h^2", "from published")
    return Table(head, tuple(lines))


def finding(rows: RowsByLabel) -> str:
    """Which way the accuracy bends over d_h, for both architectures."""
    ways = {
        tuple(WAYS[direction(bends[name])] for name in NAMES)
        for panel in PANELS
        if panel.axis == OVER and all(name in (bends := panel.bends(rows)) for name in NAMES)
    }
    if len(ways) != 1:
        return "" if not ways else "Over d_h the two architectures bend differently by panel."
    ((own, shared),) = ways
    return (
        f"Over d_h the accuracy of eq. (2) bends {own} and that of the program {shared}, with "
        "every number of heads and schedule: growth like d_h^2 belongs to heads that share a "
        "bottleneck, and not to eq. (2)."
        if (own, shared) == (WAYS[-1], WAYS[1])
        else f"Over d_h the accuracy of eq. (2) bends {own} and that of the program {shared}."
    )


def direction(fit: Fit) -> int:
    """1 if a quadratic polynomial bends upwards, -1 if downwards, 0 if neither is clear."""
    assert fit.errors is not None
    value, error = fit.coefficients[2], fit.errors[2]
    return 0 if abs(value) < CLEAR * error else 1 if value > 0 else -1


def leading(fit: Fit) -> str:
    """The leading coefficient with its standard error."""
    assert fit.errors is not None
    return f"{fit.coefficients[-1]:+.4f} ± {fit.errors[-1]:.4f}"


DANA_PROGRAM = Figure(
    name="dana-program",
    title="Heads of their own, and heads that share a bottleneck (N = 50)",
    paper="dana2024, Figures 1b and 2a, and the program of the published numbers",
    data=None,
    parts=parts,
    draw=draw,
    words=Caption(
        data=f"one random table of bigrams over {VOCABULARY} tokens",
        criterion="accuracy 1",
        published="Blue is eq. (2), where every head has its own maps of rank d_h (4 d d_h "
        "parameters); orange is the published program, whose heads share one map to d_h dimensions "
        "and one back (4 d_h^2), beside its published numbers (hollow).",
        differs="Differs: another random table; ours is the accuracy on every bigram once, theirs "
        "an average over training batches; script is the program's schedule, fast is ours.",
    ),
    table=table,
    finding=finding,
    fits=fits,
    size=(13.0, 8.0),
    labels=tuple(f"{label}-{panel.name}" for panel in PANELS for label in MODELS),
)
