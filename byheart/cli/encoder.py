"""encoder: how close to the data a model of dimension d can come."""

from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Group
from rich.text import Text

from .. import pictures
from ..data.load import load
from ..encoders.curve import GAP, encoder
from ..pictures import BLUE, GREEN, GREY, ORANGE, PALE
from .options import Data, Force, Json, Loading, PictureOutput, Seed, reading, whole_numbers
from .output import columns, drawn, finish, number, pictured, plural
from .progress import watching

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROOM = 1.12  # beside the first and the last point
LOOK_UP = "look-up"


@reading
def command(
    data: Data,
    loading: Loading,
    dimensions: Annotated[
        str | None, typer.Option(metavar="D,D,...", help="Default: from 2 to where it is 0.")
    ] = None,
    gap: Annotated[
        float, typer.Option(metavar="NATS", help="What counts as 0 where the data has zeros.")
    ] = GAP,
    seed: Seed = 0,
    plot: PictureOutput = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Estimate how close to a dataset a model of dimension D can come.

    No model whose last layer has dimension D diverges less than the best encoder of dimension D,
    which gives every context a vector of its own. Where there is a closed form, its divergence is
    exact: 0 up to the gap. Elsewhere the best encoder found is shown, an upper bound on it.
    """
    wanted = whole_numbers(dimensions, "--dimensions", "2,5,10")
    picture = pictures.checked(plot, force)
    with watching() as watch:
        watch.stage("loading")
        dataset = load(data, **loading)
        answer = encoder(dataset, wanted, gap, seed, watch).json()
        answer["dataset"] = {"name": data.name, **answer["dataset"]}
        pictured(answer, draw, picture, watch)
    finish(answer, json, view)


def view(answer: dict) -> Group:
    """One row per dimension, and what the rows mean."""
    data = answer["dataset"]
    title = (
        f"{data['name']}: {plural(data['contexts'], 'context')} with "
        f"{plural(data['distributions'], 'distribution')} over "
        f"{plural(data['vocabulary'], 'token')}"
    )
    table = columns(3)
    table.add_column("dimension", justify="right", style="cyan")
    for name in ("divergence", "largest"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    table.add_column("encoder")
    table.add_column("seconds", justify="right", style="dim")
    for row in answer["rows"]:
        table.add_row(
            number(row["dimension"]),
            *(f"{row[key]:.4g}" for key in ("divergence", "largest")),
            Text("exact", "green") if row["exact"] else Text("upper bound"),
            row["encoder"],
            f"{row['seconds']:.1f}",
        )
    means = (
        f"nats per prediction, beside an entropy of {number(answer['entropy'])}",
        f"exact        a closed form: 0 up to the gap of {answer['gap']:g}",
        "upper bound  the best encoder found; there may be better ones",
        f"The infimum is 0 from dimension {number(answer['vanishing'])} on.",
    )
    remarks = [Text(sentence, style="dim") for sentence in means]
    return Group(Text(title, style="bold"), Text(), table, Text(), *remarks, *drawn(answer))


def draw(answer: dict) -> "Figure":
    """The divergence over the dimension, on logarithmic axes; below the gap it is at the gap."""
    from matplotlib.ticker import FuncFormatter, NullFormatter

    rows, gap, data = answer["rows"], answer["gap"], answer["dataset"]
    figure, axes = pictures.canvas(7.2, 5.0, "log")
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
        name = "entropy of the data"
        axes.axhline(answer["entropy"], color=GREY, linewidth=1, linestyle=":", label=name)
    dimensions = [row["dimension"] for row in rows]
    axes.set_xlim(dimensions[0] / ROOM, dimensions[-1] * ROOM)
    title = f"{data['name']}: {plural(data['contexts'], 'context')}, "
    title += plural(data["vocabulary"], "token")
    pictures.entitle(axes, title)
    pictures.label(axes, "dimension d", "divergence of the best encoder, nats")
    pictures.ticks(axes.xaxis, dimensions)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    pictures.quiet(axes)
    pictures.legend(figure, 3, 9)
    return figure
