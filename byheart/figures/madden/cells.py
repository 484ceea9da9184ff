"""Cells of the heat map of Figure 1, the smallest models that memorise, and lines through them."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from ...lab.sweeps import results
from ...lab.sweeps.results import Smallest
from ...lab.sweeps.sweep import SEQUENCES
from ...lab.trial import Row
from ..figure import RowsByLabel, gap
from ..fits import Fit, polynomial
from ..published import column, read
from .sweeps import FAST, PAPERS, PREDICTED

Place = tuple[int, int]  # stories and neurons


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

    @property
    def seconds(self) -> float:
        return sum(row["seconds"] for row in self.rows)


def place(row: Row) -> Place:
    """Stories and neurons of a trial."""
    trial = row["trial"]
    return trial["data"][SEQUENCES] // PREDICTED, trial["sizes"]["neurons"]


def cells(rows: Iterable[Row]) -> dict[Place, Cell]:
    found: dict[Place, list[Row]] = defaultdict(list)
    for row in rows:
        found[place(row)].append(row)
    return {at: Cell(tuple(found[at])) for at in sorted(found)}


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
    """The authors' gaps."""
    return {
        (int(row["stories"]), int(row["neurons"])): float(row["gap"])
        for row in read("madden-heat-map")
    }


def smallest(rows: RowsByLabel) -> dict[int, Smallest]:
    """The smallest model of our protocol that memorises, by the number of stories."""
    return results.smallest(rows.get(FAST, ()), lambda row: place(row)[0])


def steps(rows: RowsByLabel) -> int:
    """The most steps that our protocol gave a trial, over all its attempts."""
    given = (sum(each["planned"] for each in row["attempts"]) for row in rows.get(FAST, ()))
    return max(given, default=0)


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
