"""Figure 1 of madden2024: how many parameters memorise how many contexts of TinyStories.

A fine grid is trained with our protocol, and some cells with the authors' own. Drawn are two heat
maps of the gap to the entropy, the smallest models, and both protocols side by side.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from ..data.dataset import Dataset
from ..data.load import from_rows
from ..data.readers.text import tokenize
from ..errors import ByheartError
from ..lab.protocol import protocol
from ..lab.sweeps import results
from ..lab.sweeps.results import Smallest
from ..lab.sweeps.sweep import SEQUENCES
from ..lab.trial import Criterion, Row
from ..pictures import GREEN, INK, PALE
from ..theory.madden2024.capacity import theorem_1_parameters, theorem_5_parameters
from . import data, plotting
from .figure import Part, RowsByLabel, Settings, Table, described, gap, make_part
from .fits import Fit, curve, polynomial
from .plotting import Axes, Picture
from .published import column, read

if TYPE_CHECKING:
    from matplotlib.image import AxesImage

LENGTH = 10  # words used of each story; all except the first are predicted
PREDICTED = LENGTH - 1  # rows of the dataset per story
STORIES = tuple(range(100, 1001, 100))
NEURONS = (4, 6, 8, 10, 12, 14, 16, 20, 24, 32, 48, 64, 128, 256, 512)
PAPER = {100: (8, 16, 32), 200: (32,), 300: (16, 32), 400: (16,)}  # neurons by stories
SEEDS = 3  # of ours in the cells that both protocols are run on
QUICK_STORIES, QUICK_NEURONS = (100, 200), (8, 16, 32, 64)
CRITERION = Criterion("gap", 0.01)
FAST, PAPERS = "fast", "paper"
LABELS = (FAST, *(f"{how}-{n}" for how in (FAST, PAPERS) for n in PAPER))
DARK = 20.0  # nats: above this the colour is so dark that letters are white
SCALE = (1e-3, 1e4)  # nats
BELOW = (0.5, -0.24)  # where a legend stands, in fractions of the axes

Place = tuple[int, int]  # stories and neurons


def parts(settings: Settings) -> list[Part]:
    """The grid, and the cells that the authors' protocol is run on, by both protocols."""
    grid = (QUICK_STORIES, QUICK_NEURONS) if settings.quick else (STORIES, NEURONS)
    dataset = predictions(data.stories(settings.data), max(grid[0]))
    wanted = [(FAST, FAST, *grid, 1)]
    if not settings.quick:
        wanted += [
            (f"{name}-{n}", name, (n,), neurons, seeds)
            for name, seeds in ((FAST, SEEDS), (PAPERS, 1))
            for n, neurons in PAPER.items()
        ]
    parts = []
    for label, name, counts, neurons, seeds in wanted:
        axes = ((SEQUENCES, tuple(n * PREDICTED for n in counts)), ("neurons", neurons))
        how = protocol("madden2024", name), CRITERION, settings.repeats(seeds)
        parts.append(make_part(label, dataset, "madden2024", {"dimension": 16}, axes, *how))
    return parts


def predictions(texts: list[str], count: int) -> Dataset:
    """Each word with the words before it, in the first stories that have at least ten words.

    The words are those of NLTK's wordpunct_tokenize, which the authors use: the same pattern.
    """
    cut = tokenize("wordpunct")
    long = (words[:LENGTH] for words in map(cut, texts) if len(words) >= LENGTH)
    kept = list(islice(long, count))
    if len(kept) < count:
        raise ByheartError(
            f"the figure needs {count:,} stories of {LENGTH} words or more, but the data has only "
            f"{len(kept):,}."
        )
    return from_rows((words[:t], words[t]) for words in kept for t in range(1, LENGTH))


@dataclass(frozen=True)
class Cell:
    """The rows of one number of stories and one number of neurons, one row per seed."""

    rows: tuple[Row, ...]

    @property
    def gaps(self) -> list[float]:
        """In nats, of all seeds that did not diverge."""
        return [each for each in map(gap, self.rows) if each is not None]

    @property
    def gap(self) -> float | None:
        """The smallest over seeds; None if all trainings diverged."""
        return min(self.gaps, default=None)

    @property
    def reached(self) -> bool:
        """Whether a seed came within 1 % of the entropy."""
        return any(row["reached"] for row in self.rows)


def place(row: Row) -> Place:
    """Stories and neurons of a trial."""
    trial = row["trial"]
    return trial["data"][SEQUENCES] // PREDICTED, trial["sizes"]["neurons"]


def cells(rows: Iterable[Row]) -> dict[Place, Cell]:
    groups: dict[Place, list[Row]] = defaultdict(list)
    for row in rows:
        groups[place(row)].append(row)
    return {at: Cell(tuple(groups[at])) for at in sorted(groups)}


