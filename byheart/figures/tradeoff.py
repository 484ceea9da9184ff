"""Parameters against bits a parameter, on logarithmic axes."""

from typing import TYPE_CHECKING

from ..pictures import BLUE, GREY, INK, ORANGE, PALE, quiet

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMS = {"small": (BLUE, "o"), "faithful": (ORANGE, "s")}
ROOM = 1.12  # beside the first and the last point


def draw(answer: dict) -> "Figure":
    """The rows of a `tradeoff` answer, with the theorem's rate and the limit of information."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    layout = ConstrainedLayoutEngine(w_pad=0.14, h_pad=0.12)
    figure = Figure(figsize=(7.2, 5.4), layout=layout)
    axes = figure.add_subplot()
    axes.set_xscale("log")
    axes.set_yscale("log")
    plain = answer["plain"]
    limits = sorted({plain["largest"], *(row["bits"] for row in answer["rows"])})
    span = (max(1, limits[0]) / ROOM, limits[-1] * ROOM)
    for form in FORMS:
        _curve(axes, [row for row in answer["rows"] if row["form"] == form], span[1])
    point = [plain["largest"]], [plain["nonzero"]]
    axes.plot(*point, "*", markersize=14, color=INK, label=plain["method"])
    axes.plot(
        [], [], color=PALE, linestyle=(0, (5, 4)), linewidth=1, label="rate of Theorem F.1, N/B"
    )
    if answer["information"]:
        needed = [answer["information"] / bits for bits in span]
        axes.plot(
            span, needed, color=GREY, linewidth=1.4, label=r"information limit, N log$_2$C / B"
        )
    axes.set_xlim(*span)
    _dress(axes, answer)
    figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=9, labelcolor=INK)
    return figure


def _curve(axes: "Axes", rows: list[dict], end: float) -> None:
    """One form, and the theorem's rate through its first network."""
    built = [(row["bits"], row["nonzero"]) for row in rows if row["nonzero"] is not None]
    if not built:
        return
    colour, marker = FORMS[rows[0]["form"]]
    name = f"limited-bits, {rows[0]['form']} form"
    x, y = zip(*built, strict=True)
    axes.plot(x, y, f"{marker}-", color=colour, markersize=5.5, linewidth=1.8, label=name)
    guide = [y[0], y[0] * x[0] / end]
    axes.plot([x[0], end], guide, color=colour, linestyle=(0, (5, 4)), linewidth=1, alpha=0.8)


def _dress(axes: "Axes", answer: dict) -> None:
    from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter

    data = answer["dataset"]
    title = f"{data['name']}: {data['contexts']:,} contexts, {data['labels']:,} labels"
    axes.set_title(
        title.replace("$", r"\$"), loc="left", size=12.5, weight="bold", color=INK, pad=14
    )
    axes.set_xlabel("B, bits a parameter", color=INK)
    axes.set_ylabel("nonzero parameters", color=INK)
    whole = FuncFormatter(lambda value, _: f"{value:,.0f}" if value >= 1 else f"{value:g}")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(whole)
        axis.set_minor_formatter(NullFormatter())
    axes.xaxis.set_major_locator(FixedLocator(sorted({row["bits"] for row in answer["rows"]})))
    axes.xaxis.set_minor_locator(FixedLocator([]))
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_minor_locator(FixedLocator([]))
    quiet(axes)
