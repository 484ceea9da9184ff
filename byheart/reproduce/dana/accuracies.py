"""Accuracies on all bigrams: ours and the published ones, with their fits, axes and captions."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING

import numpy as np

from ...lab.trial import Row
from ...theory.dana2024.capacity import theorem_1
from .. import plotting
from ..figure import seeds, spread
from ..fits import Fit, polynomial
from ..published import Published, read

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PROGRAM = "program"  # the label of parts with the program's architecture
LINEAR = 0.9  # sizes up to this accuracy count for a fit: above it, points bend towards 1

Spread = tuple[float, float, float]  # mean, minimum and maximum
Points = dict[int, Spread]  # a size: its accuracy


def points(rows: Sequence[Row], axis: str) -> Points:
    """The accuracy by size, in increasing order, with its spread over seeds.

    axis  a size of the architecture, or "parameters"
    """
    by_size = defaultdict(list)
    for row in rows:
        by_size[{**row, **row["trial"]["sizes"]}[axis]].append(row["accuracy"])
    return {size: spread(by_size[size]) for size in sorted(by_size)}


def published(experiment: str, **sizes: int) -> tuple[Published, ...]:
    """The authors' accuracies of an experiment at the given sizes."""
    return tuple(
        row
        for row in read("dana")
        if row["experiment"] == experiment and all(row[k] == v for k, v in sizes.items())
    )


def exact(sizes: Sequence[float], accuracies: Sequence[float]) -> Points:
    """Points without a spread, such as the published ones."""
    return {int(x): (y, y, y) for x, y in zip(sizes, accuracies, strict=True)}


def unsaturated(found: Points) -> Points:
    """The sizes before the first whose accuracy is above LINEAR.

    So a larger size that failed does not come back: a range of sizes is fitted, not a selection
    by outcome.
    """
    sizes = takewhile(lambda size: found[size][0] <= LINEAR, sorted(found))
    return {size: found[size] for size in sizes}


def law(name: str, found: Points, degree: int, letter: str) -> list[Fit]:
    """The polynomial through the unsaturated sizes; no fit if there are too few."""
    kept = unsaturated(found)
    if len(kept) <= degree:
        return []
    return [polynomial(name, list(kept), means(kept), degree, letter)]


def guaranteed(heads: int, head_dimension: int, dimension: int) -> int:
    """H d_h + d, where a head counts with its rank, which is at most d."""
    return theorem_1(heads, min(head_dimension, dimension), dimension)


def means(found: Points) -> list[float]:
    return [mean for mean, _, _ in found.values()]


def fine(sizes: Sequence[float]) -> np.ndarray:
    """Enough places between the smallest and the largest size to draw a curve."""
    return np.linspace(min(sizes), max(sizes), 101)


def signs(text: str) -> str:
    """The paper's letters as a picture shows them."""
    drawn = re.sub(r"d_h(\^2)?", r"$\g<0>$", text)
    return drawn.replace("<=", "≤").replace(">=", "≥")


def finish(axes: "Axes", title: str, size: str) -> None:
    """Title and axes of accuracy over a size."""
    plotting.finish(axes, signs(title), signs(size), "accuracy on all bigrams")
    axes.locator_params(axis="x", integer=True)
    axes.set_ylim(-0.05, 1.04)


def trained(rows: Mapping[str, Sequence[Row]]) -> str:
    """How our points of the paper's models were trained, as sentences of a caption."""
    every = [row for label, part in rows.items() if label != PROGRAM for row in part]
    ours = [row for row in every if row["trial"]["protocol"]["name"] == "fast"]
    if not ours:
        return ""
    seconds = sum(row["seconds"] for row in ours) / len(ours)
    missed = sum(not row["reached"] for row in ours)
    return (
        f"Ours: {len(ours)} trainings by the protocol fast, {seeds(ours)} per size, {seconds:.1f} "
        "CPU-seconds each on average; points are means over seeds, bars go from the minimum to "
        f"the maximum. {missed} of them did not reach accuracy 1 in their steps; with more steps "
        "they may get further, so the points are what was reached and not what is possible."
    )


def program(found: Points, where: str, eq2: Points, theirs: Points) -> str:
    """Sizes that were also trained with the architecture of the program, in words.

    where  such as "H = ", to which the size is added
    """
    said = []
    for x, (mean, least, most) in found.items():
        others = [
            f"{name} {some[x][0]:.3f}"
            for name, some in (("eq. (2)", eq2), ("published", theirs))
            if x in some
        ]
        said.append(f"{mean:.3f} at {where}{x} ({least:.3f} to {most:.3f}; {', '.join(others)})")
    reached = "; ".join(said)
    return f"The program's architecture (solid orange) reaches {reached}." if said else ""


DIFFERENCES = (
    "Differs from the published numbers: ours is the model of eq. (2). Their program divides "
    "scores by sqrt(d_h), adds positions only to what attention reads, and where d is not d_h all "
    "its heads share one map to d_h dimensions and one back: dana-program compares both. Ours is "
    "the accuracy on all bigrams, each counted once; theirs is an average over the last 100 "
    "training batches, which weights each bigram by how often it was sampled. The protocol fast "
    "trains on the whole table at once, and for longer. Fits (dotted) use the sizes before the "
    f"first one above accuracy {LINEAR:g}."
)
