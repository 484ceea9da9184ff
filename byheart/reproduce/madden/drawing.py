"""Figure 1: two heat maps of the gap, the smallest models, and both protocols side by side."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ...pictures import GREEN, INK, PALE
from ...theory.madden2024.capacity import theorem_1_parameters, theorem_5_parameters
from .. import marks
from ..figure import RowsByLabel
from ..fits import curve
from ..published import column, read
from .cells import (
    Cell,
    Place,
    Smallest,
    fast,
    paper,
    published,
    repeated,
    smallest,
    steps,
)
from .laws import fits, sizes
from .parts import FAST, PREDICTED

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Picture
    from matplotlib.image import AxesImage

DARK = 20.0  # nats: above this the colour is so dark that letters are white
SCALE = (1e-3, 1e4)  # nats
BELOW = (0.5, -0.24)  # where a legend stands, in shares of the axes
PROTOCOLS = (
    (repeated, "o", marks.OURS, "our protocol"), (paper, "s", GREEN, "the authors' protocol"),
)  # fmt: skip


def draw(rows: RowsByLabel, picture: "Picture") -> None:
    """Heat maps above, lines below."""
    halves: Any = picture.subfigures(2, 1, height_ratios=(1.12, 1))
    top, bottom = halves
    left, right = top.subplots(1, 2, width_ratios=(14, 8.4))
    if found := fast(rows):
        contexts = {cell.stories: cell.rows[0]["contexts"] for cell in found.values()}
        _heat_map(left, {at: cell.gap for at, cell in found.items()}, contexts)
        _ours_marked(left, rows, found)
    image = _published(right)
    bar = top.colorbar(image, ax=[left, right], pad=0.01, aspect=30)
    bar.set_label("loss minus entropy, nats", color=INK, size=9)
    bar.ax.tick_params(colors=PALE, labelsize=8)
    both = [at for at in paper(rows) if at in repeated(rows)]
    lines = bottom.subplots(1, 2 if both else 1, width_ratios=(14, 8.4)[: 1 + bool(both)])
    _line(np.ravel(lines)[0], rows)
    if both:
        _protocols(lines[1], rows, both)


def _heat_map(
    axes: "Axes", gaps: Mapping[Place, float | None], contexts: Mapping[int, int]
) -> "AxesImage":
    """The gap of each cell, as a colour and a number; a column for each number of neurons."""
    from matplotlib.colors import LogNorm

    rows, columns = _order(gaps)
    table = np.full((len(rows), len(columns)), np.nan)
    for (stories, neurons), gap in gaps.items():
        at = rows.index(stories), columns.index(neurons)
        table[at] = np.nan if gap is None else max(gap, SCALE[0])
        axes.text(
            at[1], at[0], _short(gap), size=6, ha="center", va="center", color=_ink(gap),
            in_layout=False,
        )  # fmt: skip
    image = axes.imshow(table, cmap="Blues", norm=LogNorm(*SCALE), aspect="auto")
    marks.dress(axes, "", "neurons m", "contexts n")
    axes.grid(False)
    axes.set_xticks(range(len(columns)), [str(m) for m in columns], size=7.5)
    axes.set_yticks(range(len(rows)), [f"{contexts[n]:,}" for n in rows], size=8)
    return image


def _order(gaps: Mapping[Place, float | None]) -> tuple[list[int], list[int]]:
    """The stories from many to few, as in the paper, and the neurons."""
    return sorted({n for n, _ in gaps}, reverse=True), sorted({m for _, m in gaps})


def _ink(gap: float | None) -> str:
    return "white" if gap is not None and gap > DARK else INK


def _short(gap: float | None) -> str:
    """A number of at most four characters.

    >>> [_short(x) for x in (7609.0, 62.82, 5.35, 0.0388, 0.0001, None)]
    ['7.6k', '63', '5.3', '.04', '<.01', '-']
    """
    if gap is None:
        return "-"
    if gap >= 1000:
        return f"{gap / 1000:.{1 if gap < 9950 else 0}f}k"
    if gap >= 10:
        return f"{gap:.0f}"
    if gap >= 1:
        return f"{gap:.1f}"
    return f"{gap:.2f}".lstrip("0") if gap >= 0.005 else "<.01"


def _ours_marked(axes: "Axes", rows: RowsByLabel, found: Mapping[Place, Cell]) -> None:
    """A frame around the smallest model that memorises, triangles in cells that do not."""
    order, columns = _order({at: cell.gap for at, cell in found.items()})
    for stories, each in smallest(rows.get(FAST, ())).items():
        if each.neurons is not None:
            _frame(axes, columns.index(each.neurons), order.index(stories))
    for (stories, neurons), cell in found.items():
        if not cell.reached:
            x, y = columns.index(neurons) + 0.34, order.index(stories) - 0.3
            axes.plot(x, y, "^", color=_ink(cell.gap), markersize=2.6)
    given = steps(rows.get(FAST, ()))
    axes.set_xlabel(f"neurons m   (▲ 1 % not reached in {given:,} steps)", color=INK)
    axes.set_title("Ours: gap to the entropy", loc="left", size=11, weight="bold", color=INK)


def _published(axes: "Axes") -> "AxesImage":
    table = read("madden-heat-map")
    contexts = {int(row["stories"]): int(row["contexts"]) for row in table}
    gaps = published()
    image = _heat_map(axes, gaps, contexts)
    order, columns = _order(gaps)
    for row in read("madden-smallest"):
        _frame(axes, columns.index(int(row["neurons"])), order.index(int(row["stories"])))
    axes.set_title("Published", loc="left", size=11, weight="bold", color=INK)
    axes.set_ylabel("")
    return image


def _frame(axes: "Axes", column: int, row: int) -> None:
    from matplotlib.patches import Rectangle

    box = Rectangle((column - 0.5, row - 0.5), 1, 1, fill=False, color=marks.PUBLISHED, zorder=5)
    box.set_linewidth(1.6)
    axes.add_patch(box)


def _line(axes: "Axes", rows: RowsByLabel) -> None:
    """The smallest models against their contexts, with the bounds for the worst data."""
    found = list(smallest(rows.get(FAST, ())).values())
    table = read("madden-smallest")
    axes.set_yscale("log")
    marks.published(axes, column(table, "contexts"), column(table, "parameters"), "published")
    there = [each for each in found if each.rows]
    found_sizes = [sizes(each, "parameters") for each in there]
    spreads = [(min(x), min(x), max(x)) for x in found_sizes]  # any seed counts: from the least
    marks.ours(axes, [each.contexts for each in there], spreads, "ours, 1 % of the entropy reached")
    out = [each for each in found if not each.rows]
    if out:
        tried = [each.tried["parameters"] for each in out]
        marks.not_reached(
            axes, [each.contexts for each in out], tried, "not reached by any size tried"
        )
    _fitted(axes, rows)
    _bounds(axes, found)
    marks.dress(axes, "Smallest model that memorises", "contexts n", "parameters")
    marks.legend(axes, loc="upper center", bbox_to_anchor=BELOW, ncols=2)


def _fitted(axes: "Axes", rows: RowsByLabel) -> None:
    colours = {
        "parameters, ours, linear": marks.OURS,
        "parameters, published, linear": marks.PUBLISHED,
    }
    span = np.linspace(axes.dataLim.x0, axes.dataLim.x1, 50)
    for fit in fits(rows):
        if fit.name in colours:
            sign = "-" if fit.coefficients[0] < 0 else "+"
            said = f"{fit.coefficients[1]:.1f} n {sign} {abs(fit.coefficients[0]):,.0f}"
            marks.fitted(axes, span, curve(fit, span), said, colours[fit.name])


def _bounds(axes: "Axes", found: list[Smallest]) -> None:
    """What the worst data takes that has as many contexts and words as our and their samples."""
    samples = {(each.contexts, each.vocabulary) for each in found}
    samples |= {(int(x["contexts"]), int(x["vocabulary"])) for x in read("madden-smallest")}
    ordered = sorted(samples)
    n = [contexts for contexts, _ in ordered]
    enough = [theorem_5_parameters(*sizes, PREDICTED) for sizes in ordered]
    needed = [theorem_1_parameters(*sizes) for sizes in ordered]
    marks.bound(axes, n, enough, "Theorem 5: enough for any distributions")
    marks.bound(axes, n, needed, "Theorem 1: fewer fail on some data", len(n) // 3, above=False)
    axes.set_ylim(top=2.5 * max(enough))


def _protocols(axes: "Axes", rows: RowsByLabel, places: list[Place]) -> None:
    """The gaps of the cells that both protocols were run on, a point a seed, beside published."""
    axes.set_yscale("log")
    for cells, shape, colour, name in PROTOCOLS:
        gaps = [cells(rows)[at].gaps for at in places]
        x = [i for i, several in enumerate(gaps) for _ in several]
        y = [max(gap, SCALE[0]) for several in gaps for gap in several]
        axes.plot(x, y, shape, color=colour, markersize=5, label=name, zorder=3)
    known = [published().get(at, np.nan) for at in places]
    marks.published(axes, range(len(places)), known, "published")
    goals = [0.01 * paper(rows)[at].rows[0]["entropy"] for at in places]
    axes.plot(range(len(places)), goals, "_", color=INK, markersize=15, label="1 % of the entropy")
    marks.dress(axes, "Both protocols", "stories, m", "gap, nats")
    axes.set_xticks(range(len(places)), [f"{n}\n{m}" for n, m in places], size=8)
    marks.legend(axes, loc="upper center", bbox_to_anchor=BELOW, ncols=2)