def fast(rows: RowsByLabel) -> dict[Place, Cell]:
    """The grid of our protocol, in which every cell has as many seeds."""
    return cells(rows.get(FAST, ()))


def repeated(rows: RowsByLabel) -> dict[Place, Cell]:
    """The cells of our protocol for the comparison: with more seeds where those were trained."""
    return {**fast(rows), **_beside_the_grid(rows, FAST)}


def paper(rows: RowsByLabel) -> dict[Place, Cell]:
    """The cells that the authors' protocol was run on."""
    return _beside_the_grid(rows, PAPERS)


def compared(rows: RowsByLabel) -> list[Place]:
    """The cells that both protocols were run on."""
    ours = repeated(rows)
    return [at for at in paper(rows) if at in ours]


def _beside_the_grid(rows: RowsByLabel, protocol: str) -> dict[Place, Cell]:
    """The cells of a protocol's parts, except the grid."""
    return cells(
        row for label, part in rows.items() if label.startswith(f"{protocol}-") for row in part
    )


def published() -> dict[Place, float]:
    return {
        (int(row["stories"]), int(row["neurons"])): float(row["gap"])
        for row in read("madden-heat-map")
    }


def smallest(rows: RowsByLabel) -> dict[int, Smallest]:
    """The smallest model of our protocol that memorises, by the number of stories."""
    return results.smallest(rows.get(FAST, ()), lambda row: place(row)[0])


def steps(rows: RowsByLabel) -> int:
    """The most steps that our protocol gave a trial, over all its attempts."""
    planned = (sum(each["planned"] for each in row["attempts"]) for row in rows.get(FAST, ()))
    return max(planned, default=0)


def fits(rows: RowsByLabel) -> list[Fit]:
    """Lines through parameters and neurons of the smallest models, ours and the authors'.

    Over contexts, where there are at least two different numbers of them.
    """
    table = read("madden-smallest")
    best = [row for each in smallest(rows).values() if (row := each.best)]
    ours = {
        "contexts": [row["contexts"] for row in best],
        "parameters": [row["parameters"] for row in best],
        "neurons": [place(row)[1] for row in best],
    }
    theirs = {name: column(table, name) for name in ours}
    return [
        polynomial(f"{quantity}, {whose}", numbers["contexts"], numbers[quantity], 1)
        for quantity in ("parameters", "neurons")
        for whose, numbers in (("ours", ours), ("published", theirs))
        if len(set(numbers["contexts"])) > 1
    ]


def draw(rows: RowsByLabel, picture: Picture) -> None:
    """Heat maps above, lines below."""
    halves: Any = picture.subfigures(2, 1, height_ratios=(1.12, 1))
    top, bottom = halves
    left, right = top.subplots(1, 2, width_ratios=(14, 8.4))
    if grid := fast(rows):  # the smallest that memorises in a frame, triangles where none does
        gaps = {at: cell.gap for at, cell in grid.items()}
        counts = {stories: cell.rows[0]["contexts"] for (stories, _), cell in grid.items()}
        memorise = [place(each.best) for each in smallest(rows).values() if each.best]
        _draw_heat_map(left, gaps, counts, memorise, "Ours: gap to the entropy")
        order, columns = _grid(grid)
        for (stories, neurons), cell in grid.items():
            if not cell.reached:
                x, y = columns.index(neurons) + 0.34, order.index(stories) - 0.3
                left.plot(x, y, "^", color=_ink(cell.gap), markersize=2.6)
        left.set_xlabel(f"neurons m   (▲ 1 % not reached in {steps(rows):,} steps)", color=INK)
    table = read("madden-smallest")
    contexts = {int(row["stories"]): int(row["contexts"]) for row in table}
    framed = [(int(row["stories"]), int(row["neurons"])) for row in table]
    image = _draw_heat_map(right, published(), contexts, framed, "Published")
    right.set_ylabel("")
    bar = top.colorbar(image, ax=[left, right], pad=0.01, aspect=30)
    bar.set_label("loss minus entropy, nats", color=INK, size=9)
    bar.ax.tick_params(colors=PALE, labelsize=8)
    both = compared(rows)
    lines = bottom.subplots(1, 2 if both else 1, width_ratios=(14, 8.4)[: 1 + bool(both)])
    _draw_smallest(np.ravel(lines)[0], rows)
    if both:
        _draw_protocols(lines[1], rows, both)


