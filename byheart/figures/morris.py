"""Capacity in bits per parameter, as Morris et al. (2025) measure it, at small sizes.

Small stock GPT-2 models are trained on uniform random tokens, of which nothing but memory can
predict any. Each size is trained on numbers of sequences whose information is more than it can
hold, and the smallest one also on less: the bits that it memorises grow with the data and then
level off. A training is settled if twice the steps change them by no more than 2 %. Beside them
stand compiled models, per parameter and per stored bit.
"""

from collections.abc import Iterable
from dataclasses import replace
from itertools import groupby, pairwise
from statistics import median
from typing import NamedTuple

from ..data.generate import uniform
from ..lab.protocol import protocol
from ..lab.sweeps.capacity import FULL, STORED
from ..lab.sweeps.results import memorised
from ..lab.sweeps.sweep import SEQUENCES, Sweep
from ..lab.trial import Criterion, Row
from . import plotting
from .figure import Part, RowsByLabel, Settings, Table, described, make_part, say, tabulated
from .plotting import Axes, Picture
from .published import column, read

# Bits per parameter of models with weights of 32 bits. The paper's text was not at hand: the number
# is that of summaries of it, as 3.51 for weights of 16 bits is.
FLOAT32 = 3.83
LENGTH, VOCABULARY, LAYERS, HEADS = 32, 64, 2, 4
INFORMATION = LENGTH * 6  # bits of a sequence: log2 of the vocabulary for every predicted token
ENOUGH = 0.02  # twice the steps change a plateau by no more than this share
RATE = 0.5  # over the dimension: the rate of a training
DOUBLINGS = 2  # of the steps, as long as they change the bits by more
MOST_SEQUENCES = 1024  # of the dataset, whose first sequences every part takes
SETTLED = "trained GPT-2, settled or all of the data"
MORE, COMPILED = "trained GPT-2, more steps add bits", "compiled, proved"


class Setup(NamedTuple):
    """A dimension, a number of sequences, the steps of the first attempt, and seeds."""

    dimension: int
    sequences: int
    steps: int = 8000
    seeds: int = 3


PAIRS = {8: (56, 72), 12: (112, 144), 16: (168, 216), 32: (560, 648)}  # sequences by dimension
# the smallest one, whose capacity is about 40 sequences, from a quarter of it to four times
MORE_DATA = tuple(Setup(8, n, seeds=1) for n in (10, 20, 40, 80, 160))
SETUPS = {
    f"d{one.dimension}-n{one.sequences}": one
    for one in (
        *(Setup(d, n, seeds=3 if d < 32 else 1) for d, numbers in PAIRS.items() for n in numbers),
        *MORE_DATA,
    )
}
QUICK = {"d8-n56": Setup(8, 56, 250, 1), "d8-n72": Setup(8, 72, 250, 1)}


def parts(settings: Settings) -> list[Part]:
    """A training for each seed of every set-up, with up to DOUBLINGS of its steps."""
    dataset, fast = uniform(MOST_SEQUENCES, LENGTH, VOCABULARY), protocol("gpt2", "fast")
    parts = []
    for label, one in (QUICK if settings.quick else SETUPS).items():
        first = replace(fast.attempts[0], rate=RATE / one.dimension)
        doubled = (replace(first, steps=one.steps << k) for k in range(DOUBLINGS + 1))
        sizes = {"layers": LAYERS, "dimension": one.dimension, "heads": HEADS}
        axes, how = ((SEQUENCES, (one.sequences,)),), replace(fast, attempts=tuple(doubled))
        plateau, seeds = Criterion("plateau", ENOUGH), settings.repeats(one.seeds)
        sweep = Sweep("gpt2", sizes, axes, {}, how, plateau, seeds)
        parts.append(make_part(label, dataset, sweep))
    return parts


class Trained(NamedTuple):
    """The trainings of one size on one number of sequences that did not diverge."""

    dimension: int
    parameters: int  # fewer where few sequences lack a token
    sequences: int
    bits: list[float]  # memorised per parameter, by seed
    settled: int  # how many of them twice the steps changed by no more than 2 %
    # for every seed, the bits per parameter of each attempt by its steps
    by_steps: list[dict[int, float]]

    @property
    def middle(self) -> float:
        return median(self.bits)

    @property
    def spread(self) -> plotting.Spread:
        return self.middle, min(self.bits), max(self.bits)

    @property
    def share(self) -> float:
        """Of the data's information."""
        return self.middle / self.offered

    @property
    def offered(self) -> float:
        return self.sequences * INFORMATION / self.parameters

    def at(self, steps: int) -> list[float]:
        """By seed, where it was trained with this number of steps."""
        return [ends[steps] for ends in self.by_steps if steps in ends]

    @property
    def steps(self) -> list[int]:
        return sorted({steps for ends in self.by_steps for steps in ends})


def trained(rows: RowsByLabel) -> list[Trained]:
    points = []
    for part in rows.values():
        kept = [(row, bits) for row in part if (bits := memorised(row)) is not None]
        if kept:
            row, one = kept[0][0], kept[0][0]["trial"]
            sizes = one["sizes"]["dimension"], row["parameters"], one["data"]["sequences"]
            shares = [bits / row["parameters"] for row, bits in kept]
            settled = sum(row["reached"] for row, _ in kept)
            points.append(Trained(*sizes, shares, settled, [by_steps(row) for row, _ in kept]))
    return sorted(points, key=lambda one: (one.dimension, one.sequences))


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
    """Points that are sorted by dimension, by the most parameters that it has."""
    groups = [list(some) for _, some in groupby(points, lambda one: one.dimension)]
    return {max(one.parameters for one in some): some for some in groups}


