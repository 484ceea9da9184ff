"""Capacity in bits per parameter, as Morris et al. (2025) measure it, at small sizes.

Small stock GPT-2 models are trained on uniform random tokens, of which nothing but memory can
predict any. Each size is trained on two numbers of sequences, whose information is more than it
can hold: if it memorises as many bits of both, and twice the steps change them by no more than
2 %, that is its capacity. Beside them stand compiled models, per parameter and per stored bit.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import cycle, pairwise
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from ..data.generate import uniform
from ..lab.protocol import Protocol, protocol
from ..lab.sweeps.capacity import FLAT, STORED
from ..lab.sweeps.results import memorised
from ..lab.sweeps.sweep import SEQUENCES, Sweep
from ..lab.trial import Criterion, Row
from ..pictures import GREEN, INK
from ..theory.information import MORRIS_2025
from . import plotting
from .figure import Figure, Part, RowsByLabel, Settings, paragraph
from .published import read

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Picture

LENGTH, VOCABULARY, LAYERS, HEADS = 32, 64, 2, 4
ENOUGH = 0.02  # twice the steps change a plateau by no more than this share
RATE = 0.5  # over the dimension: the rate of a training
DOUBLINGS = 2  # of the steps, as long as they change the bits by more
MOST_SEQUENCES = 1024  # of the dataset, whose first sequences every part takes
HALF = 16  # bits of a parameter in the published models
COLOURS = (plotting.OURS, GREEN, INK, plotting.BOUND)  # of sizes
PROTOTYPE, PROTOTYPE_SIZE = 2.78, 8144  # bits per parameter of one training, with SOAP


class Setup(NamedTuple):
    """A dimension, a number of sequences, the steps of the first attempt, and seeds."""

    dimension: int
    sequences: int
    steps: int = 8000
    seeds: int = 3


SETUPS = {  # those that train in the least time first, and one number of sequences of every size
    "d8-n56": Setup(8, 56),
    "d12-n112": Setup(12, 112),
    "d16-n168": Setup(16, 168),
    "d8-n72": Setup(8, 72),
    "d12-n144": Setup(12, 144),
    "d16-n216": Setup(16, 216),
    "d32-n560": Setup(32, 560),
    "d32-n648": Setup(32, 648),
}
QUICK = {"d8-n56": Setup(8, 56, 250, 1), "d8-n72": Setup(8, 72, 250, 1)}


def parts(settings: Settings) -> list[Part]:
    """A training for each seed of every set-up."""
    dataset = uniform(MOST_SEQUENCES, LENGTH, VOCABULARY)
    return [
        Part(
            label,
            Sweep(
                "gpt2",
                {"layers": LAYERS, "dimension": one.dimension, "heads": HEADS},
                ((SEQUENCES, (one.sequences,)),),
                {"sha256": dataset.sha256()},
                paced(one),
                Criterion("plateau", ENOUGH),
                settings.repeats(one.seeds),
            ),
            dataset,
        )
        for label, one in (QUICK if settings.quick else SETUPS).items()
    ]


def paced(setup: Setup) -> Protocol:
    """The protocol fast, with up to DOUBLINGS more attempts that have twice the steps of the last.

    The rate falls as 1 / dimension.
    """
    found, rate = protocol("gpt2", "fast"), RATE / setup.dimension
    steps = [setup.steps << doubling for doubling in range(DOUBLINGS + 1)]
    attempts = tuple(replace(found.attempts[0], rate=rate, steps=x) for x in steps)
    return replace(found, attempts=attempts)


class Trained(NamedTuple):
    """The trainings of one size on one number of sequences that did not diverge.

    bits      memorised per parameter, by seed
    settled   how many of them twice the steps changed by no more than 2 %
    by_steps  for every seed, the bits per parameter of each attempt by its steps
    """

    parameters: int
    sequences: int
    bits: list[float]
    settled: int
    by_steps: list[dict[int, float]]

    @property
    def middle(self) -> float:
        return median(self.bits)

    def at(self, steps: int) -> list[float]:
        """By seed, where it was trained with so many steps."""
        return [ends[steps] for ends in self.by_steps if steps in ends]

    @property
    def steps(self) -> list[int]:
        return sorted({steps for ends in self.by_steps for steps in ends})


def trained(rows: RowsByLabel) -> list[Trained]:
    """By parameters and then by sequences."""
    found = [of_rows(some) for some in rows.values()]
    return sorted((one for one in found if one is not None), key=lambda x: x[:2])


def of_rows(rows: Sequence[Row]) -> Trained | None:
    kept = [(row, bits) for row in rows if (bits := memorised(row)) is not None]
    if not kept:
        return None
    first = kept[0][0]
    return Trained(
        first["parameters"],
        first["trial"]["data"]["sequences"],
        [bits / row["parameters"] for row, bits in kept],
        sum(row["reached"] for row, _ in kept),
        [by_steps(row) for row, _ in kept],
    )


def by_steps(row: Row) -> dict[int, float]:
    """The bits per parameter of each attempt that did not diverge, by its steps."""
    ends = {x["steps"]: memorised({**row, "loss": x["loss"]}) for x in row["attempts"]}
    return {steps: bits / row["parameters"] for steps, bits in ends.items() if bits is not None}


def doublings(some: Iterable[Trained]) -> dict[int, list[float]]:
    """By what shares twice the steps changed the bits: by these steps, one for each training."""
    found: dict[int, list[float]] = {}
    for one in some:
        for ends in one.by_steps:
            for (_, before), (steps, after) in pairwise(sorted(ends.items())):
                found.setdefault(steps, []).append(after / before - 1)
    return dict(sorted(found.items()))


class Compiled(NamedTuple):
    """A model of hash-fold-retrieve with two labels, proved: one bit of information a context."""

    parameters: int
    bits: int
    stored: float


def compiled() -> list[Compiled]:
    return [
        Compiled(int(row["parameters"]), int(row["contexts"]), float(row["stored_bits"]))
        for row in read("compiled")
    ]


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
    plotting.legend(left, loc="upper left")
    below = {"loc": "upper right", "bbox_to_anchor": (1.0, 0.93)}  # of the published number
    plotting.legend(right, title="parameters", title_fontsize=8.5, **below)


def _over_steps(axes: "Axes", found: Sequence[Trained]) -> None:
    """A line for every size: the median over all its trainings with so many steps."""
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


def caption(rows: RowsByLabel) -> str:
    found = trained(rows)
    if not found:
        return DIFFERENCES
    done = {label: len(rows.get(label, ())) for label in SETUPS}
    missing = [label for label, count in done.items() if not count]
    missing += [
        f"{SETUPS[label].seeds - count} of {SETUPS[label].seeds} seeds of {label}"
        for label, count in done.items()
        if 0 < count < SETUPS[label].seeds
    ]
    every = [row for part in rows.values() for row in part]
    return paragraph(
        f"Ours: {len(every)} trainings of stock GPT-2 models with {LAYERS} layers and {HEADS} "
        f"heads on the first N of {MOST_SEQUENCES:,} sequences of {LENGTH + 1} uniform tokens out "
        f"of {VOCABULARY}; a sequence holds {LENGTH * 6} bits. "
        f"Bits memorised per parameter, median over seeds: {'; '.join(map(told, found))}.",
        "A training has 8,000 steps, then twice as many from a new start, and twice as many again "
        "unless its bits changed by no more than 2 %: then it is settled. A triangle is censored: "
        "more steps memorise more.",
        plateaus(found),
        over_steps(found),
        f"Not trained here: {', '.join(missing)}." if missing else "",
        _compared(found),
        DIFFERENCES,
    )


def told(one: Trained) -> str:
    spread = f"{min(one.bits):.2f} to {max(one.bits):.2f}" if len(one.bits) > 1 else "one seed"
    return (
        f"{one.parameters:,} parameters, N = {one.sequences:,}: {one.middle:.2f} ({spread}; "
        f"{one.settled} of {len(one.bits)} settled)"
    )


def by_size(found: Iterable[Trained]) -> dict[int, list[Trained]]:
    groups: dict[int, list[Trained]] = {}
    for one in found:
        groups.setdefault(one.parameters, []).append(one)
    return groups


def plateaus(found: Iterable[Trained]) -> str:
    """Which sizes memorise as many bits of both numbers of sequences, and in enough steps."""
    sentences = []
    for parameters, some in by_size(found).items():
        if len(some) < 2:
            sentences.append(f"{parameters:,} parameters were trained on one number of sequences")
            continue
        ends = [one.middle for one in some]
        apart = max(ends) / min(ends) - 1
        settled = sum(one.settled for one in some)
        of = sum(len(one.bits) for one in some)
        flat = "the same bits" if apart < FLAT else "different bits"
        sentences.append(
            f"{parameters:,} parameters memorise {flat} of both numbers of sequences ({apart:.1%} "
            f"apart), with {settled} of {of} trainings settled"
        )
    return "; ".join(sentences) + "."


def over_steps(found: Iterable[Trained]) -> str:
    """The bits of every size with each number of steps."""
    sentences = []
    for size, some in by_size(found).items():
        every = sorted({steps for one in some for steps in one.steps})
        ends = [median([x for one in some for x in one.at(steps)]) for steps in every]
        listed = ", ".join(f"{x:.2f} with {n:,}" for x, n in zip(ends, every, strict=True))
        sentences.append(f"{size:,} parameters {listed}")
    return f"Medians over all trainings with so many steps: {'; '.join(sentences)}."


def _compared(found: Sequence[Trained]) -> str:
    """Per parameter and per stored bit: one alone misleads."""
    best, largest = max(found, key=lambda one: one.middle), compiled()[-1]
    return (
        f"A compiled model of {largest.parameters:,} parameters holds "
        f"{largest.bits / largest.parameters:.0f} bits in each, but its parameters are hundreds of "
        f"bits long: per stored bit it holds {largest.bits / largest.stored:.2f}, and the trained "
        f"one with the most, {best.middle:.2f} bits per parameter of {STORED} bits, "
        f"{best.middle / STORED:.3f}. In both, what is counted are labels given their inputs."
    )


def finding(rows: RowsByLabel) -> str:
    """Whether a small model holds fewer bits because of its size or of its training."""
    sizes = by_size(trained(rows))
    if not sizes:
        return ""
    most = {size: max(one.middle for one in some) for size, some in sizes.items()}
    listed = ", ".join(f"{bits:.2f} at {size:,}" for size, bits in most.items())
    near = [bits for size, bits in most.items() if abs(size - PROTOTYPE_SIZE) < 100]
    return paragraph(
        f"**Bits per parameter of small models (morris-capacity).** Published: about "
        f"{MORRIS_2025:g}, for models of 500,000 parameters and more. Ours, the most over the "
        f"numbers of sequences that were trained: {listed} parameters.",
        _training(sizes),
        _size(sizes),
        f"An earlier single training of {PROTOTYPE_SIZE:,} parameters with about 2,400 steps, of "
        f"which no row is kept, memorised {PROTOTYPE:g}; here it is {near[0]:.2f}: that distance "
        "was training."
        if near and near[0] > PROTOTYPE
        else "",
    )


def _training(sizes: Mapping[int, Sequence[Trained]]) -> str:
    """What the steps change at a fixed size."""
    gains = {size: doublings(some) for size, some in sizes.items()}
    last = {size: max(found) for size, found in gains.items() if found}
    if not last:
        return ""
    added = ", ".join(
        f"{median(gains[size][steps]):.1%} at {size:,} (to {steps:,} steps)"
        for size, steps in last.items()
    )
    told = f"Training: at a fixed size the last doubling of the steps adds {added} parameters."
    open_ones = [size for size, steps in last.items() if median(gains[size][steps]) > ENOUGH]
    if open_ones:
        those = " and ".join(f"{size:,}" for size in open_ones)
        told += (
            f" So at {those} parameters a part of the distance to the published number is "
            "training, and how large a part these rows do not bound."
        )
    enough = [size for size in last if size not in open_ones]
    if enough:
        those = " and ".join(f"{size:,}" for size in enough)
        told += (
            f" At {those} parameters it adds less than 2 %, the plateau of this page; further "
            "doublings may still add up."
        )
    return told


def _size(sizes: Mapping[int, Sequence[Trained]]) -> str:
    """What the size changes with equal steps."""
    steps = [{x for one in some for x in one.steps} for some in sizes.values()]
    shared = set.intersection(*steps)
    if len(sizes) < 2 or not shared:
        return ""
    same = max(shared)
    ends = {size: median([x for one in some for x in one.at(same)]) for size, some in sizes.items()}
    listed = ", ".join(f"{bits:.2f} at {size:,}" for size, bits in ends.items())
    told = f"Size: with {same:,} steps each, it is {listed} parameters"
    values = list(ends.values())
    if values == sorted(values, reverse=True):
        return f"{told}: with equal steps a larger model holds fewer bits in each parameter."
    if values == sorted(values):
        return f"{told}: a larger model holds more bits in each parameter."
    return f"{told}: no order by size."


DIFFERENCES = (
    "Differs from the paper: models of thousands of parameters instead of 500,000 to 1.5 billion, "
    "shorter sequences over a smaller vocabulary, far fewer steps, weights of 32 bits; the first "
    "token of a sequence is given and not counted."
)
MORRIS_CAPACITY = Figure(
    name="morris-capacity",
    title="Bits that small GPT-2 models memorise of random tokens, beside compiled models",
    paper="morris2025, the experiment on uniform random tokens",
    data=None,
    parts=parts,
    draw=draw,
    caption=caption,
    size=(13.0, 4.6),
    labels=tuple(SETUPS),
)
