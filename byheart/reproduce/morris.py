"""Capacity in bits per parameter, as Morris et al. (2025) measure it, at small sizes.

Small stock GPT-2 models are trained on uniform random tokens, of which nothing but memory can
predict any. Each size is trained on two numbers of sequences, whose information is more than it
can hold: if it memorises as many bits of both, and twice the steps change them by no more than
2 %, that is its capacity. Beside them stand compiled models, per parameter and per stored bit.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from ..data.generate import uniform
from ..lab.protocol import Protocol, protocol
from ..lab.sweeps.capacity import FLAT, STORED
from ..lab.sweeps.results import memorised
from ..lab.sweeps.sweep import SEQUENCES, Sweep
from ..lab.trial import Criterion, Row
from ..theory.information import MORRIS_2025
from . import plotting
from .figure import Figure, Part, RowsByLabel, Settings, paragraph, seeds
from .published import read

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Picture

LENGTH, VOCABULARY, LAYERS, HEADS = 32, 64, 2, 4
ENOUGH = 0.02  # twice the steps change a plateau by no more than this share
RATE = 0.5  # over the dimension: the rate of a training
LONG = "long"
MOST_SEQUENCES = 1024  # of the dataset, whose first sequences every part takes
HALF = 16  # bits of a parameter in the published models
PROTOTYPE, PROTOTYPE_SIZE = 2.78, 8144  # bits per parameter of one training, with SOAP


class Setup(NamedTuple):
    """A dimension, a number of sequences, the steps of the first attempt, and seeds."""

    dimension: int
    sequences: int
    steps: int
    seeds: int = 3


SETUPS = {  # those that train in the least time first, and one number of sequences of every size
    "d8-n64": Setup(8, 64, 2000),
    "d16-n256": Setup(16, 256, 2000),
    "d32-n768": Setup(32, 768, 2000),
    "d8-n128": Setup(8, 128, 2000),
    "d16-n384": Setup(16, 384, 2000),
    "d32-n1024": Setup(32, 1024, 2000),
    f"d8-n64-{LONG}": Setup(8, 64, 16_000, 1),
}
QUICK = {"d8-n64": Setup(8, 64, 500, 1), "d8-n128": Setup(8, 128, 500, 1)}


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
    """The protocol fast, with a rate that falls as 1 / dimension."""
    found, rate = protocol("gpt2", "fast", setup.steps), RATE / setup.dimension
    return replace(found, attempts=tuple(replace(x, rate=rate) for x in found.attempts))


class Trained(NamedTuple):
    """The trainings of one size on one number of sequences that did not diverge.

    bits     memorised per parameter, by seed
    settled  how many of them twice the steps changed by no more than 2 %
    gains    by what share twice the steps changed the bits, by seed
    """

    parameters: int
    sequences: int
    bits: list[float]
    settled: int
    gains: list[float]

    @property
    def middle(self) -> float:
        return median(self.bits)


def trained(rows: RowsByLabel) -> list[Trained]:
    """By parameters and then by sequences; the long trainings stand apart."""
    found = [of_rows(some) for label, some in rows.items() if not label.endswith(LONG)]
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
        [x for row, _ in kept for x in gains(row)],
    )


def gains(row: Row) -> list[float]:
    """The share by which each further attempt, with twice the steps, changed the bits."""
    ends = [memorised({**row, "loss": attempt["loss"]}) for attempt in row["attempts"]]
    known = [bits for bits in ends if bits]
    return [after / before - 1 for before, after in zip(known, known[1:], strict=False)]


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
    """Left bits per parameter, right bits per stored bit, both over parameters."""
    left, right = picture.subplots(1, 2)
    found, built = trained(rows), compiled()
    sizes = [one.parameters for one in built] + [one.parameters for one in found]
    ends = (min(sizes), max(sizes))
    for axes, stored in ((left, 1), (right, STORED)):
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
        (right, [one.bits / one.stored for one in built]),
    ):
        axes.plot(across, heights, color=plotting.BOUND, label="compiled, proved", **proved)
    plotting.finish(left, "Per parameter", "parameters", "bits memorised per parameter")
    plotting.finish(right, "Per stored bit (1 is the limit)", "parameters", "bits per stored bit")
    plotting.legend(left, loc="upper left")


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
        "A point is settled if twice the steps change its bits by no more than 2 %; a triangle is "
        "censored: more steps memorise more.",
        plateaus(found),
        _long(rows),
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


def _long(rows: RowsByLabel) -> str:
    """What many more steps change, where that was trained."""
    sentences = []
    for label, some in rows.items():
        short = of_rows(rows.get(label.removesuffix(f"-{LONG}"), ()))
        one = of_rows(some) if label.endswith(LONG) else None
        if one is not None and short is not None:
            steps = max(attempt["steps"] for row in some for attempt in row["attempts"])
            sentences.append(
                f"With {steps:,} steps, {one.parameters:,} parameters memorise {one.middle:.2f} "
                f"bits each ({seeds(some)}) instead of {short.middle:.2f}."
            )
    return " ".join(sentences)


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
    more = {size: [x for one in some for x in one.gains] for size, some in sizes.items()}
    steps = {size: median(some) for size, some in more.items() if some}
    listed = ", ".join(f"{bits:.2f} at {size:,}" for size, bits in most.items())
    added = ", ".join(f"{gain:.1%} at {size:,}" for size, gain in steps.items())
    rising = len(steps) > 1 and list(steps.values()) == sorted(steps.values())
    near = [bits for size, bits in most.items() if abs(size - PROTOTYPE_SIZE) < 100]
    return paragraph(
        f"**Bits per parameter of small models (morris-capacity).** Published: about "
        f"{MORRIS_2025:g}, for models of 500,000 parameters and more. Ours, the most over the "
        f"numbers of sequences that were trained: {listed} parameters.",
        f"Twice the steps add {added} parameters (median)." if added else "",
        "The larger the model, the more steps it lacks: a part of the distance to the published "
        "number is training, most of all at the larger sizes. How much of it is size, these rows "
        "do not tell."
        if rising
        else "",
        f"An earlier single training of {PROTOTYPE_SIZE:,} parameters with the optimiser SOAP, of "
        f"which no row is kept, memorised {PROTOTYPE:g}; with Adam and smaller batches it is "
        f"{near[0]:.2f}: that distance was training."
        if near and near[0] > PROTOTYPE
        else "",
    )


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
    size=(10.0, 4.8),
    labels=tuple(SETUPS),
)
