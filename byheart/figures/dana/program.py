"""dana-program: eq. (2) of dana2024 beside the architecture of the program that was published.

In the program all heads share one map to d_h dimensions and one back, so that d_h is the size of
one bottleneck. In eq. (2) every head has its own maps of rank d_h. Where d = d_h they differ only
in the scale of the scores and in positions, which the program's skip connection does not have.

Curves over d_h are compared by their power p in a + b d_h^p, below d, where the program changes.
It is the same if a share of the table is never seen, as with the authors' batches at d = 50.
"""

from dataclasses import dataclass
from typing import NamedTuple

from .. import plotting
from ..figure import Part, RowsByLabel, Settings, Table, described
from ..fits import Fit, Power, power_law
from ..plotting import Picture
from ..published import column
from . import accuracies, sweeps
from .accuracies import Points

MODELS = {  # beginning of a label: architecture, name, colour
    "eq2": ("dana2024", "eq. (2)", plotting.OURS),
    "program": (sweeps.ARCHITECTURE, "the program", plotting.PUBLISHED),
}
NAMES = tuple(name for _, name, _ in MODELS.values())
THEIRS = "the published numbers"
CLEAR = 2  # standard errors, from which on a power counts as above or below 1
OVER, ACROSS = "head_dimension", "dimension"


class Curve(NamedTuple):
    """The accuracies of one model in one panel, or published ones."""

    title: str  # sizes and, of ours, the protocol
    name: str
    colour: str
    points: Points
    power: Power | None = None  # over d_h
    away: float | None = None  # from the published points on average, where both models have them

    @property
    def written(self) -> str:
        """The power with its standard error."""
        return f"{self.power.exponent:.2f} ± {self.power.error:.2f}" if self.power else ""


def over_d_h(title: str, name: str, colour: str, points: Points, d: int) -> Curve:
    """With the power through the unsaturated sizes below d."""
    kept = {x: y for x, y in accuracies.unsaturated(points).items() if x < d}
    power = power_law(f"{name}, {title}", list(kept), accuracies.means(kept), "d_h")
    return Curve(title, name, colour, points, power)


@dataclass(frozen=True)
class Panel(sweeps.Growth):
    """Accuracy over one size, for both architectures (labels end in the name) and as published."""

    title: str = ""
    protocol: str = "fast"
    batch: int | None = None  # of the protocol, where the authors changed it
    seeds: int = sweeps.SEEDS

    def parts(self, settings: Settings) -> list[Part]:
        axis = self.axis, self.quick if settings.quick else self.values
        model, how = (self.vocabulary, self.sizes, axis), (self.protocol, self.seeds)
        return [
            sweeps.part(settings, f"{label}-{self.name}", *model, *how, architecture, self.batch)
            for label, (architecture, _, _) in MODELS.items()
            if axis[1]
        ]

    def curves(self, rows: RowsByLabel) -> list[Curve]:
        """Both architectures as far as they are trained, and the published numbers."""
        ours = {
            label: accuracies.points(part, self.axis)
            for label in MODELS
            if (part := rows.get(f"{label}-{self.name}"))
        }
        trained = f"{self.title} ({self.protocol})"
        common = [x for x in self.theirs if all(x in some for some in ours.values())]
        found = []
        for label, some in ours.items():
            curve = self._curve(trained, *MODELS[label][1:], some)
            if common and len(ours) == len(MODELS):
                gaps = [abs(some[x][0] - self.theirs[x][0]) for x in common]
                curve = curve._replace(away=sum(gaps) / len(gaps))
            found.append(curve)
        if self.theirs:
            found.append(self._curve(self.title, THEIRS, plotting.PUBLISHED, self.theirs))
        return found

    def _curve(self, title: str, name: str, colour: str, some: Points) -> Curve:
        if self.axis == OVER:
            return over_d_h(title, name, colour, some, self.sizes["dimension"])
        return Curve(title, name, colour, some)


KNOWN = "head-dimension"
DEEP = "d = 10, 21 heads, 3 layers"
PANELS = tuple(Panel(name, **row) for name, row in sweeps.table("panels").items())


def parts(settings: Settings) -> list[Part]:
    return [part for panel in PANELS for part in panel.parts(settings)]


