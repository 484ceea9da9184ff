"""Figure: a figure of a paper, as the sweeps behind it and a drawing of their rows.

Drawing needs only the rows: neither torch nor the data file.
"""

import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from ..data.dataset import Dataset
from ..lab.sweeps.sweep import Sweep
from ..lab.trial import Row
from .fits import Fit
from .plotting import Picture

RowsByLabel = Mapping[str, Sequence[Row]]  # label of a part: its rows, in any order
# before the label of a part whose earlier rows have labels that contradict each other: they are
# kept, and the caption tells of them, but they are not drawn
CONFLICTING = "conflicting-"


@dataclass(frozen=True)
class Settings:
    """How a figure is trained."""

    quick: bool = False  # a small version: about two minutes on two cores
    # the user's own file, a folder with tinystories.txt, mnli.tsv and imdb.tsv, or "huggingface"
    # (byheart.figures.data reads it); None for figures on random data
    data: Path | str | None = None
    seeds: int | None = None  # repetitions of every trial; None for the figure's default

    def repeats(self, default: int) -> int:
        """The number of seeds that was given, or else the figure's default."""
        return default if self.seeds is None else self.seeds


class Part(NamedTuple):
    """One sweep of a figure; its rows are kept in a folder of this label."""

    label: str
    sweep: Sweep
    dataset: Dataset


def make_part(label: str, dataset: Dataset, sweep: Sweep, **options: str) -> Part:
    """The sweep with this dataset as its data; options are what else identifies it."""
    data = {"sha256": dataset.sha256(), **options}
    return Part(label, replace(sweep, data=data), dataset)


