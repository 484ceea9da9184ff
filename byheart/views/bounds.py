"""bounds as a verdict, tables and a picture."""

import math
from collections.abc import Sequence
from typing import Any

from rich.table import Column, Table

from .. import pictures
from ..api.bounds import Bounds
from ..api.rows import Row as SizeRow
from ..architectures.adapter import AdapterSize
from ..architectures.bounding import FITS, Verdict
from ..machine.tables import number, plural
from ..pictures import BLUE, GREEN, GREY, INK, ORANGE, PALE, Figure
from ..theory.curves import curves
from ..theory.information import ALLENZHU_2024, morris_2025
from ..theory.item import SIGNS, Bound
from ..theory.papers import cited
from ..theory.question import ArchitectureFacts
from ..theory.table_1 import Cell, FilledTable
from .terminal import Group, RenderableType, Row, Text, columns, counts, drawn, right, rounded, rows

PARTS = {"theorem": "Theorems", "rule_of_thumb": "Rules of thumb: measured, not proved"}
REST = ("Rates, without a number, and open problems", ("rate", "open"))
STYLES = {"yes": "green", "likely": "green", "no": "red"}  # of a verdict; others are yellow
FEW = 10  # rows that are all shown
CAPACITY = "that can have any distributions: the rank over omega - 1"
UNCLEAR = "the singular values have no gap, so the capacity is not known"
SIZES = ("layers", "dimension", "heads", "width", "vocabulary", "length", "attention")
COLOURS = {"madden2024": BLUE, "dana2024": GREEN, "kajitsuka2025": ORANGE, "allenzhu2024": GREY}
LINES: dict[str, Any] = {"at_least": (0, (4, 2)), "at_most": "solid"}


def view(result: Bounds, all: bool = False) -> Group:
    if result.tables:
        shown = [part for table in result.tables for part in _table(table)]
        return Group(*shown, *drawn(result.picture))
    if result.adapter is not None:
        return _adapter(result.adapter)
    applying = [row for row in result.rows if row.applies]
    left = [row for row in result.rows if not row.applies]
    rest = [row for row in applying if row.kind in REST[1]]
    numbers = [row for row in applying if row not in rest]
    aside: list[Bound] = []  # of data whose contexts have one label each
    if result.dataset is not None and result.architecture is None and not all:
        one = not result.dataset.conflicts
        aside = [row for row in numbers if one and row.quantity.endswith("(distributions)")]
        numbers = [row for row in numbers if row not in aside]
    brief = not all and len(numbers) > FEW
    data, model = result.dataset, result.architecture
    parts: list[RenderableType] = []
    if result.verdict is not None:
        parts += [*_verdict(result.verdict, result.models, model), Text()]
    elif result.models:
        parts += [rows(_compiled(result.models)), Text()]
    if data is not None:
        about = (
            f"{counts(data, 'context')} of up to {plural(data.length, 'token')} "
            f"out of {number(data.vocabulary)}, {counts(data, 'label')}"
        )
        parts.append(Text(f"{data.name or 'data'}: {about}", style="bold"))
    if model is not None:
        name = model.name or model.family or "a model"
        about = f"{counts(model, 'parameter')} of {counts(model, 'bit')} each"
        known = {size: getattr(model, size) for size in SIZES}
        sizes = [f"{size} {number(x)}" for size, x in known.items() if x is not None]
        parts.append(Text(f"{name}: {about}", style="bold"))
        parts += [Text(", ".join(sizes), style="dim")] if sizes and not brief else []
    chosen = tightest(numbers, result.verdict is not None) if brief else numbers
    for kind, title in PARTS.items():
        parts += _part(title, [row for row in chosen if row.kind == kind], brief)
    parts += _part(REST[0], rest) if all else []
    parts += _effective(result)
    if left and all:
        reasons = [Text(f"{row.source}: {cited(row.reason)}", "dim") for row in left]
        parts += [Text(), Text("Does not apply", style="bold"), *reasons]
    if model is not None and result.verdict is None:
        parts += [Text(), Text(result.definitions["memory capacity"], style="dim")]
    omitted = {
        "that apply": len(numbers) - len(chosen),
        "about distributions": len(aside),
        "that do not": len(left),
        "without a number": len(rest),
    }
    if not all and any(omitted.values()):
        each = ", ".join(f"{count} {what}" for what, count in omitted.items() if count)
        more = f"--all shows {plural(sum(omitted.values()), 'more row')}: {each}"
        parts += [Text(), Text(more, style="dim")]
    return Group(*parts, *drawn(result.picture))


