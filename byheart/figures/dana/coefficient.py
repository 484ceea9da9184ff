"""Figure 2b of dana2024: how fast accuracy grows with H, as d = d_h grows.

For each d the accuracy over H is fitted by a line; its slope is the coefficient. Models of it are
a + b d^k for k = 1, 2 and 3, and the law c d^3.
"""

from typing import Any

import numpy as np

from ...pictures import GREEN, GREY, INK
from .. import plotting
from ..figure import Part, RowsByLabel, Settings, Table, described, say
from ..fits import ORDERS, Fit, Floats, affine, least_squares, polynomial, power
from ..plotting import Axes, Picture
from ..published import column
from . import accuracies, sweeps
from .accuracies import PROGRAM, Points

HEADS = sweeps.heads("dana-2b")
QUICK = {d: (1, 6, 11) for d in (4, 7, 10, 13)}
ONE = 7, 21  # d and heads of the one size with the program's architecture
SHADES = {4: "#9fbbd9", 7: "#6f99c6", 10: plotting.OURS, 13: "#24476e"}
COLOURS = {1: GREY, 2: GREEN, 3: INK}
VOCABULARY = 50
SATURATED = 0.95  # the authors' limit, where ours is accuracies.LINEAR


def parts(settings: Settings) -> list[Part]:
    own = [
        sweeps.part(settings, f"d{d}", VOCABULARY, sizes_of(d), ("heads", heads))
        for d, heads in (QUICK if settings.quick else HEADS).items()
    ]
    d, heads = ONE
    return own + sweeps.program(settings, VOCABULARY, sizes_of(d), ("heads", (heads,)))


def sizes_of(d: int) -> dict[str, int]:
    return {"dimension": d, "head_dimension": d}


def ours(rows: RowsByLabel, d: int) -> Points:
    return accuracies.points(rows.get(f"d{d}", ()), "heads")


def theirs(d: int) -> Points:
    table = accuracies.published("heads", dimension=d)
    return accuracies.exact(column(table, "heads"), column(table, "accuracy"))


def slopes(rows: RowsByLabel) -> dict[int, Fit]:
    return {d: f for d in HEADS for f in accuracies.law(f"ours, d = {d}", ours(rows, d), 1, "H")}


def published_slopes() -> dict[int, Fit]:
    return {d: f for d in HEADS for f in accuracies.law(f"published, d = {d}", theirs(d), 1, "H")}


def authors_slopes() -> dict[int, Fit]:
    """The same through the points of the authors' program: up to the first accuracy above 0.95."""
    slopes = {}
    for d in HEADS:
        every = theirs(d)
        end = next((x for x, (y, _, _) in every.items() if y > SATURATED), max(every))
        kept = {x: y for x, (y, _, _) in every.items() if x <= end}
        slopes[d] = polynomial(f"published, d = {d}", list(kept), list(kept.values()), 1, "H")
    return slopes


def models(name: str, lines: dict[int, Fit]) -> list[Fit]:
    """Models of the slope over d, if there are more slopes than coefficients."""
    if len(lines) < 3:
        return []
    d, y = np.array(list(lines), float), [fit.coefficients[1] for fit in lines.values()]
    powers = [affine(f"{name}, {order}", power("d", k), d**k, y) for k, order in ORDERS.items()]
    return [*powers, least_squares(f"{name}, c d^3", {"d^3": d**3}, y)]


def fits(rows: RowsByLabel) -> list[Fit]:
    series = {"slopes of ours": slopes(rows), "published slopes": published_slopes()}
    return [fit for name, x in series.items() for fit in (*x.values(), *models(name, x))]


