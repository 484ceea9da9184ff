"""Figures 1a, 1b, 2a and 4 of dana2024: accuracy on all bigrams as one size of the model grows."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...lab.sweeps.axes import values
from ...pictures import INK
from ...theory.dana2024.associations import mahdavi_memory
from ...theory.dana2024.capacity import accuracy
from .. import plotting
from ..figure import Figure, Part, RowsByLabel, Settings, Table, described, say, seeds
from ..fits import Fit, least_squares
from ..plotting import Picture
from . import accuracies, sweeps
from .accuracies import PROGRAM, Points

AUTHORS = {  # their own schedules, on a few points for orientation: marker, name
    "script": ("D", "schedule of the published program"),
    "paper": ("s", "schedule of the paper's text"),
}


def earlier(heads: int, head_dimension: int, dimension: int) -> int:
    """The associations of pairs of tokens; a head counts with its rank."""
    return mahdavi_memory(heads, min(head_dimension, dimension), 2, dimension)


GUARANTEES: tuple[tuple[str, int, Callable[..., int]], ...] = (
    ("Corollary 2: $H d_h + d$ associations", -1, accuracies.guaranteed),
    ("earlier bound: $H (\\min(S, d_h) - 1) + 1$, $S = 2$", 0, earlier),
)  # name, the end of the line that it labels, associations for given sizes


@dataclass(frozen=True)
class Scaling(sweeps.Growth):
    """A figure with one size on its axis; the name is "dana-1a" for Figure 1a."""

    degree: int = 1  # of the polynomial that is fitted, unless `pieces` cuts the axis in two lines
    pieces: int | None = None
    seeds: int = sweeps.SEEDS
    others: Mapping[str, str] = field(default_factory=dict)  # values by the authors' schedules
    # values that are also trained with the architecture of the authors' program
    program: tuple[int, ...] = ()

    @property
    def figure(self) -> Figure:
        labels = ["fast", *self.others]
        labels += [PROGRAM] if self.program else []
        code = self.parts, self.draw, self.table, self.finding, self.fits
        return described(self.name, tuple(labels), *code)

    def parts(self, settings: Settings) -> list[Part]:
        """All values by the protocol fast, a few by those of the authors or with their program."""
        wanted = [("fast", self.quick if settings.quick else self.values, self.seeds)]
        if not settings.quick:
            wanted += [(name, values(some), 1) for name, some in self.others.items()]
        model = self.vocabulary, self.sizes
        own = [
            sweeps.part(settings, name, *model, (self.axis, some), name, seeds)
            for name, some, seeds in wanted
        ]
        return own + sweeps.program(settings, *model, (self.axis, self.program))

    def both(self, rows: RowsByLabel) -> list[tuple[str, Points]]:
        """Our points and the published ones, with the names that their fits begin with."""
        ours = accuracies.points(rows.get("fast", ()), self.axis)
        return [("ours", ours), ("published", self.theirs)]

    def all_sizes(self, value: int) -> dict[str, int]:
        return {**self.sizes, self.axis: value}

    def pieces_of(self, points: Points) -> list[tuple[str, list[int]]]:
        """The ranges that are fitted on their own, as they are named in a fit, and their sizes."""
        if self.pieces is None:
            return [("", list(points))]
        cut, sign = self.pieces, self.letter
        return [
            (f", {sign} <= {cut}", [x for x in points if x <= cut]),
            (f", {sign} >= {cut}", [x for x in points if x >= cut]),
        ]

    def laws(self, rows: RowsByLabel) -> list[Fit]:
        """The polynomial, or the two lines, for our points and for the published ones."""
        degree = 1 if self.pieces else self.degree
        return [
            fit
            for name, points in self.both(rows)
            for piece, xs in self.pieces_of(accuracies.unsaturated(points))
            for fit in accuracies.law(name + piece, {x: points[x] for x in xs}, degree, self.letter)
        ]

    def fits(self, rows: RowsByLabel) -> list[Fit]:
        """The laws, and C(N) H d_h^2 d + C' of the paper where H or d_h grows."""
        results = self.laws(rows)
        if self.axis == "dimension":  # the paper's law is for d_h <= d
            return results
        for name, some in self.both(rows):
            kept = {x: y for x, (y, _, _) in accuracies.unsaturated(some).items()}
            if len(kept) > 1:
                sizes = [self.all_sizes(x) for x in kept]
                products = [s["heads"] * s["head_dimension"] ** 2 * s["dimension"] for s in sizes]
                columns = {"H d_h^2 d": products, "1": [1] * len(kept)}
                results.append(least_squares(f"{name}, C(N) H d_h^2 d", columns, [*kept.values()]))
        return results

    @property
    def shared(self) -> list[int]:
        """Published sizes where d_h is not d: the heads of that program share their maps there."""
        sizes = {x: self.all_sizes(x) for x in self.theirs}
        return [x for x, s in sizes.items() if s["head_dimension"] != s["dimension"]]

    @property
    def beside(self) -> str:
        """What the published column is, in brackets."""
        equal = ", ".join(str(x) for x in self.theirs if x not in self.shared)
        return f" (shared maps but at {self.letter} = {equal})" if self.shared else ""

    def table(self, rows: RowsByLabel) -> Table:
        """Ours, and where they were trained the program and the authors' schedules, by size."""
        names = {"fast": "ours", PROGRAM: "program", "script": "script", "paper": "paper"}
        series = {
            name: accuracies.points(rows[label], self.axis)
            for label, name in names.items()
            if rows.get(label)
        } | {f"published{self.beside}": self.theirs}
        sizes = sorted({x for some in series.values() for x in some})
        columns = ([accuracies.ranged(some.get(x)) for x in sizes] for some in series.values())
        return Table((self.letter, *series), tuple(zip(map(str, sizes), *columns, strict=True)))

    def finding(self, rows: RowsByLabel) -> str:
        """Where ours is above and below the published accuracy, at the sizes that have both."""
        ours = accuracies.points(rows.get("fast", ()), self.axis)
        gains = {x: ours[x][0] - y for x, (y, _, _) in self.theirs.items() if x in ours}
        if not gains:
            return ""
        most = max(gains, key=lambda x: abs(gains[x]))
        counts = {"higher": sum(gain > 0 for gain in gains.values()), "sizes": len(gains)}
        both = {"ours": ours[most][0], "theirs": self.theirs[most][0]}
        other = say("dana", "other", sizes=len(self.shared)) if self.shared else ""
        return say("dana", letter=self.letter, most=most, **counts, **both) + other

    def draw(self, rows: RowsByLabel, picture: Picture) -> None:
        """Our points, published ones, fits, and what is guaranteed."""
        axes = picture.add_subplot()
        (_, ours), (_, theirs) = self.both(rows)
        name = accuracies.PUBLISHED + accuracies.signs(self.beside)
        plotting.published(axes, list(theirs), accuracies.means(theirs), name)
        if ours:
            label = f"ours (fast), {seeds(rows['fast'])}"
            plotting.ours(axes, ours, label)
        # each law over the sizes it is about, up to accuracy 1, with its leading coefficient
        colours = {"ours": plotting.OURS, "published": plotting.PUBLISHED}
        points = dict(self.both(rows))
        for fit in self.laws(rows):
            whose, *where, order = fit.name.split(", ")  # "ours, d <= 10, linear"
            piece = f", {where[0]}" if where else ""
            sizes = dict(self.pieces_of(points[whose]))[piece]
            term, value = accuracies.signs(fit.terms[-1]), fit.coefficients[-1]
            error = "" if fit.errors is None else f" ± {fit.errors[-1]:.4f}"
            name = accuracies.signs(where[0]) if where else order
            label = f"{name} fit: ({value:.4f}{error}) {term}"
            accuracies.draw_law(axes, fit, sizes, label, colours[whose])
        if program := accuracies.points(rows.get(PROGRAM, ()), self.axis):
            label = "program's architecture (fast), ours"
            plotting.ours(axes, program, label, plotting.PUBLISHED)
        for name, (marker, label) in AUTHORS.items():
            if reached := accuracies.points(rows.get(name, ()), self.axis):
                look: dict[str, Any] = {"markersize": 6, "linestyle": "none", "zorder": 3}
                heights, label = accuracies.means(reached), f"{label} ({name}), ours"
                axes.plot(list(reached), heights, marker, color=INK, label=label, **look)
        N, values = self.vocabulary, sorted({*ours, *theirs})
        for label, end, memory in GUARANTEES:  # on average over random tables
            known = [memory(**self.all_sizes(x)) for x in values]
            heights = [accuracy(k, N**2, N).average for k in known]
            plotting.bound(axes, values, heights, label, at=end, above=end != 0)
        accuracies.finish(axes, self.figure.title, self.axis_label)
        plotting.legend(axes, loc="upper left")