class Table(NamedTuple):
    """The numbers of a figure as text: names of columns, and rows."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


class Caption(NamedTuple):
    """What a figure says in words (captions.toml); the numbers are in its table."""

    memorised: str
    criterion: str
    published: str
    differs: str
    remark: str = ""
    points: str = "points are means over seeds, and bars go from the minimum to the maximum"


@dataclass(frozen=True)
class Figure:
    name: str  # as the command takes it: "madden-1"
    title: str  # what it shows
    paper: str  # where it is from: "madden2024, Figure 1"
    data: str | None  # "tinystories", "mnli", "imdb", or None if the data is random
    parts: Callable[[Settings], list[Part]]  # the sweeps to train
    # draws the rows on an empty picture with constrained layout; parts may be missing
    draw: Callable[[RowsByLabel, Picture], None]
    words: Caption  # what its caption says
    table: Callable[[RowsByLabel], Table]  # the numbers behind it, ours beside the published ones
    finding: Callable[[RowsByLabel], str]  # the result in one or two sentences; empty without rows
    # the laws that were fitted to our numbers and to the published ones
    fits: Callable[[RowsByLabel], list[Fit]] = lambda rows: []
    size: tuple[float, float] = (9.0, 5.0)  # of the picture, in inches at 100 dots per inch
    labels: tuple[str, ...] = ()  # of its parts

    def own(self, rows: RowsByLabel) -> RowsByLabel:
        """The rows of its own parts: other folders may lie beside them."""
        return {label: some for label, some in rows.items() if label in self.labels}

    def caption(self, every: RowsByLabel) -> str:
        """Data, seeds, spread, censored trainings and other folders beside them; what differs."""
        rows = self.own(every)
        earlier = {x: every[CONFLICTING + x] for x in self.labels if CONFLICTING + x in every}
        counts = {len({row["trial"]["seed"] for row in part}) for part in rows.values() if part}
        several = f"{min(counts)} to {max(counts)}" if len(counts) > 1 else str(min(counts or {0}))
        missing = [label for label in self.labels if not rows.get(label)]
        memorised = self.words.memorised.format(conflicts=conflicts(rows))
        return paragraph(
            f"Ours: {len(trainings(rows)):,} trainings on {memorised}, seeds per part: {several}; "
            f"{self.words.points}; {censored(rows):,} trainings did not reach the criterion "
            f"({self.words.criterion}) in their steps, which does not mean that they "
            f"cannot{_not_drawn(earlier)}.",
            self.words.published,
            "; ".join(filter(None, (self.words.differs.strip(" ."), self.words.remark))) + ".",
            f"Not trained here: {', '.join(missing)}." if missing else "",
        )


@cache
def captions() -> dict[str, dict[str, Any]]:
    return tomllib.loads(files(__package__).joinpath("captions.toml").read_text("utf-8"))


def described(name: str, labels: tuple[str, ...], *code: Any) -> Figure:
    """The figure of this name, with the words that captions.toml has for it and its paper."""
    words = {**captions().get(name.split("-")[0], {}), **captions()[name]}
    caption = Caption(**{key: words[key] for key in Caption._fields if key in words})
    about: dict[str, Any] = {"words": caption, "size": tuple(words.get("size", Figure.size))}
    kinds = dict(zip(("parts", "draw", "table", "finding", "fits"), code, strict=False))
    title, paper, data = words["title"], words["paper"], words.get("data")
    return Figure(name, title, paper, data, **about, **kinds, labels=labels)


def say(name: str, key: str = "finding", /, **numbers: object) -> str:
    """The sentence that captions.toml has under this key, with these numbers in it."""
    return captions()[name][key].format(**numbers)


def tabulated(name: str, rows: Iterable[tuple[str, ...]]) -> Table:
    """The table whose columns captions.toml names."""
    return Table(tuple(captions()[name]["columns"]), tuple(rows))


def gap(row: Row) -> float | None:
    """Summed loss minus entropy, in nats; None for a training that diverged."""
    return None if row["loss"] is None else max(0.0, row["loss"] - row["entropy"])


def trainings(rows: RowsByLabel) -> list[Row]:
    """The rows of all parts; a trial that is in two parts counts once."""
    return list({row["key"]: row for part in rows.values() for row in part}.values())


def censored(rows: RowsByLabel) -> int:
    """The number of trials that did not reach their criterion in their steps."""
    return sum(not row["reached"] for row in trainings(rows))


def conflicts(rows: RowsByLabel) -> str:
    """How many labels even the best function of the context has wrong, in words."""
    wrong = {
        label: {round((1 - row["best_accuracy"]) * row["predictions"]) for row in part}
        for label, part in rows.items()
        if part
    }
    counts = set().union(*wrong.values())
    most = f"{'up to ' * (len(counts) > 1)}{max(counts, default=0):,}"
    some = [f"`{label}`" for label in wrong if any(wrong[label])]
    if len(some) in (0, len(wrong)):
        return f"{most} conflicting labels"
    return f"0 conflicting labels, but {most} in {', '.join(some)}"


def _not_drawn(rows: RowsByLabel) -> str:
    """What became of the earlier trainings with conflicting labels, where most is memorised."""
    every = trainings(rows)
    if not every:
        return ""
    most = max(row["predictions"] for row in every)
    largest = [row for row in every if row["predictions"] == most]
    accuracy = max(row["accuracy"] for row in largest)
    loss = min(row["loss"] for row in largest if row["loss"] is not None) / most
    return (
        f"; {len(every):,} earlier ones with {conflicts(rows)} (`{CONFLICTING}*`, not drawn) have "
        f"at best accuracy {accuracy:.3f} and loss {loss:.3f} at N = {most:,}"
    )


def seeds(rows: Sequence[Row]) -> str:
    count = len({row["trial"]["seed"] for row in rows})
    return "one seed" if count == 1 else f"{count} seeds"


def spread(values: Sequence[float]) -> tuple[float, float, float]:
    """Mean, minimum and maximum over seeds."""
    return sum(values) / len(values), min(values), max(values)


def paragraph(*sentences: str) -> str:
    """The sentences that are not empty, joined."""
    return " ".join(sentence for sentence in sentences if sentence)


def picture(figure: Figure, rows: RowsByLabel) -> Picture:
    from matplotlib.figure import Figure as Picture
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    drawn = Picture(figsize=figure.size, layout=ConstrainedLayoutEngine(w_pad=0.1, h_pad=0.1))
    figure.draw(rows, drawn)
    return drawn
