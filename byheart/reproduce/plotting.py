"""One style for all figures: our points solid, published ones hollow, bounds dashed, fits dotted.

What was not reached in the steps of its protocol is an upward triangle: it may be higher up.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..pictures import BLUE, GREY, INK, ORANGE, PALE, quiet

if TYPE_CHECKING:
    from matplotlib.axes import Axes

OURS, PUBLISHED, BOUND = BLUE, ORANGE, GREY
Spread = tuple[float, float, float]  # mean, minimum and maximum over seeds


def ours(
    axes: "Axes",
    x: ArrayLike,
    y: Sequence[Spread],
    label: str | None,
    colour: str = OURS,
    line: bool = False,
) -> None:
    """Solid points at the mean over seeds, bars from the minimum to the maximum."""
    middle, low, high = np.array(y, float).reshape(-1, 3).T
    axes.errorbar(
        x,
        middle,
        [middle - low, high - middle],
        fmt="o-" if line else "o",
        color=colour,
        markersize=5,
        elinewidth=1.2,
        linewidth=1.2,
        capsize=2.5,
        label=label,
        zorder=3,
    )


def published(
    axes: "Axes", x: ArrayLike, y: ArrayLike, label: str | None, colour: str = PUBLISHED
) -> None:
    """Hollow points."""
    axes.plot(x, y, "o", color=colour, label=label, zorder=2, **_hollow("white", 6, 1.3))


def not_reached(axes: "Axes", x: ArrayLike, y: ArrayLike, label: str | None) -> None:
    """Upward triangles: no model up to this size reached the criterion in its steps."""
    axes.plot(x, y, "^", color=INK, label=label, zorder=4, **_hollow("none", 7, 1.2))


def _hollow(inside: str, size: float, edge: float) -> dict[str, Any]:
    return {"markerfacecolor": inside, "markersize": size, "markeredgewidth": edge}


def bound(
    axes: "Axes", x: ArrayLike, y: ArrayLike, label: str, at: int = -1, above: bool = True
) -> None:
    """A dashed line with its name at the point number `at`.

    The name stands above it and to the left of the point, or below it and to the right of a point
    in the middle, so that a rising line does not cross it.
    """
    xs, ys = np.asarray(x, float), np.asarray(y, float)
    axes.plot(xs, ys, color=BOUND, linewidth=1.3, linestyle=(0, (5, 3)), zorder=1)
    axes.annotate(
        label,
        (xs[at], ys[at]),
        (0, 5 if above else -5),
        textcoords="offset points",
        ha="left" if at == 0 or (at > 0 and not above) else "right",
        va="bottom" if above else "top",
        size=8.5,
        color=PALE,
    )


def fitted(axes: "Axes", x: ArrayLike, y: ArrayLike, label: str | None, colour: str = OURS) -> None:
    """A dotted line."""
    axes.plot(x, y, color=colour, linewidth=1.3, linestyle=":", label=label, zorder=1.5)


def finish(axes: "Axes", title: str, x: str, y: str) -> None:
    """Title, names of the axes, a faint grid."""
    axes.set_title(title, loc="left", size=11, weight="bold", color=INK, pad=10)
    axes.set_xlabel(x, color=INK)
    axes.set_ylabel(y, color=INK)
    quiet(axes)


def legend(axes: "Axes", **options: Any) -> None:
    axes.legend(frameon=False, fontsize=8.5, labelcolor=INK, **options)
