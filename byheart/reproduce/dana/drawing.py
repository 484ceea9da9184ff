"""How accuracy over one size is drawn: our points, published ones, fits, and what is guaranteed."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from ...pictures import GREEN, INK
from ...theory.dana2024.associations import mahdavi_memory
from ...theory.dana2024.capacity import accuracy
from .. import marks
from ..figure import Figure, RowsByLabel, seeds
from ..fits import Fit, curve
from . import parts
from .parts import Points
from .scaling import Scaling

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Picture

WORDS = {"heads": "heads", "head_dimension": "head dimension", "dimension": "embedding dimension"}
ORIENTATION = {  # the authors' own schedules, on a few points: marker, colour, name
    "script": ("D", GREEN, "schedule of the published program"),
    "paper": ("s", INK, "schedule of the paper's text"),
}
GUARANTEES: tuple[tuple[str, int, Callable[[dict[str, int]], int]], ...] = (
    (
        "Corollary 2: $H d_h + d$ associations",
        -1,
        lambda s: parts.guaranteed(s["heads"], s["head_dimension"], s["dimension"]),
    ),
    (
        "earlier bound: $H (d_h - 1) + 1$",
        0,
        lambda s: mahdavi_memory(s["heads"], min(s["head_dimension"], s["dimension"])),
    ),
)  # name, which end of the line it stands at, associations for given sizes


def figure(scaling: Scaling) -> Figure:
    """The figure that shows this."""
    return Figure(
        scaling.name, scaling.title, scaling.paper, None, scaling.trains, partial(draw, scaling),
        scaling.caption, scaling.fits, labels=scaling.labels,
    )  # fmt: skip


def draw(scaling: Scaling, rows: RowsByLabel, picture: "Picture") -> None:
    axes = picture.add_subplot()
    ours = parts.points(rows.get("fast", ()), scaling.axis)
    theirs = scaling.theirs
    marks.published(axes, list(theirs), parts.means(theirs), "published by Dana et al.")
    if ours:
        label = f"ours (fast), {seeds(rows['fast'])}"
        marks.ours(axes, list(ours), list(ours.values()), label)
    _fits(axes, scaling, rows)
    for name in ORIENTATION:
        _others(axes, parts.points(rows.get(name, ()), scaling.axis), name)
    _bounds(axes, scaling, sorted({*ours, *theirs}))
    parts.dress(axes, scaling.title, f"{WORDS[scaling.axis]} {scaling.letter}")
    marks.legend(axes, loc="upper left")


def _fits(axes: "Axes", scaling: Scaling, rows: RowsByLabel) -> None:
    """Each law over the sizes it is about, up to accuracy 1."""
    for fit in scaling.laws(rows):
        ours = fit.name.startswith("ours")
        found = parts.points(rows["fast"], scaling.axis) if ours else scaling.theirs
        xs = parts.fine(dict(scaling.pieces_of(found))[_piece(fit.name)])
        ys = curve(fit, xs)
        kept = ys <= 1.02
        colour = marks.OURS if ours else marks.PUBLISHED
        marks.fitted(axes, xs[kept], ys[kept], _said(fit), colour)


def _said(fit: Fit) -> str:
    """The leading coefficient with its standard error."""
    term, value = parts.signs(fit.terms[-1]), fit.coefficients[-1]
    error = "" if fit.errors is None else f" ± {fit.errors[-1]:.4f}"
    where = parts.signs(_piece(fit.name)[2:])
    return f"{where or fit.name.split(', ')[-1]} fit: ({value:.4f}{error}) {term}"


def _piece(name: str) -> str:
    """The part of a fit's name that says where it holds: "ours, d <= 10, linear"."""
    middle = name.split(", ")[1:-1]
    return f", {middle[0]}" if middle else ""


def _others(axes: "Axes", found: Points, name: str) -> None:
    if found:
        marker, colour, label = ORIENTATION[name]
        axes.plot(
            list(found), parts.means(found), marker, color=colour, markersize=6, linestyle="none",
            label=f"{label} ({name}), ours", zorder=3,
        )  # fmt: skip


def _bounds(axes: "Axes", scaling: Scaling, values: Sequence[int]) -> None:
    """Corollary 2 on average over random tables, and the earlier bound."""
    N = scaling.vocabulary
    for label, end, memory in GUARANTEES:
        known = [memory(scaling.all_sizes(x)) for x in values]
        said = [accuracy(k, N**2, N).average for k in known]
        marks.bound(axes, values, said, label, at=end, above=end != 0)
