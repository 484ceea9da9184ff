"""encoder as a table and a picture: the divergence of the best encoder of each dimension."""

from .. import pictures
from ..api.encoder import EncoderCurve
from ..machine.tables import number, plural
from ..pictures import BLUE, GREEN, GREY, ORANGE, PALE, Figure
from .terminal import Column, Group, Text, columns, counts, drawn, right

ROOM = 1.12  # beside the first and the last point
LOOK_UP = "look-up"


def view(curve: EncoderCurve) -> Group:
    title = (
        f"{curve.name}: {counts(curve, 'context')} with {counts(curve, 'distribution')} over "
        f"{plural(curve.vocabulary, 'token')}"
    )
    first, last = right("dimension", style="cyan"), right("seconds", style="dim")
    nats, how = right("divergence", "largest", no_wrap=True), Column("", no_wrap=True)
    table = columns(*first, *nats, how, "encoder", *last, space=3)
    for point in curve.points:
        sizes = number(point.dimension), f"{point.divergence:.4g}", f"{point.largest:.4g}"
        word = Text("exact", "green") if point.exact else Text("upper bound")
        table.add_row(*sizes, word, point.encoder, f"{point.seconds:.1f}")
    means = (
        f"nats per prediction, beside an entropy of {number(curve.entropy)}",
        f"exact        a closed form: 0 up to the gap of {curve.gap:g}",
        "upper bound  the best encoder found; there may be better ones",
        f"The infimum is 0 from dimension {number(curve.vanishing)} on.",
    )
    remarks = [Text(sentence, style="dim") for sentence in means]
    return Group(Text(title, style="bold"), Text(), table, Text(), *remarks, *drawn(curve.picture))


def draw(curve: EncoderCurve) -> Figure:
    """The divergence over the dimension, on logarithmic axes; below the gap it is at the gap."""
    from matplotlib.ticker import FuncFormatter, NullFormatter

    gap = curve.gap
    figure, axes = pictures.canvas(7.2, 5.0, "log")
    points = [(x.dimension, max(x.divergence, gap), x.exact) for x in curve.points]
    axes.plot([d for d, _, _ in points], [y for _, y, _ in points], color=PALE, linewidth=1.2)
    kinds = ((False, BLUE, "o", "upper bound"), (True, GREEN, "s", "exact, up to the gap"))
    for kind, colour, marker, name in kinds:
        shown = [(d, y) for d, y, exact in points if exact is kind]
        if shown:
            axes.plot(*zip(*shown, strict=True), marker, color=colour, markersize=6.5, label=name)
    tried = [(point.dimension, point.tried.get(LOOK_UP)) for point in curve.points]
    look_up = [(d, max(y, gap)) for d, y in tried if y is not None]
    if look_up:
        name = "look-up (Theorem 2)"
        axes.plot(*zip(*look_up, strict=True), ".--", color=ORANGE, linewidth=1, label=name)
    if curve.entropy > gap:
        name = "entropy of the data"
        axes.axhline(curve.entropy, color=GREY, linewidth=1, linestyle=":", label=name)
    dimensions = [point.dimension for point in curve.points]
    axes.set_xlim(dimensions[0] / ROOM, dimensions[-1] * ROOM)
    title = f"{curve.name}: {counts(curve, 'context')}, {plural(curve.vocabulary, 'token')}"
    pictures.entitle(axes, title, "dimension d", "divergence of the best encoder, nats")
    pictures.ticks(axes.xaxis, dimensions)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    pictures.legend(figure, 3, 9)
    return figure