def _adapter(size: AdapterSize) -> Group:
    """The parameters of an adapter, what they could hold, and whether that is enough."""
    maps = f"rank {number(size.rank)} on {', '.join(size.targets)} of {size.architecture}"
    about = f"{plural(size.parameters, 'parameter')}, {size.share:.2%} of the model's own"
    table = columns("could hold", *right("bits", "facts", "needed"), "source", "")
    for row in size.held:
        share = None if not size.needed or not row.bits else f"{size.needed / row.bits:.1%}"
        words = {"read": "", "proved": "by counting", "secondary": "not read itself"}[row.read]
        sign = {"theorem": "at most", "rule_of_thumb": "about", "law": "law"}[row.kind]
        cells = (number(rounded(row.bits)), number(row.facts), number(share))
        table.add_row(sign, *cells, Text(row.source), Text(f"{words}: {row.remark}", style="dim"))
    needed = [] if size.needed is None else [Text(f"needed: {number(rounded(size.needed))} bits")]
    return Group(Text(f"{maps}: {about}", style="bold"), *needed, Text(), table)


def tightest(theorems: Sequence[Bound], judged: bool) -> list[Bound]:
    """The tightest row of each quantity in each direction, except for what a verdict says.

    What networks without attention need says nothing of others: such a row hides no other.
    """
    best: dict[tuple, Bound] = {}
    for row in theorems:
        stated = "bits" in row.quantity or row.kind == "rule_of_thumb"
        if not row.value or (judged and stated):  # "at least 0" says nothing either
            continue
        key = (row.kind, row.quantity, row.direction, row.item.startswith("without attention"))
        other = best.setdefault(key, row).value or 0
        if row.value > other if row.direction == "at_least" else row.value < other:
            best[key] = row
    return list(best.values())


def _part(title: str, theorems: Sequence[Bound], brief: bool = False) -> list[RenderableType]:
    """Rows by quantity: the largest that is needed first, then the least that is enough."""
    table = Table.grid(*right("", no_wrap=True), "", padding=(0, 2))
    for quantity in dict.fromkeys(row.quantity for row in theorems):
        if not brief:
            table.add_row("", Text(quantity))
        for row in sorted((x for x in theorems if x.quantity == quantity), key=_order):
            about = Text(f"{row.source}. {cited(row.reason)}", "dim")
            name = Text(f"{quantity}: ") if brief else Text()
            bound = Text(f"{SIGNS[row.direction]} {number(rounded(row.value))}", style="cyan")
            table.add_row(Text("-") if row.value is None else bound, name.append_text(about))
    title += " (the tightest of each quantity)" if brief else ""
    return [Text(), Text(title, style="bold"), table] if theorems else []


def _order(row: Bound) -> tuple:
    value, needed = row.value, row.direction == "at_least"
    return value is None, not needed, 0 if value is None else -value if needed else value


def _effective(result: Bounds) -> list[RenderableType]:
    """The rank of the Jacobian: observed, so it stands apart from theorems."""
    rank = result.effective
    if rank is None:
        return []
    capacity = rank.capacity
    shown = [
        ("parameters", number(rank.parameters), f"of {result.measured}"),
        ("effective", number(rank.rank), f"rank on {number(rank.contexts)} contexts"),
        ("contexts", "-" if capacity is None else f"≤ {number(capacity)}", CAPACITY),
    ]
    cut = (
        f"observed: singular values above {rank.tolerance:g} of the largest count; the "
        f"smallest of these is {rank.kept:.1g}, the next {rank.dropped:.1g}"
    )
    remarks = [cut] if capacity is not None else [cut, UNCLEAR]
    title = Text("Effective parameters: measured, not proved", style="bold")
    return [Text(), title, rows(shown), *(Text(line, style="dim") for line in remarks)]


