"""How far sizes are from memorising, or how large the smallest is; what is censored stands apart.

One combination of other axes: the distance against the searched axis, with the range over seeds.
A training that blew up is farther off than any number: its bar goes to the top, with a triangle.
Several: the parameters of the smallest that memorises, from the luckiest seed to the unluckiest.
What was not reached is a hollow triangle that points upwards: the smallest may lie anywhere above.
So a bar ends in one, at the largest size tried, where a seed reached nothing.
"""

from typing import TYPE_CHECKING

from ..pictures import BLUE, GREEN, INK, ORANGE, PALE, quiet

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
    for point in points:
        _distance(axes, kind, point)
    share = cells[0]["best_accuracy"] if kind == "accuracy" else 1
    limit = answer["criterion"]["value"] * share
    axes.axhline(limit, color=PALE, linewidth=1, linestyle=":", label="counts as memorised")
    _to_the_top(axes, kind, points)
    missed = [point["steps"] for point in points if not point["reached"]]
    _legend(axes, any(point["reached"] for point in points), missed, "not reached")
    _ticks(axes, {x["value"]: f"{x['value']:,}\n{x['parameters']:,}" for x in points})
    axes.set_xlabel(f"{_words(answer['axes'][-1]['name'])}, and parameters below", color=INK)
    axes.set_ylabel(LABELS[kind], color=INK)


def _distance(axes: "Axes", kind: str, point: dict) -> None:
    """The mark stands at the median; where that blew up, at the best seed if it memorises."""
    found, reached = point[kind], bool(point["reached"])
    known = [max(FLOOR, found[x]) for x in ("median", "low", "high") if found[x] is not None]
    shown = found["median"] is not None or reached
    if known:
        _point(axes, point["value"], known, known[0], BLUE, _mark(reached) if shown else None)


def _to_the_top(axes: "Axes", kind: str, points: list[dict]) -> None:
    """Bars of the sizes of which a seed blew up, up to the top of what is drawn so far."""
    blown = [point for point in points if point[kind]["high"] is None]
    bottom, top = axes.get_ylim()
    for point in blown:
        low = point[kind]["low"]
        ends = [top if low is None else max(FLOOR, low), top]
        _point(axes, point["value"], ends, top, BLUE, {**_mark(False, PALE), "clip_on": False})
    if blown:
        axes.set_ylim(bottom, top)
        axes.plot([], [], label="a training blew up", **_mark(False, PALE))


def _smallest(axes: "Axes", answer: dict, cells: list[dict]) -> None:
    """Parameters of the smallest against the first other axis, a colour for each of the rest."""
    first, *rest = cells[0]["at"]
    colours: dict[str, str] = {}
    for cell in cells:
        own = ", ".join(f"{_words(name)} {cell['at'][name]:,}" for name in rest)
        colour = colours.setdefault(own, COLOURS[len(colours) % len(COLOURS)])
        _bar(axes, cell["at"][first], cell, colour)
    for own, colour in colours.items():
        axes.plot([], [], color=colour, linewidth=1.2, label=own or None)
    missed = [one["steps"] for cell in cells for one in _missed(cell)]
    _legend(axes, any(cell["smallest"] for cell in cells), missed, "not reached by a seed or more")
    _ticks(axes, {value: f"{value:,}" for value in sorted({cell["at"][first] for cell in cells})})
    axes.set_ylim(0, 1.08 * axes.get_ylim()[1])
    axes.set_xlabel(_words(first), color=INK)
    axes.set_ylabel("parameters of the smallest that memorises", color=INK)


def _bar(axes: "Axes", x: int, cell: dict, colour: str) -> None:
    """From the luckiest seed to the unluckiest, or to the largest size that one tried in vain."""
    parameters = {point["value"]: point["parameters"] for point in cell["points"]}
    values = [one["smallest"] for one in cell["by_seed"]]
    reached = [parameters[value] for value in values if value is not None]
    tried = [parameters[one["largest"]] for one in _missed(cell)]
    if reached:
        _point(axes, x, [*reached, *tried], min(reached), colour, _mark(True, colour))
    if tried:
        _point(axes, x, tried, max(tried), colour, _mark(False))


def _missed(cell: dict) -> list[dict]:
    """The seeds that reached nothing so far."""
    return [one for one in cell["by_seed"] if one["smallest"] is None]


def _point(axes: "Axes", x: int, ends: list, height: float, colour: str, mark: dict | None) -> None:
    """A mark, if there is one, on a line from the smallest end to the largest."""
    axes.plot([x, x], [min(ends), max(ends)], color=colour, linewidth=1.2, alpha=0.6)
    if mark is not None:
        axes.plot([x], [height], **mark)


def _mark(reached: bool, colour: str | None = None) -> dict:
    if reached:
        return {"marker": "o", "color": colour or BLUE, "markersize": 6, "linestyle": "none"}
    hollow = {"markerfacecolor": "white", "markeredgecolor": colour or ORANGE}
    return {"marker": "^", "markersize": 7, "linestyle": "none", **hollow}


def _legend(axes: "Axes", reached: bool, missed: list[int], words: str) -> None:
    """What full and hollow marks mean; `missed` are the steps of what was not reached."""
    if reached:
        axes.plot([], [], label="memorised by a seed or more", **_mark(True))
    if missed:
        axes.plot([], [], label=f"{words} in {max(missed):,} steps", **_mark(False))


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
