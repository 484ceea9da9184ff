"""bounds: how small a model can be, how much it can hold, and whether it fits."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ..commands.bounds import bounds
from .options import Force, Json, Loading, Picture, Sizes, reading, sizing
from .output import finish, number, rows
from .progress import watching

SIGNS = {"at_least": "≥", "at_most": "≤"}
PARTS = (
    ("Theorems", ("theorem",)),
    ("Rules of thumb: measured, not proved", ("rule_of_thumb",)),
    ("Rates, without a number, and what is open", ("rate", "open")),
)
FITS = {
    "yes": ("fits", "bold green"),
    "likely": ("likely to fit", "bold green"),
    "between": ("on the edge", "bold yellow"),
    "unlikely": ("unlikely to fit", "bold yellow"),
    "no": ("does not fit", "bold red"),
}
CAPACITY = "that can have any distributions: the rank over omega - 1"
UNCLEAR = "the singular values have no gap, so nothing is said of the capacity"


@reading
@sizing
def command(
    loading: Loading,
    sizes: Sizes,
    dataset: Annotated[
        Path | None, typer.Option("--dataset", metavar="DATA", help="A file, as other commands.")
    ] = None,
    architecture: Annotated[
        str | None, typer.Option(metavar="PRESET", help="gpt2, pythia-70m, madden2024, ...")
    ] = None,
    table: Annotated[
        bool, typer.Option("--table", help="Table 1 of kajitsuka2025 and of madden2024.")
    ] = False,
    effective: Annotated[
        bool, typer.Option("--effective", help="Measure how many parameters count: to 2,000.")
    ] = False,
    plot: Picture = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """How small a model can be, how much it can hold, whether a dataset fits.

    Every theorem as a row: for a dataset, for an architecture (a preset or sizes), or for both.
    """
    with watching() as watch:
        answer = bounds(
            dataset,
            architecture=architecture,
            loading=loading,
            table=table,
            plot=plot,
            effective=effective,
            force=force,
            watch=watch,
            **sizes,
        )
    finish(answer, json, bounded)


def bounded(answer: dict) -> Group:
    """Tables if asked for; else what was asked, the rows, the verdict."""
    drawn = [Text(f"\ndrawn in {answer['picture']}")] if answer["picture"] else []
    if answer["tables"]:
        return Group(*(part for table in answer["tables"] for part in _tabled(table)), *drawn)
    asked = [*_dataset(answer["dataset"]), *_architecture(answer["architecture"])]
    parts = [part for title, kinds in PARTS for part in _part(answer["rows"], title, kinds)]
    measured = _effective(answer["effective"])
    return Group(*asked, *parts, *measured, *_left(answer["rows"]), *_closing(answer), *drawn)


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
    told = [cut] if capacity is not None else [cut, UNCLEAR]
    title = Text("Effective parameters: measured, not proved", style="bold")
    return [Text(), title, rows(shown), *(Text(line, style="dim") for line in told)]


def _dataset(data: dict | None) -> list[RenderableType]:
    if data is None:
        return []
    about = (
        f"{number(data['contexts'])} contexts of up to {number(data['length'])} tokens out of "
        f"{number(data['vocabulary'])}, {number(data['labels'])} labels"
    )
    return [Text(f"{data['name']}: {about}", style="bold")]


def _architecture(model: dict | None) -> list[RenderableType]:
    if model is None:
        return []
    shown = ("layers", "dimension", "heads", "width", "vocabulary", "length", "attention")
    sizes = ", ".join(f"{name} {number(model[name])}" for name in shown if model[name] is not None)
    about = f"{number(model['parameters'])} parameters of {model['bits']} bits"
    named = f"{model['name'] or model['family'] or 'a model'}: {about}"
    return [Text(named, style="bold"), *([Text(sizes, style="dim")] if sizes else [])]


def _part(found: list[dict], title: str, kinds: tuple[str, ...]) -> list[RenderableType]:
    """The rows of some kinds that apply, by what they are about."""
    shown = [row for row in found if row["kind"] in kinds and row["applies"]]
    table = Table.grid(padding=(0, 2))
    table.add_column(justify="right", no_wrap=True)
    table.add_column()
    for quantity in dict.fromkeys(row["quantity"] for row in shown):
        table.add_row("", Text(quantity))
        for row in sorted((x for x in shown if x["quantity"] == quantity), key=_order):
            table.add_row(_value(row), _about(row))
    return [Text(), Text(title, style="bold"), table] if shown else []


def _order(row: dict) -> tuple:
    """The largest that is needed, then the least that is enough."""
    value = row["value"]
    needed = row["direction"] == "at_least"
    return value is None, not needed, 0 if value is None else -value if needed else value


def _value(row: dict) -> Text:
    value = row["value"]
    if value is None:
        return Text("-")
    shown = number(round(value) if isinstance(value, float) and value >= 1000 else value)
    return Text(f"{SIGNS[row['direction']]} {shown}", style="cyan")


def _about(row: dict) -> Text:
    return Text(f"{row['paper']}, {row['item']}. {row['reason']}", style="dim")


def _left(found: list[dict]) -> list[RenderableType]:
    """What does not apply, and why."""
    left = [row for row in found if not row["applies"]]
    if not left:
        return []
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim")
    for row in left:
        table.add_row(f"{row['paper']}, {row['item']}: {row['reason']}")
    return [Text(), Text("Does not apply", style="bold"), table]


def _closing(answer: dict) -> list[RenderableType]:
    """The verdict, or what memory capacity means."""
    found = answer["verdict"]
    if found is None:
        words = answer["definitions"]["memory capacity"]
        return [Text(), Text(words, style="dim")] if answer["architecture"] else []
    word, style = FITS[found["fits"]]
    line = Text(word, style=style).append(f": {found['reason']}", "not bold default")
    held = found["held"]
    table = rows(
        [
            ("bits needed", number(round(found["needed"])), "by the worst labels"),
            *(
                (f"held, {name}", number(round(held[key])), _ratio(found["ratio"][key]))
                for name, key in HELD
            ),
        ]
    )
    return [Text(), table, line]


HELD = (
    ("by theorem", "theorem"),
    ("2 bits each", "allenzhu2024"),
    ("3.6 bits each", "morris2025"),
)


def _ratio(ratio: float | None) -> str:
    return "" if ratio is None else f"needed / held = {ratio:.3g}"


def _tabled(table: dict) -> list[RenderableType]:
    shown = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for i, column in enumerate(table["columns"]):
        shown.add_column(column, no_wrap=i < 2)
    for row in table["rows"]:
        shown.add_row(*map(_cell, row))
    return [Text(table["title"], style="bold"), shown, Text()]


def _cell(cell: str | dict | None) -> Text:
    if not isinstance(cell, dict):
        return Text(cell or "-")
    value = cell["value"]
    said = "" if value is None else f"\n= {number(value)}"
    item = "" if " of " in cell["item"] or " by " in cell["item"] else f"\n{cell['item']}"
    return Text(cell["formula"]).append(said, "cyan").append(item, "dim")
