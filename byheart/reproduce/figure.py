"""Figure: a figure of a paper, as the trainings behind it and a drawing of their rows.

Drawing needs the rows alone: neither torch nor the data file.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ..data.dataset import Dataset
from ..lab.sweeps.sweep import Sweep
from ..lab.trial import Row
from .fits import Fit

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

RowsByLabel = Mapping[str, Sequence[Row]]  # label of a part: its rows, in no order that counts


@dataclass(frozen=True)
class Settings:
    """How a figure is trained.

    quick  a small version: about two minutes on two cores
    data   the user's own file, a folder with tinystories.txt, mnli.tsv and imdb.tsv, or
           "huggingface" (byheart.reproduce.data reads it); None for figures on random data
    seeds  repetitions of every trial, None: as many as the figure takes by itself
    """

    quick: bool = False
    data: Path | str | None = None
    seeds: int | None = None

    def repeats(self, own: int) -> int:
        """The seeds that are asked for, or else the figure's own number."""
        return own if self.seeds is None else self.seeds


class Part(NamedTuple):
    """A sweep of a figure; its rows are kept in a folder of this label."""

    label: str
    sweep: Sweep
    dataset: Dataset


@dataclass(frozen=True)
class Figure:
    """A figure of a paper.

    name     of the command: "madden-1"
    title    what it shows
    paper    where it stands: "madden2024, Figure 1"
    data     "tinystories", "mnli", "imdb", or None if the data is drawn at random
    sweeps   the parts to train
    draw     the rows on an empty picture, whose layout is constrained; rows may lack some parts
    caption  what is drawn, what is censored and what differs from the paper, in sentences
    fits     the laws that were fitted, ours and the published numbers'; most figures have some
    size     of the picture, in inches at 100 dots each
    labels   of its parts
    """

    name: str
    title: str
    paper: str
    data: str | None
    sweeps: Callable[[Settings], list[Part]]
    draw: Callable[[RowsByLabel, "Picture"], None]
    caption: Callable[[RowsByLabel], str]
    fits: Callable[[RowsByLabel], list[Fit]] = lambda rows: []
    size: tuple[float, float] = (9.0, 5.0)
    labels: tuple[str, ...] = ()

    def own(self, rows: RowsByLabel) -> RowsByLabel:
        """The rows of its parts: there may be other folders beside them."""
        return {label: some for label, some in rows.items() if label in self.labels}


def gap(row: Row) -> float | None:
    """Summed loss minus entropy, in nats; None for a training that blew up."""
    return None if row["loss"] is None else max(0.0, row["loss"] - row["entropy"])


def trainings(rows: RowsByLabel) -> list[Row]:
    """The rows of all parts; a trial that stands in two parts counts once."""
    return list({row["key"]: row for part in rows.values() for row in part}.values())


def censored(rows: RowsByLabel) -> int:
    """How many trials did not reach their criterion in their steps."""
    return sum(not row["reached"] for row in trainings(rows))


def seeds(rows: Sequence[Row]) -> str:
    """How many repetitions there are, in words."""
    count = len({row["trial"]["seed"] for row in rows})
    return "one seed" if count == 1 else f"{count} seeds"


def spread(values: Sequence[float]) -> tuple[float, float, float]:
    """Mean, least and largest, over seeds."""
    return sum(values) / len(values), min(values), max(values)


def smallest_by_seed(rows: Sequence[Row]) -> dict[int, Row]:
    """The smallest model that reached the criterion, for each seed of which one did."""
    found: dict[int, Row] = {}
    for row in sorted(rows, key=lambda row: row["parameters"]):
        if row["reached"]:
            found.setdefault(row["trial"]["seed"], row)
    return found


def picture(figure: Figure, rows: RowsByLabel) -> "Picture":
    """The figure drawn from its rows."""
    from matplotlib.figure import Figure as Picture
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    found = Picture(figsize=figure.size, layout=ConstrainedLayoutEngine(w_pad=0.1, h_pad=0.1))
    figure.draw(rows, found)
    return found
