"""diff: what differs between two model folders."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from .. import pictures
from ..machine.watch import SILENT, Watch
from ..models.difference import diff
from ..models.folder.read import open as open_folder
from ..models.source import load_whole
from . import options
from .output import columns, drawn, finish, number, pictured, plural
from .progress import watching

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHOWN = 10  # answers


@options.repeating
def command(
    directory: options.Directory,
    other: Annotated[Path, typer.Argument(metavar="NEW", help="Another model folder.")],
    loading: options.Loading,
    data: Annotated[
        Path | None, typer.Argument(metavar="DATA", help="A file whose inputs both are asked.")
    ] = None,
    plot: options.Picture = None,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Compare two model folders of one shape: parameters, bits and, with DATA, answers."""
    with watching() as watch:
        answer = compared(directory, other, data, loading, plot, force, watch)
    finish(answer, json, view)


def compared(
    directory: Path,
    other: Path,
    data: Path | None = None,
    loading: options.Loading | None = None,
    plot: Path | None = None,
    force: bool = False,
    watch: Watch = SILENT,
) -> dict:
    """The answer of the command."""
    picture = pictures.checked(plot, force)
    watch.stage("opening")
    one, two = open_folder(directory), open_folder(other)
    dataset = None
    if data is not None:
        watch.stage("loading")
        dataset = load_whole(one, data, dict(loading or {}))
    watch.stage("comparing")
    answer = diff(one, two, dataset).json() | {"before": str(directory), "after": str(other)}
    return pictured(answer, draw, picture, watch)


def view(answer: dict) -> Group:
    """Stage by stage, then the answers that differ."""
    table = columns()
    table.add_column("stage")
    for name in ("parameters", "differ", "bits"):
        table.add_column(name, justify="right")
    for stage in answer["stages"]:
        numbers = [number(stage[name]) for name in ("parameters", "changed", "bits")]
        table.add_row(Text(stage["name"]), *numbers)
    words = f"{number(answer['parameters'])} of {plural(answer['of'], 'parameter')} differ, "
    parts: list[RenderableType] = [table, Text(f"\n{words}in {plural(answer['bits'], 'bit')}")]
    if answer["answers"] is not None:
        found = answer["answers"]
        asked = plural(answer["asked"], "sequence")
        verb = "differs" if len(found) == 1 else "differ"
        parts.append(Text(f"{plural(len(found), 'answer')} {verb}, of {asked}"))
        for one in found[:SHOWN]:
            parts.append(Text(f"  {one['input']}: {one['before']!r}, then {one['after']!r}"))
        if len(found) > SHOWN:
            parts.append(Text(f"  and {number(len(found) - SHOWN)} more"))
    return Group(*parts, *drawn(answer))


def draw(answer: dict) -> "Figure":
    """Each stage as a bar: the share of its parameters that differ."""
    stages = answer["stages"]
    figure, axes = pictures.canvas(8, 1.6 + 0.34 * len(stages))
    places = range(len(stages))
    axes.barh(places, [s["parameters"] for s in stages], color=pictures.FAINT, label="parameters")
    axes.barh(places, [s["changed"] for s in stages], color=pictures.ORANGE, label="differ")
    axes.set_yticks(list(places), [s["name"] for s in stages])
    axes.invert_yaxis()
    most = max(1, *(s["parameters"] for s in stages))
    for place, stage in enumerate(stages):
        if stage["changed"]:
            words = f"{stage['changed']:,}, {plural(stage['bits'], 'bit')}"
            x = stage["parameters"] + 0.01 * most
            axes.text(x, place, words, va="center", size=8.5, color=pictures.INK)
    pictures.label(axes, "nonzero parameters in either network", "")
    words = f"{answer['parameters']:,} of {answer['of']:,} parameters differ"
    pictures.entitle(axes, words)
    pictures.quiet(axes)
    pictures.legend(figure, 2, 9)
    return figure
