"""Accuracies on all bigrams: ours and the published ones, with their fits, axes and captions."""

import re
from collections import defaultdict
from collections.abc import Sequence
from itertools import takewhile

import numpy as np

from ...lab.trial import Row
from ...theory.dana2024.capacity import theorem_1
from .. import plotting
from ..figure import spread
from ..fits import Fit, curve, polynomial
from ..plotting import Axes, Spread
from ..published import Published, read

PROGRAM = "program"  # the label of parts with the program's architecture
PUBLISHED = "published by Dana et al., means without spread"
LINEAR = 0.9  # sizes up to this accuracy count for a fit: above it, points bend towards 1

Points = dict[int, Spread]  # a size: its accuracy


def points(rows: Sequence[Row], axis: str) -> Points:
    """The accuracy by size (or "parameters"), in increasing order, with its spread over seeds."""
    by_size = defaultdict(list)
    for row in rows:
        by_size[{**row, **row["trial"]["sizes"]}[axis]].append(row["accuracy"])
    return {size: spread(by_size[size]) for size in sorted(by_size)}


def published(experiment: str, layers: int = 1, **sizes: int) -> tuple[Published, ...]:
    """The authors' accuracies of an experiment at the given sizes."""
    chosen = {"experiment": experiment, "layers": layers, **sizes}
    return tuple(row for row in read("dana") if all(row[k] == v for k, v in chosen.items()))


def exact(sizes: Sequence[float], accuracies: Sequence[float]) -> Points:
    """Points without a spread, such as the published ones."""
    return {int(x): (y, y, y) for x, y in zip(sizes, accuracies, strict=True)}


def unsaturated(points: Points) -> Points:
    """The sizes before the first whose accuracy is above LINEAR, whatever larger ones reach."""
    sizes = takewhile(lambda size: points[size][0] <= LINEAR, sorted(points))
    return {size: points[size] for size in sizes}


def law(name: str, points: Points, degree: int, letter: str) -> list[Fit]:
    """The polynomial through the unsaturated sizes; no fit if there are too few."""
    kept = unsaturated(points)
    if len(kept) <= degree:
        return []
    return [polynomial(name, list(kept), means(kept), degree, letter)]


def guaranteed(heads: int, head_dimension: int, dimension: int) -> int:
    """H d_h + d, where a head counts with its rank, which is at most d."""
    return theorem_1(heads, min(head_dimension, dimension), dimension)


def means(points: Points) -> list[float]:
    return [mean for mean, _, _ in points.values()]


def draw_law(axes: Axes, fit: Fit, sizes: Sequence[float], label: str | None, colour: str) -> None:
    """A polynomial from the smallest to the largest of these sizes, up to accuracy 1."""
    xs = fine(sizes)
    ys = curve(fit, xs)
    plotting.fitted(axes, xs[ys <= 1.02], ys[ys <= 1.02], label, colour)


def fine(sizes: Sequence[float]) -> np.ndarray:
    return np.linspace(min(sizes), max(sizes), 101)


def signs(text: str) -> str:
    """The paper's letters as a picture shows them."""
    return re.sub(r"d_h(\^2)?", r"$\g<0>$", text).replace("<=", "≤").replace(">=", "≥")


def finish(axes: Axes, title: str, size: str) -> None:
    """Title and axes of accuracy over a size."""
    plotting.finish(axes, signs(title), signs(size), "accuracy on all bigrams")
    axes.locator_params(axis="x", integer=True)
    axes.set_ylim(-0.05, 1.04)


def ranged(point: Spread | None) -> str:
    """A mean, with its range over seeds if there is one."""
    if point is None:
        return ""
    mean, least, most = point
    return f"{mean:.3f} ({least:.3f} to {most:.3f})" if least < most else f"{mean:.3f}"
