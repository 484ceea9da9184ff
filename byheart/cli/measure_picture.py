"""How far sizes are from memorising, or how large the smallest is; what is censored stands apart.

One combination of other axes: the distance against the searched axis, with the range over seeds.
A training that blew up is farther off than any number: its bar goes to the top, with a triangle.
Several: the parameters of the smallest that memorises, from the luckiest seed to the unluckiest.
What was not reached is a hollow triangle that points upwards: the smallest may lie anywhere above.
So a bar ends in one, at the largest size tried, where a seed reached nothing.
"""

from typing import TYPE_CHECKING

from .. import pictures
from ..machine.tables import plural
from ..pictures import BLUE, GREEN, INK, ORANGE, PALE

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
    figure, axes = pictures.canvas(7.2, 4.8)
    cells = [cell for cell in answer["cells"] if cell["points"]]
    if cells and "capacity" in cells[0]:
        memorised(axes, cells)
    else:
        (smallest if len(cells) > 1 else distances)(axes, answer, cells)
    data, counts = answer["dataset"], {x["name"]: len(x["values"]) for x in answer["axes"]}
    upto = "up to " if counts.get("sequences", 1) > 1 else ""
    size = f"{upto}{plural(data['contexts'], 'context')}"
    title = f"{answer['architecture']} on {data['name']}: {size}"
    pictures.entitle(axes, title)
    pictures.quiet(axes, 8.5)
    pictures.legend(figure, 2, 8.5)
    return figure


def memorised(axes: "Axes", cells: list[dict]) -> None:
    """Bits memorised against the information of the data, a colour for each size."""
    axes.set_xscale("log")
    axes.set_yscale("log")
    reached, missed, top = False, [], 1.0
    for place, cell in enumerate(cells):
        points = [point for point in cell["points"] if point["bits"]["median"] is not None]
        colour = COLOURS[place % len(COLOURS)]
        for point in points:
            ends = [point["bits"][end] or point["bits"]["median"] for end in ("low", "high")]
            settled = point["reached"] == point["seeds"]
            mark = marker(settled, colour if settled else None)
            bar(axes, point["information"], ends, point["bits"]["median"], colour, mark)
            reached, top = reached or settled, max(top, point["information"])
            missed += [] if settled else [point["steps"]]
        if points:
            where = [point["information"] for point in points]
            name = f"{points[0]['parameters']:,} parameters"
            bits = [point["bits"]["median"] for point in points]
            axes.plot(where, bits, color=colour, linewidth=1.2, label=name)
    low = min(axes.get_xlim()[0], top)
    axes.plot([low, top], [low, top], color=PALE, linewidth=1, linestyle=":", label="all of it")
    if reached:
        axes.plot([], [], label="twice the steps change it little", **marker(True, INK))
    if missed:
        label = f"more than {max(missed):,} steps may memorise more"
        axes.plot([], [], label=label, **marker(False))
    pictures.label(axes, "information of the data, bits", "bits memorised")


def distances(axes: "Axes", answer: dict, cells: list[dict]) -> None:
    """Median and range over seeds against the axis: full where a seed memorises."""
    kind, points = answer["criterion"]["kind"], cells[0]["points"]
    axes.set_xscale("log")
    if kind != "accuracy":
        axes.set_yscale("log")
    for point in points:
        # the mark stands at the median; where that blew up, at the best seed if it memorises
        found, reached = point[kind], bool(point["reached"])
        known = [max(FLOOR, found[x]) for x in ("median", "low", "high") if found[x] is not None]
        mark = marker(reached) if found["median"] is not None or reached else None
        if known:
            bar(axes, point["value"], known, known[0], BLUE, mark)
    share = cells[0]["best_accuracy"] if kind == "accuracy" else 1
    limit = answer["criterion"]["value"] * share
    axes.axhline(limit, color=PALE, linewidth=1, linestyle=":", label="counts as memorised")
    blown = [point for point in points if point[kind]["high"] is None]
    bottom, top = axes.get_ylim()
    for point in blown:  # up to the top of what is drawn so far
        low = point[kind]["low"]
        ends = [top if low is None else max(FLOOR, low), top]
        bar(axes, point["value"], ends, top, BLUE, {**marker(False, PALE), "clip_on": False})
    if blown:
        axes.set_ylim(bottom, top)
        axes.plot([], [], label="a training blew up", **marker(False, PALE))
    missed = [point["steps"] for point in points if not point["reached"]]
    meanings(axes, any(point["reached"] for point in points), missed, "not reached")
    ticks(axes, {x["value"]: f"{x['value']:,}\n{x['parameters']:,}" for x in points})
    name = answer["axes"][-1]["name"].replace("_", " ")
    pictures.label(axes, f"{name}, and parameters below", LABELS[kind])


