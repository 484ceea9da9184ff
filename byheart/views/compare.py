"""compare as a table and a picture: constructions, models and bounds for one dataset."""

import math
from collections.abc import Sequence
from itertools import accumulate
from shutil import get_terminal_size
from textwrap import fill, shorten
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Column, Table
from rich.text import Text

from .. import pictures
from ..api.compare import Comparison
from ..api.rows import LABELS, Row
from ..machine.tables import number, plural
from ..pictures import BLUE, FAINT, GREEN, GREY, INK, ORANGE, Axes, Figure
from ..theory.item import SIGNS
from .terminal import STYLES, columns, counts, drawn, right, rounded, sentences

Curve = tuple[Row, list[tuple[int, float]]]
FOLDERS = ("trained", "saved")  # kinds of models that have a folder
COLOURS = (BLUE, ORANGE, GREEN, INK)
MARKS = "osD^vPhX"
DASHES: dict[str, tuple] = {"at_least": (0, (4, 2)), "at_most": (0, (1, 1.5))}
NAME = 48  # letters of a line beside a row
LONGEST = 76  # letters beside a curve
OURS = ("hash-fold-retrieve", "seq2seq (small)")  # what compile takes if no method is named
WIDE = 110  # columns of a terminal that has room for all columns of the table
CURVES = 8  # of a picture
ROOM = 0.033  # of the height, for a name beside its line


def view(result: Comparison, all: bool = False) -> Group:
    """Labels and distributions apart.

    Distributions only of data that has any, of the models that were named, or with `all`.
    """
    parts: list[RenderableType] = []
    for step in result.steps:
        title = f"{result.name}: {counts(step.dataset)}"
        labels = [row for row in step.rows if row.stores == LABELS]
        parts += [Text(title, style="bold"), Text(), table(labels), Text()]
        others = [row for row in step.rows if row.stores != LABELS and row.applies]
        if named := [x for x in others if all or result.conflicts or x.kind in FOLDERS]:
            words = "Distributions: a context may have several labels"
            parts += [Text(words, style="bold"), Text(), table(named), Text()]
            others = [x for x in others if x not in named]
    if not (all or result.conflicts) and others:
        rest = plural(len(others), "row")
        words = f"Each context has one label; {rest} about distributions: --all"
        parts += [Text(words, style="dim"), Text()]
    left = [row for row in result.rows if not row.applies and row.kind != "bound"]
    if left:  # bounds that do not apply are left to `byheart bounds`
        reasons = sentences([(row.name, row.reason or "") for row in left], style="dim")
        parts += [Text("Does not apply", style="bold"), reasons, Text()]
    predicted = "predicted, unless they have evidence or a ~ (estimated); --build measures all"
    built = "measured" if result.built else predicted
    means = [
        f"Constructions are {built}. Of exact networks the parameters that are not 0 count, of "
        "decoders all.",
        "≥ bounds: with fewer it is impossible, for the worst labels or distributions; ≤ bounds: "
        "this many are enough (Kajitsuka & Sato do not count E_in, E_out and the embedding). "
        "Rates, and bounds that do not apply: byheart bounds --all --dataset.",
    ]
    if any(row.bits is not None and row.kind != "bound" for row in result.rows):
        means.append("Bits of a network are those of the code word for all of it.")
    means += [
        f"From about {about(crossing.contexts)} contexts on {crossing.smaller} is smaller than "
        f"{crossing.larger}, by closed forms for random data of this shape."
        for crossing in result.crossings
    ]
    if any(row.kind == "trained" for row in result.rows):
        means.append(
            "Of a trained model the parameters that were trained count; bits are those of the "
            "certified network."
        )
    return Group(*parts, *(Text(words, style="dim") for words in means), *drawn(result.picture, ""))


def about(count: float) -> str:
    """Two digits of a large number.

    >>> about(74_794_362)
    '75,000,000'
    """
    return f"{float(f'{count:.1e}'):,.0f}"


def table(rows: Sequence[Row]) -> Table:
    """What applies, without rates: a construction has a size, a bound a direction."""
    built = sum(row.dense is not None for row in rows) > 1
    full = built and get_terminal_size().columns >= WIDE
    names = ["parameters", "dense", "bits", "longest", "units", "depth", "seconds"]
    sizes = right(*(names if full else ("parameters", "bits", "units", "depth")), no_wrap=True)
    shown = columns(*sizes, Column("evidence", no_wrap=True), "")
    for row in rows:
        bound, word = row.kind == "bound", row.evidence
        if bound and row.parameters is None and row.bits is None or not row.applies:
            continue
        total, bits = (number(row.size(rounded(size))) for size in (row.parameters, row.bits))
        title = Text(row.title, style="dim" if bound else "cyan")
        unknown = row.kind == "construction" and row.parameters is None
        if unknown or row.kind in (*FOLDERS, "measured"):
            title.append(f"  {row.reason}", "dim")
        units, depth = number(row.units), number(row.depth)
        seconds = "-" if row.seconds is None else f"{row.seconds:.1f}"
        wide = (total, number(row.dense), bits, number(row.longest), units, depth, seconds)
        shown.add_row(
            *(wide if full else (total, bits, units, depth)),
            Text(word, style=STYLES.get(word, "")) if word else Text("-", style="dim"),
            title,
        )
    return shown


