"""What both figures of madden2024 share: their data, and a heat map of the gap to the entropy."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from ...data.dataset import Dataset
from ...data.load import from_rows
from ...data.readers.text import tokenize
from ...errors import ByheartError
from ...lab.sweeps import results
from ...lab.sweeps.results import Smallest
from ...lab.sweeps.sweep import SEQUENCES
from ...lab.trial import Criterion, Row
from ...pictures import INK, PALE
from .. import plotting
from ..figure import RowsByLabel, gap
from ..plotting import Axes
from ..published import read

if TYPE_CHECKING:
    from matplotlib.image import AxesImage

LENGTH = 10  # words used of each story; all except the first are predicted
PREDICTED = LENGTH - 1  # rows of the dataset per story
CRITERION = Criterion("gap", 0.01)
FAST, PAPERS = "fast", "paper"
DARK = 20.0  # nats: above this the colour is so dark that letters are white
SCALE = (1e-3, 1e4)  # nats
BELOW = (0.5, -0.24)  # where a legend stands, in fractions of the axes

Place = tuple[int, int]  # stories and neurons


def predictions(texts: list[str], count: int) -> Dataset:
    """Each word with the words before it, in the first stories of ten words or more."""
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
    trial = row["trial"]
    return trial["data"][SEQUENCES] // PREDICTED, trial["sizes"]["neurons"]


def by_place(rows: Iterable[Row]) -> dict[Place, Cell]:
    groups: dict[Place, list[Row]] = defaultdict(list)
    for row in rows:
        groups[place(row)].append(row)
    return {at: Cell(tuple(groups[at])) for at in sorted(groups)}


def published(figure: str = "madden") -> dict[Place, float]:
    table = read(f"{figure}-heat-map")
    return {(int(row["stories"]), int(row["neurons"])): float(row["gap"]) for row in table}


def smallest(rows: RowsByLabel) -> dict[int, Smallest]:
    """The smallest model of our protocol that memorises, by the number of stories."""
    return results.smallest(rows.get(FAST, ()), lambda row: place(row)[0])


def steps(rows: Iterable[Row]) -> int:
    """The most steps that a trial was given, over all its attempts."""
    return max((sum(each["planned"] for each in row["attempts"]) for row in rows), default=0)


def draw_gaps(picture: Any, rows: RowsByLabel, figure: str) -> None:
    """Our heat map and the published one, with frames around the smallest that memorise."""
    left, right = picture.subplots(1, 2, width_ratios=(14, 8.4))
    if grid := by_place(rows.get(FAST, ())):
        gaps = {at: cell.gap for at, cell in grid.items()}
        counts = {stories: cell.rows[0]["contexts"] for (stories, _), cell in grid.items()}
        memorise = [place(each.best) for each in smallest(rows).values() if each.best]
        _draw_heat_map(left, gaps, counts, memorise, "Ours: gap to the entropy")
        order, columns = _grid(grid)
        for (stories, neurons), cell in grid.items():
            if not cell.reached:
                x, y = columns.index(neurons) + 0.34, order.index(stories) - 0.3
                left.plot(x, y, "^", color=_ink(cell.gap), markersize=2.6)
        words = f"neurons m   (▲ 1 % not reached in {steps(rows[FAST]):,} steps)"
        left.set_xlabel(words, color=INK)
    table = read(f"{figure}-smallest")
    contexts = {int(row["stories"]): int(row["contexts"]) for row in table}
    framed = [(int(row["stories"]), int(row["neurons"])) for row in table]
    image = _draw_heat_map(right, published(figure), contexts, framed, "Published")
    right.set_ylabel("")
    bar = picture.colorbar(image, ax=[left, right], pad=0.01, aspect=30)
    bar.set_label("loss minus entropy, nats", color=INK, size=9)
    bar.ax.tick_params(colors=PALE, labelsize=8)


def _draw_heat_map(
    axes: Axes,
    gaps: Mapping[Place, float | None],
    contexts: Mapping[int, int],
    framed: Iterable[Place],
    title: str,
) -> "AxesImage":
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
