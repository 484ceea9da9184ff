"""Figure 2b of dana2024: how fast accuracy grows with H, as d = d_h grows.

For each d the accuracy over H is fitted by a line; its slope is the coefficient. Models of it are
a + b d^k for k = 1, 2 and 3, and the law c d^3.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...pictures import GREEN, GREY, INK
from .. import marks
from ..figure import Figure, Part, RowsByLabel, Settings
from ..fits import ORDERS, Fit, cubic_law, least_squares, power
from ..published import column
from . import parts

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Picture

HEADS = {  # a larger d is saturated earlier
    4: (1, 6, 11, 16, 21, 26, 31),
    7: (1, 6, 11, 16, 21, 26, 31),
    10: (1, 6, 11, 16, 21, 26, 31),
    13: (1, 3, 6, 8, 11, 16, 21),
}
QUICK = (1, 6, 11)
DIMENSIONS = tuple(HEADS)
COLOURS = {1: GREY, 2: GREEN, 3: INK}
VOCABULARY = 50


def trains(settings: Settings) -> list[Part]:
    """A sweep over H for each d."""
    dataset = parts.table(VOCABULARY)
    return [
        parts.part(settings, f"d{d}", dataset, {"dimension": d, "head_dimension": d},
                   ("heads", QUICK if settings.quick else heads))
        for d, heads in HEADS.items()
    ]  # fmt: skip


def slopes(rows: RowsByLabel) -> dict[int, Fit]:
    """The line through our accuracies over H, for each d."""
    found = {}
    for d in DIMENSIONS:
        some = parts.points(rows.get(f"d{d}", ()), "heads")
        for fit in parts.law(f"ours, d = {d}", some, 1, "H"):
            found[d] = fit
    return found


def published_slopes() -> dict[int, Fit]:
    """The line through the published accuracies over H, for each d."""
    found = {}
    for d in DIMENSIONS:
        some = parts.published("heads", dimension=d)
        known = parts.exact(column(some, "heads"), column(some, "accuracy"))
        for fit in parts.law(f"published, d = {d}", known, 1, "H"):
            found[d] = fit
    return found


def models(name: str, lines: dict[int, Fit]) -> list[Fit]:
    """Models of the slope over d, if there are more slopes than coefficients."""
    if len(lines) < 3:
        return []
    d, y = np.array(list(lines), float), [fit.coefficients[1] for fit in lines.values()]
    powers = [
        least_squares(f"{name}, {order}", {"1": np.ones_like(d), power("d", k): d**k}, y)
        for k, order in ORDERS.items()
    ]
    return [*powers, cubic_law(f"{name}, c d^3", d.tolist(), y)]


def fits(rows: RowsByLabel) -> list[Fit]:
    ours, theirs = slopes(rows), published_slopes()
    return [
        *ours.values(), *models("slopes of ours", ours),
        *theirs.values(), *models("published slopes", theirs),
    ]  # fmt: skip


def draw(rows: RowsByLabel, picture: "Picture") -> None:
    """Left the accuracies with their lines, right the slopes with their models."""
    left, right = picture.subplots(1, 2)
    ours, theirs = slopes(rows), published_slopes()
    _draw_lines(left, rows, ours)
    _slopes(right, theirs, "published by Dana et al.", marks.PUBLISHED, hollow=True)
    if ours:
        _slopes(right, ours, "ours (fast)", marks.OURS)
    _draw_models(right, models("", ours or theirs))
    marks.dress(right, "slope over $d = d_h$", "$d = d_h$", "slope: accuracy a head")
    marks.legend(right, loc="upper left")


def _draw_lines(axes: "Axes", rows: RowsByLabel, lines: dict[int, Fit]) -> None:
    for d, shade in zip(DIMENSIONS, ("#9fbbd9", "#6f99c6", marks.OURS, "#24476e"), strict=True):
        some = parts.points(rows.get(f"d{d}", ()), "heads")
        if some:
            marks.ours(axes, list(some), list(some.values()), f"$d$ = {d}", shade)
        if d in lines:
            xs = parts.fine(list(some))
            ys = lines[d].at(np.ones_like(xs), xs)
            marks.fitted(axes, xs[ys <= 1.02], ys[ys <= 1.02], None, shade)
        theirs = parts.published("heads", dimension=d)
        marks.published(axes, column(theirs, "heads"), column(theirs, "accuracy"),
                        "published" if d == DIMENSIONS[-1] else None)  # fmt: skip
    parts.dress(axes, "accuracy over heads", "heads H")
    marks.legend(axes, loc="upper left", bbox_to_anchor=(0.0, 0.93))


def _slopes(
    axes: "Axes", lines: dict[int, Fit], label: str, colour: str, hollow: bool = False
) -> None:
    """Slopes with their standard errors."""
    errors = [fit.errors[1] if fit.errors else 0.0 for fit in lines.values()]
    axes.errorbar(
        list(lines), [fit.coefficients[1] for fit in lines.values()], errors, fmt="o", label=label,
        color=colour, markerfacecolor="white" if hollow else colour, markersize=6, capsize=3,
        elinewidth=1.2, zorder=3,
    )  # fmt: skip


def _draw_models(axes: "Axes", found: Sequence[Fit]) -> None:
    d = parts.fine((0, max(DIMENSIONS) + 1))
    for k, fit in zip(ORDERS, found, strict=False):
        label = f"$a + b\\,d^{k}$: residual {fit.residual:.1g}"
        marks.fitted(axes, d, fit.at(np.ones_like(d), d**k), label, COLOURS[k])
    for fit in found[len(ORDERS) :]:
        value, error = fit.coefficients[0], fit.errors[0] if fit.errors else 0.0
        label = f"$c\\,d^3$, $c$ = ({value * 1e5:.2f} ± {error * 1e5:.2f}) $10^{{-5}}$"
        axes.plot(d, fit.at(d**3), color=marks.OURS, linewidth=1.4, label=label, zorder=1)
    axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))


def caption(rows: RowsByLabel) -> str:
    used = ", ".join(f"{fit.points} for d = {d}" for d, fit in slopes(rows).items())
    said = (
        parts.trained(rows),
        f"Lines go through the sizes before the first one above accuracy {parts.LINEAR:g} "
        f"({used}); bars at slopes are standard errors." if used else "",
        nearest("our", models("", slopes(rows))),
        nearest("the published", models("", published_slopes())),
        "The paper does not spell out its models; here they are a + b d^k, and c d^3 for its law "
        "C(N) d^3 H.",
        parts.DIFFERENCES,
    )  # fmt: skip
    return " ".join(x for x in said if x)


def nearest(whose: str, found: list[Fit]) -> str:
    """Which of the models with two coefficients is nearest to the slopes."""
    if not found:
        return ""
    power, fit = min(zip(ORDERS, found, strict=False), key=lambda one: one[1].residual)
    return f"To {whose} slopes a + b d^{power} is nearest (residual {fit.residual:.1g})."


DANA_2B = Figure(
    "dana-2b", "How the gain of a head grows with d = d_h (N = 50)", "dana2024, Figure 2b", None,
    trains, draw, caption, fits, (10.0, 5.0), tuple(f"d{d}" for d in DIMENSIONS),
)  # fmt: skip
