"""Figures 1 and 2 of kajitsuka2025: loss and accuracy during training, for several depths."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...data.dataset import Dataset
from ...lab.trial import Row
from ...pictures import INK, PALE
from .. import marks
from ..data import Source
from ..figure import Figure, Part, RowsByLabel, Settings
from . import parts

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Picture

WIDTH = 9.0
POINTS = 50  # of a curve
TRIALS = 2  # of Optuna in the authors' protocol: "two trials of hyperparameter tuning"
QUICK_SEQUENCES = 300
TITLES = {
    "trained": "embeddings trained",
    "frozen": "embeddings frozen",
    "paper": "the paper's protocol (AdamW, Optuna)",
}


@dataclass(frozen=True)
class Curves:
    """A figure of training curves.

    blocks     depths for each kind of part
    sequences  how many are learnt
    """

    name: str
    title: str
    paper: str
    data: str
    load: Callable[[Source, int], Dataset]
    sequences: int
    blocks: dict[str, tuple[int, ...]]
    quick: tuple[int, ...]

    def trains(self, settings: Settings) -> list[Part]:
        """One training of every depth, by each kind of protocol."""
        if settings.quick:
            dataset = self.load(settings.data, QUICK_SEQUENCES)
            how = parts.how("trained", POINTS)
            axes = (("layers", self.quick),)
            return [parts.part("trained", dataset, axes, how, settings.repeats(1))]
        dataset = self.load(settings.data, self.sequences)
        return [
            parts.part(kind, dataset, (("layers", depths),), parts.how(kind, POINTS, trials=TRIALS),
                       settings.repeats(1))
            for kind, depths in self.blocks.items()
        ]  # fmt: skip

    def draw(self, rows: RowsByLabel, picture: "Picture") -> None:
        """A line of panels for each kind: loss and accuracy."""
        kinds = [kind for kind in parts.KINDS if rows.get(kind)]
        if not kinds:
            return
        picture.set_size_inches(WIDTH, 1.2 + 2.3 * len(kinds))
        panels = picture.subplots(len(kinds), 2, squeeze=False)
        for kind, (left, right) in zip(kinds, panels, strict=True):
            found = sorted(rows[kind], key=lambda row: (parts.blocks(row), row["trial"]["seed"]))
            _panel(left, found, 1, TITLES[kind])
            _panel(right, found, 2, "")
        marks.legend(panels[0, 1], loc="lower right", title="#blocks", title_fontsize=9, ncols=2)

    def caption(self, rows: RowsByLabel) -> str:
        every = [row for part in rows.values() for row in part]
        if not every:
            return parts.DIFFERENCES
        missed = sum(not row["reached"] for row in every)
        return (
            f"{parts.costs(every)} Dashed: the least loss and the best accuracy that the labels "
            f"allow. {parts.conflicts(every)} {missed} of the trainings did not come within "
            f"{parts.THRESHOLD:g} of the least loss in their steps. {_best(rows)} "
            f"{parts.DIFFERENCES}"
        )

    @property
    def figure(self) -> Figure:
        return Figure(
            self.name, self.title, self.paper, self.data, self.trains, self.draw, self.caption,
            size=(WIDTH, 8.0), labels=tuple(self.blocks),
        )  # fmt: skip


def points(row: Row) -> list[tuple[int, float, float]]:
    """Steps, mean loss and accuracy, up to where the training ended; no losses that blew up."""
    end = (row["steps"], row["loss"], row["accuracy"])
    known = [point for point in (*row["curve"], end) if _finite(point[1])]
    return [(step, loss / row["predictions"], accuracy) for step, loss, accuracy in known]


def _finite(loss: float | None) -> bool:
    return loss is not None and math.isfinite(loss)


def _panel(axes: "Axes", rows: Sequence[Row], column: int, title: str) -> None:
    """One curve a training, darker for more blocks."""
    depths = sorted({parts.blocks(row) for row in rows})
    for row in rows:
        found = points(row)
        place = depths.index(parts.blocks(row)) / max(1, len(depths) - 1)
        label = str(parts.blocks(row)) if row["trial"]["seed"] == 0 else None
        axes.plot(
            [point[0] for point in found], [point[column] for point in found], label=label,
            color=shade(place), linewidth=1.4,
        )  # fmt: skip
    least = rows[0]["entropy"] / rows[0]["predictions"]
    limit = least if column == 1 else rows[0]["best_accuracy"]
    axes.axhline(limit, color=INK, linewidth=1.1, linestyle=(0, (5, 3)))
    said = f"least possible {limit:.3f}" if column == 1 else f"best possible {limit:.3f}"
    axes.annotate(
        said, (0.98, limit), (0, -4 if column == 1 else 4), textcoords="offset points", size=8,
        xycoords=("axes fraction", "data"), ha="right", va="top" if column == 1 else "bottom",
        color=PALE,
    )  # fmt: skip
    marks.dress(axes, title, "steps", "mean loss in nats" if column == 1 else "accuracy")
    axes.set_ylim(*((-0.18, 1.25) if column == 1 else (0.28, 1.06)))


def shade(place: float) -> tuple[float, float, float]:
    """From orange for the shallowest to dark blue for the deepest."""
    ends = ((0.91, 0.60, 0.25), (0.36, 0.58, 0.75), (0.09, 0.20, 0.38))
    low = min(1, int(place * 2))
    share = place * 2 - low
    red, green, blue = (a + (b - a) * share for a, b in zip(ends[low], ends[low + 1], strict=True))
    return red, green, blue


def _best(rows: RowsByLabel) -> str:
    """The best of each kind, as a sentence."""
    said = []
    for kind in parts.KINDS:
        known = [row for row in rows.get(kind, ()) if row["loss"] is not None]
        if known:
            best = min(known, key=lambda row: row["loss"])
            loss = best["loss"] / best["predictions"]
            said.append(f"{kind}: loss {loss:.3f}, accuracy {best['accuracy']:.3f} "
                        f"with {parts.count(parts.blocks(best))}")  # fmt: skip
    return f"Best of each kind: {'; '.join(said)}."


KAJITSUKA_1 = Curves(
    "kajitsuka-1", "Training curves on MultiNLI (N = 2000, n = 8)", "kajitsuka2025, Figure 1",
    "mnli", parts.multinli, 2000,
    {"trained": (1, 10, 20, 30, 40, 50), "frozen": (1, 10, 20, 30, 40, 50), "paper": (1, 20, 50)},
    (1, 10, 20),
).figure  # fmt: skip
KAJITSUKA_2 = Curves(
    "kajitsuka-2", "Training curves on IMDb (N = 3000, n = 8)", "kajitsuka2025, Figure 2",
    "imdb", parts.imdb, 3000,
    {"trained": (1, 10, 20, 30, 40), "frozen": (1, 20, 40), "paper": (1, 20, 40)},
    (1, 10, 20),
).figure  # fmt: skip
