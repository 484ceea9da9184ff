"""What the rows of morris-capacity say, in sentences."""

import math
from collections.abc import Iterable, Mapping, Sequence
from statistics import median

from ...lab.sweeps.capacity import FLAT, STORED
from ...theory.information import MORRIS_2025
from ..figure import RowsByLabel, paragraph
from ..fits import Fit
from .points import Trained, by_size, compiled, doublings, trained, trend
from .sweeps import HEADS, LAYERS, LENGTH, MOST_SEQUENCES, SETUPS, VOCABULARY

SMALLEST = 500_000  # parameters of a published model
PROTOTYPE, PROTOTYPE_SIZE = 2.78, 8144  # bits per parameter of one training, with SOAP
DIFFERENCES = (
    "Differs from the paper: models of thousands of parameters instead of 500,000 to 1.5 billion, "
    "shorter sequences over a smaller vocabulary, far fewer steps, weights of 32 bits; the first "
    "token of a sequence is given and not counted."
)


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
    return f"Medians over all trainings by their number of steps: {'; '.join(sentences)}."


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
    return paragraph(
        f"**Bits per parameter of small models (morris-capacity).** Published: about "
        f"{MORRIS_2025:g}, for models of 500,000 parameters and more. Ours, the most over the "
        f"numbers of sequences that were trained: {listed} parameters.",
        _training(sizes),
        _size(sizes),
        _both(most, trend([one for some in sizes.values() for one in some])),
    )


def _training(sizes: Mapping[int, Sequence[Trained]]) -> str:
    """What the steps change at a fixed size."""
    parts, few = [], []
    for size, some in sizes.items():
        changes = [
            f"{median(gains):+.1%} to {steps:,} steps ({len(gains)})"
            for steps, gains in doublings(some).items()
        ]
        if changes:
            parts.append(f"{' and '.join(changes)} at {size:,} parameters")
        if 2 * sum(one.settled for one in some) < sum(len(one.bits) for one in some):
            few.append(f"{size:,}")
    if not parts:
        return ""
    return paragraph(
        f"Training: twice the steps change the bits by {'; '.join(parts)} (medians; in brackets, "
        "how many trainings). A training that changes by no more than 2 % is not doubled again, "
        "and two starts may agree by chance, so only the first doubling is of all trainings.",
        f"At {' and '.join(few)} parameters fewer than half are settled: more steps would add bits "
        "there."
        if few
        else "",
    )


def _both(most: Mapping[int, float], law: Fit | None) -> str:
    """The distance of an earlier training to the published number, taken apart."""
    near = [bits for size, bits in most.items() if abs(size - PROTOTYPE_SIZE) < 100]
    if not near or near[0] <= PROTOTYPE:
        return ""
    told = (
        f"An earlier single training of {PROTOTYPE_SIZE:,} parameters with about 2,400 steps, of "
        f"which no row is kept, memorised {PROTOTYPE:g}; here it is {near[0]:.2f}: that distance "
        "was training."
    )
    if law is not None and law.errors is not None and law.coefficients[1] > 2 * law.errors[1]:
        told += (
            f" Of the rest, up to {MORRIS_2025:g}, a part is size, as the trend over sizes shows, "
            "and a part are steps, where doublings still add bits: so it is both."
        )
    return told


def _size(sizes: Mapping[int, Sequence[Trained]]) -> str:
    """What the size changes with equal steps, and where the trend would be published sizes."""
    steps = [{x for one in some for x in one.steps} for some in sizes.values()]
    shared = set.intersection(*steps)
    if len(sizes) < 2 or not shared:
        return ""
    same = max(shared)
    ends = {size: median([x for one in some for x in one.at(same)]) for size, some in sizes.items()}
    listed = ", ".join(f"{bits:.2f} at {size:,}" for size, bits in ends.items())
    told = f"Size: with {same:,} steps each, it is {listed} parameters."
    law = trend([one for some in sizes.values() for one in some])
    if law is None or law.errors is None:
        return told
    slope, error = law.coefficients[1], law.errors[1]
    there = float(law.at(1.0, math.log2(SMALLEST)))
    return (
        f"{told} Over all trainings, every doubling of the parameters adds {slope:.3f} ± "
        f"{error:.3f} bits to each"
        + (
            f"; the same line reaches {there:.2f} at {SMALLEST:,} parameters, the least that were "
            f"published, which is an extrapolation by a factor of {SMALLEST / max(sizes):.0f}."
            if slope > 2 * error
            else ", which is within two standard errors of nothing."
        )
    )
