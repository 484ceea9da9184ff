"""byheart bounds: the command, its terminal view and its picture."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from .. import pictures
from ..architectures import ARCHITECTURES
from ..architectures.bounding import FITS, Bounds, bounds
from ..data.load import applicable
from ..errors import ByheartError
from ..pictures import BLUE, GREEN, GREY, INK, ORANGE, PALE, quiet
from ..theory.curves import curves
from ..theory.item import SIGNS
from .options import Force, Json, Loading, Picture, Sizes, reading, sizing
from .output import drawn, finish, number, pictured, rows
from .progress import watching

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PARTS = (
    ("Theorems", ("theorem",)),
    ("Rules of thumb: measured, not proved", ("rule_of_thumb",)),
    ("Rates, without a number, and open problems", ("rate", "open")),
)
STYLES = {
    "yes": "green",
    "likely": "green",
    "between": "yellow",
    "unlikely": "yellow",
    "not_guaranteed": "yellow",
    "no": "red",
}
HELD = (("by theorem", "theorem"), ("2 bits each", "allenzhu2024"), ("3.6 bits each", "morris2025"))
CAPACITY = "that can have any distributions: the rank over omega - 1"
UNCLEAR = "the singular values have no gap, so the capacity is not known"
SIZES = ("layers", "dimension", "heads", "width", "vocabulary", "length", "attention")
COLOURS = {"madden2024": BLUE, "dana2024": GREEN, "kajitsuka2025": ORANGE, "allenzhu2024": GREY}
LINES = {"at_least": (0, (4, 2)), "at_most": "solid"}


@reading
@sizing
def command(
    loading: Loading,
    sizes: Sizes,
    dataset: Annotated[
        Path | None,
        typer.Option("--dataset", metavar="DATA", help="A data file, as in the other commands."),
    ] = None,
    architecture: Annotated[
        str | None,
        typer.Option(metavar="PRESET", help="gpt2, llama-3.1-8b, madden2024, ..., or config.json."),
    ] = None,
    table: Annotated[
        bool, typer.Option("--table", help="Table 1 of kajitsuka2025 and of madden2024.")
    ] = False,
    effective: Annotated[
        bool,
        typer.Option(
            "--effective", help="Measure the number of effective parameters (at most 2,000)."
        ),
    ] = False,
    plot: Picture = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """How small a model can be, how much it can hold, whether a dataset fits.

    Every theorem as a row: for a dataset, for an architecture (a preset or sizes), or for both.
    --length truncates documents, and sets the context length of an architecture without one.
    """
    picture = pictures.checked(plot, force)
    if dataset is None and picture is not None:
        raise ByheartError("--plot needs --dataset: it marks the size of the data.")
    given = {name: size for name, size in sizes.items() if size is not None}
    own = given.keys() - {"parameters", "bits"}
    options, length = dict(loading), loading.get("length")
    sized = architecture in ARCHITECTURES or (architecture is None and (own or dataset is None))
    if length is not None and sized:
        given["length"] = length
        if dataset is not None and "length" not in applicable(dataset, options):
            options["length"] = None
    with watching() as watch:
        how: dict[str, Any] = {"table": table, "effective": effective, "loading": options}
        found = bounds(dataset, architecture, watch=watch, **how, **given)
        answer = pictured(found.json(), lambda x: draw(x, found), picture, watch)
    finish(answer, json, view)


def view(answer: dict) -> Group:
    """The tables if there are any; else the facts, the rows and the verdict."""
    if answer["tables"]:
        return Group(
            *(part for table in answer["tables"] for part in _table(table)), *drawn(answer)
        )
    data, model = answer["dataset"], answer["architecture"]
    parts: list[RenderableType] = []
    if data is not None:
        about = (
            f"{number(data['contexts'])} contexts of up to {number(data['length'])} tokens out of "
            f"{number(data['vocabulary'])}, {number(data['labels'])} labels"
        )
        parts.append(Text(f"{data['name']}: {about}", style="bold"))
    if model is not None:
        name = model["name"] or model["family"] or "a model"
        about = f"{number(model['parameters'])} parameters of {model['bits']} bits"
        sizes = [f"{size} {number(model[size])}" for size in SIZES if model[size] is not None]
        parts.append(Text(f"{name}: {about}", style="bold"))
        parts += [Text(", ".join(sizes), style="dim")] if sizes else []
    for title, kinds in PARTS:
        parts += _part(title, [x for x in answer["rows"] if x["kind"] in kinds and x["applies"]])
    parts += _effective(answer["effective"])
    left = [row for row in answer["rows"] if not row["applies"]]
    if left:
        table = Table.grid(padding=(0, 2))
        table.add_column(style="dim")
        for row in left:
            table.add_row(f"{row['paper']}, {row['item']}: {row['reason']}")
        parts += [Text(), Text("Does not apply", style="bold"), table]
    if answer["verdict"] is not None:
        parts += [Text(), *_verdict(answer["verdict"])]
    elif model is not None:
        parts += [Text(), Text(answer["definitions"]["memory capacity"], style="dim")]
    return Group(*parts, *drawn(answer))


def _part(title: str, found: list[dict]) -> list[RenderableType]:
    """Rows by quantity: the largest that is needed first, then the least that is enough."""

    def order(row: dict) -> tuple:
        value, needed = row["value"], row["direction"] == "at_least"
        return value is None, not needed, 0 if value is None else -value if needed else value

    table = Table.grid(padding=(0, 2))
    table.add_column(justify="right", no_wrap=True)
    table.add_column()
    for quantity in dict.fromkeys(row["quantity"] for row in found):
        table.add_row("", Text(quantity))
        for row in sorted((x for x in found if x["quantity"] == quantity), key=order):
            value = row["value"]
            if isinstance(value, float) and value >= 1000:
                value = round(value)
            shown = "-" if value is None else f"{SIGNS[row['direction']]} {number(value)}"
            about = f"{row['paper']}, {row['item']}. {row['reason']}"
            table.add_row(Text(shown, style="" if value is None else "cyan"), Text(about, "dim"))
    return [Text(), Text(title, style="bold"), table] if found else []


def _effective(found: dict | None) -> list[RenderableType]:
    """The rank of the Jacobian: observed, so it stands apart from theorems."""
    if found is None:
        return []
    capacity = found["capacity"]
    shown = [
        ("parameters", number(found["parameters"]), f"of {found['model']}"),
        ("effective", number(found["rank"]), f"rank on {number(found['contexts'])} contexts"),
        ("contexts", "-" if capacity is None else f"≤ {number(capacity)}", CAPACITY),
    ]
    cut = (
        f"observed: singular values above {found['tolerance']:g} of the largest count; the "
        f"smallest of these is {found['kept']:.1g}, the next {found['dropped']:.1g}"
    )
    remarks = [cut] if capacity is not None else [cut, UNCLEAR]
    title = Text("Effective parameters: measured, not proved", style="bold")
    return [Text(), title, rows(shown), *(Text(line, style="dim") for line in remarks)]


def _verdict(found: dict) -> list[RenderableType]:
    line = Text(FITS[found["fits"]], style=f"bold {STYLES[found['fits']]}")
    line.append(f": {found['reason']}", "not bold default")
    code = found["code"]
    shown = [
        ("bits needed", number(round(found["needed"])), "by the worst labels, one per context"),
        ("of this data", number(math.ceil(code)), "by the frequencies of its labels"),
    ]
    for name, key in HELD:
        ratio, held = found["ratio"][key], found["held"][key]
        about = "" if ratio is None else f"needed / held = {ratio:.3g}, this data {code / held:.3g}"
        shown.append((f"held, {name}", number(round(held)), about))
    return [rows(shown), line]


def _table(table: dict) -> list[RenderableType]:
    shown = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for i, column in enumerate(table["columns"]):
        shown.add_column(column, no_wrap=i < 2)
    for row in table["rows"]:
        cells = []
        for cell in row:
            if not isinstance(cell, dict):
                cells.append(Text(cell or "-"))
                continue
            value, item = cell["value"], cell["item"]
            item = "" if " of " in item or " by " in item else f"\n{item}"
            value = "" if value is None else f"\n= {number(value)}"
            cells.append(Text(cell["formula"]).append(value, "cyan").append(item, "dim"))
        shown.add_row(*cells)
    return [Text(table["title"], style="bold"), shown, Text()]


def draw(answer: dict, found: Bounds) -> "Figure":
    """Parameters against contexts, on logarithmic axes: solid is enough, dashed is needed."""
    data, model = answer["dataset"], answer["architecture"]
    figure, axes = pictures.canvas(7.6, 5.6, "log")
    for curve in curves(found.dataset) if found.dataset else ():
        x, y = zip(*curve["points"], strict=True)
        about = "rule of thumb" if curve["kind"] == "rule_of_thumb" else curve["quantity"]
        about = f"{curve['paper']}, {curve['item']} {about.replace('parameters ', '')}"
        colour, dashes = COLOURS.get(curve["paper"], INK), LINES[curve["direction"]]
        name = f"{SIGNS[curve['direction']]} {about}"
        axes.plot(x, y, color=colour, linewidth=1.6, linestyle=dashes, label=name)
    own = data["contexts"]
    axes.axvline(own, color=INK, linewidth=1, linestyle=":", label=f"the data: {own:,} contexts")
    if model is not None:
        count = model["parameters"]
        axes.axhline(count, color=PALE, linewidth=1, label=f"the model: {count:,} parameters")
    title = f"{data['name']}: {data['labels']:,} labels, {data['vocabulary']:,} tokens"
    pictures.entitle(axes, title)
    pictures.label(axes, "contexts N", "parameters")
    quiet(axes)
    pictures.legend(figure, 2, 8.5)
    return figure