def smallest(axes: "Axes", answer: dict, cells: list[dict]) -> None:
    """Parameters of the smallest against the first other axis, a colour for each of the rest.

    A bar goes from the luckiest seed to the unluckiest, or to the largest size that one tried in
    vain.
    """
    first, *rest = cells[0]["at"]
    colours: dict[str, str] = {}
    steps = []  # of the seeds that reached nothing so far
    for cell in cells:
        at, seeds = cell["at"], cell["by_seed"]
        own = ", ".join(f"{name.replace('_', ' ')} {at[name]:,}" for name in rest)
        colour = colours.setdefault(own, COLOURS[len(colours) % len(COLOURS)])
        parameters = {point["value"]: point["parameters"] for point in cell["points"]}
        reached = [parameters[x["smallest"]] for x in seeds if x["smallest"] is not None]
        tried = [parameters[x["largest"]] for x in seeds if x["smallest"] is None]
        steps += [x["steps"] for x in seeds if x["smallest"] is None]
        if reached:
            both = [*reached, *tried]
            bar(axes, at[first], both, min(reached), colour, marker(True, colour))
        if tried:
            bar(axes, at[first], tried, max(tried), colour, marker(False))
    for own, colour in colours.items():
        axes.plot([], [], color=colour, linewidth=1.2, label=own or None)
    some = any(cell["smallest"] for cell in cells)
    meanings(axes, some, steps, "not reached by a seed or more")
    ticks(axes, {value: f"{value:,}" for value in sorted({cell["at"][first] for cell in cells})})
    axes.set_ylim(0, 1.08 * axes.get_ylim()[1])
    pictures.label(axes, first.replace("_", " "), "parameters of the smallest that memorises")


def bar(axes: "Axes", x: int, ends: list, height: float, colour: str, mark: dict | None) -> None:
    """A mark, if there is one, on a line from the smallest end to the largest."""
    axes.plot([x, x], [min(ends), max(ends)], color=colour, linewidth=1.2, alpha=0.6)
    if mark is not None:
        axes.plot([x], [height], **mark)


def marker(reached: bool, colour: str | None = None) -> dict:
    if reached:
        return {"marker": "o", "color": colour or BLUE, "markersize": 6, "linestyle": "none"}
    hollow = {"markerfacecolor": "white", "markeredgecolor": colour or ORANGE}
    return {"marker": "^", "markersize": 7, "linestyle": "none", **hollow}


def meanings(axes: "Axes", reached: bool, missed: list[int], words: str) -> None:
    """What full and hollow marks mean; `missed` are the steps of what was not reached."""
    if reached:
        axes.plot([], [], label="memorised by a seed or more", **marker(True))
    if missed:
        axes.plot([], [], label=f"{words} in {max(missed):,} steps", **marker(False))


def ticks(axes: "Axes", names: dict[int, str]) -> None:
    """The values themselves, at most a dozen."""
    places = list(names)[:: -(-len(names) // TICKS)]
    pictures.ticks(axes.xaxis, places)
    axes.set_xticklabels([names[value] for value in places])
