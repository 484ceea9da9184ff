"""What the figures of dana2024 train, and what their rows say.

Change a constant here to make the figures finer, or cheaper.
"""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import TYPE_CHECKING

import numpy as np

from ...data.dataset import Dataset
from ...lab.protocol import protocol
from ...lab.sweeps.sweep import Sweep
from ...lab.trial import Criterion, Row
from ...theory.dana2024.capacity import theorem_1
from .. import marks
from ..figure import Part, Settings, seeds, spread
from ..fits import Fit, polynomial
from ..published import Published, read
from ..random_data import bigrams

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TABLE = 0  # the seed of the random tables
SEEDS = 3  # of every size, except in Figure 1a
QUICK_STEPS = 800  # of the one attempt of a quick version
LINEAR = 0.9  # accuracy up to which sizes count for a fit: above, points bend towards 1

Points = dict[int, tuple[float, float, float]]  # a size: mean, least and largest accuracy


def part(
    settings: Settings,
    label: str,
    dataset: Dataset,
    sizes: Mapping[str, int],
    axis: tuple[str, Sequence[int]],
    name: str = "fast",
    seeds: int = SEEDS,
    architecture: str = "dana2024",
) -> Part:
    """All values of one size, trained by the protocol of this name."""
    how = protocol(architecture, name)
    if settings.quick:
        how = replace(how, attempts=(replace(how.attempts[0], steps=QUICK_STEPS),))
    sweep = Sweep(
        architecture=architecture,
        sizes=dict(sizes),
        axes=((axis[0], tuple(axis[1])),),
        data={"sha256": dataset.sha256()},
        protocol=how,
        criterion=Criterion("accuracy", 1.0),
        seeds=settings.repeats(1 if settings.quick else seeds),
    )
    return Part(label, sweep, dataset)


def table(vocabulary: int) -> Dataset:
    """The random bigram table of so many tokens that every figure uses."""
    return bigrams(vocabulary, TABLE)


def points(rows: Sequence[Row], axis: str) -> Points:
    """The accuracy on all bigrams over a size, in increasing order, with its spread over seeds."""
    found = defaultdict(list)
    for row in rows:
        found[row["trial"]["sizes"][axis]].append(row["accuracy"])
    return {size: spread(found[size]) for size in sorted(found)}


def published(experiment: str, **sizes: int) -> tuple[Published, ...]:
    """The authors' accuracies of an experiment, of the sizes that are given."""
    return tuple(
        row
        for row in read("dana")
        if row["experiment"] == experiment and all(row[k] == v for k, v in sizes.items())
    )


def exact(sizes: Sequence[float], accuracies: Sequence[float]) -> Points:
    """Points that have no spread, such as the published ones."""
    return {int(x): (y, y, y) for x, y in zip(sizes, accuracies, strict=True)}


def unsaturated(found: Points) -> Points:
    """The sizes before the first whose accuracy is above LINEAR.

    So a larger size that failed does not come back: what is fitted is a range of sizes, and not a
    choice by outcome.
    """
    sizes = takewhile(lambda size: found[size][0] <= LINEAR, sorted(found))
    return {size: found[size] for size in sizes}


def law(name: str, found: Points, degree: int, letter: str) -> list[Fit]:
    """The polynomial through the sizes that are not saturated; none if there are too few."""
    kept = unsaturated(found)
    if len(kept) <= degree:
        return []
    return [polynomial(name, list(kept), means(kept), degree, letter)]


def guaranteed(heads: int, head_dimension: int, dimension: int) -> int:
    """H d_h + d, with no more for a head than its rank, which is at most d."""
    return theorem_1(heads, min(head_dimension, dimension), dimension)


def means(found: Points) -> list[float]:
    return [mean for mean, _, _ in found.values()]


def fine(sizes: Sequence[float]) -> np.ndarray:
    """Enough places to draw a curve."""
    return np.linspace(min(sizes), max(sizes), 101)


def signs(text: str) -> str:
    """The paper's letters as a picture shows them."""
    drawn = re.sub(r"d_h(\^2)?", r"$\g<0>$", text)
    return drawn.replace("<=", "≤").replace(">=", "≥")


def dress(axes: "Axes", title: str, size: str) -> None:
    """Accuracy over a size."""
    marks.dress(axes, signs(title), signs(size), "accuracy on all bigrams")
    axes.locator_params(axis="x", integer=True)
    axes.set_ylim(-0.05, 1.04)


def trained(rows: Mapping[str, Sequence[Row]]) -> str:
    """How our points were made, as sentences of a caption."""
    every = [row for part in rows.values() for row in part]
    ours = [row for row in every if row["trial"]["protocol"]["name"] == "fast"]
    if not ours:
        return ""
    seconds = sum(row["seconds"] for row in ours) / len(ours)
    missed = sum(not row["reached"] for row in ours)
    return (
        f"Ours: {len(ours)} trainings by the protocol fast, {seeds(ours)} a size, {seconds:.1f} "
        "CPU-seconds each on average; points are means over seeds, bars go from the least to the "
        f"largest. {missed} of them did not reach accuracy 1 in their steps; with more steps they "
        "may get further, so the points are what was reached and not what is possible."
    )


DIFFERENCES = (
    "Differs from the paper: ours is the model of eq. (2); the published numbers are of a program "
    "that has a layer norm and a factor 1/sqrt(d_h) as well. Ours is the accuracy on all bigrams, "
    "each counted once; theirs is an average over the last 100 training batches, which weighs each "
    "bigram by how often it was sampled. One random table serves all seeds, where the paper draws "
    "a new one for each. The protocol fast trains on the whole table at once, and further. "
    f"Fits (dotted) use the sizes before the first one above accuracy {LINEAR:g}."
)