def curves(rows: RowsByLabel) -> list[Curve]:
    """All of them, the published ones once, and those of three layers at the end."""
    table = accuracies.published(KNOWN, layers=3)
    deep = accuracies.exact(column(table, OVER), column(table, "accuracy"))
    every = [curve for panel in PANELS for curve in panel.curves(rows)]
    every.append(over_d_h(DEEP, THEIRS, plotting.PUBLISHED, deep, 10))
    return list({(one.title, one.name): one for one in every}.values())


def fits(rows: RowsByLabel) -> list[Fit]:
    return [one.power.fit for one in curves(rows) if one.power]


def draw(rows: RowsByLabel, picture: Picture) -> None:
    *places, powers, last = picture.subplots(2, 4).flat
    for axes, panel in zip(places, PANELS, strict=True):
        for _, name, colour, some, power, _ in panel.curves(rows):
            if name == THEIRS:
                plotting.published(axes, list(some), accuracies.means(some), accuracies.PUBLISHED)
            else:
                plotting.ours(axes, some, f"ours, {name}", colour)
            if power:
                below = [x for x in accuracies.unsaturated(some) if x < panel.sizes[ACROSS]]
                xs = accuracies.fine(below)
                plotting.fitted(axes, xs, power.fit.at(xs**0, xs**power.exponent), None, colour)
        accuracies.finish(axes, f"{panel.title} ({panel.protocol})", panel.axis_label)
    for axes in (*places[1:4], *places[5:]):
        axes.set_ylabel("")
    found = [one for one in reversed(curves(rows)) if one.power]
    for y, one in enumerate(found):
        assert one.power is not None
        inside = "white" if one.name == THEIRS else one.colour
        look = {**plotting.BARS, "color": one.colour, "markerfacecolor": inside}
        powers.errorbar(one.power.exponent, y, xerr=one.power.error, fmt="o", **look)
    plotting.finish(powers, "power p of $a + b\\,d_h^p$", "p, ± standard error", "")
    names = [accuracies.signs(one.title) for one in found]
    powers.set_yticks(range(len(names)), names, size=7)
    powers.axvline(1, color=plotting.BOUND, linewidth=1.1)
    handles, labels = places[1].get_legend_handles_labels()
    plotting.legend(last, handles=handles, labels=labels, loc="center left")
    last.set_axis_off()


def table(rows: RowsByLabel) -> Table:
    """Of each curve: accuracy at the ends, power over d_h, distance from the published one."""
    lines = []
    for one in curves(rows):
        least, most = min(one.points), max(one.points)
        ends = f"{one.points[least][0]:.3f} at {least}, {one.points[most][0]:.3f} at {most}"
        away = "" if one.away is None else f"{one.away:.3f}"
        lines.append((one.title, one.name, ends, one.written, away))
    return Table(("panel", "model", "accuracy", "power of d_h", "mean distance"), tuple(lines))


def finding(rows: RowsByLabel) -> str:
    """The powers over d_h by dimension: of both architectures and of the published numbers."""
    bent = [one for one in curves(rows) if one.power]
    if not {*NAMES} & {one.name for one in bent}:
        return ""
    said = []
    for d in ("d = 10", "d = 50"):
        ranges = [
            f"{name} {between([x for x in bent if x.name == name and x.title.startswith(d)])}"
            for name in (*NAMES, THEIRS)
            if any(x.name == name and x.title.startswith(d) for x in bent)
        ]
        said.append(f"at {d} {', '.join(ranges)}")
    return f"The power p in accuracy = a + b d_h^p: {'; '.join(said)}."


def between(found: list[Curve]) -> str:
    """The range of their powers, and whether all are clearly above or below 1."""
    powers = [one.power for one in found if one.power]
    low, high = (f"{pick(x.exponent for x in powers):.2f}" for pick in (min, max))
    said = low if low == high else f"{low} to {high}"
    for way, sign in (("upwards", 1), ("downwards", -1)):
        if all(sign * (x.exponent - 1) > CLEAR * x.error for x in powers):
            return f"{said} (bent {way})"
    return said


LABELS = tuple(f"{label}-{panel.name}" for panel in PANELS for label in MODELS)
DANA_PROGRAM = described("dana-program", LABELS, parts, draw, table, finding, fits)
