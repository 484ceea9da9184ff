"""compare: every construction and every bound for a dataset."""

import math
from pathlib import Path
from shutil import get_terminal_size
from textwrap import fill, shorten
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from .. import pictures
from ..compiler.comparing import ESTIMATED, ORDERS, compare, titled
from ..data.load import load
from ..errors import ByheartError
from ..models.folder.read import open as open_folder
from ..pictures import BLUE, FAINT, GREEN, GREY, INK, ORANGE
from ..theory.item import SIGNS
from . import options
from .messages import flags, translate
from .output import STYLES, columns, counts, drawn, finish, number, pictured, sentences
from .progress import watching

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FOLDERS = ("trained", "saved")  # kinds of models that --with names
COLOURS = (BLUE, ORANGE, GREEN, INK)
MARKS = "osD^vPhX"
DASHES: dict[str, tuple] = {"at_least": (0, (4, 2)), "at_most": (0, (1, 1.5))}
ABOUT = (ESTIMATED, flags(ESTIMATED))  # as the library says it, and as the command line does
NAME = 48  # letters of a line beside a row
LONGEST = 76  # letters beside a curve
OURS = ("hash-fold-retrieve", "seq2seq (small)")  # what compile takes if no method is named
WIDE = 110  # columns of a terminal that has room for all columns of the table
ROOM = 0.033  # of the height, for a name beside its line


