"""byheart bounds: the command, its terminal view and its picture."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from .. import pictures
from ..architectures import ARCHITECTURES, NAMES
from ..architectures.bounding import FITS, Bounds, bounds
from ..compiler.comparing import model_row, own_row
from ..data.load import applicable, load
from ..errors import ByheartError
from ..models.folder.read import open as open_folder
from ..pictures import BLUE, GREEN, GREY, INK, ORANGE, PALE, quiet
from ..theory.curves import curves
from ..theory.item import SIGNS
from ..theory.papers import cited
from .messages import translate
from .options import Force, Json, Loading, Picture, Sizes, beginning, reading, sizing
from .output import Row, counts, drawn, finish, number, pictured, plural, rows
from .progress import watching

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PARTS = (
    ("Theorems", ("theorem",)),
    ("Rules of thumb: measured, not proved", ("rule_of_thumb",)),
)
REST = ("Rates, without a number, and open problems", ("rate", "open"))
STYLES = {
    "yes": "green",
    "likely": "green",
    "between": "yellow",
    "unlikely": "yellow",
    "not_guaranteed": "yellow",
    "no": "red",
}
MOST = 1_000_000  # sequences of data whose network is drawn
FEW = 10  # rows that are all shown
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
        typer.Option(
            metavar="PRESET",
            help="gpt2, llama-3.1-8b, madden2024, ..., or config.json.",
            autocompletion=beginning(NAMES),
        ),
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
    all: Annotated[
        bool, typer.Option("--all", help="Every row, also rates and what does not apply.")
    ] = False,
    models: Annotated[
        list[Path] | None,
        typer.Option(
            "--with",
            metavar="DIR",
            help="A model folder: what it takes for this dataset; repeatable.",
        ),
    ] = None,
    plot: Picture = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """How small a model can be, how much it can hold, whether a dataset fits.

    For a dataset, for an architecture (a preset, a config.json or sizes), or for both: the verdict,
    then the theorems that apply; of many, the tightest of each quantity.
    --length truncates documents, and sets the context length of an architecture without one.
    """
    picture = pictures.checked(plot, force)
    if dataset is None and picture is not None:
        raise ByheartError("--plot needs --dataset: it marks the size of the data.")
    if dataset is None and models:
        raise ByheartError("--with needs --dataset: the models are verified on it.")
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
        answer = found.json() | {"network": None, "models": []}
        if dataset is not None and models:
            watch.stage("verifying")
            judged = load(dataset, **options)
            opened = {str(path): open_folder(path) for path in models}
            compiled = [model_row(name, x, judged, "refuse").json() for name, x in opened.items()]
            translate(compiled)
            answer["models"] = compiled
        small = found.dataset is not None and (found.dataset.sequences or 0) <= MOST
        if dataset is not None and picture is not None and small:
            watch.stage("building")
            network = own_row(load(dataset, **options), watch.note)
            answer["network"] = None if network is None else network.json()
        pictured(answer, lambda x: draw(x, found), picture, watch)
    finish(answer, json, lambda x: view(x, all))


def view(answer: dict, all: bool = False) -> Group:
    """The tables if there are any; else the verdict, the facts and the rows."""
    if answer["tables"]:
        return Group(
            *(part for table in answer["tables"] for part in _table(table)), *drawn(answer)
        )
    applying = [row for row in answer["rows"] if row["applies"]]
    left = [row for row in answer["rows"] if not row["applies"]]
    rest = [row for row in applying if row["kind"] in REST[1]]
    numbers = [row for row in applying if row not in rest]
    brief = not all and len(numbers) > FEW
    data, model = answer["dataset"], answer["architecture"]
    parts: list[RenderableType] = []
    if answer["verdict"] is not None:
        parts += [*_verdict(answer["verdict"], answer["models"]), Text()]
    elif answer["models"]:
        parts += [rows(_compiled(answer["models"])), Text()]
    if data is not None:
        about = (
            f"{plural(data['contexts'], 'context')} of up to {plural(data['length'], 'token')} "
            f"out of {number(data['vocabulary'])}, {plural(data['labels'], 'label')}"
        )
        parts.append(Text(f"{data['name']}: {about}", style="bold"))
    if model is not None:
        name = model["name"] or model["family"] or "a model"
        bits = plural(model["bits"], "bit")
        about = f"{plural(model['parameters'], 'parameter')} of {bits} each"
        sizes = [f"{size} {number(model[size])}" for size in SIZES if model[size] is not None]
        parts.append(Text(f"{name}: {about}", style="bold"))
        parts += [Text(", ".join(sizes), style="dim")] if sizes and not brief else []
    shown = tightest(numbers, answer["verdict"] is not None) if brief else numbers
    for title, kinds in PARTS:
        found = [row for row in shown if row["kind"] in kinds]
        parts += _part(title, found, brief)
    parts += _part(REST[0], rest) if all else []
    parts += _effective(answer["effective"])
    if left and all:
        table = Table.grid(padding=(0, 2))
        table.add_column(style="dim")
        for row in left:
            table.add_row(f"{source(row)}: {cited(row['reason'])}")
        parts += [Text(), Text("Does not apply", style="bold"), table]
    if model is not None and answer["verdict"] is None:
        parts += [Text(), Text(answer["definitions"]["memory capacity"], style="dim")]
    counted = {
        "that apply": len(numbers) - len(shown),
        "that do not": len(left),
        "without a number": len(rest),
    }
    if not all and any(counted.values()):
        each = ", ".join(f"{count} {what}" for what, count in counted.items() if count)
        more = f"--all shows {plural(sum(counted.values()), 'more row')}: {each}"
        parts += [Text(), Text(more, style="dim")]
    return Group(*parts, *drawn(answer))


def tightest(found: list[dict], judged: bool) -> list[dict]:
    """Of the rows that say something, the tightest of each quantity in each direction.

    judged  whether there is a verdict: its lines have the bits, and the rules of thumb
    """
    best: dict[tuple, dict] = {}
    for row in found:
        said = "bits" in row["quantity"] or row["kind"] == "rule_of_thumb"
        if not row["value"] or (judged and said):  # "at least 0" says nothing either
            continue
        key = tuple(row[name] for name in ("kind", "quantity", "direction"))
        other = best.setdefault(key, row)["value"]
        if row["value"] > other if row["direction"] == "at_least" else row["value"] < other:
            best[key] = row
    return list(best.values())


def source(row: dict) -> str:
    """Where a row is from, as a paper would cite it."""
    return cited(f"{row['paper']}, {row['item']}")


def _part(title: str, found: list[dict], brief: bool = False) -> list[RenderableType]:
    """Rows by quantity: the largest that is needed first, then the least that is enough.

    brief  whether each names its quantity, instead of a heading
    """
    table = Table.grid(padding=(0, 2))
    table.add_column(justify="right", no_wrap=True)
    table.add_column()
    for quantity in dict.fromkeys(row["quantity"] for row in found):
        if not brief:
            table.add_row("", Text(quantity))
        for row in sorted((x for x in found if x["quantity"] == quantity), key=_order):
            about = Text(f"{source(row)}. {cited(row['reason'])}", "dim")
            name = Text(f"{quantity}: ") if brief else Text()
            table.add_row(_value(row), name.append_text(about))
    title += " (the tightest of each quantity)" if brief else ""
    return [Text(), Text(title, style="bold"), table] if found else []


def _order(row: dict) -> tuple:
    value, needed = row["value"], row["direction"] == "at_least"
    return value is None, not needed, 0 if value is None else -value if needed else value


def _value(row: dict) -> Text:
    value = row["value"]
    if value is None:
        return Text("-")
    value = round(value) if isinstance(value, float) and value >= 1000 else value
    return Text(f"{SIGNS[row['direction']]} {number(value)}", style="cyan")


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


def _compiled(models: list[dict]) -> list[Row]:
    """What models take that were compiled from this data, and on what evidence they hold it."""
    return [
        (
            "compiled",
            number(row["bits"]) if row["applies"] else "-",
            f"{row['name']}, {row['evidence'] if row['applies'] else row['reason']}",
        )
        for row in models
    ]


def _verdict(found: dict, models: list[dict]) -> list[RenderableType]:
    line = Text(FITS[found["fits"]], style=f"bold {STYLES[found['fits']]}")
    line.append(f": {cited(found['reason'])}", "not bold default")
    code = found["code"]
    shown = [
        ("bits needed", number(math.ceil(found["needed"])), "by the worst labels, one per context"),
        ("of this data", number(math.ceil(code)), "by the frequencies of its labels"),
        *_compiled(models),
    ]
    for name, key in HELD:
        ratio, held = found["ratio"][key], found["held"][key]
        about = "" if ratio is None else f"needed / held {ratio:.3g}, this data {code / held:.3g}"
        shown.append((f"held, {name}", number(round(held)), about))
    return [line, rows(shown)]


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
    figure, axes = pictures.canvas(9.4, 5.8, "log")
    for curve in curves(found.dataset) if found.dataset else ():
        x, y = zip(*curve["points"], strict=True)
        rule = curve["kind"] == "rule_of_thumb"
        about = ", rule of thumb" if rule else curve["quantity"].replace("parameters", "")
        about = f"{source(curve)}{about}"
        colour, dashes = COLOURS.get(curve["paper"], INK), LINES[curve["direction"]]
        name = f"{SIGNS[curve['direction']]} {about}"
        axes.plot(x, y, color=colour, linewidth=1.6, linestyle=dashes, label=name)
    own = data["contexts"]
    axes.axvline(
        own, color=INK, linewidth=1, linestyle=":", label=f"the data: {counts(data, 'context')}"
    )
    if answer["network"] is not None:
        size = answer["network"]["parameters"]
        name = f"{answer['network']['name']}, our own network: {size:,} parameters"
        axes.plot([own], [size], "*", color=INK, markersize=13, label=name)
    if model is not None:
        count = model["parameters"]
        name = f"{model['name'] or 'the model'}: {plural(count, 'parameter')}"
        axes.axhline(count, color=PALE, linewidth=1, label=name)
    title = f"{data['name']}: {counts(data, 'label')}, {plural(data['vocabulary'], 'token')}"
    pictures.entitle(axes, title)
    pictures.label(axes, "contexts N", "parameters")
    quiet(axes)
    pictures.legend(figure, 2, 8.5)
    return figure
