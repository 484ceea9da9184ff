"""How far sizes are from memorising, or how large the smallest is; what is censored stands apart.

One combination of other axes: the distance against the searched axis, with the range over seeds.
A training that diverged is farther off than any number: its bar goes to the top, with a triangle.
Several: the parameters of the smallest that memorises, from the luckiest seed to the unluckiest.
What was not reached is a hollow triangle that points upwards: the smallest may lie anywhere above.
So a bar ends in one, at the largest size tried, where a seed reached nothing.
"""

from collections.abc import Sequence

from .. import pictures
from ..lab.measuring import Measurement
from ..lab.sweeps.results import Cell
from ..machine.tables import plural
from ..pictures import BLUE, GREEN, INK, ORANGE, PALE, Axes, Figure

LABELS = {
    "gap": "gap, share of the entropy",
    "loss": "loss above the least, nats",
    "accuracy": "accuracy",
}
COLOURS = (BLUE, GREEN, INK, PALE)
FLOOR = 1e-9  # a logarithmic axis has no 0
TICKS = 12


def draw(result: Measurement) -> Figure:
    figure, axes = pictures.canvas(7.2, 4.8)
    cells = [cell for cell in result.cells if cell.points]
    if cells and result.measures_capacity:
        names = memorised(axes, cells)
    elif len(cells) > 1:
        names = smallest(axes, cells)
    else:
        names = distances(axes, result, cells[0])
    data, counts = result.dataset, {name: len(values) for name, values in result.sweep.axes}
    upto = "up to " if counts.get("sequences", 1) > 1 else ""
    size = f"{upto}{plural(data.contexts, 'context')}"
    pictures.entitle(axes, f"{result.sweep.architecture} on {data.name}: {size}", *names, 8.5)
    pictures.legend(figure, 2, 8.5)
    return figure


def memorised(axes: Axes, cells: Sequence[Cell]) -> tuple[str, str]:
    """Bits memorised against the information of the data; as below, it returns the axes' names."""
    axes.set_xscale("log")
    axes.set_yscale("log")
    reached, missed, top = False, [], 1.0
    for place, cell in enumerate(cells):
        colour = COLOURS[place % len(COLOURS)]
        points = []
        for point in cell.points:
            bits = point.spread("bits")
            if bits.median is None:
                continue
            points.append((point.information, bits.median))
            ends = [bits.low or bits.median, bits.high or bits.median]
            settled = point.reached == len(point.results)
            mark = marker(settled, colour if settled else None)
            bar(axes, point.information, ends, bits.median, colour, mark)
            reached, top = reached or settled, max(top, point.information)
            missed += [] if settled else [point.steps]
        if points:
            name = f"{cell.points[0].parameters:,} parameters"
            axes.plot(*zip(*points, strict=True), color=colour, linewidth=1.2, label=name)
    low = min(axes.get_xlim()[0], top)
    axes.plot([low, top], [low, top], color=PALE, linewidth=1, linestyle=":", label="all of it")
    if reached:
        axes.plot([], [], label="twice the steps change it little", **marker(True, INK))
    if missed:
        label = f"more than {max(missed):,} steps may memorise more"
        axes.plot([], [], label=label, **marker(False))
    return "information of the data, bits", "bits memorised"


