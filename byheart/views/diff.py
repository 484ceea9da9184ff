"""diff as a table, stage by stage, and as a picture."""

from .. import pictures
from ..api.diff import Diff
from ..auditing.comparing import CheckpointDiff
from ..machine.tables import number, plural
from ..pictures import Figure
from . import comparing
from .terminal import Group, RenderableType, Text, columns, drawn, listed, right

MAX_ANSWERS = 10  # that are listed


def view(result: Diff | CheckpointDiff) -> Group:
    if isinstance(result, CheckpointDiff):
        return comparing.view(result)
    table = columns("stage", *right("parameters", "differ", "bits"))
    for stage in result.stages:
        numbers = map(number, (stage.parameters, stage.changed, stage.bits))
        table.add_row(Text(stage.name), *numbers)
    words = f"{number(result.parameters)} of {plural(result.of, 'parameter')} differ, "
    parts: list[RenderableType] = [table, Text(f"\n{words}in {plural(result.bits, 'bit')}")]
    if result.besides:
        parts.append(Text(f"also different: {', '.join(result.besides)}"))
    if result.answers is not None:
        asked = plural(result.asked, "sequence")
        verb = "differs" if len(result.answers) == 1 else "differ"
        parts.append(Text(f"{plural(len(result.answers), 'answer')} {verb}, of {asked}"))
        lines = [f"{given}: {before!r}, then {after!r}" for given, before, after in result.answers]
        parts += listed(lines, MAX_ANSWERS)
    return Group(*parts, *drawn(result.picture))


def draw(result: Diff | CheckpointDiff) -> Figure:
    """Each stage as a bar: the share of its parameters that differ."""
    if isinstance(result, CheckpointDiff):
        return comparing.draw(result)
    stages = result.stages
    figure, axes = pictures.canvas(8, 1.6 + 0.34 * len(stages))
    places = range(len(stages))
    axes.barh(places, [s.parameters for s in stages], color=pictures.FAINT, label="parameters")
    axes.barh(places, [s.changed for s in stages], color=pictures.ORANGE, label="differ")
    axes.set_yticks(list(places), [s.name for s in stages])
    axes.invert_yaxis()
    most = max(1, *(s.parameters for s in stages))
    for place, stage in enumerate(stages):
        if stage.changed:
            words = f"{stage.changed:,}, {plural(stage.bits, 'bit')}"
            x = stage.parameters + 0.01 * most
            axes.text(x, place, words, va="center", size=8.5, color=pictures.INK)
    title = f"{result.parameters:,} of {result.of:,} parameters differ"
    pictures.entitle(axes, title, "nonzero parameters in either network")
    pictures.legend(figure, 2, 9)
    return figure