def draw(rows: RowsByLabel, picture: Picture) -> None:
    """Trained models over parameters, and the smallest over its data; below, beside compiled."""
    (alone, data), (each, stored) = picture.subplots(2, 2)
    points, built = trained(rows), read("compiled")
    full = [one for one in points if one.share < FULL]  # the model is the limit, not the data
    _draw_points(alone, [(one.parameters, one) for one in full], 1)
    ticks = list(by_size(points))
    smallest = by_size(points)[ticks[0]] if ticks else []
    _draw_points(data, [(one.sequences, one) for one in smallest], 1)
    if smallest:
        counts = [one.sequences for one in smallest]
        plotting.bound(data, counts, [x.offered for x in smallest], "all bits of the data", 0)
        plotting.level(data, (counts[0], counts[-1]), FLOAT32)
        data.set_xscale("log", base=2)
        data.set_xticks(counts, [str(n) for n in counts], size=7.5)
        data.set_ylim(0, 1.2 * FLOAT32)
        alone.set_ylim(0.65 * FLOAT32, 1.05 * FLOAT32)
    across, bits = column(built, "parameters"), column(built, "contexts")  # a bit for each context
    sizes = [*across, *(one.parameters for one in points)]
    proved = {"marker": "s", "linestyle": "-", "linewidth": 1.1, "markersize": 5}
    for axes, size, per, ends, name in (
        (alone, 1, None, [one.parameters for one in full] or sizes, ""),
        (each, 1, across, sizes, ""),
        (stored, STORED, column(built, "code_word"), sizes, f" of {STORED} bits"),
    ):
        plotting.level(axes, (min(ends), max(ends)), FLOAT32 / size)
        words, at = f"{FLOAT32:g}{name} (Morris et al., by summaries)", (max(ends), FLOAT32 / size)
        plotting.beside(axes, words, at, True, size=8.5, ha="right")
        axes.set_xscale("log")
        if per is not None:
            _draw_points(axes, [(one.parameters, one) for one in full], size)
            heights = [x / y for x, y in zip(bits, per, strict=True)]
            axes.plot(across, heights, color=plotting.BOUND, label=COMPILED, **proved)
            axes.set_yscale("log")
    measured = "bits memorised per parameter"
    plotting.finish(alone, "Per parameter, trained", "parameters", measured)
    alone.set_xticks(ticks, [f"{size:,}" for size in ticks])
    alone.minorticks_off()
    plotting.finish(data, "The smallest model, over its data", "sequences", measured)
    plotting.finish(each, "Per parameter, beside compiled", "parameters", "bits per parameter")
    title = "Per stored bit (compiled: of the code word)"
    plotting.finish(stored, title, "parameters", "bits per stored bit")
    drawn = dict(zip(*each.get_legend_handles_labels()[::-1], strict=True))
    names = [name for name in (SETTLED, MORE, COMPILED) if name in drawn]
    handles = [drawn[name] for name in names]
    plotting.legend(each, handles=handles, labels=names, loc="center right")


def _draw_points(axes: Axes, points: Iterable[tuple[int, Trained]], stored: int) -> None:
    """Solid where every seed is settled or the data is memorised, else triangles."""
    for x, one in points:
        settled = one.settled == len(one.bits) or one.share >= FULL
        middle, low, high = (bits / stored for bits in one.spread)
        name = SETTLED if settled else MORE
        label = None if name in axes.get_legend_handles_labels()[1] else name
        if settled:
            plotting.ours(axes, {x: (middle, low, high)}, label)
        else:
            ends = [[middle - low], [high - middle]]
            axes.errorbar([x], [middle], ends, fmt="none", ecolor=plotting.OURS, capsize=2.5)
            plotting.not_reached(axes, [x], [middle], label)


def table(rows: RowsByLabel) -> Table:
    """Bits per parameter of each size and number of sequences, and how steps change them."""
    lines = []
    for one in trained(rows):
        spread = f" ({min(one.bits):.2f} to {max(one.bits):.2f})" if len(one.bits) > 1 else ""
        sizes = f"{one.parameters:,}", f"{one.sequences:,}", f"{one.offered:.2f}"
        bits = f"{one.middle:.2f}{spread}", f"{one.middle / STORED:.3f}"
        steps = ", ".join(f"{median(one.at(x)):.2f} with {x:,}" for x in one.steps)
        gains = "; ".join(f"{median(x):+.1%} to {n:,}" for n, x in doublings([one]).items())
        lines.append((*sizes, *bits, f"{one.settled} of {len(one.bits)}", steps, gains))
    return tabulated("morris-capacity", lines)


def finding(rows: RowsByLabel) -> str:
    """Bits per parameter of the smallest model over its data, and the most by size."""
    points = trained(rows)
    sizes = by_size(one for one in points if one.share < FULL)
    if not sizes:
        return ""
    most = {size: max(one.middle for one in some) for size, some in sizes.items()}
    listed = ", ".join(f"{bits:.2f} at {size:,}" for size, bits in most.items())
    names = ("parameters", "contexts", "code_word")
    parameters, bits, stored = (column(read("compiled"), name)[-1] for name in names)
    smallest, first = next(iter(by_size(points).items()))
    over = ", ".join(f"{one.middle:.2f} of {one.offered:.2f}" for one in first)
    ours = {"smallest": smallest, "over": over, "most": listed}
    theirs = {"published": FLOAT32, "stored": STORED}
    compiled = {"parameters": parameters, "each": bits / parameters, "per_bit": bits / stored}
    return say("morris-capacity", **ours, **theirs, **compiled)


MORRIS_CAPACITY = described("morris-capacity", tuple(SETUPS), parts, draw, table, finding)
