"""The picture of morris-capacity: three panels, and the figure that they belong to."""

from collections.abc import Iterable, Sequence
from itertools import cycle
from statistics import median
from typing import TYPE_CHECKING

from ...lab.sweeps.capacity import STORED
from ...pictures import GREEN, INK
from ...theory.information import MORRIS_2025
from .. import plotting
from ..figure import Caption, Figure, RowsByLabel, Table
from .points import Trained, by_size, compiled, doublings, fits, trained
from .sweeps import LENGTH, SETUPS, VOCABULARY, parts

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Picture

HALF = 16  # bits of a parameter in the published models
COLOURS = (plotting.OURS, GREEN, INK, plotting.BOUND)  # of sizes


def draw(rows: RowsByLabel, picture: "Picture") -> None:
    """Bits per parameter and per stored bit over parameters, and per parameter over steps."""
    left, middle, right = picture.subplots(1, 3)
    found, built = trained(rows), compiled()
    sizes = [one.parameters for one in built] + [one.parameters for one in found]
    ends = (min(sizes), max(sizes))
    for axes, stored in ((left, 1), (middle, STORED)):
        published = MORRIS_2025 / (1 if stored == 1 else HALF)
        words = f"{MORRIS_2025:g} (Morris et al.)"
        if stored > 1:
            words = f"{MORRIS_2025:g} of {HALF} bits (Morris et al.)"
        axes.plot(ends, (published, published), color=plotting.PUBLISHED, linewidth=1.4, zorder=1)
        plotting.beside(axes, words, (ends[1], published), True, size=8.5, ha="right")
        _points(axes, found, stored)
        axes.set_xscale("log")
        axes.set_yscale("log")
    proved = {"marker": "s", "linestyle": "-", "linewidth": 1.1, "markersize": 5}
    across = [one.parameters for one in built]
    for axes, heights in (
        (left, [one.bits / one.parameters for one in built]),
        (middle, [one.bits / one.stored for one in built]),
    ):
        axes.plot(across, heights, color=plotting.BOUND, label="compiled, proved", **proved)
    _over_steps(right, found)
    plotting.finish(left, "Per parameter", "parameters", "bits memorised per parameter")
    plotting.finish(middle, "Per stored bit (1 is the limit)", "parameters", "bits per stored bit")
    plotting.finish(right, "Per parameter, over steps", "steps", "bits memorised per parameter")
    plotting.legend(left, loc="lower right")
    below = {"loc": "upper right", "bbox_to_anchor": (1.0, 0.93)}  # of the published number
    plotting.legend(right, title="parameters", title_fontsize=8.5, **below)


def _over_steps(axes: "Axes", found: Sequence[Trained]) -> None:
    """A line for every size: the median over all its trainings, by their number of steps."""
    every = sorted({steps for one in found for steps in one.steps})
    for (size, some), colour in zip(by_size(found).items(), cycle(COLOURS), strict=False):
        heights = {steps: [x for one in some for x in one.at(steps)] for steps in every}
        points = {x: (median(ys), min(ys), max(ys)) for x, ys in heights.items() if ys}
        plotting.ours(axes, list(points), list(points.values()), f"{size:,}", colour, line=True)
    if every:
        ends = (every[0], every[-1])
        axes.plot(ends, [MORRIS_2025] * 2, color=plotting.PUBLISHED, linewidth=1.4, zorder=1)
        plotting.beside(axes, f"{MORRIS_2025:g}", (ends[0], MORRIS_2025), False, size=8.5)
        axes.set_xscale("log", base=2)
        axes.set_xticks(every, [f"{steps:,}" for steps in every])


def _points(axes: "Axes", found: Iterable[Trained], stored: int) -> None:
    """Solid where every seed is settled, else triangles: more steps may memorise more."""
    named: set[bool] = set()
    for one in found:
        settled = one.settled == len(one.bits)
        low, middle, high = (f(one.bits) / stored for f in (min, median, max))
        name = "trained GPT-2, settled" if settled else "trained GPT-2, more steps add bits"
        label = None if settled in named else name
        named.add(settled)
        if settled:
            plotting.ours(axes, [one.parameters], [(middle, low, high)], label)
        else:
            plotting.not_reached(axes, [one.parameters], [middle], label)
            axes.plot([one.parameters] * 2, [low, high], color=plotting.OURS, linewidth=1.2)


def table(rows: RowsByLabel) -> Table:
    """Bits per parameter of each size and number of sequences, and how steps change them."""
    found = []
    for one in trained(rows):
        spread = f" ({min(one.bits):.2f} to {max(one.bits):.2f})" if len(one.bits) > 1 else ""
        steps = ", ".join(f"{median(one.at(x)):.2f} with {x:,}" for x in one.steps)
        gains = "; ".join(f"{median(x):+.1%} to {n:,}" for n, x in doublings([one]).items())
        settled = f"{one.settled} of {len(one.bits)}"
        found.append(
            (
                f"{one.parameters:,}",
                f"{one.sequences:,}",
                f"{one.middle:.2f}{spread}",
                f"{one.middle / STORED:.3f}",
                settled,
                steps,
                gains,
            )
        )
    head = ("parameters", "sequences", "bits per parameter", "per stored bit", "settled")
    return Table((*head, "by steps", "gain of twice the steps"), tuple(found))


def finding(rows: RowsByLabel) -> str:
    """The most bits per parameter by size, beside the published number."""
    sizes = by_size(trained(rows))
    if not sizes:
        return ""
    most = {size: max(one.middle for one in some) for size, some in sizes.items()}
    listed = ", ".join(f"{bits:.2f} at {size:,}" for size, bits in most.items())
    largest = compiled()[-1]
    return (
        f"Bits per parameter, the most over numbers of sequences: {listed} parameters; published: "
        f"about {MORRIS_2025:g} from 500,000 parameters on. A compiled model of "
        f"{largest.parameters:,} parameters holds {largest.bits / largest.parameters:.0f} bits in "
        f"each, but {largest.bits / largest.stored:.2f} per stored bit."
    )


MORRIS_CAPACITY = Figure(
    name="morris-capacity",
    title="Bits that small GPT-2 models memorise of random tokens, beside compiled models",
    paper="morris2025, the experiment on uniform random tokens",
    data=None,
    parts=parts,
    draw=draw,
    words=Caption(
        data=f"uniform sequences of {LENGTH + 1} tokens out of {VOCABULARY}",
        criterion="settled: twice the steps change the bits by at most 2 %; triangles are not",
        published=f"Beside it: the {MORRIS_2025:g} bits per parameter of Morris et al., and "
        "compiled models that are proved; per parameter and per stored bit, since one alone "
        "misleads.",
        differs="Differs: models of thousands of parameters instead of 500,000 to 1.5 billion, "
        "shorter sequences over a smaller vocabulary, far fewer steps, weights of 32 bits, and a "
        "first token that is given and not counted.",
        points="points are medians over seeds, and bars go from the minimum to the maximum",
    ),
    table=table,
    finding=finding,
    fits=fits,
    size=(13.0, 4.6),
    labels=tuple(SETUPS),
)