def draw(rows: RowsByLabel, picture: Picture) -> None:
    """Left the accuracies with their lines, right the slopes with their models."""
    left, right = picture.subplots(1, 2)
    lines = slopes(rows)
    for d, shade in SHADES.items():  # some of them, or there would be too many lines
        if some := ours(rows, d):
            plotting.ours(left, some, f"$d$ = {d}", shade)
        if d in lines:
            accuracies.draw_law(left, lines[d], list(some), None, shade)
        known, label = theirs(d), "published, means" if d == max(SHADES) else None
        plotting.published(left, list(known), accuracies.means(known), label)
    if program := accuracies.points(rows.get(PROGRAM, ()), "heads"):
        plotting.ours(left, program, None, plotting.PUBLISHED)
    accuracies.finish(left, "accuracy over heads", "heads H")
    plotting.legend(left, loc="upper left", bbox_to_anchor=(0.0, 0.93))
    _draw_slopes(right, published_slopes(), "published by Dana et al.", plotting.PUBLISHED, "white")
    if lines:
        _draw_slopes(right, lines, "ours (fast)", plotting.OURS, plotting.OURS)
    xs = accuracies.fine((0, max(HEADS) + 1))
    reported = dict(zip(ORDERS, models("", published_slopes()), strict=False))
    best = min(reported, key=lambda k: reported[k].residual)
    _draw_model(right, xs, best, reported[best], "published: ", plotting.PUBLISHED)
    fits = models("", lines)
    for k, fit in zip(ORDERS, fits, strict=False):
        _draw_model(right, xs, k, fit, "ours: ", COLOURS[k])
    for fit in fits[len(ORDERS) :]:
        value, error = fit.coefficients[0], fit.errors[0] if fit.errors else 0.0
        label = f"ours: $c\\,d^3$, $c$ = ({value * 1e5:.2f} ± {error * 1e5:.2f}) $10^{{-5}}$"
        right.plot(xs, fit.at(xs**3), color=plotting.OURS, linewidth=1.4, label=label, zorder=1)
    right.set_ylim(bottom=min(0.0, right.get_ylim()[0]))
    plotting.finish(right, "slope over $d = d_h$", "$d = d_h$", "slope: accuracy per head")
    plotting.legend(right, loc="upper left")


def _draw_model(axes: Axes, xs: Floats, k: int, fit: Fit, whose: str, colour: str) -> None:
    label = f"{whose}$a + b\\,{power('d', k)}$, residual {fit.residual:.1g}"
    plotting.fitted(axes, xs, fit.at(np.ones_like(xs), xs**k), label, colour)


def _draw_slopes(axes: Axes, lines: dict[int, Fit], label: str, colour: str, inside: str) -> None:
    slopes = [fit.coefficients[1] for fit in lines.values()]
    errors = [fit.errors[1] if fit.errors else 0.0 for fit in lines.values()]
    look: dict[str, Any] = {"markersize": 6, "capsize": 3, "elinewidth": 1.2, "zorder": 3}
    look |= {"color": colour, "markerfacecolor": inside}
    axes.errorbar(list(lines), slopes, errors, fmt="o", label=label, **look)


def table(rows: RowsByLabel) -> Table:
    """The residual of each model of the slope: ours, published, and with the authors' points."""
    series = {
        "ours": models("", slopes(rows)),
        "published": models("", published_slopes()),
        f"published, points up to the first above {SATURATED:g}": models("", authors_slopes()),
    }
    names = [*(f"a + b {power('d', k)}" for k in ORDERS), "c d^3 (the paper's law)"]
    residuals = [[f"{fit.residual:.2g}" for fit in x] or [""] * len(names) for x in series.values()]
    return Table(("residual of", *series), tuple(zip(names, *residuals, strict=True)))


def finding(rows: RowsByLabel) -> str:
    """Which model is nearest to the slopes."""
    if not models("", slopes(rows)):
        return ""
    residuals = table(rows).rows
    ours, theirs = (min(residuals, key=lambda row: float(row[column]))[0] for column in (1, 2))
    powers = {"one": later(1, (40, 60)), "three": later(3, (7, 13))}
    return say("dana-2b", ours=ours, theirs=theirs, **powers)


def later(layers: int, ends: tuple[int, int]) -> float:
    """The power of d in the slope, between two dimensions of the authors' later data."""
    slopes = []
    for d in ends:
        table = accuracies.published("heads", layers, dimension=d)
        points = accuracies.exact(column(table, "heads"), column(table, "accuracy"))
        (fit,) = accuracies.law("", points, 1, "H")
        slopes.append(fit.coefficients[1])
    return float(np.log(slopes[1] / slopes[0]) / np.log(ends[1] / ends[0]))


LABELS = (*(f"d{d}" for d in HEADS), PROGRAM)
DANA_2B = described("dana-2b", LABELS, parts, draw, table, finding, fits)