def distances(axes: Axes, result: Measurement, cell: Cell) -> tuple[str, str]:
    """Median and range over seeds against the axis: full where a seed memorises."""
    criterion, points = result.sweep.criterion, cell.points
    kind = criterion.kind
    spreads = {point.value: point.spread(kind) for point in points}
    axes.set_xscale("log")
    if kind != "accuracy":
        axes.set_yscale("log")
    for point in points:
        # the mark stands at the median; where that diverged, at the best seed if it memorises
        spread, reached = spreads[point.value], bool(point.reached)
        known = [max(FLOOR, x) for x in (spread.median, spread.low, spread.high) if x is not None]
        mark = marker(reached) if spread.median is not None or reached else None
        if known:
            bar(axes, point.value, known, known[0], BLUE, mark)
    share = cell.facts.best_accuracy if kind == "accuracy" and cell.facts else 1
    limit = criterion.value * share
    axes.axhline(limit, color=PALE, linewidth=1, linestyle=":", label="counts as memorised")
    diverged = [(x, spread.low) for x, spread in spreads.items() if spread.high is None]
    bottom, top = axes.get_ylim()
    for place, low in diverged:  # up to the top of what is drawn so far
        ends = [top if low is None else max(FLOOR, low), top]
        bar(axes, place, ends, top, BLUE, {**marker(False, PALE), "clip_on": False})
    if diverged:
        axes.set_ylim(bottom, top)
        axes.plot([], [], label="a training blew up", **marker(False, PALE))
    missed = [point.steps for point in points if not point.reached]
    meanings(axes, any(point.reached for point in points), missed, "not reached")
    ticks(axes, {x.value: f"{x.value:,}\n{x.parameters:,}" for x in points})
    name = result.sweep.searched[0].replace("_", " ")
    return f"{name}, and parameters below", LABELS[kind]


def smallest(axes: Axes, cells: Sequence[Cell]) -> tuple[str, str]:
    """Parameters of the smallest against the first other axis; bars from best seed to worst."""
    first, *rest = cells[0].at
    colours: dict[str, str] = {}
    steps = []  # of the seeds that reached nothing so far
    for cell in cells:
        at, seeds = cell.at, cell.by_seed.values()
        own = ", ".join(f"{name.replace('_', ' ')} {at[name]:,}" for name in rest)
        colour = colours.setdefault(own, COLOURS[len(colours) % len(COLOURS)])
        parameters = {point.value: point.parameters for point in cell.points}
        reached = [parameters[x.smallest] for x in seeds if x.smallest is not None]
        tried = [parameters[x.largest] for x in seeds if x.smallest is None]
        steps += [x.steps for x in seeds if x.smallest is None]
        if reached:
            bar(axes, at[first], [*reached, *tried], min(reached), colour, marker(True, colour))
        if tried:
            bar(axes, at[first], tried, max(tried), colour, marker(False))
    for own, colour in colours.items():
        axes.plot([], [], color=colour, linewidth=1.2, label=own or None)
    meanings(axes, any(cell.smallest for cell in cells), steps, "not reached by a seed or more")
    ticks(axes, {value: f"{value:,}" for value in sorted({cell.at[first] for cell in cells})})
    axes.set_ylim(0, 1.08 * axes.get_ylim()[1])
    return first.replace("_", " "), "parameters of the smallest that memorises"


def bar(axes: Axes, x: float, ends: list, height: float, colour: str, mark: dict | None) -> None:
    """A mark, if there is one, on a line from the smallest end to the largest."""
    axes.plot([x, x], [min(ends), max(ends)], color=colour, linewidth=1.2, alpha=0.6)
    if mark is not None:
        axes.plot([x], [height], **mark)


def marker(reached: bool, colour: str | None = None) -> dict:
    if reached:
        return {"marker": "o", "color": colour or BLUE, "markersize": 6, "linestyle": "none"}
    hollow = {"markerfacecolor": "white", "markeredgecolor": colour or ORANGE}
    return {"marker": "^", "markersize": 7, "linestyle": "none", **hollow}


def meanings(axes: Axes, reached: bool, missed: list[int], words: str) -> None:
    """What full and hollow marks mean; `missed` are the steps of what was not reached."""
    if reached:
        axes.plot([], [], label="memorised by a seed or more", **marker(True))
    if missed:
        axes.plot([], [], label=f"{words} in {max(missed):,} steps", **marker(False))


def ticks(axes: Axes, names: dict[int, str]) -> None:
    places = list(names)[:: -(-len(names) // TICKS)]
    pictures.ticks(axes.xaxis, places)
    axes.set_xticklabels([names[value] for value in places])