def draw(result: Comparison) -> Figure:
    """Parameters of all rows: over the contexts if there are several steps, or for one dataset."""
    rows = [row for row in result.rows if row.applies and row.parameters]
    rows = [row for row in rows if result.conflicts or row.stores == LABELS]
    grows = len(result.steps) > 1 or bool(result.lines)
    figure, axes = pictures.canvas(10.4, 7.6 if grows else 1.8 + 0.3 * len(rows))
    if grows:
        curves(axes, result)
    else:
        dots(axes, rows)
    title = f"{result.name}: {counts(result.dataset, 'context', 'label')}"
    signs = "parameters   ★ our default   ● construction   ▸ at least   ◂ at most"
    names = ("contexts", "parameters") if grows else (signs, "")
    pictures.entitle(axes, title, *names, 8.5)
    return figure


def dots(axes: Axes, rows: Sequence[Row]) -> None:
    """One line per row, the smallest on top; our own network is a star."""
    for place, row in enumerate(rows):
        mark, colour, size = "o", BLUE, 6.5
        if row.kind == "bound":
            mark, colour = {"at_least": ">", "at_most": "<"}[row.direction], GREY
        elif row.name in OURS:
            mark, colour, size = "*", INK, 12.0
        axes.plot([row.parameters or 0], [place], mark, color=colour, markersize=size)
    axes.set_yticks(range(len(rows)), [fill(row.title, NAME) for row in rows])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xscale("log")


def curves(axes: Axes, result: Comparison) -> None:
    """One line per name, over the contexts: constructions with marks, bounds dashed.

    Closed forms go on as thin lines, and bounds are left out then. Crossings are circles. The
    names stand at the right, as near to the ends of their lines as there is room.
    """
    forms = {line.name: line.points for line in result.lines}
    lines: dict[str, Curve] = {}
    for step in result.steps:
        for row in step.rows:
            out = (forms and row.kind == "bound") or (row.stores != LABELS and not result.conflicts)
            if row.applies and row.parameters and not out:
                points = lines.setdefault(row.name, (row, []))[1]
                points.append((step.dataset.contexts or 0, row.parameters))
    axes.set_xscale("log")
    axes.set_yscale("log")
    names, constructions = [], 0
    for row, points in few(list(lines.values())):
        if row.kind == "bound":
            colour, name = GREY, f"{SIGNS[row.direction]} {row.title}"
            style: dict[str, Any] = {"linestyle": DASHES[row.direction], "linewidth": 1.0}
        else:
            colour, name = COLOURS[constructions % len(COLOURS)], row.name
            marker = MARKS[constructions % len(MARKS)]
            style = {"marker": marker, "markersize": 5.0, "linewidth": 1.6}
            constructions += 1
        if row.name in OURS:
            colour, name = INK, f"{name}, our own network"
            style = {"marker": "*", "markersize": 11.0, "linewidth": 2.2}
        axes.plot(*zip(*points, strict=True), color=colour, **style)
        if form := forms.get(row.name):
            axes.plot(*zip(*form, strict=True), color=colour, linewidth=0.9, linestyle=(0, (5, 1)))
            points = [*points, form[-1]]
        names.append((points[-1], shorten(name, LONGEST, placeholder=" …"), colour))
    low, high = (math.log(limit) for limit in axes.get_ylim())
    ends = sorted(names, key=lambda name: name[0][1])
    heights = [(math.log(point[1]) - low) / (high - low) for point, _, _ in ends]
    thread = {"arrowstyle": "-", "color": FAINT, "linewidth": 0.6, "relpos": (0, 0.5)}
    for place, (end, name, colour) in zip(spread(heights), ends, strict=True):
        look: dict[str, Any] = {"va": "center", "size": 7.5, "color": colour}
        look |= {"textcoords": "axes fraction", "annotation_clip": False}
        axes.annotate(name, end, (1.04, place), arrowprops=thread, **look)
    contexts = sorted({step.dataset.contexts or 0 for step in result.steps})
    if forms:
        reached = [x for x, _ in result.lines[0].points]
        for crossing in result.crossings:  # the sentences below the table say which they are
            line = forms.get(crossing.smaller)
            if line is not None and round(crossing.contexts) <= reached[-1]:
                height = min(y for x, y in line if x >= round(crossing.contexts))
                look = {"color": INK, "markersize": 9.0, "fillstyle": "none"}
                axes.plot([round(crossing.contexts)], [height], "o", **look)
        contexts = reached[::2]
    pictures.ticks(axes.xaxis, contexts)
    axes.set_xticklabels([f"{count:,}" for count in contexts], rotation=30 if forms else 0)


def few(lines: list[Curve]) -> list[Curve]:
    """Our own, the tightest bounds and the smallest constructions: as many as can be told apart."""
    order = sorted(lines, key=lambda row: row[1][-1][1])
    bounds = [row for row in order if row[0].kind == "bound"]
    needed = [row for row in bounds if row[0].direction == "at_least"][-1:]
    enough = [row for row in bounds if row[0].direction == "at_most"][:1]
    named = [row for row in order if row[0].kind in FOLDERS or row[0].name in OURS]
    kept = [*named, *needed, *enough]
    kept += [row for row in order if row not in kept and row not in bounds][: CURVES - len(kept)]
    return [row for row in lines if row in kept]


def spread(heights: list[float]) -> list[float]:
    """The heights, increasing, moved as little as needed to be ROOM apart.

    >>> [round(x, 3) for x in spread([0.1, 0.1, 0.5])]
    [0.1, 0.133, 0.5]
    """
    raised = list(accumulate(heights, lambda below, height: max(height, below + ROOM)))
    # what went over the top presses the others down
    pressed = accumulate(raised[::-1], lambda above, x: min(x, above - ROOM), initial=1 + ROOM)
    return list(pressed)[:0:-1]