def _compiled(models: Sequence[SizeRow]) -> list[Row]:
    """What models take that were compiled from this data, and on what evidence they hold it."""
    about = (f"code word, {row.evidence}" if row.applies else row.reason for row in models)
    sizes = (number(row.bits) if row.applies else "-" for row in models)
    named = zip(sizes, models, about, strict=True)
    return [("compiled", size, f"{row.name}, {words}") for size, row, words in named]


def _verdict(
    verdict: Verdict, models: Sequence[SizeRow], model: ArchitectureFacts | None
) -> list[RenderableType]:
    line = Text(FITS[verdict.fits], style=f"bold {STYLES.get(verdict.fits, 'yellow')}")
    line.append(f": {cited(verdict.reason)}", "not bold default")
    code = verdict.code
    shown = [
        ("bits needed", number(math.ceil(verdict.needed)), "by the worst labels, one per context"),
        ("of this data", number(math.ceil(code)), "by the frequencies of its labels"),
        *_compiled(models),
    ]
    laws = {"allenzhu2024": ALLENZHU_2024, "morris2025": morris_2025(model.bits if model else None)}
    for key, held in verdict.held.items():
        part = verdict.ratio[key]
        name = f"{laws[key]:g} bits each" if key in laws else "by theorem"
        about = "" if part is None else f"needed / held {part:.3g}, this data {code / held:.3g}"
        shown.append((f"held, {name}", number(round(held)), about))
    return [line, rows(shown)]


def _table(table: FilledTable) -> list[RenderableType]:
    shown = columns(*(Column(name, no_wrap=i < 2) for i, name in enumerate(table.columns)))
    for row in table.rows:
        cells = []
        for cell in row:
            if not isinstance(cell, Cell):
                cells.append(Text(cell or "-"))
                continue
            item = "" if " of " in cell.item or " by " in cell.item else f"\n{cell.item}"
            value = "" if cell.value is None else f"\n= {number(cell.value)}"
            cells.append(Text(cell.formula).append(value, "cyan").append(item, "dim"))
        shown.add_row(*cells)
    return [Text(table.title, style="bold"), shown, Text()]


def draw(result: Bounds) -> Figure:
    """Parameters against contexts, on logarithmic axes: solid is enough, dashed is needed."""
    data, model, network = result.dataset, result.architecture, result.network
    assert data is not None
    figure, axes = pictures.canvas(9.4, 5.8, "log")
    for curve in curves(data):
        item = curve.item
        rule = item.kind == "rule_of_thumb"
        about = ", rule of thumb" if rule else item.quantity.replace("parameters", "")
        name = f"{SIGNS[item.direction]} {curve.source}{about}"
        look = {"color": COLOURS.get(item.paper, INK), "linestyle": LINES[item.direction]}
        axes.plot(*zip(*curve.points, strict=True), linewidth=1.6, label=name, **look)
    own = data.contexts or 0
    name = f"the data: {counts(data, 'context')}"
    axes.axvline(own, color=INK, linewidth=1, linestyle=":", label=name)
    if network is not None:
        size = network.parameters or 0
        name = f"{network.name}, our own network: {size:,} parameters"
        axes.plot([own], [size], "*", color=INK, markersize=13, label=name)
    if model is not None:
        name = f"{model.name or 'the model'}: {counts(model, 'parameter')}"
        axes.axhline(model.parameters or 0, color=PALE, linewidth=1, label=name)
    title = f"{data.name}: {counts(data, 'label')}, {plural(data.vocabulary, 'token')}"
    pictures.entitle(axes, title, "contexts N", "parameters")
    pictures.legend(figure, 2, 8.5)
    return figure