@options.reading
def command(
    data: options.Data,
    loading: options.Loading,
    sweep: Annotated[
        str | None,
        typer.Option(metavar="N,N,...", help="Repeat for the first N sequences, for each N."),
    ] = None,
    build: Annotated[
        bool, typer.Option("--build", help="Build and verify each: measured, not predicted.")
    ] = False,
    plot: options.Picture = None,
    models: Annotated[
        list[Path] | None,
        typer.Option(
            "--with", metavar="DIR", help="A model folder, such as a trained one; repeatable."
        ),
    ] = None,
    sort: Annotated[
        str,
        typer.Option(
            metavar="COLUMN",
            help=f"Order of the rows: {', '.join(ORDERS)}.",
            autocompletion=options.beginning(ORDERS),
        ),
    ] = "parameters",
    until: Annotated[
        float | None,
        typer.Option(
            metavar="N", help="Draw closed forms up to N contexts, such as 1e9 (with --plot)."
        ),
    ] = None,
    positions: options.Positions = None,
    on_conflict: options.OnConflict = "refuse",
    seed: options.Seed = 0,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Every construction and every bound for a dataset, side by side, smallest first.

    Sizes in closed form are predicted. The default method is built, or estimated if that takes
    long; other sizes that a search finds are known with --build only.
    Models named by --with are verified on this data and listed among them.
    """
    sizes = options.whole_numbers(sweep, "--sweep", "100,1000")
    picture = pictures.checked(plot, force)
    with watching() as watch:
        watch.stage("loading")
        opened = {}
        for path in models or ():
            if str(path) in opened:
                raise ByheartError(f"--with names {path} twice.")
            opened[str(path)] = open_folder(path)
        dataset = load(data, **loading)
        how: dict[str, Any] = {"positions": positions, "on_conflict": on_conflict, "seed": seed}
        how |= {"sort": sort, "until": None if until is None else int(until)}
        answer = compare(dataset, sizes, build, opened, watch=watch, **how).json()
        answer["dataset"] = {"name": data.name, **answer["dataset"]}
        for step in (answer, *answer["sweep"]):
            translate(step["rows"])
        pictured(answer, draw, picture, watch)
    finish(answer, json, view)


def view(answer: dict) -> Group:
    """The table of each step, and at the end what does not apply."""
    parts: list[RenderableType] = []
    name, rows = answer["dataset"]["name"], answer["rows"]
    for step in answer["sweep"] or [{"dataset": answer["dataset"], "rows": rows}]:
        title = f"{name}: {counts(step['dataset'])}"
        parts += [Text(title, style="bold"), Text(), table(step["rows"]), Text()]
    left = [row for row in rows if not row["applies"] and row["kind"] != "bound"]
    if left:  # bounds that do not apply are left to `byheart bounds`
        reasons = sentences([(row["name"], row["reason"]) for row in left], style="dim")
        parts += [Text("Does not apply", style="bold"), reasons, Text()]
    predicted = "predicted, unless they have evidence or a ~ (estimated); --build measures all"
    built = "measured" if answer["built"] else predicted
    means = [
        f"Constructions are {built}. Of exact networks the parameters that are not 0 count, of "
        "decoders all.",
        "≥ bounds: with fewer it is impossible, for the worst labels or distributions; ≤ bounds: "
        "this many are enough (Kajitsuka & Sato do not count E_in, E_out and the embedding). "
        "Rates, and bounds that do not apply: byheart bounds --all --dataset.",
    ]
    means += [
        f"From about {about(found['contexts'])} contexts on {found['smaller']} is smaller than "
        f"{found['larger']}, by closed forms for random data of this shape."
        for found in answer["crossings"]
    ]
    if any(row["kind"] == "trained" for row in rows):
        means.append(
            "Of a trained model the parameters that were trained count; bits are those of the "
            "certified network."
        )
    return Group(*parts, *(Text(words, style="dim") for words in means), *drawn(answer, ""))


def about(count: float) -> str:
    """Two digits of a large number.

    >>> about(74_794_362)
    '75,000,000'
    """
    return f"{float(f'{count:.1e}'):,.0f}"


def table(rows: list[dict]) -> Table:
    """What applies, without rates: a construction has a size, a bound a direction."""
    shown = columns()
    built = sum(row["dense"] is not None for row in rows) > 1
    full = built and get_terminal_size().columns >= WIDE
    names = ["parameters", "dense", "bits", "longest", "units", "depth", "seconds"]
    for name in names if full else ["parameters", "bits", "units", "depth"]:
        shown.add_column(name, justify="right", no_wrap=True)
    shown.add_column("evidence", no_wrap=True)
    shown.add_column("")
    for row in rows:
        bound, word = row["kind"] == "bound", row["evidence"]
        rate = bound and row["parameters"] is None and row["bits"] is None
        if rate or not row["applies"]:
            continue
        sizes = []
        for size in (row["parameters"], row["bits"]):
            rounded = round(size) if isinstance(size, float) and size >= 1000 else size
            sign = f"{SIGNS[row['direction']]} " if bound and size is not None else ""
            sign = "~ " if size is not None and row["reason"] in ABOUT else sign
            sizes.append(f"{sign}{number(rounded)}")
        title = Text(titled(row["name"], row["kind"]), style="dim" if bound else "cyan")
        unknown = row["kind"] == "construction" and row["parameters"] is None
        if unknown or row["kind"] in (*FOLDERS, "measured"):
            title.append(f"  {row['reason']}", "dim")
        total, bits = sizes
        units, depth = number(row["units"]), number(row["depth"])
        seconds = "-" if row["seconds"] is None else f"{row['seconds']:.1f}"
        dense, longest = number(row["dense"]), number(row["longest"])
        wide = (total, dense, bits, longest, units, depth, seconds)
        shown.add_row(
            *(wide if full else (total, bits, units, depth)),
            Text(word, style=STYLES.get(word, "")) if word else Text("-", style="dim"),
            title,
        )
    return shown


def draw(answer: dict) -> "Figure":
    """Parameters of all rows: over the contexts if there are several steps, or for one dataset."""
    steps, data = answer["sweep"], answer["dataset"]
    rows = [row for row in answer["rows"] if row["applies"] and row["parameters"]]
    grows = len(steps) > 1 or bool(answer["lines"])
    figure, axes = pictures.canvas(10.4, 7.6 if grows else 1.8 + 0.3 * len(rows))
    if grows:
        one = [{"dataset": data, "rows": answer["rows"]}]
        curves(axes, steps or one, answer["lines"], answer["crossings"])
    else:
        dots(axes, rows)
    title = f"{data['name']}: {counts(data, 'context', 'label')}"
    pictures.entitle(axes, title)
    pictures.quiet(axes, 8.5)
    return figure


def dots(axes: "Axes", rows: list[dict]) -> None:
    """One line per row, the smallest on top; our own network is a star."""
    for place, row in enumerate(rows):
        mark, colour, size = "o", BLUE, 6.5
        if row["kind"] == "bound":
            mark, colour = {"at_least": ">", "at_most": "<"}[row["direction"]], GREY
        elif row["name"] in OURS:
            mark, colour, size = "*", INK, 12.0
        axes.plot([row["parameters"]], [place], mark, color=colour, markersize=size)
    axes.set_yticks(
        range(len(rows)), [fill(titled(row["name"], row["kind"]), NAME) for row in rows]
    )
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xscale("log")
    signs = "parameters   ★ our default   ● construction   ▸ at least   ◂ at most"
    axes.set_xlabel(signs, color=INK)


def curves(axes: "Axes", steps: list[dict], forms: list[dict], crossings: list[dict]) -> None:
    """One line per name, over the contexts: constructions with marks, bounds dashed.

    forms      closed forms that go on, thin, and alone then: without bounds
    crossings  named where they are

    The names stand at the right, as near to the ends of their lines as there is room.
    """
    lines: dict[str, tuple[dict, list[tuple[int, float]]]] = {}
    for step in steps:
        for row in step["rows"]:
            if row["applies"] and row["parameters"] and not (forms and row["kind"] == "bound"):
                points = lines.setdefault(row["name"], (row, []))[1]
                points.append((step["dataset"]["contexts"], row["parameters"]))
    axes.set_xscale("log")
    axes.set_yscale("log")
    names, constructions = [], 0
    for row, points in lines.values():
        if row["kind"] == "bound":
            colour, name = GREY, f"{SIGNS[row['direction']]} {titled(row['name'], 'bound')}"
            style: dict[str, Any] = {"linestyle": DASHES[row["direction"]], "linewidth": 1.0}
        else:
            colour, name = COLOURS[constructions % len(COLOURS)], row["name"]
            marker = MARKS[constructions % len(MARKS)]
            style = {"marker": marker, "markersize": 5.0, "linewidth": 1.6}
            constructions += 1
        if row["name"] in OURS:
            colour, name = INK, f"{name}, our own network"
            style = {"marker": "*", "markersize": 11.0, "linewidth": 2.2}
        axes.plot(*zip(*points, strict=True), color=colour, **style)
        form: list = next((x["points"] for x in forms if x["name"] == row["name"]), [])
        if form:
            axes.plot(*zip(*form, strict=True), color=colour, linewidth=0.9, linestyle=(0, (5, 1)))
            points = [*points, tuple(form[-1])]
        names.append((points[-1], shorten(name, LONGEST, placeholder=" …"), colour))
    low, high = (math.log(limit) for limit in axes.get_ylim())
    ends = sorted(names, key=lambda name: name[0][1])
    heights = [(math.log(point[1]) - low) / (high - low) for point, _, _ in ends]
    thread = {"arrowstyle": "-", "color": FAINT, "linewidth": 0.6, "relpos": (0, 0.5)}
    for place, (end, name, colour) in zip(spread(heights), ends, strict=True):
        look: dict[str, Any] = {"va": "center", "size": 7.5, "color": colour}
        look |= {"textcoords": "axes fraction", "annotation_clip": False}
        axes.annotate(name, end, (1.04, place), arrowprops=thread, **look)
    for found in crossings:
        if forms and found["contexts"] <= forms[0]["points"][-1][0]:
            line = next((x["points"] for x in forms if x["name"] == found["smaller"]), None)
            if line is not None:
                height = min(y for x, y in line if x >= found["contexts"])
                where = about(found["contexts"])
                words = f"from {where} on\n{found['smaller']}\nbelow {found['larger']}"
                axes.annotate(words, (found["contexts"], height), size=7, color=INK, va="top")
    contexts = sorted({step["dataset"]["contexts"] for step in steps})
    if forms:
        contexts = [x for x, _ in forms[0]["points"]][::2]
    pictures.ticks(axes.xaxis, contexts)
    axes.set_xticklabels([f"{count:,}" for count in contexts], rotation=30 if forms else 0)
    pictures.label(axes, "contexts", "parameters")


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
