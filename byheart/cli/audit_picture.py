"""Bits memorised of each item, and all of them beside what the data holds and the model could."""

from typing import TYPE_CHECKING

import numpy as np

from .. import pictures
from ..pictures import BLUE, GREY, INK, ORANGE, PALE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BINS = 20


def draw(answer: dict) -> "Figure":
    """Left the items, from the least memorised to the most; right the totals in bits."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    layout = ConstrainedLayoutEngine(w_pad=0.14, h_pad=0.12)
    figure = Figure(figsize=(10.0, 4.6), layout=layout)
    left, right = figure.subplots(1, 2)
    items(left, answer)
    totals(right, answer)
    for axes in (left, right):
        pictures.quiet(axes, 8.5)
    return figure


def items(axes: "Axes", answer: dict) -> None:
    saved, unseen = np.array(answer["per_item"]), np.array(answer["strangers"])
    if len(unseen):  # the same bins, and shares: there may be fewer strangers
        bins = np.histogram_bin_edges(np.concatenate([saved, unseen]), BINS).tolist()
        for group, colour, name in ((unseen, GREY, "strangers"), (saved, BLUE, "items")):
            share = np.full(len(group), 1 / len(group))
            axes.hist(group, bins, weights=share, color=colour, alpha=0.75, label=name)
        axes.legend(frameon=False, fontsize=8.5, labelcolor=INK)
    else:
        axes.hist(saved, BINS, color=BLUE, alpha=0.85)
    axes.axvline(0, color=INK, linewidth=0.9)
    pictures.entitle(axes, f"{answer['model']['kind']} on {answer['data']['name']}")
    reference = answer["reference"]["name"]
    pictures.label(
        axes,
        f"bits memorised of an item ({reference} minus model)",
        "share of items, of strangers" if len(unseen) else "items",
    )


def totals(axes: "Axes", answer: dict) -> None:
    """Bars on a logarithmic axis: what was measured, what the data holds, what could be held."""
    bars = [("memorised", answer["memorised"]["bits"], BLUE)]
    bars.append(("data under the reference", answer["reference"]["bits"], GREY))
    for limit in answer["limits"]:
        if "bits" in limit:
            colour = ORANGE if limit["kind"] == "rule_of_thumb" else PALE
            bars.append((limit["name"], limit["bits"], colour))
    shown = [(name, max(value, 1.0), value, colour) for name, value, colour in bars[::-1]]
    names = [name for name, *_ in shown]
    axes.barh(names, [x for _, x, _, _ in shown], color=[colour for *_, colour in shown])
    for place, (_, length, value, _) in enumerate(shown):
        axes.annotate(
            f"{value:,.0f}", (length, place), (3, 0), textcoords="offset points", va="center",
            size=8, color=INK,
        )  # fmt: skip
    axes.set_xscale("log")
    axes.set_xlim(1, 20 * max(x for _, x, _, _ in shown))
    pictures.entitle(axes, "all items, observed")
    axes.set_xlabel("bits", color=INK)
