"""The fewest blocks that memorise, as the rows of a search show them, and how they are drawn."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ...lab.sweeps import results
from ...lab.sweeps.results import Smallest
from ...lab.sweeps.sweep import SEQUENCES
from ...lab.trial import Row
from .. import plotting
from ..figure import spread

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def blocks(row: Row) -> int:
    return row["trial"]["sizes"]["layers"]


def count(blocks: int) -> str:
    return f"{blocks} block{'' if blocks == 1 else 's'}"


def smallest(rows: Iterable[Row]) -> dict[int, Smallest]:
    """The smallest network that memorises, by the number of sequences N."""
    return results.smallest(rows, lambda row: row["trial"]["data"][SEQUENCES])


def fewest(found: Smallest) -> list[int]:
    """The fewest blocks that reached the criterion, for each seed that reached it."""
    return [blocks(row) for row in found.reached]


def tried(found: Smallest) -> list[int]:
    """The numbers of blocks that were trained, increasing."""
    return sorted({blocks(row) for row in found.rows})


def listed(found: Smallest) -> str:
    """The numbers of blocks that were trained, in words."""
    depths = tried(found)
    return f"{', '.join(map(str, depths))} block{'' if depths == [1] else 's'}"


def deeper(rows: Sequence[Row], kind: str) -> str:
    """How many trainings with more blocks than the fewest did not reach it, as a sentence."""
    above = [
        row
        for one in smallest(rows).values()
        for row in one.rows
        if (least := one.by_seed[row["trial"]["seed"]]) and blocks(row) > blocks(least)
    ]
    missed = sum(not row["reached"] for row in above)
    if not missed:
        return ""
    return (
        f"With more blocks than the fewest of their N, {missed} of {len(above)} trainings of "
        f"`{kind}` did not reach it."
    )


def draw_points(
    axes: "Axes", answers: dict[int, Smallest], label: str, colour: str = plotting.OURS
) -> None:
    """Means over seeds; triangles at the most blocks tried where a seed missed the criterion."""
    if reached := {N: spread(fewest(one)) for N, one in answers.items() if one.reached}:
        plotting.ours(axes, list(reached), list(reached.values()), label, colour)
    if missed := {N: blocks(one.largest) for N, one in answers.items() if one.censored}:
        name = f"{label}: not reached by every seed"
        plotting.not_reached(axes, list(missed), list(missed.values()), name)
