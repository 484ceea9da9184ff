"""The least divergence of an encoder over its dimension, on logarithmic axes."""

from typing import TYPE_CHECKING

from ..pictures import BLUE, GREEN, GREY, INK, ORANGE, PALE, quiet

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ROOM = 1.12  # beside the first and the last point
LOOK_UP = "look-up"


def draw(answer: dict) -> "Figure":
    """The rows of an `encoder` answer; what is below the gap is drawn at the gap."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    layout = ConstrainedLayoutEngine(w_pad=0.14, h_pad=0.12)
    figure = Figure(figsize=(7.2, 5.0), layout=layout)
    axes = figure.add_subplot()
    axes.set_xscale("log")
    axes.set_yscale("log")
    _curves(axes, answer)
    dimensions = [row["dimension"] for row in answer["rows"]]
    axes.set_xlim(dimensions[0] / ROOM, dimensions[-1] * ROOM)
    _dress(axes, answer, dimensions)
    figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=9, labelcolor=INK)
    return figure


def _curves(axes: "Axes", answer: dict) -> None:
    """All values as a line, and marks that say what each is."""
    rows, gap = answer["rows"], answer["gap"]
    points = [(row["dimension"], max(row["divergence"], gap), row["exact"]) for row in rows]
    axes.plot([d for d, _, _ in points], [y for _, y, _ in points], color=PALE, linewidth=1.2)
    kinds = ((False, BLUE, "o", "upper bound"), (True, GREEN, "s", "exact, up to the gap"))
    for kind, colour, marker, name in kinds:
        shown = [(d, y) for d, y, exact in points if exact is kind]
        if shown:
            x, y = zip(*shown, strict=True)
            axes.plot(x, y, marker, color=colour, markersize=6.5, label=name)
    tried = [(row["dimension"], row["tried"].get(LOOK_UP)) for row in rows]
    look_up = [(d, max(y, gap)) for d, y in tried if y is not None]
    if look_up:
        x, y = zip(*look_up, strict=True)
        axes.plot(x, y, ".--", color=ORANGE, linewidth=1, label="look-up (Theorem 2)")
    if answer["entropy"] > gap:
        label = "entropy of the data"
        axes.axhline(answer["entropy"], color=GREY, linewidth=1, linestyle=":", label=label)


def _dress(axes: "Axes", answer: dict, dimensions: list[int]) -> None:
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter

    data = answer["dataset"]
    title = f"{data['name']}: {data['contexts']:,} contexts, {data['vocabulary']:,} tokens"
    axes.set_title(
        title.replace("$", r"\$"), loc="left", size=12.5, weight="bold", color=INK, pad=14
    )
    axes.set_xlabel("dimension d", color=INK)
    axes.set_ylabel("divergence of the best encoder, nats", color=INK)
    axes.xaxis.set_major_locator(FixedLocator(dimensions))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axes.xaxis.set_minor_locator(FixedLocator([]))
    axes.yaxis.set_minor_formatter(NullFormatter())
    quiet(axes)
