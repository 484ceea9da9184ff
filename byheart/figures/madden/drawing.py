"""Figure 1: two heat maps of the gap, the smallest models, and both protocols side by side."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ...pictures import GREEN, INK, PALE
from ...theory.madden2024.capacity import theorem_1_parameters, theorem_5_parameters
from .. import plotting
from ..figure import RowsByLabel
from ..fits import curve
from ..published import column, read
from .cells import Place, compared, fast, fits, paper, place, published, repeated, smallest, steps
from .sweeps import PREDICTED

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Picture
    from matplotlib.image import AxesImage

DARK = 20.0  # nats: above this the colour is so dark that letters are white
SCALE = (1e-3, 1e4)  # nats
BELOW = (0.5, -0.24)  # where a legend stands, in fractions of the axes
PROTOCOLS = (
    (repeated, "o", plotting.OURS, "our protocol"),
    (paper, "s", GREEN, "the authors' protocol"),
)


def draw(rows: RowsByLabel, picture: "Picture") -> None:
    """Heat maps above, lines below."""
    halves: Any = picture.subfigures(2, 1, height_ratios=(1.12, 1))
    top, bottom = halves
    left, right = top.subplots(1, 2, width_ratios=(14, 8.4))
    _draw_ours(left, rows)
    table, gaps = read("madden-heat-map"), published()
    contexts = {int(row["stories"]): int(row["contexts"]) for row in table}
    image = _heat_map(right, gaps, contexts, "Published")
    for row in read("madden-smallest"):
        _frame(right, gaps, (int(row["stories"]), int(row["neurons"])))
    right.set_ylabel("")
    bar = top.colorbar(image, ax=[left, right], pad=0.01, aspect=30)
    bar.set_label("loss minus entropy, nats", color=INK, size=9)
    bar.ax.tick_params(colors=PALE, labelsize=8)
    both = compared(rows)
    lines = bottom.subplots(1, 2 if both else 1, width_ratios=(14, 8.4)[: 1 + bool(both)])
    _draw_smallest(np.ravel(lines)[0], rows)
    if both:
        _draw_protocols(lines[1], rows, both)


def _draw_ours(axes: "Axes", rows: RowsByLabel) -> None:
    """A frame around the smallest model that memorises, triangles in cells that do not."""
    found = fast(rows)
    if not found:
        return
    contexts = {stories: cell.rows[0]["contexts"] for (stories, _), cell in found.items()}
    _heat_map(
        axes, {at: cell.gap for at, cell in found.items()}, contexts, "Ours: gap to the entropy"
    )
    for each in smallest(rows).values():
        if each.best:
            _frame(axes, found, place(each.best))
    order, columns = _grid(found)
    for (stories, neurons), cell in found.items():
        if not cell.reached:
            x, y = columns.index(neurons) + 0.34, order.index(stories) - 0.3
            axes.plot(x, y, "^", color=_ink(cell.gap), markersize=2.6)
    axes.set_xlabel(f"neurons m   (▲ 1 % not reached in {steps(rows):,} steps)", color=INK)


def _heat_map(
    axes: "Axes", gaps: Mapping[Place, float | None], contexts: Mapping[int, int], title: str
) -> "AxesImage":
    """The gap of each cell, as a colour and a number; a column for each number of neurons."""
    from matplotlib.colors import LogNorm

    rows, columns = _grid(gaps)
    table = np.full((len(rows), len(columns)), np.nan)
    for (stories, neurons), gap in gaps.items():
        y, x = rows.index(stories), columns.index(neurons)
        table[y, x] = np.nan if gap is None else max(gap, SCALE[0])
        centred: dict[str, Any] = {"ha": "center", "va": "center", "in_layout": False}
        axes.text(x, y, _short(gap), size=6, color=_ink(gap), **centred)
    image = axes.imshow(table, cmap="Blues", norm=LogNorm(*SCALE), aspect="auto")
    plotting.finish(axes, "", "neurons m", "contexts n")
    axes.set_title(title, loc="left", size=11, weight="bold", color=INK)
    axes.grid(False)
    axes.set_xticks(range(len(columns)), [str(m) for m in columns], size=7.5)
    axes.set_yticks(range(len(rows)), [f"{contexts[n]:,}" for n in rows], size=8)
    return image


def _grid(places: Iterable[Place]) -> tuple[list[int], list[int]]:
    """The stories from many to few, as in the paper, and the neurons."""
    every = list(places)
    return sorted({n for n, _ in every}, reverse=True), sorted({m for _, m in every})


def _ink(gap: float | None) -> str:
    """The colour of letters in a cell."""
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


def _frame(axes: "Axes", places: Iterable[Place], at: Place) -> None:
    """A frame around one cell of a heat map of these places."""
    from matplotlib.patches import Rectangle

    order, columns = _grid(places)
    corner = (columns.index(at[1]) - 0.5, order.index(at[0]) - 0.5)
    box = Rectangle(corner, 1, 1, fill=False, color=plotting.PUBLISHED, zorder=5)
    box.set_linewidth(1.6)
    axes.add_patch(box)


def _draw_smallest(axes: "Axes", rows: RowsByLabel) -> None:
    """The smallest models against their contexts, with the bounds for the worst data."""
    found = list(smallest(rows).values())
    table = read("madden-smallest")
    axes.set_yscale("log")
    plotting.published(axes, column(table, "contexts"), column(table, "parameters"), "published")
    reached = [each for each in found if each.reached]
    sizes = [[row["parameters"] for row in each.reached] for each in reached]
    plotting.ours(
        axes,
        [each.rows[0]["contexts"] for each in reached],
        [(min(x), min(x), max(x)) for x in sizes],  # any seed counts: from the smallest
        "ours, 1 % of the entropy reached",
    )
    if out := [each.largest for each in found if not each.reached]:
        contexts, tried = [row["contexts"] for row in out], [row["parameters"] for row in out]
        plotting.not_reached(axes, contexts, tried, "not reached by any size tried")
    colours = {"ours": plotting.OURS, "published": plotting.PUBLISHED}
    span = np.linspace(axes.dataLim.x0, axes.dataLim.x1, 50)
    for fit in fits(rows):
        quantity, whose, _ = fit.name.split(", ")
        if quantity == "parameters":
            sign = "-" if fit.coefficients[0] < 0 else "+"
            law = f"{fit.coefficients[1]:.1f} n {sign} {abs(fit.coefficients[0]):,.0f}"
            plotting.fitted(axes, span, curve(fit, span), law, colours[whose])
    # What the worst data takes that has as many contexts and words as our and their samples.
    ours = [each.rows[0] for each in found]
    samples = sorted({(int(x["contexts"]), int(x["vocabulary"])) for x in (*ours, *table)})
    n = [contexts for contexts, _ in samples]
    enough = [theorem_5_parameters(*sample, PREDICTED) for sample in samples]
    needed = [theorem_1_parameters(*sample) for sample in samples]
    plotting.bound(axes, n, enough, "Theorem 5: enough for any distributions")
    plotting.bound(axes, n, needed, "Theorem 1: fewer fail on some data", len(n) // 3, above=False)
    axes.set_ylim(top=2.5 * max(enough))
    plotting.finish(axes, "Smallest model that memorises", "contexts n", "parameters")
    plotting.legend(axes, loc="upper center", bbox_to_anchor=BELOW, ncols=2)


def _draw_protocols(axes: "Axes", rows: RowsByLabel, places: list[Place]) -> None:
    """The gaps of the cells that both protocols were run on, a point per seed, and published."""
    axes.set_yscale("log")
    for cells, shape, colour, name in PROTOCOLS:
        gaps = [cells(rows)[at].gaps for at in places]
        x = [i for i, several in enumerate(gaps) for _ in several]
        y = [max(gap, SCALE[0]) for several in gaps for gap in several]
        axes.plot(x, y, shape, color=colour, markersize=5, label=name, zorder=3)
    known = [published().get(at, np.nan) for at in places]
    plotting.published(axes, range(len(places)), known, "published")
    goals = [0.01 * paper(rows)[at].rows[0]["entropy"] for at in places]
    axes.plot(range(len(places)), goals, "_", color=INK, markersize=15, label="1 % of the entropy")
    plotting.finish(axes, "Both protocols", "stories, m", "gap, nats")
    axes.set_xticks(range(len(places)), [f"{n}\n{m}" for n, m in places], size=8)
    plotting.legend(axes, loc="upper center", bbox_to_anchor=BELOW, ncols=2)
