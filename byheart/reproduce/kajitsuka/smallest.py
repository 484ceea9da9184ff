"""The fewest blocks that memorise, as rows of a bisection say it, and how they are drawn."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...lab.sweeps.sweep import SEQUENCES
from ...lab.trial import Row
from .. import marks
from ..figure import smallest_by_seed, spread
from . import parts

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Smallest:
    """What was found for N sequences.

    seeds       the fewest blocks that reached the criterion, for each seed that reached it
    missed      how many seeds did not reach it
    depths      the numbers of blocks that were tried
    parameters  of the smallest network that reached it, None if there is none
    row         one of the rows, for facts of the data
    """

    seeds: tuple[int, ...]
    missed: int
    depths: tuple[int, ...]
    parameters: int | None
    row: Row

    @property
    def tried(self) -> int:
        """The most blocks that were tried."""
        return max(self.depths)


def smallest(rows: Sequence[Row]) -> dict[int, Smallest]:
    """The answer for each N, increasing."""
    found: dict[int, list[Row]] = {}
    for row in rows:
        found.setdefault(row["trial"]["data"][SEQUENCES], []).append(row)
    return {N: answer(found[N]) for N in sorted(found)}


def answer(rows: Sequence[Row]) -> Smallest:
    """What the rows of one dataset say."""
    best = smallest_by_seed(rows)
    missed = len({row["trial"]["seed"] for row in rows}) - len(best)
    tried = tuple(sorted(set(map(parts.blocks, rows))))
    counts = (row["parameters"] for row in best.values())
    depths = tuple(map(parts.blocks, best.values()))
    return Smallest(depths, missed, tried, min(counts, default=None), rows[0])


def deeper(rows: Sequence[Row], kind: str) -> str:
    """How many trainings with more blocks than the fewest did not reach it, as a sentence."""
    searches: dict[tuple[int, int], list[Row]] = {}
    for row in rows:
        at = row["trial"]["data"][SEQUENCES], row["trial"]["seed"]
        searches.setdefault(at, []).append(row)
    above = [
        row
        for some in searches.values()
        for least in smallest_by_seed(some).values()
        for row in some
        if parts.blocks(row) > parts.blocks(least)
    ]
    missed = sum(not row["reached"] for row in above)
    if not missed:
        return ""
    return (
        f"With more blocks than the fewest of their N, {missed} of {len(above)} trainings of "
        f"`{kind}` did not reach it."
    )


def depths(tried: Sequence[int]) -> str:
    """Numbers of blocks, in words."""
    return f"{', '.join(map(str, tried))} block{'' if tuple(tried) == (1,) else 's'}"


def points(
    axes: "Axes", answers: dict[int, Smallest], label: str, colour: str = marks.OURS
) -> None:
    """Means over seeds; triangles at the most blocks tried where a seed missed the criterion."""
    reached = {N: one for N, one in answers.items() if one.seeds}
    if reached:
        marks.ours(axes, list(reached), [spread(x.seeds) for x in reached.values()], label, colour)
    missed = {N: one.tried for N, one in answers.items() if one.missed}
    if missed:
        name = f"{label}: not reached by every seed"
        marks.not_reached(axes, list(missed), list(missed.values()), name)
