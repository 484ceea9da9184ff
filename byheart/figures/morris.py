"""Capacity in bits per parameter, as Morris et al. (2025) measure it, at small sizes.

Small stock GPT-2 models are trained on uniform random tokens, of which nothing but memory can
predict any. Each size is trained on two numbers of sequences, whose information is more than it
can hold: if it memorises as many bits of both, and twice the steps change them by no more than
2 %, that is its capacity. Beside them stand compiled models, per parameter and per stored bit.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import cycle, groupby, pairwise
from statistics import median
from typing import NamedTuple

from ..data.generate import uniform
from ..lab.protocol import protocol
from ..lab.sweeps.capacity import STORED
from ..lab.sweeps.results import memorised
from ..lab.sweeps.sweep import SEQUENCES
from ..lab.trial import Criterion, Row
from ..pictures import GREEN, INK
from ..theory.information import MORRIS_2025
from . import plotting
from .figure import Part, RowsByLabel, Settings, Table, described, make_part
from .fits import Fit, affine
from .plotting import Axes, Picture
from .published import column, read

LENGTH, VOCABULARY, LAYERS, HEADS = 32, 64, 2, 4
ENOUGH = 0.02  # twice the steps change a plateau by no more than this share
RATE = 0.5  # over the dimension: the rate of a training
DOUBLINGS = 2  # of the steps, as long as they change the bits by more
MOST_SEQUENCES = 1024  # of the dataset, whose first sequences every part takes
HALF = 16  # bits of a parameter in the published models
COLOURS = (plotting.OURS, GREEN, INK, plotting.BOUND)  # of sizes


class Setup(NamedTuple):
    """A dimension, a number of sequences, the steps of the first attempt, and seeds."""

    dimension: int
    sequences: int
    steps: int = 8000
    seeds: int = 3


SETUPS = {  # those that train in the least time first, and one number of sequences of every size
    f"d{d}-n{n}": Setup(d, n)
    for d, n in ((8, 56), (12, 112), (16, 168), (8, 72), (12, 144), (16, 216), (32, 560), (32, 648))
}
QUICK = {"d8-n56": Setup(8, 56, 250, 1), "d8-n72": Setup(8, 72, 250, 1)}


def parts(settings: Settings) -> list[Part]:
    """A training for each seed of every set-up, by the protocol fast.

    It has up to DOUBLINGS more attempts, with twice the steps of the last; the rate falls as
    1 / dimension.
    """
    dataset, fast = uniform(MOST_SEQUENCES, LENGTH, VOCABULARY), protocol("gpt2", "fast")
    parts = []
    for label, one in (QUICK if settings.quick else SETUPS).items():
        first = replace(fast.attempts[0], rate=RATE / one.dimension)
        doubled = (replace(first, steps=one.steps << k) for k in range(DOUBLINGS + 1))
        sizes = {"layers": LAYERS, "dimension": one.dimension, "heads": HEADS}
        axes, how = ((SEQUENCES, (one.sequences,)),), replace(fast, attempts=tuple(doubled))
        plateau, seeds = Criterion("plateau", ENOUGH), settings.repeats(one.seeds)
        parts.append(make_part(label, dataset, "gpt2", sizes, axes, how, plateau, seeds))
    return parts


class Trained(NamedTuple):
    """The trainings of one size on one number of sequences that did not diverge."""

    parameters: int
    sequences: int
    bits: list[float]  # memorised per parameter, by seed
    settled: int  # how many of them twice the steps changed by no more than 2 %
    # for every seed, the bits per parameter of each attempt by its steps
    by_steps: list[dict[int, float]]

    @property
    def middle(self) -> float:
        return median(self.bits)

    def at(self, steps: int) -> list[float]:
        """By seed, where it was trained with this number of steps."""
        return [ends[steps] for ends in self.by_steps if steps in ends]

    @property
    def steps(self) -> list[int]:
        return sorted({steps for ends in self.by_steps for steps in ends})


def trained(rows: RowsByLabel) -> list[Trained]:
    """By parameters and then by sequences."""
    points = []
    for part in rows.values():
        kept = [(row, bits) for row in part if (bits := memorised(row)) is not None]
        if kept:
            sizes = kept[0][0]["parameters"], kept[0][0]["trial"]["data"]["sequences"]
            shares = [bits / row["parameters"] for row, bits in kept]
            settled = sum(row["reached"] for row, _ in kept)
            points.append(Trained(*sizes, shares, settled, [by_steps(row) for row, _ in kept]))
    return sorted(points, key=lambda one: one[:2])


def by_steps(row: Row) -> dict[int, float]:
    """The bits per parameter of each attempt that did not diverge, by its steps."""
    ends = {x["steps"]: memorised({**row, "loss": x["loss"]}) for x in row["attempts"]}
    return {steps: bits / row["parameters"] for steps, bits in ends.items() if bits is not None}


def doublings(points: Iterable[Trained]) -> dict[int, list[float]]:
    """By what shares twice the steps changed the bits: by these steps, one for each training."""
    gains: dict[int, list[float]] = {}
    for one in points:
        for ends in one.by_steps:
            for (_, before), (steps, after) in pairwise(sorted(ends.items())):
                gains.setdefault(steps, []).append(after / before - 1)
    return dict(sorted(gains.items()))


def by_size(points: Iterable[Trained]) -> dict[int, list[Trained]]:
    """Points that are sorted by parameters, by these."""
    return {size: list(some) for size, some in groupby(points, lambda one: one.parameters)}


def fits(rows: RowsByLabel) -> list[Fit]:
    """Bits per parameter of every training, linear in log2 of the parameters; none of one size."""
    points = [(math.log2(one.parameters), bits) for one in trained(rows) for bits in one.bits]
    if len({x for x, _ in points}) < 2:
        return []
    across, heights = zip(*points, strict=True)
    name = "bits per parameter, all trainings"
    return [affine(name, "log2(parameters)", across, heights)]


def draw(rows: RowsByLabel, picture: Picture) -> None:
    """Bits per parameter and per stored bit over parameters, and per parameter over steps."""
    left, middle, right = picture.subplots(1, 3)
    points, built = trained(rows), read("compiled")
    across, bits = column(built, "parameters"), column(built, "contexts")  # a bit for each context
    built_bits = column(built, "stored_bits")
    sizes = [*across, *(one.parameters for one in points)]
    ends = (min(sizes), max(sizes))
    proved = {"marker": "s", "linestyle": "-", "linewidth": 1.1, "markersize": 5}
    for axes, stored, per, name, published in (
        (left, 1, across, f"{MORRIS_2025:g}", MORRIS_2025),
        (middle, STORED, built_bits, f"{MORRIS_2025:g} of {HALF} bits", MORRIS_2025 / HALF),
    ):
        plotting.level(axes, ends, published)
        words, at = f"{name} (Morris et al.)", (ends[1], published)
        plotting.beside(axes, words, at, True, size=8.5, ha="right")
        _draw_points(axes, points, stored)
        heights = [x / y for x, y in zip(bits, per, strict=True)]
        axes.plot(across, heights, color=plotting.BOUND, label="compiled, proved", **proved)
        axes.set_xscale("log")
        axes.set_yscale("log")
    _draw_steps(right, points)
    plotting.finish(left, "Per parameter", "parameters", "bits memorised per parameter")
    plotting.finish(middle, "Per stored bit (1 is the limit)", "parameters", "bits per stored bit")
    plotting.finish(right, "Per parameter, over steps", "steps", "bits memorised per parameter")
    plotting.legend(left, loc="lower right")
    below = {"loc": "upper right", "bbox_to_anchor": (1.0, 0.93)}  # of the published number
    plotting.legend(right, title="parameters", title_fontsize=8.5, **below)


def _draw_steps(axes: Axes, points: Sequence[Trained]) -> None:
    """A line for every size: the median over all its trainings, by their number of steps."""
    every = sorted({steps for one in points for steps in one.steps})
    for (size, some), colour in zip(by_size(points).items(), cycle(COLOURS), strict=False):
        heights = {steps: [x for one in some for x in one.at(steps)] for steps in every}
        spreads = {x: (median(ys), min(ys), max(ys)) for x, ys in heights.items() if ys}
        plotting.ours(axes, spreads, f"{size:,}", colour, line=True)
    if every:
        plotting.level(axes, (every[0], every[-1]), MORRIS_2025)
        plotting.beside(axes, f"{MORRIS_2025:g}", (every[0], MORRIS_2025), False, size=8.5)
        axes.set_xscale("log", base=2)
        axes.set_xticks(every, [f"{steps:,}" for steps in every])


def _draw_points(axes: Axes, points: Iterable[Trained], stored: int) -> None:
    """Solid where every seed is settled, else triangles: more steps may memorise more."""
    for one in points:
        settled = one.settled == len(one.bits)
        low, middle, high = (f(one.bits) / stored for f in (min, median, max))
        name = "trained GPT-2, settled" if settled else "trained GPT-2, more steps add bits"
        label = None if name in axes.get_legend_handles_labels()[1] else name
        if settled:
            plotting.ours(axes, {one.parameters: (middle, low, high)}, label)
        else:
            plotting.not_reached(axes, [one.parameters], [middle], label)
            axes.plot([one.parameters] * 2, [low, high], color=plotting.OURS, linewidth=1.2)


def table(rows: RowsByLabel) -> Table:
    """Bits per parameter of each size and number of sequences, and how steps change them."""
    lines = []
    for one in trained(rows):
        spread = f" ({min(one.bits):.2f} to {max(one.bits):.2f})" if len(one.bits) > 1 else ""
        sizes = f"{one.parameters:,}", f"{one.sequences:,}"
        bits = f"{one.middle:.2f}{spread}", f"{one.middle / STORED:.3f}"
        steps = ", ".join(f"{median(one.at(x)):.2f} with {x:,}" for x in one.steps)
        gains = "; ".join(f"{median(x):+.1%} to {n:,}" for n, x in doublings([one]).items())
        lines.append((*sizes, *bits, f"{one.settled} of {len(one.bits)}", steps, gains))
    head = ("parameters", "sequences", "bits per parameter", "per stored bit", "settled")
    return Table((*head, "by steps", "gain of twice the steps"), tuple(lines))


def finding(rows: RowsByLabel) -> str:
    """The most bits per parameter by size, beside the published number."""
    sizes = by_size(trained(rows))
    if not sizes:
        return ""
    most = {size: max(one.middle for one in some) for size, some in sizes.items()}
    listed = ", ".join(f"{bits:.2f} at {size:,}" for size, bits in most.items())
    names = ("parameters", "contexts", "stored_bits")
    parameters, bits, stored = (column(read("compiled"), name)[-1] for name in names)
    return (
        f"Bits per parameter, the most over numbers of sequences: {listed} parameters; published: "
        f"about {MORRIS_2025:g} from 500,000 parameters on. A compiled model of "
        f"{parameters:,.0f} parameters holds {bits / parameters:.0f} bits in "
        f"each, but {bits / stored:.2f} per stored bit."
    )


MORRIS_CAPACITY = described("morris-capacity", tuple(SETUPS), parts, draw, table, finding, fits)
