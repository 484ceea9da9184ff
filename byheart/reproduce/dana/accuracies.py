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

LINEAR = 0.9  # sizes up to this accuracy count for a fit: above it, points bend towards 1

Points = dict[int, tuple[float, float, float]]  # a size: mean, minimum and maximum accuracy


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
    """How our points were trained, as sentences of a caption."""
    every = [row for part in rows.values() for row in part]
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


DIFFERENCES = (
    "Differs from the paper: ours is the model of eq. (2); the published numbers come from a "
    "program that has a layer norm and a factor 1/sqrt(d_h) as well. Ours is the accuracy on all "
    "bigrams, each counted once; theirs is an average over the last 100 training batches, which "
    "weights each bigram by how often it was sampled. All seeds share one random table; the paper "
    "draws a new one for each. The protocol fast trains on the whole table at once, and for "
    f"longer. Fits (dotted) use the sizes before the first one above accuracy {LINEAR:g}."
)
