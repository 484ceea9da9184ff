"""Parameters of all constructions, with the bounds: over the contexts, or for one dataset."""

import math
from typing import TYPE_CHECKING, Any

from ..pictures import BLUE, FAINT, GREEN, GREY, INK, ORANGE, quiet

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = (BLUE, ORANGE, GREEN, INK)
MARKS = "osD^vP*X"
DASHES: dict[str, tuple] = {"at_least": (0, (4, 2)), "at_most": (0, (1, 1.5))}
SIGNS = {"at_least": "≥", "at_most": "≤"}
ROOM = 0.033  # of the height, for a name beside its line
Point = tuple[int, float]


def draw(answer: dict) -> "Figure":
    """The rows of a `compare` answer that have parameters."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    steps, rows = answer["sweep"], _shown(answer["rows"])
    height = 7.6 if len(steps) > 1 else 1.8 + 0.26 * len(rows)
    layout = ConstrainedLayoutEngine(w_pad=0.14, h_pad=0.12)
    figure = Figure(figsize=(9.6, height), layout=layout)
    axes = figure.add_subplot()
    (_curves(axes, steps) if len(steps) > 1 else _dots(axes, rows))
    _dress(axes, answer["dataset"])
    return figure


def _shown(rows: list[dict]) -> list[dict]:
    return [row for row in rows if row["applies"] and row["parameters"]]


def _curves(axes: "Axes", steps: list[dict]) -> None:
    """A line a name, over the contexts: constructions with marks, bounds dashed."""
    lines: dict[str, tuple[dict, list[Point]]] = {}
    for step in steps:
        for row in _shown(step["rows"]):
            points = lines.setdefault(row["name"], (row, []))[1]
            points.append((step["dataset"]["contexts"], row["parameters"]))
    axes.set_xscale("log")
    axes.set_yscale("log")
    names, drawn = [], 0
    for row, points in lines.values():
        bound = row["kind"] == "bound"
        colour = GREY if bound else COLOURS[drawn % len(COLOURS)]
        style: dict[str, Any] = {"linestyle": DASHES[row["direction"]], "linewidth": 1.0}
        if not bound:
            style = {"marker": MARKS[drawn % len(MARKS)], "markersize": 5.0, "linewidth": 1.6}
            drawn += 1
        axes.plot(*zip(*points, strict=True), color=colour, **style)
        names.append((points[-1], _label(row), colour))
    _named(axes, names)
    _ticks(axes, sorted({step["dataset"]["contexts"] for step in steps}))


def _label(row: dict) -> str:
    return f"{SIGNS[row['direction']]} {row['name']}" if row["kind"] == "bound" else row["name"]


def _named(axes: "Axes", names: list[tuple[Point, str, str]]) -> None:
    """Names at the right, as near to the ends of their lines as there is room."""
    low, high = (math.log(limit) for limit in axes.get_ylim())
    ends = sorted(names, key=lambda name: name[0][1])
    heights = [(math.log(point[1]) - low) / (high - low) for point, _, _ in ends]
    for place, (end, text, colour) in zip(spread(heights), ends, strict=True):
        axes.annotate(
            text, end, (1.04, place), textcoords="axes fraction", va="center", size=7.5,
            color=colour, annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": FAINT, "linewidth": 0.6, "relpos": (0, 0.5)},
        )  # fmt: skip


def spread(heights: list[float]) -> list[float]:
    """The heights, increasing, moved as little as needed to be ROOM apart.

    >>> [round(x, 3) for x in spread([0.1, 0.1, 0.5])]
    [0.1, 0.133, 0.5]
    """
    placed: list[float] = []
    for height in heights:
        placed.append(max(height, placed[-1] + ROOM) if placed else height)
    above = max(0.0, placed[-1] - 1) if placed else 0.0
    for i in reversed(range(len(placed))):  # what went over the top presses the others down
        limit = placed[i + 1] - ROOM if i + 1 < len(placed) else placed[i] - above
        placed[i] = min(placed[i], limit)
    return placed


def _ticks(axes: "Axes", contexts: list[int]) -> None:
    from matplotlib.ticker import FixedLocator, NullLocator

    axes.xaxis.set_major_locator(FixedLocator(contexts))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xticklabels([f"{count:,}" for count in contexts])
    axes.set_xlabel("contexts", color=INK)
    axes.set_ylabel("parameters", color=INK)


def _dots(axes: "Axes", rows: list[dict]) -> None:
    """A line a row, the smallest on top."""
    for place, row in enumerate(rows):
        bound = row["kind"] == "bound"
        mark = {"at_least": ">", "at_most": "<"}[row["direction"]] if bound else "o"
        axes.plot([row["parameters"]], [place], mark, color=GREY if bound else BLUE, markersize=6.5)
    axes.set_yticks(range(len(rows)), [row["name"] for row in rows])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xscale("log")
    axes.set_xlabel("parameters   ● construction   ▸ at least   ◂ at most", color=INK)


def _dress(axes: "Axes", data: dict) -> None:
    title = f"{data['name']}: {data['contexts']:,} contexts, {data['labels']:,} labels"
    axes.set_title(
        title.replace("$", r"\$"), loc="left", size=12.5, weight="bold", color=INK, pad=14
    )
    quiet(axes, 8.5)
