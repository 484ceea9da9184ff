"""locate as lines: the parameters that an answer reads, or the answers that read a parameter."""

from rich.console import Group, RenderableType
from rich.text import Text

from ..api.locate import Located, Readers
from ..claims.location import Place
from ..machine.tables import number, plural
from .terminal import columns, drawn, listed, right

MAX_SHOWN = 20  # parameters, or items
LISTED = ", listed by --json"


def view(result: Located) -> Group:
    location = result.location
    parts: list[RenderableType] = [
        Text(f"answer  {location.answer.label!r}"),
        Text(f"reads {number(len(location.read))} of {plural(location.of, 'parameter')}"),
        Text(f"  {location.note}"),
    ]
    if location.bits:
        parts.append(Text(f"  bits {', '.join(map(str, location.bits))}, counted from the lowest"))
    if location.neurons:
        parts.append(Text(f"  neurons {', '.join(map(str, location.neurons))}"))
    table = columns("stage", *right("parameters", "read"))
    for stage in result.stages:
        if stage.read:
            table.add_row(Text(stage.stage), number(stage.parameters), number(stage.read))
    parts += [Text(), table, Text()]
    parts += listed([*map(_named, location.read)], MAX_SHOWN, LISTED)
    if location.changes:
        one = location.changes[0]
        places = " and ".join(map(_named, one.places[:2]))
        if len(one.places) > 2:
            places = f"{plural(len(one.places), 'parameter')} ({places}, ...)"
        parts.append(
            Text(f"\nto alter it, {places} suffices: the answer is then {one.label!r}, ")
            + Text(f"{one.evidence}; other answers may change too")
        )
        if len(location.changes) > 1:
            parts.append(Text(f"so do {number(len(location.changes) - 1)} others, by --json"))
    return Group(*parts, *drawn(result.picture))


def readers_view(result: Readers) -> Group:
    """The inputs whose answers read the parameter."""
    many = f"{number(len(result.items))} of {plural(result.of, 'sequence')}"
    title = Text(f"{_named(result.parameter)} is read by the answers to {many}")
    return Group(title, *listed(result.items, MAX_SHOWN, LISTED))


def _named(place: Place) -> str:
    return f"{place.tensor}[{place.row},{place.column}] of layer {place.layer}"
