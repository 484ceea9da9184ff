"""Figure 1 of madden2024: how many parameters memorise how many contexts of TinyStories.

A fine grid is trained with our protocol, and some cells with the authors' own. Drawn are two heat
maps of the gap to the entropy, the smallest models, and both protocols side by side.
"""

from typing import Any

import numpy as np

from ...lab.protocol import protocol
from ...lab.sweeps.sweep import SEQUENCES, Sweep
from ...pictures import GREEN, INK
from ...theory.madden2024.capacity import theorem_1_parameters, theorem_5_parameters
from .. import data, plotting
from ..figure import Part, RowsByLabel, Settings, Table, described, make_part, say, tabulated
from ..fits import Fit, curve, polynomial
from ..plotting import Axes, Picture
from ..published import column, read
from . import cells

STORIES = tuple(range(100, 1001, 100))
NEURONS = (4, 6, 8, 10, 12, 14, 16, 20, 24, 32, 48, 64, 128, 256, 512)
PAPER = {100: (8, 16, 32), 200: (32,), 300: (16, 32), 400: (16,)}  # neurons by stories
SEEDS = 3  # of ours in the cells that both protocols are run on
QUICK_STORIES, QUICK_NEURONS = (100, 200), (8, 16, 32, 64)
LABELS = (cells.FAST, *(f"{how}-{n}" for how in (cells.FAST, cells.PAPERS) for n in PAPER))


def parts(settings: Settings) -> list[Part]:
    """The grid, and the cells that the authors' protocol is run on, by both protocols."""
    grid = (QUICK_STORIES, QUICK_NEURONS) if settings.quick else (STORIES, NEURONS)
    dataset = cells.predictions(data.stories(settings.data), max(grid[0]))
    wanted = [(cells.FAST, cells.FAST, *grid, 1)]
    if not settings.quick:
        wanted += [
            (f"{name}-{n}", name, (n,), neurons, seeds)
            for name, seeds in ((cells.FAST, SEEDS), (cells.PAPERS, 1))
            for n, neurons in PAPER.items()
        ]
    parts = []
    for label, name, counts, neurons, seeds in wanted:
        axes = ((SEQUENCES, tuple(n * cells.PREDICTED for n in counts)), ("neurons", neurons))
        how = protocol("madden2024", name), cells.CRITERION, settings.repeats(seeds)
        sweep = Sweep("madden2024", {"dimension": 16}, axes, {}, *how)
        parts.append(make_part(label, dataset, sweep))
    return parts


def repeated(rows: RowsByLabel) -> dict[cells.Place, cells.Cell]:
    """The cells of our protocol for the comparison: with more seeds where those were trained."""
    grid = cells.by_place(rows.get(cells.FAST, ()))
    return {**grid, **_beside_the_grid(rows, cells.FAST)}


def paper(rows: RowsByLabel) -> dict[cells.Place, cells.Cell]:
    """The cells that the authors' protocol was run on."""
    return _beside_the_grid(rows, cells.PAPERS)


def compared(rows: RowsByLabel) -> list[cells.Place]:
    ours = repeated(rows)
    return [at for at in paper(rows) if at in ours]


def _beside_the_grid(rows: RowsByLabel, protocol: str) -> dict[cells.Place, cells.Cell]:
    own = (part for name, part in rows.items() if name.startswith(f"{protocol}-"))
    return cells.by_place(row for part in own for row in part)


def fits(rows: RowsByLabel) -> list[Fit]:
    """Lines through parameters and neurons of the smallest models over contexts."""
    table = read("madden-smallest")
    best = [row for each in cells.smallest(rows).values() if (row := each.best)]
    ours = {
        "contexts": [row["contexts"] for row in best],
        "parameters": [row["parameters"] for row in best],
        "neurons": [cells.place(row)[1] for row in best],
    }
    theirs = {name: column(table, name) for name in ours}
    return [
        polynomial(f"{quantity}, {whose}", numbers["contexts"], numbers[quantity], 1)
        for quantity in ("parameters", "neurons")
        for whose, numbers in (("ours", ours), ("published", theirs))
        if len(set(numbers["contexts"])) > 1
    ]


