"""dana-program: eq. (2) of dana2024 beside the architecture of the program that was published.

In the program all heads share one map to d_h dimensions and one back, so that d_h is the size of
one bottleneck. In eq. (2) every head has its own maps of rank d_h. Where d = d_h they differ only
in the scale of the scores and in positions, which the program's skip connection does not have.
"""

from dataclasses import dataclass

import numpy as np

from .. import plotting
from ..figure import Part, RowsByLabel, Settings, Table, described
from ..fits import Fit, affine, curve, polynomial, power
from ..plotting import Axes, Picture
from . import accuracies, sweeps
from .accuracies import Points

VOCABULARY = 50
MODELS = {  # beginning of a label: architecture, name, colour
    "eq2": ("dana2024", "eq. (2)", plotting.OURS),
    "program": (sweeps.ARCHITECTURE, "the program", plotting.PUBLISHED),
}
NAMES = tuple(name for _, name, _ in MODELS.values())
THEIRS = "the published numbers"
CLEAR = 2  # standard errors, from which on a curve counts as bent


@dataclass(frozen=True)
class Panel(sweeps.Growth):
    """Accuracy over one size, for both architectures and as it was published.

    The name is the end of its labels; both are trained by the protocol.
    """

    title: str = ""
    protocol: str = "fast"

    def parts(self, settings: Settings) -> list[Part]:
        axis = self.axis, self.quick if settings.quick else self.values
        model, how = (VOCABULARY, self.sizes, axis), (self.protocol, sweeps.SEEDS)
        return [
            sweeps.part(settings, f"{label}-{self.name}", *model, *how, architecture)
            for label, (architecture, _, _) in MODELS.items()
            if axis[1]
        ]

    def ours(self, rows: RowsByLabel) -> dict[str, Points]:
        return {
            label: accuracies.points(part, self.axis)
            for label in MODELS
            if (part := rows.get(f"{label}-{self.name}"))
        }

    def series(self, rows: RowsByLabel) -> dict[str, tuple[str, Points]]:
        """All points by name, with the colours of their architectures."""
        ours = self.ours(rows)
        models = {MODELS[label][1]: (MODELS[label][2], some) for label, some in ours.items()}
        return {**models, **({THEIRS: (plotting.PUBLISHED, x)} if (x := self.theirs) else {})}

    def laws(self, rows: RowsByLabel) -> dict[str, list[Fit]]:
        """Over d_h: a quadratic polynomial, a + b x, and the paper's law a + b x^2.

        They go through the unsaturated sizes of each series that has enough of them for errors.
        """
        fits = {}
        for name, (_, points) in self.series(rows).items():
            kept = accuracies.unsaturated(points)
            if self.axis == OVER and len(kept) > 3:
                # the published series is the same in two panels
                title = name if name == THEIRS else f"{self.title}: {name}"
                x, y, letter = np.array(list(kept)), accuracies.means(kept), self.letter
                fits[name] = [polynomial(title, x, y, 2, letter)]
                for k in (1, 2):
                    term = power(letter, k)
                    fits[name].append(affine(f"{title}, a + b {term}", term, x**k, y))
        return fits

    def away(self, rows: RowsByLabel) -> dict[str, float]:
        """How far each model is from the published points on average, where both are trained."""
        ours = self.ours(rows)
        common = [x for x in self.theirs if all(x in some for some in ours.values())]
        return {
            label: sum(abs(some[x][0] - self.theirs[x][0]) for x in common) / len(common)
            for label, some in ours.items()
            if common and len(ours) == len(MODELS)
        }


WIDE, FEW = {"dimension": 10, "heads": 20}, {"dimension": 10, "heads": 8}
HIGH = {"head_dimension": 10, "heads": 20}
TO_TEN, SOME = tuple(range(1, 11)), (1, 2, 4, 6, 8, 10)
OVER, ACROSS = "head_dimension", "dimension"
OVER_D_H, OVER_D = (WIDE, "head-dimension", VOCABULARY), (HIGH, ACROSS, VOCABULARY)
TITLES = "20 heads", "d_h = 10, 20 heads"
NARROW = Panel("2a-script", ACROSS, (5, 7, 9), (), *OVER_D, f"{TITLES[1]} (script)", "script")
PANELS = (
    Panel("script", OVER, SOME, (), *OVER_D_H, f"{TITLES[0]} (script)", "script"),
    Panel("1b", OVER, TO_TEN, (2, 6, 10), *OVER_D_H, f"{TITLES[0]} (fast)"),
    Panel("fewer-heads", OVER, SOME, (), FEW, title="8 heads (fast)"),
    NARROW,
    Panel("2a", ACROSS, tuple(range(5, 16)), (6, 10, 13), *OVER_D, f"{TITLES[1]} (fast)"),
)


