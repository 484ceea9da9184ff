"""locate as lines: the parameters that an answer reads, or the answers that read a parameter."""

from rich.console import Group, RenderableType
from rich.text import Text

from ..api.locate import Located, Readers
from ..claims.location import Place
from ..machine.tables import number, plural
from .terminal import columns, drawn

MAX_SHOWN = 20  # parameters, or items


def view(result: Located) -> Group:
    """The answer, what it reads stage by stage, and what would have to change."""
    found = result.location
    parts: list[RenderableType] = [Text(f"answer  {found.answer.label!r}")]
    parts.append(Text(f"reads {number(len(found.read))} of {plural(found.of, 'parameter')}"))
    parts.append(Text(f"  {found.note}"))
    if found.bits:
        parts.append(Text(f"  bits {', '.join(map(str, found.bits))}, counted from the lowest"))
    if found.neurons:
        parts.append(Text(f"  neurons {', '.join(map(str, found.neurons))}"))
    table = columns()
    for name in ("stage", "parameters", "read"):
        table.add_column(name, justify="left" if name == "stage" else "right")
    for stage in result.stages:
        if stage.read:
            table.add_row(Text(stage.stage), number(stage.parameters), number(stage.read))
    parts += [Text(), table, Text()]
    parts += [Text(f"  {_named(place)}") for place in found.read[:MAX_SHOWN]]
    if len(found.read) > MAX_SHOWN:
        parts.append(Text(f"  and {number(len(found.read) - MAX_SHOWN)} more, listed by --json"))
    if found.changes:
        one = found.changes[0]
        places = " and ".join(map(_named, one.places[:2]))
        if len(one.places) > 2:
            places = f"{plural(len(one.places), 'parameter')} ({places}, ...)"
        parts.append(
            Text(f"\nto alter it, {places} suffices: the answer is then {one.label!r}, ")
            + Text(f"{one.evidence}; other answers may change too")
        )
        if len(found.changes) > 1:
            parts.append(Text(f"so do {number(len(found.changes) - 1)} others, by --json"))
    return Group(*parts, *drawn(result.picture))


def readers_view(result: Readers) -> Group:
    """The inputs whose answers read the parameter."""
    many = f"{number(len(result.items))} of {plural(result.of, 'sequence')}"
    parts = [Text(f"{_named(result.parameter)} is read by the answers to {many}")]
    parts += [Text(f"  {tokens}") for tokens in result.items[:MAX_SHOWN]]
    if len(result.items) > MAX_SHOWN:
        parts.append(Text(f"  and {number(len(result.items) - MAX_SHOWN)} more, listed by --json"))
    return Group(*parts)


def _named(place: Place) -> str:
    return f"{place.tensor}[{place.row},{place.column}] of layer {place.layer}"
