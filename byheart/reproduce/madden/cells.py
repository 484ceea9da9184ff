"""What the rows of Figure 1 say: cells of the heat map, and the smallest model that memorises."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ...lab.sweeps.sweep import SEQUENCES
from ...lab.trial import Row
from ..figure import RowsByLabel, gap, smallest_by_seed
from ..published import read
from .parts import FAST, PAPERS, PREDICTED

Place = tuple[int, int]  # stories and neurons


@dataclass(frozen=True)
class Cell:
    """The seeds of one number of stories and one of neurons."""

    stories: int
    neurons: int
    rows: tuple[Row, ...]

    @property
    def gap(self) -> float | None:
        """The least over seeds, in nats; None if all trainings blew up."""
        return min(self.gaps, default=None)

    @property
    def gaps(self) -> list[float]:
        """Those of all seeds that did not blow up."""
        return [each for each in map(gap, self.rows) if each is not None]

    @property
    def reached(self) -> bool:
        """Whether a seed came within 1 % of the entropy."""
        return any(row["reached"] for row in self.rows)

    @property
    def seconds(self) -> float:
        """CPU time of all seeds."""
        return sum(row["seconds"] for row in self.rows)


@dataclass(frozen=True)
class Smallest:
    """The fewest neurons that memorise a number of stories, for each seed that found some.

    A size that any seed reached counts as reached: the smallest of these is `best`.

    tried      the largest model that was trained
    rows       of the smallest models that reached the criterion, one for each such seed
    censored   seeds of which none did
    """

    contexts: int
    vocabulary: int
    tried: Row
    rows: tuple[Row, ...]
    censored: int

    @property
    def best(self) -> Row | None:
        """The smallest model that a seed memorises with; None if no seed does."""
        return min(self.rows, key=lambda row: row["parameters"], default=None)

    @property
    def neurons(self) -> int | None:
        """Those of the best."""
        return None if self.best is None else place(self.best)[1]


def place(row: Row) -> Place:
    """Stories and neurons of a trial."""
    trial = row["trial"]
    return trial["data"][SEQUENCES] // PREDICTED, trial["sizes"]["neurons"]


def cells(rows: Iterable[Row]) -> dict[Place, Cell]:
    """The cells in order."""
    found: dict[Place, list[Row]] = defaultdict(list)
    for row in rows:
        found[place(row)].append(row)
    return {at: Cell(*at, tuple(found[at])) for at in sorted(found)}


def fast(rows: RowsByLabel) -> dict[Place, Cell]:
    """The grid of our protocol, in which every cell has as many seeds."""
    return cells(rows.get(FAST, ()))


def repeated(rows: RowsByLabel) -> dict[Place, Cell]:
    """The cells of our protocol for the comparison: with more seeds where those were trained."""
    return {**fast(rows), **_beside(rows, FAST)}


def paper(rows: RowsByLabel) -> dict[Place, Cell]:
    """The cells that the authors' protocol was run on."""
    return _beside(rows, PAPERS)


def _beside(rows: RowsByLabel, protocol: str) -> dict[Place, Cell]:
    """The cells of the parts that a protocol has beside the grid."""
    return cells(
        row for label, part in rows.items() if label.startswith(f"{protocol}-") for row in part
    )


def published() -> dict[Place, float]:
    """The authors' gaps."""
    return {
        (int(row["stories"]), int(row["neurons"])): float(row["gap"])
        for row in read("madden-heat-map")
    }


def smallest(rows: Sequence[Row]) -> dict[int, Smallest]:
    """The smallest model that memorises, by the number of stories."""
    by_stories: dict[int, list[Row]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: row["parameters"]):
        by_stories[place(row)[0]].append(row)
    return {stories: _smallest(by_stories[stories]) for stories in sorted(by_stories)}


def _smallest(rows: list[Row]) -> Smallest:
    """Of rows by increasing size."""
    seeds = {row["trial"]["seed"] for row in rows}
    first = smallest_by_seed(rows)
    return Smallest(
        rows[0]["contexts"], rows[0]["vocabulary"], rows[-1], tuple(first.values()),
        len(seeds) - len(first),
    )  # fmt: skip


def steps(rows: Iterable[Row]) -> int:
    """The most steps that a trial was given, over all its attempts."""
    return max((sum(each["planned"] for each in row["attempts"]) for row in rows), default=0)
