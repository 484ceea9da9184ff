"""How far sizes are from memorising, or how large the smallest is; what is censored stands apart.

One combination of other axes: the distance against the searched axis, with the range over seeds.
Several: the parameters of the smallest that memorises, from the luckiest seed to the unluckiest.
What was not reached is a hollow triangle that points upwards: the smallest may lie anywhere above.
"""

from typing import TYPE_CHECKING

from .picture import BLUE, GREEN, INK, ORANGE, PALE, quiet

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LABELS = {
    "gap": "gap, share of the entropy",
    "loss": "loss above the least, nats",
    "accuracy": "accuracy",
}
COLOURS = (BLUE, GREEN, INK, PALE)
FLOOR = 1e-9  # a logarithmic axis has no 0
TICKS = 12


def draw(answer: dict) -> "Figure":
    """The points of a `measure` answer."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    layout = ConstrainedLayoutEngine(w_pad=0.14, h_pad=0.12)
    figure = Figure(figsize=(7.2, 4.8), layout=layout)
    axes = figure.add_subplot()
    cells = [cell for cell in answer["cells"] if cell["points"]]
    (_smallest if len(cells) > 1 else _distances)(axes, answer, cells)
    _dress(axes, answer)
    figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=8.5, labelcolor=INK)
    return figure


def _distances(axes: "Axes", answer: dict, cells: list[dict]) -> None:
    """Median and range over seeds against the axis: full where a seed memorises."""
    kind, points = answer["criterion"]["kind"], cells[0]["points"]
    axes.set_xscale("log")
    if kind != "accuracy":
        axes.set_yscale("log")
    drawn = [point for point in points if point[kind]["median"] is not None]
    for point in drawn:
        found = point[kind]
        top = found["median"] if found["high"] is None else found["high"]
        ends = [max(FLOOR, x) for x in (found["low"], top)]
        mark = _mark(bool(point["reached"]))
        _point(axes, point["value"], ends, max(FLOOR, found["median"]), BLUE, mark)
    share = cells[0]["best_accuracy"] if kind == "accuracy" else 1
    limit = answer["criterion"]["value"] * share
    axes.axhline(limit, color=PALE, linewidth=1, linestyle=":", label="counts as memorised")
    _legend(axes, [bool(point["reached"]) for point in drawn], points)
    _ticks(axes, {x["value"]: f"{x['value']:,}\n{x['parameters']:,}" for x in points})
    axes.set_xlabel(f"{_words(answer['axes'][-1]['name'])}, and parameters below", color=INK)
    axes.set_ylabel(LABELS[kind], color=INK)


def _smallest(axes: "Axes", answer: dict, cells: list[dict]) -> None:
    """Parameters of the smallest against the first other axis, a colour for each of the rest."""
    first, *rest = cells[0]["at"]
    colours: dict[str, str] = {}
    for cell in cells:
        own = ", ".join(f"{_words(name)} {cell['at'][name]:,}" for name in rest)
        colour = colours.setdefault(own, COLOURS[len(colours) % len(COLOURS)])
        found = cell["smallest"]
        height = (found or cell["points"][-1])["parameters"]
        mark = _mark(found is not None, colour)
        _point(axes, cell["at"][first], [height, *_sizes_of_seeds(cell)], height, colour, mark)
    for own, colour in colours.items():
        axes.plot([], [], color=colour, linewidth=1.2, label=own or None)
    _legend(axes, [cell["smallest"] is not None for cell in cells], _last_points(cells))
    _ticks(axes, {value: f"{value:,}" for value in sorted({cell["at"][first] for cell in cells})})
    axes.set_ylim(0, 1.08 * axes.get_ylim()[1])
    axes.set_xlabel(_words(first), color=INK)
    axes.set_ylabel("parameters of the smallest that memorises", color=INK)


def _sizes_of_seeds(cell: dict) -> list[int]:
    """The parameters of the smallest of each seed that has one."""
    parameters = {point["value"]: point["parameters"] for point in cell["points"]}
    return [parameters[value] for value in cell["by_seed"] if value is not None]


def _last_points(cells: list[dict]) -> list[dict]:
    return [cell["points"][-1] for cell in cells]


def _point(axes: "Axes", x: int, ends: list, height: float, colour: str, mark: dict) -> None:
    """A mark on a line from the smallest end to the largest."""
    axes.plot([x, x], [min(ends), max(ends)], color=colour, linewidth=1.2, alpha=0.6)
    axes.plot([x], [height], **mark)


def _mark(reached: bool, colour: str = BLUE) -> dict:
    if reached:
        return {"marker": "o", "color": colour, "markersize": 6, "linestyle": "none"}
    hollow = {"markerfacecolor": "white", "markeredgecolor": ORANGE, "linestyle": "none"}
    return {"marker": "^", "markersize": 7, **hollow}


def _legend(axes: "Axes", reached: list[bool], points: list[dict]) -> None:
    """What full and hollow marks mean; the steps are those of the points that were not reached."""
    steps = max((point["steps"] for point in points if not point["reached"]), default=0)
    words = {True: "memorised by a seed or more", False: f"not reached in {steps:,} steps"}
    for value in sorted(set(reached), reverse=True):
        axes.plot([], [], label=words[value], **_mark(value))


def _ticks(axes: "Axes", names: dict[int, str]) -> None:
    """The values themselves, not more than a dozen."""
    from matplotlib.ticker import FixedLocator, NullLocator

    shown = list(names)[:: -(-len(names) // TICKS)]
    axes.xaxis.set_major_locator(FixedLocator(shown))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xticklabels([names[value] for value in shown])


def _words(name: str) -> str:
    return name.replace("_", " ")


def _dress(axes: "Axes", answer: dict) -> None:
    data = answer["dataset"]
    several = any(
        axis["name"] == "sequences" and len(axis["values"]) > 1 for axis in answer["axes"]
    )
    upto = "up to " if several else ""
    title = f"{answer['architecture']} on {data['name']}: {upto}{data['contexts']:,} contexts"
    axes.set_title(
        title.replace("$", r"\$"), loc="left", size=12.5, weight="bold", color=INK, pad=14
    )
    quiet(axes, 8.5)