def parts(settings: Settings) -> list[Part]:
    return [part for panel in PANELS for part in panel.parts(settings)]


def fits(rows: RowsByLabel) -> list[Fit]:
    """Over d_h: how each curve bends, and the paper's law beside a straight line."""
    laws = [fit for panel in PANELS for some in panel.laws(rows).values() for fit in some]
    return list({fit.name: fit for fit in laws}.values())


def draw(rows: RowsByLabel, picture: Picture) -> None:
    """Over d_h above, over d below; the last place has the legend."""
    *places, last = picture.subplots(2, 3, sharey=True).flat
    for axes, panel in zip(places, PANELS, strict=True):
        _draw_panel(axes, panel, rows)
    for axes in (*places[1:3], places[4]):
        axes.set_ylabel("")
    handles, labels = places[1].get_legend_handles_labels()
    plotting.legend(last, handles=handles, labels=labels, loc="upper left")
    last.set_axis_off()


def _draw_panel(axes: Axes, panel: Panel, rows: RowsByLabel) -> None:
    laws = panel.laws(rows)
    for name, (colour, some) in panel.series(rows).items():
        if name == THEIRS:
            plotting.published(axes, list(some), accuracies.means(some), "published by Dana et al.")
        else:
            plotting.ours(axes, some, f"ours, {name}", colour)
        if name in laws:
            xs = accuracies.fine(list(accuracies.unsaturated(some)))
            plotting.fitted(axes, xs, curve(laws[name][0], xs), None, colour)
    accuracies.finish(axes, panel.title, panel.axis_label)


def table(rows: RowsByLabel) -> Table:
    """By panel and series: accuracy at the ends, how it bends over d_h, distance to published."""
    lines = []
    for panel in PANELS:
        laws = panel.laws(rows)
        away = {MODELS[label][1]: x for label, x in panel.away(rows).items()}
        for name, (_, some) in panel.series(rows).items():
            first, last = min(some), max(some)
            ends = f"{some[first][0]:.3f} at {first}, {some[last][0]:.3f} at {last}"
            bend = leading(laws[name][0]) if name in laws else ""
            distance = f"{away[name]:.3f}" if name in away else ""
            lines.append((panel.title, panel.letter, name, ends, bend, distance))
    head = ("panel", "over", "model", "accuracy", "coefficient of d_h^2", "from published")
    return Table(head, tuple(lines))


def finding(rows: RowsByLabel) -> str:
    """Which way the accuracy bends over d_h, for both architectures."""
    ways = {
        tuple(direction(laws[name][0]) for name in NAMES)
        for laws in (panel.laws(rows) for panel in PANELS)
        if all(name in laws for name in NAMES)
    }
    if len(ways) != 1:
        return "" if not ways else "Over d_h the two architectures bend differently by panel."
    ((own, shared),) = ways
    words = f"Over d_h the accuracy of eq. (2) bends {own} and that of the program {shared}"
    if (own, shared) != ("downwards", "upwards"):
        return f"{words}."
    return (
        f"{words}, with every number of heads and schedule: growth like d_h^2 belongs to heads "
        "that share a bottleneck, and not to eq. (2)."
    )


def direction(fit: Fit) -> str:
    """Which way a quadratic polynomial bends."""
    assert fit.errors is not None
    value, error = fit.coefficients[2], fit.errors[2]
    if abs(value) < CLEAR * error:
        return "neither way clearly"
    return "upwards" if value > 0 else "downwards"


def leading(fit: Fit) -> str:
    """The leading coefficient with its standard error."""
    assert fit.errors is not None
    return f"{fit.coefficients[-1]:+.4f} ± {fit.errors[-1]:.4f}"


LABELS = tuple(f"{label}-{panel.name}" for panel in PANELS for label in MODELS)
DANA_PROGRAM = described("dana-program", LABELS, parts, draw, table, finding, fits)