def draw(rows: RowsByLabel, picture: Picture) -> None:
    halves: Any = picture.subfigures(2, 1, height_ratios=(1.12, 1))
    top, bottom = halves
    cells.draw_gaps(top, rows, "madden")
    both = compared(rows)
    lines = bottom.subplots(1, 2 if both else 1, width_ratios=(14, 8.4)[: 1 + bool(both)])
    _draw_smallest(np.ravel(lines)[0], rows)
    if both:
        _draw_protocols(lines[1], rows, both)


def _draw_smallest(axes: Axes, rows: RowsByLabel) -> None:
    """The smallest models against their contexts, with the bounds for the worst data."""
    ours, table = list(cells.smallest(rows).values()), read("madden-smallest")
    axes.set_yscale("log")
    known = column(table, "contexts"), column(table, "parameters")
    plotting.published(axes, *known, "published, one training each")
    reached = {
        each.rows[0]["contexts"]: [row["parameters"] for row in each.reached]
        for each in ours
        if each.reached
    }
    # any seed counts: from the smallest
    spreads = {contexts: (min(x), min(x), max(x)) for contexts, x in reached.items()}
    plotting.ours(axes, spreads, "ours, 1 % of the entropy reached")
    if out := [each.largest for each in ours if not each.reached]:
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
    every = (*(each.rows[0] for each in ours), *table)
    samples = sorted({(int(x["contexts"]), int(x["vocabulary"])) for x in every})
    n = [contexts for contexts, _ in samples]
    enough = [theorem_5_parameters(*sample, cells.PREDICTED) for sample in samples]
    needed = [theorem_1_parameters(*sample) for sample in samples]
    plotting.bound(axes, n, enough, "Theorem 5: enough for any distributions")
    plotting.bound(axes, n, needed, "Theorem 1: fewer fail on some data", len(n) // 3, above=False)
    axes.set_ylim(top=2.5 * max(enough))
    plotting.finish(axes, "Smallest model that memorises", "contexts n", "parameters")
    plotting.legend(axes, loc="upper center", bbox_to_anchor=cells.BELOW, ncols=2)


def _draw_protocols(axes: Axes, rows: RowsByLabel, places: list[cells.Place]) -> None:
    """The gaps of the cells that both protocols were run on, a point per seed, and published."""
    axes.set_yscale("log")
    for trained, shape, colour, name in (
        (repeated(rows), "o", plotting.OURS, "our protocol"),
        (paper(rows), "s", GREEN, "the authors' protocol"),
    ):
        gaps = [trained[at].gaps for at in places]
        x = [i for i, several in enumerate(gaps) for _ in several]
        y = [max(gap, cells.SCALE[0]) for several in gaps for gap in several]
        axes.plot(x, y, shape, color=colour, markersize=5, label=name, zorder=3)
    known = [cells.published().get(at, np.nan) for at in places]
    plotting.published(axes, range(len(places)), known, "published")
    goals = [0.01 * paper(rows)[at].rows[0]["entropy"] for at in places]
    axes.plot(range(len(places)), goals, "_", color=INK, markersize=15, label="1 % of the entropy")
    plotting.finish(axes, "Both protocols", "stories, m", "gap, nats")
    axes.set_xticks(range(len(places)), [f"{n}\n{m}" for n, m in places], size=8)
    plotting.legend(axes, loc="upper center", bbox_to_anchor=cells.BELOW, ncols=2)


def table(rows: RowsByLabel) -> Table:
    """Per cell that both protocols were run on: the gaps in nats, ours, theirs here, published."""
    ours, theirs, known = repeated(rows), paper(rows), cells.published()
    lines = []
    for at in compared(rows):
        gaps = (ours[at].gap, theirs[at].gap, known.get(at))
        lines.append((*map(str, at), *("" if gap is None else f"{gap:.3g}" for gap in gaps)))
    return tabulated("madden-1", lines)


def finding(rows: RowsByLabel) -> str:
    """The fewest neurons for the fewest and for the most stories."""
    ours = cells.smallest(rows)
    if not ours:
        return ""
    ends = []
    for stories in sorted({min(ours), max(ours)}):
        best, tried = ours[stories].best, cells.place(ours[stories].largest)[1]
        neurons = cells.place(best)[1] if best else f"not reached with up to {tried}"
        ends.append(f"{neurons} for {stories:,} stories")
    theirs = [int(m) for m in column(read("madden-smallest"), "neurons")]
    return say("madden-1", ends=" and ".join(ends), least=min(theirs), most=max(theirs))


MADDEN_1 = described("madden-1", LABELS, parts, draw, table, finding, fits)
