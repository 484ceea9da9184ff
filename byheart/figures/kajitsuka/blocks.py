"""The fewest blocks that memorise, as the rows of a search show them, and how they are drawn."""

from collections.abc import Iterable, Mapping
from itertools import groupby, takewhile

from ...lab.sweeps import results
from ...lab.sweeps.results import Smallest
from ...lab.sweeps.sweep import SEQUENCES
from ...lab.trial import Row
from ...machine.tables import plural
from .. import plotting
from ..figure import spread
from ..plotting import Axes

MISSED = "not reached by every seed"


def blocks(row: Row) -> int:
    return row["trial"]["sizes"]["layers"]


def smallest(rows: Iterable[Row]) -> dict[int, Smallest]:
    """The smallest network that memorises, by the number of sequences N."""
    return results.smallest(rows, lambda row: row["trial"]["data"][SEQUENCES])


def fewest(one: Smallest) -> list[int]:
    """The fewest blocks that reached the criterion, for each seed that reached it."""
    return [blocks(row) for row in one.reached]


def tried(one: Smallest) -> list[int]:
    """The numbers of blocks that were trained, increasing."""
    return sorted({blocks(row) for row in one.rows})


def ranged(one: Smallest) -> str:
    """The fewest blocks that reached the criterion, from the minimum to the maximum over seeds."""
    low, high = min(fewest(one)), max(fewest(one))
    return plural(low, "block") if low == high else f"{low} to {high} blocks"


def listed(one: Smallest) -> str:
    """The numbers of blocks that were trained, in words."""
    *fewer, most = tried(one)
    return ", ".join([*map(str, fewer), plural(most, "block")])


def answers(by_size: Mapping[int, Smallest]) -> str:
    """The fewest blocks over N, seeds' minimum to maximum, once for all N with the same answer."""

    def answer(N: int) -> str:
        one = by_size[N]
        if not one.reached:
            return f"not reached (tried: {listed(one)})"
        missed = f" (not reached by {one.censored} of the seeds)" if one.censored else ""
        return ranged(one) + missed

    groups = []
    for words, group in groupby(by_size, key=answer):
        first, *more = group
        several = f"each of {len(more) + 1} N from {first:,} to {more[-1]:,}" if more else ""
        groups.append(f"{words} at {several or f'N = {first:,}'}")
    return ", ".join(groups)


def settled(by_size: Mapping[int, Smallest]) -> list[int]:
    """The N from the smallest on up to which every seed reached the criterion."""
    return list(takewhile(lambda N: not by_size[N].censored, sorted(by_size)))


def growing(by_size: Mapping[int, Smallest]) -> str:
    """Which seeds take more blocks at the last settled N than any does at the first, if there is
    one: "all seeds", "some seeds" or "no"."""
    known = settled(by_size)
    least, last = max(fewest(by_size[known[0]])), fewest(by_size[known[-1]])
    return "all seeds" if min(last) > least else "some seeds" if max(last) > least else "no"


def draw_points(
    axes: Axes,
    answers: Mapping[int, Smallest],
    label: str,
    colour: str = plotting.OURS,
    shift: float = 0.0,
) -> None:
    """Means over seeds, moved by `shift`; triangles at the most blocks where a seed missed."""
    if reached := {N + shift: spread(fewest(one)) for N, one in answers.items() if one.reached}:
        plotting.ours(axes, reached, label, colour)
    if missed := {N + shift: blocks(one.largest) for N, one in answers.items() if one.censored}:
        name = MISSED if reached else f"{label}: not reached"
        again = name in axes.get_legend_handles_labels()[1]
        places, tops = list(missed), list(missed.values())
        plotting.not_reached(axes, places, tops, None if again else name, colour)