def _draw_heat_map(
    axes: Axes,
    gaps: Mapping[Place, float | None],
    contexts: Mapping[int, int],
    framed: Iterable[Place],
    title: str,
) -> "AxesImage":
    """The gap of each cell, as a colour and a number; a column for each number of neurons."""
    from matplotlib.colors import LogNorm
    from matplotlib.patches import Rectangle

    rows, columns = _grid(gaps)
    table = np.full((len(rows), len(columns)), np.nan)
    for (stories, neurons), nats in gaps.items():
        y, x = rows.index(stories), columns.index(neurons)
        table[y, x] = np.nan if nats is None else max(nats, SCALE[0])
        centred: dict[str, Any] = {"ha": "center", "va": "center", "in_layout": False}
        axes.text(x, y, _short(nats), size=6, color=_ink(nats), **centred)
    image = axes.imshow(table, cmap="Blues", norm=LogNorm(*SCALE), aspect="auto")
    plotting.finish(axes, "", "neurons m", "contexts n")
    axes.set_title(title, loc="left", size=11, weight="bold", color=INK)
    axes.grid(False)
    axes.set_xticks(range(len(columns)), [str(m) for m in columns], size=7.5)
    axes.set_yticks(range(len(rows)), [f"{contexts[n]:,}" for n in rows], size=8)
    look: dict[str, Any] = {"fill": False, "color": plotting.PUBLISHED, "linewidth": 1.6}
    for stories, neurons in framed:
        corner = (columns.index(neurons) - 0.5, rows.index(stories) - 0.5)
        axes.add_patch(Rectangle(corner, 1, 1, zorder=5, **look))
    return image


def _grid(places: Iterable[Place]) -> tuple[list[int], list[int]]:
    """The stories from many to few, as in the paper, and the neurons."""
    stories, neurons = map(set, zip(*places, strict=True))
    return sorted(stories, reverse=True), sorted(neurons)


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


def _draw_smallest(axes: Axes, rows: RowsByLabel) -> None:
    """The smallest models against their contexts, with the bounds for the worst data."""
    ours, table = list(smallest(rows).values()), read("madden-smallest")
    axes.set_yscale("log")
    plotting.published(axes, column(table, "contexts"), column(table, "parameters"), "published")
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
    known = (*(each.rows[0] for each in ours), *table)
    samples = sorted({(int(x["contexts"]), int(x["vocabulary"])) for x in known})
    n = [contexts for contexts, _ in samples]
    enough = [theorem_5_parameters(*sample, PREDICTED) for sample in samples]
    needed = [theorem_1_parameters(*sample) for sample in samples]
    plotting.bound(axes, n, enough, "Theorem 5: enough for any distributions")
    plotting.bound(axes, n, needed, "Theorem 1: fewer fail on some data", len(n) // 3, above=False)
    axes.set_ylim(top=2.5 * max(enough))
    plotting.finish(axes, "Smallest model that memorises", "contexts n", "parameters")
    plotting.legend(axes, loc="upper center", bbox_to_anchor=BELOW, ncols=2)


def _draw_protocols(axes: Axes, rows: RowsByLabel, places: list[Place]) -> None:
    """The gaps of the cells that both protocols were run on, a point per seed, and published."""
    axes.set_yscale("log")
    for trained, shape, colour, name in (
        (repeated(rows), "o", plotting.OURS, "our protocol"),
        (paper(rows), "s", GREEN, "the authors' protocol"),
    ):
        gaps = [trained[at].gaps for at in places]
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


def table(rows: RowsByLabel) -> Table:
    """Per cell that both protocols were run on: the gaps in nats, ours, theirs here, published."""
    ours, theirs, known = repeated(rows), paper(rows), published()
    lines = []
    for at in compared(rows):
        gaps = (ours[at].gap, theirs[at].gap, known.get(at))
        lines.append((*map(str, at), *("" if gap is None else f"{gap:.3g}" for gap in gaps)))
    head = ("stories", "m", "gap, ours", "gap, the authors' protocol here", "gap, published")
    return Table(head, tuple(lines))


def finding(rows: RowsByLabel) -> str:
    """The fewest neurons for the fewest and for the most stories."""
    ours = smallest(rows)
    if not ours:
        return ""
    ends = []
    for stories in sorted({min(ours), max(ours)}):
        best, tried = ours[stories].best, place(ours[stories].largest)[1]
        neurons = place(best)[1] if best else f"not reached with up to {tried}"
        ends.append(f"{neurons} for {stories:,} stories")
    theirs = [int(m) for m in column(read("madden-smallest"), "neurons")]
    return (
        f"The smallest m within 1 % of the entropy is {' and '.join(ends)}; published, on powers "
        f"of two: {min(theirs)} to {max(theirs)}."
    )


MADDEN_1 = described("madden-1", LABELS, parts, draw, table, finding, fits)
