"""tradeoff as a table and a picture: parameters against bits per parameter."""

from .. import pictures
from ..api.tradeoff import COLUMNS, METHOD, PLAIN, Tradeoff
from ..machine.tables import number
from ..pictures import BLUE, GREY, INK, ORANGE, PALE, Figure
from ..theory.papers import cited
from .terminal import Column, Group, Text, columns, counts, drawn, right

MARKS = {"small": (BLUE, "o"), "faithful": (ORANGE, "s")}
ROOM = 1.12  # beside the first and the last point
RATE = (0, (5, 4))  # dashes


def view(result: Tradeoff) -> Group:
    data, plain = result.dataset, result.plain
    title = f"{METHOD} on {result.name}: {counts(data)}"
    limit, form, *sizes, remark = COLUMNS
    form_column, remarks = Column(form, no_wrap=True), Column(remark, style="dim")
    table = columns(*right(limit, style="cyan"), form_column, *right(*sizes), remarks)
    for row in (*result.rows, plain):
        first = (number(row.bits), row.form) if row is not plain else ("no limit", PLAIN)
        numbers = map(number, (row.nonzero, row.encoded, row.largest, row.depth))
        table.add_row(*first, *numbers, Text(row.reason or row.evidence or ""))
    needed = f"{number(round(result.entropy))} bits by their frequencies, the worst ones "
    needed += f"{number(round(result.information))}"
    need = Text(f"\nthese labels need {needed}", "dim")
    return Group(Text(title, style="bold"), Text(), table, need, *drawn(result.picture))


def draw(result: Tradeoff) -> Figure:
    """The rows on logarithmic axes, with the theorem's rate and the limit of information."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter

    figure, axes = pictures.canvas(8.8, 5.6, "log")
    plain, data = result.plain, result.dataset
    assert plain.largest is not None
    limits = sorted({plain.largest, *(row.bits for row in result.rows if row.bits is not None)})
    span = (max(1, limits[0]) / ROOM, limits[-1] * ROOM)
    for form, (colour, marker) in MARKS.items():
        points = [(x.bits, x.nonzero) for x in result.rows if x.form == form and x.nonzero]
        if points:
            x, y = zip(*points, strict=True)
            name, shape = f"limited-bits, {form} form", f"{marker}-"
            axes.plot(x, y, shape, color=colour, markersize=5.5, linewidth=1.8, label=name)
            guide = [y[0], y[0] * x[0] / span[1]]  # the rate through the first network
            axes.plot([x[0], span[1]], guide, color=colour, linestyle=RATE, linewidth=1, alpha=0.8)
    point = [plain.largest], [plain.nonzero or 0]
    ours = f"{PLAIN}, our own network without a limit"
    axes.plot(*point, "*", markersize=14, color=INK, label=ours)
    name = f"{cited('kajitsuka2025, Theorem F.1')}: the rate N/B"
    axes.plot([], [], color=PALE, linestyle=RATE, linewidth=1, label=name)
    if result.information:
        needed = [result.information / bits for bits in span]
        name = r"what the worst labels need, N log$_2$C / B"
        axes.plot(span, needed, color=GREY, linewidth=1.4, label=name)
    axes.set_xlim(*span)
    axes.set_ylim(bottom=max(0.5, axes.get_ylim()[0]))  # there is no half of a parameter
    title = f"{result.name}: {counts(data, 'context', 'label')}"
    pictures.entitle(axes, title, "B, bits per parameter", "nonzero parameters")
    whole = FuncFormatter(lambda value, _: f"{value:,.0f}" if value >= 1 else f"{value:g}")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(whole)
        axis.set_minor_formatter(NullFormatter())
    pictures.ticks(axes.xaxis, sorted({row.bits for row in result.rows if row.bits}))
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_minor_locator(FixedLocator([]))
    pictures.legend(figure, 2, 9)
    return figure
