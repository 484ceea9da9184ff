"""One style for all figures: our points solid, published ones hollow, bounds dashed, fits dotted.

What was not reached in the steps of its protocol is an upward triangle: it may be higher up.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..pictures import BLUE, GREY, INK, ORANGE, PALE, quiet

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes
    from matplotlib.figure import Figure as Picture
else:  # drawing alone imports matplotlib
    Axes = Picture = Any

OURS, PUBLISHED, BOUND = BLUE, ORANGE, GREY
HOLLOW: dict[str, Any] = {"markerfacecolor": "white", "markersize": 6, "markeredgewidth": 1.3}
OPEN: dict[str, Any] = {"markerfacecolor": "none", "markersize": 7, "markeredgewidth": 1.2}
BARS: dict[str, Any] = {"markersize": 5, "elinewidth": 1.2, "linewidth": 1.2, "capsize": 2.5}
Spread = tuple[float, float, float]  # mean, minimum and maximum over seeds


def ours(
    axes: Axes,
    points: Mapping[int, Spread] | Mapping[float, Spread],
    label: str | None,
    colour: str = OURS,
    line: bool = False,
) -> None:
    """Solid points at the mean over seeds, bars from the minimum to the maximum."""
    x = list(points)
    middle, low, high = np.array(list(points.values()), float).reshape(-1, 3).T
    bars, form = [middle - low, high - middle], "o-" if line else "o"
    axes.errorbar(x, middle, bars, fmt=form, color=colour, label=label, zorder=3, **BARS)


def published(
    axes: Axes, x: ArrayLike, y: ArrayLike, label: str | None, colour: str = PUBLISHED
) -> None:
    axes.plot(x, y, "o", color=colour, label=label, zorder=2, **HOLLOW)


def level(axes: Axes, x: tuple[float, float], y: float, label: str | None = None) -> None:
    """A line from one x to the other at a published number."""
    axes.plot(x, (y, y), color=PUBLISHED, linewidth=1.4, label=label, zorder=1)


def not_reached(
    axes: Axes, x: ArrayLike, y: ArrayLike, label: str | None, colour: str = INK
) -> None:
    """Upward triangles: no model up to this size reached the criterion in its steps."""
    axes.plot(x, y, "^", color=colour, label=label, zorder=4, **OPEN)


def bound(
    axes: Axes, x: ArrayLike, y: ArrayLike, label: str, at: int = -1, above: bool = True
) -> None:
    """A dashed line with its name at point number `at`, placed so that a rising line misses it."""
    xs, ys = np.asarray(x, float), np.asarray(y, float)
    axes.plot(xs, ys, color=BOUND, linewidth=1.3, linestyle=(0, (5, 3)), zorder=1)
    right = at == 0 or (at > 0 and not above)
    beside(axes, label, (xs[at], ys[at]), above, size=8.5, ha="left" if right else "right")


def beside(axes: Axes, text: str, at: tuple, above: bool, gap: int = 5, **options: Any) -> None:
    """A pale text just above or below a point."""
    offset, side = (0, gap if above else -gap), "bottom" if above else "top"
    axes.annotate(text, at, offset, textcoords="offset points", va=side, color=PALE, **options)


def fitted(axes: Axes, x: ArrayLike, y: ArrayLike, label: str | None, colour: str = OURS) -> None:
    axes.plot(x, y, color=colour, linewidth=1.3, linestyle=":", label=label, zorder=1.5)


def finish(axes: Axes, title: str, x: str, y: str) -> None:
    axes.set_title(title, loc="left", size=11, weight="bold", color=INK, pad=10)
    axes.set_xlabel(x, color=INK)
    axes.set_ylabel(y, color=INK)
    quiet(axes)


def legend(axes: Axes, **options: Any) -> None:
    axes.legend(frameon=False, fontsize=8.5, labelcolor=INK, **options)
