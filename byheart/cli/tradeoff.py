"""tradeoff: parameters against bits per parameter."""

from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.console import Group
from rich.text import Text

from .. import pictures
from ..compiler.trading import COLUMNS, tradeoff
from ..data.load import load
from ..pictures import BLUE, GREY, INK, ORANGE, PALE
from ..theory.papers import cited
from . import options
from .messages import translate
from .output import columns, counts, drawn, finish, number, pictured
from .progress import watching

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MARKS = {"small": (BLUE, "o"), "faithful": (ORANGE, "s")}
ROOM = 1.12  # beside the first and the last point
RATE = (0, (5, 4))  # dashes


@options.reading
def command(
    data: options.Data,
    loading: options.Loading,
    bits: Annotated[
        str | None, typer.Option(metavar="B,B,...", help="Limits (default: smallest to 64).")
    ] = None,
    form: Annotated[str, typer.Option(help="small (ours), faithful or both.")] = "small",
    positions: options.Positions = None,
    on_conflict: options.OnConflict = "refuse",
    seed: options.Seed = 0,
    plot: options.PictureOutput = None,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Compare parameters with bits per parameter, for one dataset."""
    limits = options.whole_numbers(bits, "--bits", "16,24,32")
    picture = pictures.checked(plot, force)
    with watching() as watch:
        watch.stage("loading")
        dataset = load(data, **loading)
        watch.stage("building")
        how = {"positions": positions, "on_conflict": on_conflict, "seed": seed}
        answer = tradeoff(dataset, limits, form, watch=watch, **how).json()
        answer["dataset"]["name"] = data.name
        translate(answer["rows"])
        pictured(answer, draw, picture, watch)
    finish(answer, json, view)


def view(answer: dict) -> Group:
    """One row per limit, and the network without one."""
    data, plain = answer["dataset"], answer["plain"]
    title = f"{answer['method']} on {data['name']}: {counts(data)}"
    table = columns()
    for name in COLUMNS:
        style = {COLUMNS[0]: "cyan", "": "dim"}.get(name, "")
        justify: Literal["left", "right"] = "left" if name in ("form", "") else "right"
        table.add_column(name, justify=justify, style=style, no_wrap=name == "form")
    keys = ("nonzero", "total", "largest", "depth")
    for row in answer["rows"]:
        remark = row["reason"] or row["evidence"]
        sizes = [number(row[key]) for key in keys]
        table.add_row(number(row["bits"]), row["form"], *sizes, Text(remark))
    sizes = [number(plain[key]) for key in keys]
    table.add_row("no limit", plain["method"], *sizes, plain["evidence"])
    needed = f"{number(round(answer['entropy']))} bits, the worst ones "
    needed += f"{number(round(answer['information']))}"
    limit = Text(f"\nthese labels need {needed}", "dim")
    return Group(Text(title, style="bold"), Text(), table, limit, *drawn(answer))


def draw(answer: dict) -> "Figure":
    """The rows on logarithmic axes, with the theorem's rate and the limit of information."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter

    figure, axes = pictures.canvas(8.8, 5.6, "log")
    plain, data = answer["plain"], answer["dataset"]
    limits = sorted({plain["largest"], *(row["bits"] for row in answer["rows"])})
    span = (max(1, limits[0]) / ROOM, limits[-1] * ROOM)
    for form, (colour, marker) in MARKS.items():
        rows = [row for row in answer["rows"] if row["form"] == form and row["nonzero"] is not None]
        if rows:
            x, y = [row["bits"] for row in rows], [row["nonzero"] for row in rows]
            name, shape = f"limited-bits, {form} form", f"{marker}-"
            axes.plot(x, y, shape, color=colour, markersize=5.5, linewidth=1.8, label=name)
            guide = [y[0], y[0] * x[0] / span[1]]  # the rate through the first network
            axes.plot([x[0], span[1]], guide, color=colour, linestyle=RATE, linewidth=1, alpha=0.8)
    point = [plain["largest"]], [plain["nonzero"]]
    ours = f"{plain['method']}, our own network without a limit"
    axes.plot(*point, "*", markersize=14, color=INK, label=ours)
    name = f"{cited('kajitsuka2025, Theorem F.1')}: the rate N/B"
    axes.plot([], [], color=PALE, linestyle=RATE, linewidth=1, label=name)
    if answer["information"]:
        needed = [answer["information"] / bits for bits in span]
        name = r"what the worst labels need, N log$_2$C / B"
        axes.plot(span, needed, color=GREY, linewidth=1.4, label=name)
    axes.set_xlim(*span)
    axes.set_ylim(bottom=max(0.5, axes.get_ylim()[0]))  # there is no half of a parameter
    title = f"{data['name']}: {counts(data, 'context', 'label')}"
    pictures.entitle(axes, title)
    pictures.label(axes, "B, bits per parameter", "nonzero parameters")
    whole = FuncFormatter(lambda value, _: f"{value:,.0f}" if value >= 1 else f"{value:g}")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(whole)
        axis.set_minor_formatter(NullFormatter())
    pictures.ticks(axes.xaxis, sorted({row["bits"] for row in answer["rows"]}))
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_minor_locator(FixedLocator([]))
    pictures.quiet(axes)
    pictures.legend(figure, 2, 9)
    return figure
